// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace compare A B: why one placement is faster than another. */
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/placement_input.h"
#include "sim/explain/brief.h"
#include "sim/explain/difference.h"

enum { NAME_WIDTH = 30, TOLD_PARTS = 8 };

struct args {
    const char      *path[2];
    int32_t          path_count;
    const char      *workload, *machine, *runtime;
    emp_sheet_format format;
};

static const struct argp_option options[] = {
    {"workload", CLI_TEXT(struct args, workload), "SPEC", 0,
     "The graph that the files place (default: the one that they name)", 0},
    {"machine", 'm', "NAME|FILE", 0, "The machine (default: the one that the files name)",
     0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile (default: the runtime of run records, else the one that fits where "
     "the graph comes from)",
     0},
    {0},
};

static const char doc[] =
    "Say why the placement of one file is faster than another's: where the time of both "
    "steps goes, device by device above each other, and which ops' devices matter.\v"
    "A and B are files that simulate --placement takes: a placement, a run record (.h5), "
    "a graph whose nodes name devices. A part of the ops matters if the faster step gets "
    "slower with the slower one's devices for it, or the slower step faster with the "
    "faster one's. Both are simulated; an exclamation mark stands where a step does not "
    "fit in memory.\n\n"
    "  emplace compare best.json expert.json\n"
    "  emplace compare run.h5 rules.yaml --workload nmt:layers=2 --machine k40x2\n"
    "  emplace compare best.json expert.json --format json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case 'm': args->machine = arg; return 0;
    case 'r': args->runtime = arg; return 0;
    case ARGP_KEY_ARG:
        if (args->path_count == 2)
            cli_usage_error("\"%s\" is one argument too many; compare takes two files",
                            arg);
        args->path[args->path_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->path_count < 2)
            cli_usage_error("compare takes two files with placements, and %d is given",
                            args->path_count);
        return 0;
    default: return cli_store(key, arg, args);
    }
}

/* ---- what is compared ---- */

/* Takes what the user gives, else what a file names; both files must agree. */
static emp_status choose(const char **value, const char *given, const char *what,
                         const char *option, const char *const said[2],
                         const struct args *args, emp_error *err)
{
    *value = given != NULL ? given : said[0][0] != '\0' ? said[0] : said[1];
    if (given != NULL) return EMP_OK;
    if ((*value)[0] == '\0')
        return EMP_ERROR(EMP_EINVAL, "neither %s nor %s names its %s; give --%s",
                         args->path[0], args->path[1], what, option);
    if (said[0][0] != '\0' && said[1][0] != '\0' && strcmp(said[0], said[1]) != 0)
        return EMP_ERROR(EMP_EINVAL, "%s is of the %s %s, and %s of %s; give --%s",
                         args->path[0], what, said[0], args->path[1], said[1], option);
    return EMP_OK;
}

/* A file names its machine without a folder, so a machine of one's own is not found by it; that of an instance is
 * in the instance's file. */
static emp_status check_named_machine(const struct args *args, emp_error *err)
{
    emp_machine *machine = NULL;
    emp_error    why = {0};

    if (strcmp(args->machine, EMP_OWN_MACHINE) == 0) return EMP_OK;
    if (emp_machine_load(&machine, args->machine, &why) != EMP_OK)
        return EMP_ERROR(why.status,
                         "%s is of a machine whose file --machine has to give: %s",
                         args->path[0], why.msg);
    emp_machine_destroy(machine);
    return EMP_OK;
}

/* Records name their runtime, placements do not. */
static emp_status choose_runtime(struct args *args, const cli_decision_file file[2],
                                 emp_error *err)
{
    const char *const runtimes[] = {file[0].origin.runtime, file[1].origin.runtime};
    emp_runtime       runtime;
    emp_error         why = {0};

    if (args->runtime != NULL || (runtimes[0][0] == '\0' && runtimes[1][0] == '\0'))
        return EMP_OK;
    EMP_CHECK(choose(&args->runtime, NULL, "runtime", "runtime", runtimes, args, err));
    if (emp_runtime_init(&runtime, args->runtime, &why) == EMP_OK) return EMP_OK;
    return EMP_ERROR(
        why.status, "the runtime of a record is one whose file --runtime has to give: %s",
        why.msg);
}

