// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate ops: times of a graph's kernels, measured on the hardware that is there. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "bench/calibrate/profile.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/progress.h"
#include "cli/replay/replay_runner.h"
#include "cli/stop.h"
#include "replay/cpu/cores.h"
#include "replay/planner/planner.h"

enum { KEY_LIMIT = 512, KEY_INTERVAL };

struct args {
    const char        *spec, *machine, *runtime, *out, *cache;
    cli_replay_options replay;
    double             most_steps, interval_percent;
    bool               is_forced;
    emp_sheet_format   format;
};

static const struct argp_option options[] = {
    {"backend", 'B', "NAME", 0,
     "Where kernels run: cpu (default), groups of this computer's cores; or cuda, a GPU "
     "(untried so far)",
     0},
    {"machine", 'm', "NAME|FILE", 0,
     "The first GPU's kernels are measured (default cpu2); of cuda there is none", 0},
    {"runtime", 'r', "NAME|FILE", 0, "Default replay-cpu, for cuda replay-cuda", 0},
    {"gpus", CLI_TEXT(struct args, replay.gpus), "MAP", 0, "As for emplace replay", 0},
    {"out", 'o', "FILE", 0, "The times, for --costs of other commands (CSV)", 0},
    {"cache", CLI_TEXT(struct args, cache), "FILE", 0,
     "Take kernels that were measured before from this file, and add the others to it, "
     "also after Ctrl-C",
     0},
    {"limit", KEY_LIMIT, "N", 0,
     "Execute kernels for at most as long as N steps (default 60)", 0},
    {"interval", KEY_INTERVAL, "PERCENT", 0,
     "Measure each kernel until its interval is that narrow (default 2)", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Measure the kernels of SPEC's step where it is to run, and write the time of each "
    "op.\v"
    "Each distinct kernel (kind, sizes, formats of its operands) runs among the ops that "
    "make its operands, with caches and memory as in a step, at several places of it; on "
    "groups of cores also while another group does the same. Let nothing else run "
    "meanwhile.\n\n"
    "  emplace calibrate ops nmt:units=128 -o nmt.csv --cache kernels.csv\n"
    "  emplace simulate nmt:units=128 -m cpu2 -r replay-cpu -p gpu --costs nmt.csv\n"
    "  emplace calibrate ops model.pb --backend cuda -m h200x1 -o model.csv";

static double read_percent(const char *option, const char *text)
{
    char  *end = NULL;
    double value = emp_number_parse(text, &end);

    if (end == text || *end != '\0' || !(value > 0.0 && value <= 100.0))
        cli_usage_error("--%s \"%s\" is no percentage above 0", option, text);
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->replay;
        state->child_inputs[1] = &a->format;
        return 0;
    case 'B': a->replay.backend = arg; return 0;
    case 'm': a->machine = arg; return 0;
    case 'r': a->runtime = arg; return 0;
    case 'o': a->out = arg; return 0;
    case KEY_LIMIT:
        a->most_steps = (double)cli_integer("limit", arg, 1, 1000000);
        return 0;
    case KEY_INTERVAL: a->interval_percent = read_percent("interval", arg); return 0;
    case ARGP_KEY_ARG:
        if (a->spec != NULL) cli_usage_error("one SPEC only, not also \"%s\"", arg);
        a->spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->spec == NULL)
            cli_usage_error("a SPEC is missing; see %s --help", state->name);
        if (a->out == NULL) cli_usage_error("--out FILE is missing");
        if (strcmp(a->replay.backend, "cuda") == 0 && a->machine == NULL)
            cli_usage_error("--machine says which GPU it is");
        return 0;
    default: return cli_store(key, arg, a);
    }
}

/* ---- measuring ---- */

struct bench {
    const struct args *args;
    cli_inputs         inputs;
    emp_device_id     *device_of_op;
    emp_replay_plan   *plan;
    emp_kernel_cache   cache;
    emp_profile        profile;
    char               hardware[EMP_PROFILE_TEXT_BYTES];
    cli_bar            bar;
    bool               is_keeping;
};

static bool is_cuda(const struct args *a)
{
    return strcmp(a->replay.backend, "cuda") == 0;
}

static emp_status run_plan(void *context, emp_replay_result *result,
                           const emp_replay_plan *plan, emp_error *err)
{
    const struct bench *b = (const struct bench *)context;

    return cli_replay_run(result, plan, &b->args->replay, NULL, err);
}

/* From the first round on there is something to save, if there is a cache. */
static void on_progress(void *context, double done_frac)
{
    struct bench *b = (struct bench *)context;

    if (!b->is_keeping && b->args->cache != NULL) {
        atomic_fetch_add(cli_stop_kept(), 1);
        b->is_keeping = true;
    }
    cli_bar_draw_share(&b->bar, done_frac, "kernels");
}

