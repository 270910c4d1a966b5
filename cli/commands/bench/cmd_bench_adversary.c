// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench adversary A B: the smallest graph and machine on which A loses most to B. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "bench/compare/adversary.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "run/methods.h"

enum {
    KEY_SIZES = 256,
    KEY_MACHINES,
    KEY_SEEDS,
    KEY_TRIALS,
    KEY_RATIO,
    MOST_SIZES = 16,
    MOST_MACHINES = 8,
    NAME_BYTES = 256
};

struct args {
    const char          *name[2];
    int32_t              name_count;
    int32_t              size[MOST_SIZES], size_count;
    char                 machine[MOST_MACHINES][NAME_BYTES];
    emp_machine         *loaded[MOST_MACHINES]; /* likewise */
    int32_t              machine_count;
    const char          *runtime;
    emp_runtime         *loaded_runtime;
    emp_adversary_params params;
    const char          *out;
    bool                 is_forced, is_keeping;
    emp_sheet_format     format;
    cli_bar              bar;
};

static const struct argp_option options[] = {
    {"sizes", KEY_SIZES, "A,B,...", 0, "Numbers of ops (default 4,6,8,12,16,24)", 0},
    {"machines", KEY_MACHINES, "A,B,...", 0, "Machines (default k40x1,k40x2,k40x4)", 0},
    {"runtime", 'r', "NAME|FILE", 0, "Runtime profile (default ideal)", 0},
    {"budget", 'b', "N", 0, "Evaluations of either method (default 100)", 0},
    {"seeds", KEY_SEEDS, "N", 0, "Seeds of either method, from 1 on (default 3)", 0},
    {"trials", KEY_TRIALS, "N", 0,
     "Instances that are tried for each size and machine (default 300)", 0},
    {"ratio", KEY_RATIO, "R", 0,
     "End with an instance where A takes R times as long (default 2)", 0},
    {"seed", 'k', "N", 0, "Seed of the search (default 1)", 0},
    {"out", 'o', "FILE", 0, "Write the instance as a list of ops, FILE.json", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Find the smallest graph and machine on which method A loses most to method B.\v"
    "Graphs have a few ops with times of their own. Simulated annealing changes a number "
    "or an edge at a time, and keeps what makes the ratio of the two step times larger. "
    "Sizes and machines are tried from the smallest on, until A takes --ratio times as "
    "long as B, by the median over seeds at equal budgets. The commands that are printed "
    "run both methods on the file of --out.\n\n"
    "  emplace bench adversary refine heft --out refine-heft.json\n"
    "  emplace bench adversary anneal hdp --sizes 16,24 --machines k40x4 --trials 100\n"
    "  emplace bench adversary my_agent.py refine --budget 400 --format csv";

static void read_sizes(struct args *a, const char *list)
{
    char word[16];

    a->size_count = 0;
    while (cli_next_word(&list, word, sizeof word)) {
        if (a->size_count == MOST_SIZES)
            cli_usage_error("--sizes has more than %d", MOST_SIZES);
        a->size[a->size_count++] =
            (int32_t)cli_integer("sizes", word, 2, EMP_ADVERSARY_OPS);
    }
    if (a->size_count == 0) cli_usage_error("--sizes is empty; 8,16 would do");
}

static void read_machines(struct args *a, const char *list)
{
    char word[NAME_BYTES];

    a->machine_count = 0;
    while (cli_next_word(&list, word, sizeof word)) {
        if (a->machine_count == MOST_MACHINES)
            cli_usage_error("--machines has more than %d", MOST_MACHINES);
        snprintf(a->machine[a->machine_count++], NAME_BYTES, "%s", word);
    }
    if (a->machine_count == 0) cli_usage_error("--machines is empty; k40x2 would do");
}

static double read_ratio(const char *text)
{
    char        *end;
    const double ratio = emp_number_parse(text, &end);

    if (*end != '\0' || !(ratio > 1 && ratio <= 1e6))
        cli_usage_error("--ratio \"%s\" is no number above 1", text);
    return ratio;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args          *a = (struct args *)state->input;
    emp_adversary_params *p = &a->params;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->format; return 0;
    case KEY_SIZES: read_sizes(a, arg); return 0;
    case KEY_MACHINES: read_machines(a, arg); return 0;
    case 'r': a->runtime = arg; return 0;
    case 'b': p->budget = cli_integer("budget", arg, 1, 1000000); return 0;
    case KEY_SEEDS:
        p->seed_count = (int32_t)cli_integer("seeds", arg, 1, EMP_ADVERSARY_SEEDS);
        return 0;
    case KEY_TRIALS:
        p->trials = (int32_t)cli_integer("trials", arg, 1, 1000000);
        return 0;
    case KEY_RATIO: p->target = read_ratio(arg); return 0;
    case 'k': p->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case 'o': a->out = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->name_count == 2)
            cli_usage_error("\"%s\" is one argument too many; give two methods", arg);
        a->name[a->name_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->name_count < 2)
            cli_usage_error("give two methods, as in bench adversary refine heft");
        return 0;
    default: return cli_store(key, arg, a);
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_adversary_argp = {options,  parse, "A B", doc,
                                                           children, NULL,  NULL};

/* ---- the search ---- */

/* From the first instance that counts on there is something to save. */
static void on_trial(void *context, int32_t trials, double ratio)
{
    struct args *a = (struct args *)context;
    char         text[80];

    if (!a->is_keeping && ratio > 0) {
        atomic_fetch_add(cli_stop_kept(), 1);
        a->is_keeping = true;
    }
    snprintf(text, sizeof text, "%d trials, %s loses by %.3g times", trials, a->name[0],
             ratio);
    cli_bar_draw_share(&a->bar, (double)trials / a->params.trials, text);
}

static const emp_sheet_column columns[] = {
    EMP_COLUMN("ops", "ops", EMP_SHEET_COUNT),
    EMP_COLUMN("machine", "machine", EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("other", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("trials", "trials", EMP_SHEET_COUNT),
    EMP_COLUMN("method_s", "A, s", EMP_SHEET_REAL, .digits = 4),
    EMP_COLUMN("other_s", "B, s", EMP_SHEET_REAL, .digits = 4),
    EMP_COLUMN("ratio", "A / B", EMP_SHEET_REAL, .digits = 3)};

static void add(emp_sheet *s, const struct args *a, const emp_adversary_found *f,
                int32_t ops, const char *machine)
{
    EMP_SHEET_ADD(s, EMP_V(ops), EMP_V(machine), EMP_V(a->runtime),
                  EMP_V(a->params.method[0]->name), EMP_V(a->params.method[1]->name),
                  EMP_V(f->trials), EMP_V(f->ratio > 0 ? f->step_s[0] : NAN),
                  EMP_V(f->ratio > 0 ? f->step_s[1] : NAN), EMP_V(f->ratio));
}

/* The instance on which A loses most, and its machine as given. */
typedef struct {
    emp_adversary_found found;
    const char         *machine; /* borrowed */
} worst_case;

/* Sizes from the smallest on, and machines within a size; ends with the first that reaches the ratio. */
static emp_status search(emp_sheet *sheet, worst_case *best, struct args *a,
                         emp_error *err)
{
    for (int32_t s = 0; s < a->size_count; s++)
        for (int32_t m = 0; m < a->machine_count; m++) {
            emp_adversary_found found;
            cli_bar_init(&a->bar, NULL);
            const emp_status st =
                emp_adversary_search(&found, &a->params, a->size[s], a->loaded[m], err);
            cli_bar_clear(&a->bar);
            if (st != EMP_OK && st != EMP_EINTERRUPTED) return st;
            add(sheet, a, &found, a->size[s], a->machine[m]);
            if (!(found.ratio <= best->found.ratio) && !isnan(found.ratio))
                *best = (worst_case){found, a->machine[m]};
            if (st != EMP_OK || best->found.ratio >= a->params.target) return st;
        }
    return EMP_OK;
}

/* How to run both again, with the seeds of the medians. */
static void note_commands(emp_sheet *sheet, const struct args *a, const worst_case *best)
{
    if (!(best->found.ratio > 0)) {
        emp_sheet_note(sheet,
                       "On no instance do both methods find a placement that fits.");
        return;
    }
    emp_sheet_note(sheet,
                   "A is %s, and B is %s, runtime %s; medians over %d seeds at %" PRId64
                   " evaluations.",
                   a->name[0], a->name[1], a->runtime, a->params.seed_count,
                   a->params.budget);
    if (best->found.ratio < a->params.target)
        emp_sheet_note(sheet,
                       "No instance reaches %g; more --trials or larger --sizes may.",
                       a->params.target);
    for (int i = 0; a->out != NULL && i < 2; i++)
        emp_sheet_note(sheet,
                       "emplace place %s --machine %s --runtime %s --method %s --budget "
                       "%" PRId64 " --seed 1",
                       a->out, best->machine, a->runtime, a->name[i], a->params.budget);
}

/* Finds the methods and reads the machines and the runtime before the search begins. */
static emp_status load(struct args *a, emp_error *err)
{
    for (int i = 0; i < 2; i++)
        EMP_CHECK(emp_method_find(&a->params.method[i], a->name[i], err));
    for (int32_t i = 0; i < a->machine_count; i++)
        EMP_CHECK(emp_machine_load(&a->loaded[i], a->machine[i], err));
    EMP_CHECK(emp_runtime_load(&a->loaded_runtime, a->runtime, err));
    a->params.runtime = a->loaded_runtime;
    return EMP_OK;
}

static void clear(struct args *a)
{
    for (int32_t i = 0; i < a->machine_count; i++) emp_machine_destroy(a->loaded[i]);
    emp_runtime_destroy(a->loaded_runtime);
}

/* A method, a machine or a runtime may be a file. */
static emp_status check_output(const struct args *a, emp_error *err)
{
    const char *inputs[MOST_MACHINES + 3] = {a->runtime};

    for (int i = 0; i < 2; i++)
        inputs[1 + i] = emp_method_exists(a->name[i]) ? NULL : a->name[i];
    for (int32_t i = 0; i < a->machine_count; i++) inputs[3 + i] = a->machine[i];
    EMP_CHECK(emp_output_check(a->out, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 3 + a->machine_count, &a->out, 1, err));
    return emp_output_check_replaced(&a->out, 1, a->is_forced, err);
}

emp_status cmd_bench_adversary(int argc, char **argv, emp_error *err)
{
    emp_status  st = EMP_OK, ended = EMP_OK;
    struct args a = {.runtime = "ideal",
                     .params = {.budget = 100,
                                .seed_count = 3,
                                .trials = 300,
                                .target = 2,
                                .seed = 1,
                                .stop = cli_stop_flag(),
                                .on_trial = on_trial}};
    worst_case *best = NULL;
    emp_sheet   sheet;

    a.params.context = &a;
    read_sizes(&a, "4,6,8,12,16,24");
    read_machines(&a, "k40x1,k40x2,k40x4");
    EMP_SHEET_INIT(&sheet, columns);
    cli_parse(&cmd_bench_adversary_argp, argc, argv, &a);
    EMP_TRY(check_output(&a, err));
    EMP_TRY(load(&a, err));
    EMP_TRY(EMP_ALLOC(best, 1));
    best->found.ratio = NAN;
    ended = search(&sheet, best, &a, err);
    cli_stop_unwatch();
    if (ended != EMP_EINTERRUPTED) EMP_TRY(ended);
    if (a.out != NULL && best->found.ratio > 0)
        EMP_TRY(emp_adversary_save(a.out, &best->found, err));
    note_commands(&sheet, &a, best);
    EMP_TRY(cli_print_sheet(&sheet, a.format, err));
    st = ended;

cleanup:
    emp_free(best);
    clear(&a);
    return st;
}