static emp_status load(cli_inputs *inputs, struct args *args,
                       const cli_decision_file file[2], emp_error *err)
{
    const char *const workloads[] = {file[0].origin.workload, file[1].origin.workload};
    const char *const machines[] = {file[0].origin.machine, file[1].origin.machine};
    const bool        is_given = args->machine != NULL;

    EMP_CHECK(choose(&args->workload, args->workload, "workload", "workload", workloads,
                     args, err));
    EMP_CHECK(
        choose(&args->machine, args->machine, "machine", "machine", machines, args, err));
    if (!is_given) EMP_CHECK(check_named_machine(args, err));
    EMP_CHECK(choose_runtime(args, file, err));
    return cli_inputs_load(inputs, args->workload, args->machine, args->runtime, err);
}

/* ---- parts ---- */

/* The devices between which most ops of a part move. */
static void main_move(emp_device_id *from, emp_device_id *to, const emp_difference *d,
                      const emp_difference_part *part, const emp_problem *problem,
                      const emp_owned_decision decision[2])
{
    static int32_t       count[EMP_MAX_DEVICES][EMP_MAX_DEVICES];
    const emp_device_id *slow = decision[1 - d->faster].device_of_op;
    const emp_device_id *fast = decision[d->faster].device_of_op;

    memset(count, 0, sizeof count);
    *from = *to = 0;
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t scope = d->scopes.of_op[op];
        const bool    is_in =
            part->op >= 0 ? problem->class_of_op[op] == problem->class_of_op[part->op]
               : part->is_own
                   ? scope == part->scope
                   : scope >= 0 && emp_scopes_is_in(&d->scopes, scope, part->scope);
        if (!is_in || slow[op] == fast[op]) continue;
        if (++count[slow[op]][fast[op]] > count[*from][*to]) {
            *from = slow[op];
            *to = fast[op];
        }
    }
}

static const char *name_part(char name[NAME_WIDTH + 1], const emp_difference *d,
                             const emp_difference_part *part, const emp_problem *problem)
{
    if (part->op >= 0) {
        const char *op = problem->graph->name[part->op];
        return emp_text_shorten(op, strlen(op), NAME_WIDTH, name);
    }
    const emp_scope *scope = &d->scopes.scope[part->scope];
    if (scope->length == 0) return strcpy(name, "(no scope)");
    return emp_text_shorten(scope->name, (size_t)scope->length, NAME_WIDTH, name);
}

/* ---- text ---- */