/* Finds the value of a key in /proc/cpuinfo, without what would break a line of CSV. */
static bool find_processor(char *name, size_t size, const char *key)
{
    char  line[256];
    bool  is_there = false;
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (!is_there && file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        is_there = strncmp(line, key, strlen(key)) == 0 && value != NULL;
        line[strcspn(line, "\n\",")] = '\0';
        if (is_there) snprintf(name, size, "%s", value + 2);
    }
    if (file != NULL) fclose(file);
    return is_there;
}

/* Names the hardware for the cache: a GPU by its device model, cores by their processor and by how many work together as a GPU
 * and as the CPU. ARM's processors have the number of a part in place of a name. */
static emp_status name_hardware(struct bench *b, emp_device_id gpu, emp_error *err)
{
    const emp_machine *m = b->inputs.machine;
    char               processor[48] = "unknown processor";
    emp_replay_options mapped;
    emp_cpu_cores      cores;
    bool               is_wanted[EMP_REPLAY_MAX_DEVICES];
    emp_device_id      cpu = 0;

    if (is_cuda(b->args)) {
        snprintf(b->hardware, sizeof b->hardware, "cuda %.32s",
                 m->model[m->device[gpu].model].name);
        return EMP_OK;
    }
    for (int32_t d = 0; d < EMP_REPLAY_MAX_DEVICES; d++) is_wanted[d] = true;
    while (cpu < m->device_count - 1 && m->device[cpu].kind != EMP_DEVICE_CPU) cpu++;
    EMP_CHECK(cli_replay_options_map(&mapped, &b->args->replay, b->plan, err));
    EMP_CHECK(emp_cpu_cores_choose(&cores, b->plan, &mapped, is_wanted, err));
    if (!find_processor(processor, sizeof processor, "model name"))
        (void)find_processor(processor, sizeof processor, "CPU part");
    snprintf(b->hardware, sizeof b->hardware, "cpu %s; %d and %d cores", processor,
             cores.count[gpu], cores.count[cpu]);
    return EMP_OK;
}

/* Another group of cores, which shares caches and memory with the first; -1: there is none. */
static emp_device_id find_neighbour(const struct bench *b, emp_device_id first)
{
    const emp_machine *m = b->inputs.machine;

    for (emp_device_id d = first + 1; !is_cuda(b->args) && d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU &&
            m->device[d].model == m->device[first].model)
            return d;
    return -1;
}

static emp_device_id first_gpu(const emp_machine *m)
{
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU) return d;
    return -1;
}

static emp_status measure(struct bench *b, emp_device_id gpu, emp_error *err)
{
    emp_profile_params params = {.plan = b->plan,
                                 .device = gpu,
                                 .neighbour = find_neighbour(b, gpu),
                                 .wanted_frac = b->args->interval_percent / 100.0,
                                 .most_steps = b->args->most_steps,
                                 .hardware = b->hardware,
                                 .cache = b->args->cache != NULL ? &b->cache : NULL,
                                 .run = run_plan,
                                 .context = b,
                                 .progress = on_progress};

    emp_status st = emp_profile_measure(&b->profile, &params, err);
    cli_bar_clear(&b->bar);
    cli_stop_unwatch();
    if (st == EMP_EINTERRUPTED && !b->is_keeping) cli_say("emplace: ", "interrupted");
    if (st != EMP_EINTERRUPTED || !b->is_keeping) return st;
    EMP_CHECK(emp_kernel_cache_save(&b->cache, b->args->cache, err));
    cli_warn("interrupted; %s has the kernels that are known, and the same command goes "
             "on from there",
             b->args->cache);
    return st;
}

/* ---- results ---- */

/* For cores that the machine does not know, the time of a step beside their work. */
static double op_us(const struct bench *b, const emp_device *gpu)
{
    if (gpu->has_core) return 1e6 * gpu->core.op_s;
    return is_cuda(b->args) ? 0.0 : b->profile.gap_us;
}

static emp_status save(struct bench *b, emp_device_id gpu, emp_error *err)
{
    const emp_machine *m = b->inputs.machine;
    const emp_device  *d = &m->device[gpu];
    emp_profile_costs  costs = {.problem = b->inputs.problem,
                                .gpu_model = m->model[d->model].name,
                                .cpu_model = m->model[m->device[d->host].model].name,
                                .gpu_op_us = op_us(b, d),
                                .is_one_hardware = !is_cuda(b->args)};

    EMP_CHECK(emp_profile_save(&b->profile, b->plan, &costs, b->args->out, err));
    if (b->args->cache == NULL) return EMP_OK;
    return emp_kernel_cache_save(&b->cache, b->args->cache, err);
}