static double frac(emp_time_ns part, emp_time_ns whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static const char *seconds(emp_time_ns ns, char text[EMP_UNITS_TEXT_BYTES])
{
    return emp_units_format_seconds((double)ns * 1e-9, text, EMP_UNITS_TEXT_BYTES);
}

static void print_head(const struct args *args, const cli_inputs *inputs,
                       const emp_difference *d)
{
    const emp_sim_result *fast = &d->side[d->faster].result;
    const emp_sim_result *slow = &d->side[1 - d->faster].result;
    char                  text[EMP_UNITS_TEXT_BYTES];

    printf("%s on %s, runtime %s\n", args->workload, inputs->machine->name,
           inputs->problem->runtime.name);
    cli_inputs_print_runtime(inputs);
    for (int i = 0; i < 2; i++)
        printf("%c            %s, %s%s\n", 'A' + i,
               seconds(d->side[i].result.step_time_ns, text), args->path[i],
               d->side[i].result.is_feasible ? "" : ", out of memory");
    if (fast->is_feasible != slow->is_feasible)
        printf("%c is better, as it fits in memory", 'A' + d->faster);
    else if (fast->step_time_ns == slow->step_time_ns)
        printf("both are as fast");
    else
        printf(
            "%c is faster by %s", 'A' + d->faster,
            emp_units_format_percent(1.0 - frac(fast->step_time_ns, slow->step_time_ns),
                                     text, sizeof text));
    printf("; %d of %d ops are on different devices\n", d->different_count,
           inputs->problem->graph->op_count);
}

static void print_path(const emp_difference *d)
{
    emp_time_ns time_ns[2][EMP_PATH_GROUPS];
    char        a[EMP_UNITS_TEXT_BYTES], b[EMP_UNITS_TEXT_BYTES];
    char        change[EMP_UNITS_TEXT_BYTES];

    if (d->side[0].why == NULL || d->side[1].why == NULL) return;
    for (int i = 0; i < 2; i++) emp_explain_path(time_ns[i], d->side[i].why);
    printf("\ncritical path                      A         B  B - A\n");
    for (int32_t g = 0; g < EMP_PATH_GROUPS; g++) {
        const emp_time_ns more = time_ns[1][g] - time_ns[0][g];
        if (time_ns[0][g] == 0 && time_ns[1][g] == 0) continue;
        printf("  %-24s %9s %9s  %s%s\n", emp_explain_path_words(g),
               seconds(time_ns[0][g], a), seconds(time_ns[1][g], b),
               more < 0   ? "-"
               : more > 0 ? "+"
                          : "",
               seconds(more < 0 ? -more : more, change));
    }
    printf("  %-24s %9s %9s\n", "step time", seconds(d->side[0].result.step_time_ns, a),
           seconds(d->side[1].result.step_time_ns, b));
}

/* A row of the timeline: how busy the device is in each stretch. */
static void print_row(const char *name, int which, const emp_difference *d,
                      emp_device_id device)
{
    static const char levels[] = " .:-=#";

    printf("  %-8.8s %c |", name, 'A' + which);
    for (int b = 0; b < EMP_DIFFERENCE_BINS; b++) {
        const double busy = d->side[which].busy_frac[device][b];
        putchar(levels[busy <= 0.0 ? 0 : busy >= 0.995 ? 5 : 1 + (int)(busy * 4.0)]);
    }
    printf("|\n");
}

static void print_timeline(const emp_difference *d, const emp_problem *problem)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf("\ndevices over %s, # where they work all the time\n",
           seconds(d->span_ns, text));
    for (emp_device_id dev = 0; dev < problem->machine->device_count; dev++) {
        if (d->side[0].op_count[dev] == 0 && d->side[1].op_count[dev] == 0) continue;
        print_row(problem->machine->device[dev].name, 0, d, dev);
        print_row("", 1, d, dev);
    }
}

static void print_parts(const emp_difference *d, const emp_problem *problem,
                        const emp_owned_decision decision[2])
{
    const emp_time_ns slow_ns = d->side[1 - d->faster].result.step_time_ns;
    const emp_time_ns fast_ns = d->side[d->faster].result.step_time_ns;
    const char        fast = (char)('A' + d->faster), slow = (char)('A' + 1 - d->faster);
    char alone[EMP_UNITS_TEXT_BYTES], without[EMP_UNITS_TEXT_BYTES], name[NAME_WIDTH + 1];

    if (d->part_count == 0) return;
    printf(
        "\nops that matter: how a step changes with the other one's devices for them\n");
    printf("  %c's step  %c's step  %-*s %5s %c to %c\n", fast, slow, NAME_WIDTH, "part",
           "ops", slow, fast);
    for (int32_t i = 0; i < d->part_count && i < TOLD_PARTS; i++) {
        const emp_difference_part *part = &d->part[i];
        emp_device_id              from, to;
        main_move(&from, &to, d, part, problem, decision);
        printf("  %8s%s %8s%s %-*s %5d %s to %s\n",
               emp_units_format_change(frac(part->without_ns, fast_ns) - 1.0, without,
                                       sizeof without),
               part->without_fits ? " " : "!",
               emp_units_format_change(frac(part->alone_ns, slow_ns) - 1.0, alone,
                                       sizeof alone),
               part->alone_fits ? " " : "!", NAME_WIDTH,
               name_part(name, d, part, problem), part->op_count,
               problem->machine->device[from].name, problem->machine->device[to].name);
    }
    if (d->part_count > TOLD_PARTS)
        printf("  and %d more parts that matter less\n", d->part_count - TOLD_PARTS);
}

/* ---- JSON ---- */

static json_t *json_side(const struct args *args, int which, const emp_difference *d,
                         const emp_problem *problem)
{
    const emp_difference_side *side = &d->side[which];
    json_t                    *path = json_object(), *devices = json_object();
    json_t *o = json_pack("{s:s, s:I, s:b}", "placement", args->path[which],
                          "step_time_ns", (json_int_t)side->result.step_time_ns,
                          "feasible", (int)side->result.is_feasible);

    if (side->why != NULL) {
        emp_time_ns time_ns[EMP_PATH_GROUPS];
        emp_explain_path(time_ns, side->why);
        for (int32_t g = 0; g < EMP_PATH_GROUPS; g++)
            json_object_set_new(path, emp_explain_path_words(g),
                                json_integer((json_int_t)time_ns[g]));
        json_object_set_new(o, "bound_by",
                            json_string(emp_limit_key(emp_explain_limit(side->why))));
    }
    for (emp_device_id dev = 0; dev < problem->machine->device_count; dev++)
        json_object_set_new(devices, problem->machine->device[dev].name,
                            json_pack("{s:i, s:I}", "ops", side->op_count[dev], "busy_ns",
                                      (json_int_t)side->result.busy_ns[dev]));
    json_object_set_new(o, "path_ns", path);
    json_object_set_new(o, "devices", devices);
    return o;
}

static json_t *json_part(const emp_difference *d, const emp_difference_part *part,
                         const emp_problem *problem, const emp_owned_decision decision[2])
{
    emp_device_id from, to;

    main_move(&from, &to, d, part, problem, decision);
    json_t *o = json_pack("{s:i, s:s, s:s, s:I, s:b, s:I, s:b}", "ops", part->op_count,
                          "from", problem->machine->device[from].name, "to",
                          problem->machine->device[to].name, "alone_ns",
                          (json_int_t)part->alone_ns, "alone_fits", (int)part->alone_fits,
                          "without_ns", (json_int_t)part->without_ns, "without_fits",
                          (int)part->without_fits);
    if (part->op >= 0) {
        json_object_set_new(o, "op", json_string(problem->graph->name[part->op]));
    } else {
        const emp_scope *scope = &d->scopes.scope[part->scope];
        json_object_set_new(o, "scope", json_stringn(scope->name, (size_t)scope->length));
        json_object_set_new(o, "own", json_boolean(part->is_own));
    }
    return o;
}

static json_t *json_of(const struct args *args, const cli_inputs *inputs,
                       const emp_difference *d, const emp_owned_decision decision[2])
{
    json_t *parts = json_array();

    for (int32_t i = 0; i < d->part_count; i++)
        json_array_append_new(parts,
                              json_part(d, &d->part[i], inputs->problem, decision));
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:i, s:o}", "workload", args->workload, "machine",
        inputs->machine->name, "runtime", inputs->problem->runtime.name, "a",
        json_side(args, 0, d, inputs->problem), "b",
        json_side(args, 1, d, inputs->problem), "faster", d->faster == 0 ? "a" : "b",
        "different_ops", d->different_count, "parts", parts);
    cli_inputs_add_notes(o, inputs);
    return o;
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_compare_argp = {options, parse, "A B", doc, children, NULL, NULL};

emp_status cmd_compare(int argc, char **argv, emp_error *err)
{
    struct args        args = {0};
    emp_status         st = EMP_OK;
    cli_inputs         inputs = {0};
    cli_decision_file  file[2] = {0};
    emp_owned_decision owned[2] = {0};
    emp_difference    *d = NULL;

    cli_parse(&cmd_compare_argp, argc, argv, &args);
    for (int i = 0; i < 2; i++) EMP_TRY(cli_decision_open(&file[i], args.path[i], err));
    EMP_TRY(load(&inputs, &args, file, err));
    for (int i = 0; i < 2; i++)
        EMP_TRY(cli_decision_read(&owned[i], &file[i], inputs.problem, err));
    const emp_decision a = emp_decision_view(&owned[0]), b = emp_decision_view(&owned[1]);
    EMP_TRY(emp_difference_create(&d, inputs.problem, &a, &b, err));
    if (args.format != EMP_SHEET_TEXT) {
        EMP_TRY(cli_print_object(json_of(&args, &inputs, d, owned), args.format, err));
        goto cleanup;
    }
    print_head(&args, &inputs, d);
    print_path(d);
    print_timeline(d, inputs.problem);
    print_parts(d, inputs.problem, owned);

cleanup:
    emp_difference_destroy(d);
    for (int i = 0; i < 2; i++) {
        emp_decision_clear(&owned[i]);
        cli_decision_close(&file[i]);
    }
    cli_inputs_clear(&inputs);
    return st;
}