static int32_t ops_with_kernels(const emp_profile *p)
{
    int32_t count = 0;

    for (int32_t k = 0; k < p->count; k++) count += p->kernel[k].op_count;
    return count;
}

static emp_status print(const struct bench *b, emp_error *err)
{
    const emp_profile *p = &b->profile;
    char               step[EMP_UNITS_TEXT_BYTES];

    if (b->args->format != EMP_SHEET_TEXT)
        return cli_print_object(
            json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:f, s:s}",
                      "workload", b->args->spec, "machine", b->inputs.machine->name,
                      "runtime", b->args->runtime, "hardware", b->hardware, "ops",
                      (int)ops_with_kernels(p), "kernels", (int)p->count, "cached",
                      (int)p->cached_count, "open", (int)p->open_count, "step_s",
                      cli_json_number(p->step_s), "spent_steps", p->spent_steps, "out",
                      b->args->out),
            b->args->format, err);
    printf("%s on machine %s, runtime %s, %s\n", b->args->spec, b->inputs.machine->name,
           b->args->runtime, b->hardware);
    printf("kernels      %d distinct ones of %d ops, %d of them from the cache\n",
           p->count, ops_with_kernels(p), p->cached_count);
    if (!isnan(p->step_s))
        printf("executed     as long as %.1f steps of %s\n", p->spent_steps,
               emp_units_format_seconds(p->step_s, step, sizeof step));
    if (p->open_count > 0)
        printf("not narrow   %d kernels have an interval of more than %g %%\n",
               p->open_count, b->args->interval_percent);
    return EMP_OK;
}

static emp_status check(const struct args *a, emp_error *err)
{
    const char *const outputs[] = {a->out, a->cache};
    const char *const inputs[] = {a->spec, a->machine, a->runtime};

    EMP_CHECK(cli_replay_check_backend(&a->replay, err));
    EMP_CHECK(emp_output_check_all(outputs, 2, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 3, outputs, 2, err));
    return emp_output_check_replaced(outputs, 1, a->is_forced, err);
}

static emp_status run(struct bench *b, emp_error *err)
{
    const struct args *a = b->args;

    EMP_CHECK(cli_inputs_load(&b->inputs, a->spec, a->machine, a->runtime, err));
    emp_device_id gpu = first_gpu(b->inputs.machine);
    if (gpu < 0)
        return EMP_ERROR(EMP_EINVAL,
                         "machine %s has no GPU, and no group of cores as one",
                         b->inputs.machine->name);
    EMP_CHECK(EMP_ALLOC(b->device_of_op, (size_t)b->inputs.step->op_count));
    EMP_CHECK(cli_placement_by_method(b->device_of_op, NULL, "gpu", NULL,
                                      b->inputs.problem, err));
    EMP_CHECK(
        emp_replay_plan_from_problem(&b->plan, b->inputs.problem, b->device_of_op, err));
    if (a->cache != NULL) EMP_CHECK(emp_kernel_cache_load(&b->cache, a->cache, err));
    EMP_CHECK(name_hardware(b, gpu, err));
    EMP_CHECK(measure(b, gpu, err));
    EMP_CHECK(save(b, gpu, err));
    return print(b, err);
}

static const struct argp_child children[] = {
    {&cli_replay_argp, 0, NULL, 0}, {&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_calibrate_ops_argp = {options,  parse, "SPEC", doc,
                                            children, NULL,  NULL};

emp_status cmd_calibrate_ops(int argc, char **argv, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct args  args = {.machine = NULL,
                         .most_steps = 60.0,
                         .interval_percent = 2.0,
                         .replay = cli_replay_options_default()};
    struct bench b = {.args = &args};

    args.replay.options.steps = EMP_PROFILE_STEPS;
    args.replay.options.warmup = 1;
    cli_parse(&cmd_calibrate_ops_argp, argc, argv, &args);
    if (args.machine == NULL) args.machine = "cpu2";
    if (args.runtime == NULL) args.runtime = cli_replay_runtime(&args.replay);
    cli_bar_init(&b.bar, NULL);
    EMP_TRY(check(&args, err));
    EMP_TRY(run(&b, err));

cleanup:
    cli_bar_clear(&b.bar);
    emp_profile_clear(&b.profile);
    emp_kernel_cache_clear(&b.cache);
    emp_replay_plan_destroy(b.plan);
    emp_free(b.device_of_op);
    cli_inputs_clear(&b.inputs);
    return st;
}
