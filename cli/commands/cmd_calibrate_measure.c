// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate measure: constants of this computer from micro-benchmarks. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/csv.h"
#include "bench/calibrate/measure.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/replay/replay_runner.h"
#include "cli/stop.h"
#include "replay/cpu/cores.h"
#include "replay/planner/planner.h"

enum {
    DIGITS = 4,
    MIB = 1 << 20,
    MOST_CORES = 1024 /* of a computer: glibc's cpu_set_t */
};

static const int64_t usual_cache_bytes = MIB; /* where the system does not say */

struct args {
    const char        *machine, *runtime, *out, *measured, *export_to;
    bool               is_import;
    const char        *import[EMP_MICRO_MOST]; /* results */
    int32_t            import_count;
    cli_replay_options replay;
    int32_t            threads;
    bool               is_forced;
    emp_sheet_format   format;
};

static const struct argp_option options[] = {
    {"backend", 'B', "NAME", 0,
     "Measure cpu (default), groups of this computer's cores; or cuda, a GPU", 0},
    {"machine", 'm', "NAME|FILE", 0,
     "Its devices, and where the fit starts (default cpu2; of cuda there is none)", 0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Likewise (default replay-cpu, for cuda replay-cuda)", 0},
    {"gpus", CLI_TEXT(struct args, replay.gpus), "MAP", 0, "As for emplace replay", 0},
    {"export", CLI_TEXT(struct args, export_to), "DIR", 0,
     "Write plans for emplace-replay into this folder, and measure nothing", 0},
    {"import", CLI_FLAG(struct args, is_import), NULL, 0,
     "Take the results of such plans, RESULT..., in place of measuring", 0},
    {"out", 'o', "FILE", 0,
     "Write a machine file (.yaml), its models in models/ beside it, and its runtime", 0},
    {"measured", CLI_TEXT(struct args, measured), "FILE", 0,
     "Fit to the measurements of an earlier --format csv, and measure nothing", 0},
    {"threads", 't', "N", 0, "Threads of the fit; results do not depend on it", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Measure what this computer takes for products, convolutions, passes over memory, "
    "ops and copies, and fit a machine's constants to that.\v"
    "Benchmarks are small steps that the replay engine executes. Let nothing else run "
    "meanwhile. With cuda one GPU and its link to the host are measured.\n\n"
    "  emplace calibrate measure --backend cpu -o mine.yaml --format csv > "
    "mine-benchmarks.csv\n"
    "  emplace calibrate measure --measured mine-benchmarks.csv -o other.yaml\n"
    "  emplace replay expert --workload nmt:units=128 -m mine.yaml -r mine-runtime.yaml\n"
    "  emplace calibrate measure --backend cuda -m h200x1 -o mine.yaml\n"
    "  emplace calibrate measure --backend cuda -m h200x1 --export plans\n"
    "  emplace calibrate measure --backend cuda -m h200x1 --import results/* -o "
    "mine.yaml";

static bool is_cuda(const struct args *a)
{
    return strcmp(a->replay.backend, "cuda") == 0;
}

static emp_micro_set set_of(const struct args *a)
{
    return is_cuda(a) ? EMP_MICRO_GPUS : EMP_MICRO_CORES;
}

static void check_usage(const struct args *a)
{
    if (a->import_count > 0 && !a->is_import)
        cli_usage_error("unexpected \"%s\"; results follow --import", a->import[0]);
    if (a->is_import && a->import_count == 0)
        cli_usage_error("--import needs results of emplace-replay");
    if ((a->is_import ? 1 : 0) + (a->export_to != NULL) + (a->measured != NULL) > 1)
        cli_usage_error("--export, --import or --measured, not two of them");
    if (a->export_to != NULL && a->out != NULL)
        cli_usage_error("--export measures nothing; leave out --out");
    if (is_cuda(a) && a->machine == NULL)
        cli_usage_error("--machine says which GPU's model the fit starts from");
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
    case 't': a->threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    case ARGP_KEY_ARG:
        if (a->import_count == EMP_MICRO_MOST)
            cli_usage_error("more than %d results", EMP_MICRO_MOST);
        a->import[a->import_count++] = arg;
        return 0;
    case ARGP_KEY_END: check_usage(a); return 0;
    default: return cli_store(key, arg, a);
    }
}

/* ---- benchmarks -------------------------------------------------------------------- */

/* All that is measured, and with what. */
struct bench {
    const struct args *args;
    emp_machine       *machine;
    emp_runtime        runtime;
    emp_micro          micro[EMP_MICRO_MOST];
    int32_t            count;
    double             measured_s[EMP_MICRO_MOST];
    double             spread_frac[EMP_MICRO_MOST]; /* between quartiles, of the median */
    char               products[EMP_REPLAY_TEXT_BYTES];
    int64_t            cache_bytes; /* of a core of the computer that was measured */
    int64_t            core_count;  /* of the computer; 0: devices were given cores */
    bool               is_measured; /* all of it */
    cli_replay_results imported;
    cli_bar            bar;
};

static emp_status plan_one(emp_replay_plan **plan, const struct bench *b, int32_t i,
                           emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *problem = NULL;

    EMP_TRY(emp_problem_create(&problem, b->micro[i].graph, b->machine, &b->runtime,
                               b->micro[i].name, err));
    EMP_TRY(emp_replay_plan_from_problem(plan, problem, b->micro[i].device_of_op, err));

cleanup:
    emp_problem_destroy(problem);
    return st;
}

/* --cores and --gpus have to name devices also where this program executes nothing. */
static emp_status check_maps(const struct bench *b, emp_error *err)
{
    emp_replay_plan   *plan = NULL;
    emp_replay_options mapped;

    EMP_CHECK(plan_one(&plan, b, 0, err));
    emp_status st = cli_replay_options_map(&mapped, &b->args->replay, plan, err);
    emp_replay_plan_destroy(plan);
    return st;
}

static emp_status export_one(const struct bench *b, int32_t i, emp_error *err)
{
    emp_replay_plan *plan = NULL;
    char             path[1024];

    EMP_CHECK(plan_one(&plan, b, i, err));
    snprintf(path, sizeof path, "%s/%02d.txt", b->args->export_to, (int)i);
    emp_status st = emp_replay_plan_save(path, plan, err);
    emp_replay_plan_destroy(plan);
    return st;
}

/* Keeps what was measured of benchmark \a i. */
static emp_status keep(struct bench *b, int32_t i, const emp_replay_result *r,
                       emp_error *err)
{
    if (!r->is_feasible)
        return EMP_ERROR(EMP_EINVAL, "benchmark %s does not fit in the memory of %s",
                         b->micro[i].name, r->device[r->oom_device].name);
    b->measured_s[i] = r->median_s;
    b->spread_frac[i] = (r->high_s - r->low_s) / r->median_s;
    snprintf(b->products, sizeof b->products, "%s",
             is_cuda(b->args) ? r->device[emp_machine_find(b->machine, "gpu:0")].runs_on
                              : r->products);
    return EMP_OK;
}

static emp_status measure_one(struct bench *b, int32_t i, emp_error *err)
{
    emp_status               st = EMP_OK;
    emp_replay_plan         *plan = NULL;
    emp_replay_result        own = {0};
    const emp_replay_result *r = &own;

    EMP_TRY(plan_one(&plan, b, i, err));
    if (b->args->is_import)
        r = cli_replay_results_find(&b->imported, plan);
    else
        EMP_TRY(cli_replay_run(&own, plan, &b->args->replay, NULL, err));
    if (r == NULL)
        EMP_FAIL(EMP_EINVAL,
                 "none of the results is of benchmark %s; --export writes its plan",
                 b->micro[i].name);
    EMP_TRY(keep(b, i, r, err));

cleanup:
    emp_replay_result_clear(&own);
    emp_replay_plan_destroy(plan);
    return st;
}

/* The benchmarks that there are now, from an earlier table of them. */
static emp_status read_measured(struct bench *b, const emp_csv *csv, emp_error *err)
{
    int32_t name, measured, spread, products, cache, cores;

    EMP_CHECK(emp_csv_find(&name, csv, "name", err));
    EMP_CHECK(emp_csv_find(&measured, csv, "measured_s", err));
    EMP_CHECK(emp_csv_find(&spread, csv, "spread", err));
    EMP_CHECK(emp_csv_find(&products, csv, "products", err));
    EMP_CHECK(emp_csv_find(&cache, csv, "cache_bytes", err));
    EMP_CHECK(emp_csv_find(&cores, csv, "cores", err));
    for (int32_t i = 0; i < b->count; i++) {
        int32_t row = 0;
        while (row < csv->row_count &&
               strcmp(emp_csv_text(csv, row, name), b->micro[i].name) != 0)
            row++;
        if (row == csv->row_count)
            return EMP_ERROR(EMP_EINVAL, "%s has no benchmark \"%s\"; measure anew",
                             b->args->measured, b->micro[i].name);
        EMP_CHECK(emp_csv_real(&b->measured_s[i], csv, row, measured, err));
        EMP_CHECK(emp_csv_real(&b->spread_frac[i], csv, row, spread, err));
        EMP_CHECK(emp_csv_count(&b->cache_bytes, csv, row, cache, err));
        EMP_CHECK(emp_csv_count(&b->core_count, csv, row, cores, err));
        snprintf(b->products, sizeof b->products, "%s", emp_csv_text(csv, row, products));
    }
    if (set_of(b->args) == EMP_MICRO_GPUS) return EMP_OK;
    if (b->cache_bytes < 1 || b->core_count < 0 || b->core_count > MOST_CORES)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: a cache of %lld bytes, %lld cores; at least 1, and 0 to %d",
                         b->args->measured, (long long)b->cache_bytes,
                         (long long)b->core_count, MOST_CORES);
    return EMP_OK;
}

static emp_status measure_all(struct bench *b, emp_error *err)
{
    emp_csv    csv = {0};
    emp_status st = EMP_OK;

    if (b->args->measured != NULL) {
        st = emp_csv_load(&csv, b->args->measured, err);
        if (st == EMP_OK) st = read_measured(b, &csv, err);
        emp_csv_clear(&csv);
        return st;
    }
    EMP_CHECK(cli_replay_results_load(&b->imported, b->args->import,
                                      b->args->import_count, err));
    for (int32_t i = 0; i < b->count; i++) {
        cli_bar_draw_share(&b->bar, (double)i / b->count, b->micro[i].name);
        EMP_CHECK(measure_one(b, i, err));
    }
    return EMP_OK;
}

static emp_status export_all(const struct bench *b, emp_error *err)
{
    EMP_CHECK(emp_folder_make(b->args->export_to, err));
    for (int32_t i = 0; i < b->count; i++) EMP_CHECK(export_one(b, i, err));
    printf("%d plans in %s\n", (int)b->count, b->args->export_to);
    return EMP_OK;
}

static void on_fit(void *context, double done_frac)
{
    struct bench *b = (struct bench *)context;

    cli_bar_draw_share(&b->bar, done_frac, "fit");
}

/* ---- what is printed --------------------------------------------------------------- */

static const emp_sheet_column constant_columns[] = {
    EMP_COLUMN("name", "constant", EMP_SHEET_WORD),
    EMP_COLUMN(NULL, "value", EMP_SHEET_WORD),
    EMP_COLUMN(NULL, "95 % interval", EMP_SHEET_WORD),
    EMP_COLUMN("value", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("fitted", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("at_bound", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("low", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("high", NULL, EMP_SHEET_REAL)};

static const emp_sheet_column benchmark_columns[] = {
    EMP_COLUMN("name", "benchmark", EMP_SHEET_WORD, .width = 28),
    EMP_COLUMN("measured_s", "measured", EMP_SHEET_SECONDS, .precision = 17),
    EMP_COLUMN("spread", "spread", EMP_SHEET_SHARE),
    EMP_COLUMN("products", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("cache_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("cores", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("fitted_s", "fitted", EMP_SHEET_SECONDS),
    EMP_COLUMN("off", "off", EMP_SHEET_CHANGE)};

static double off_of(const emp_measurement *m, int32_t i)
{
    return m->fit.value[i] / m->measured_s[i] - 1.0;
}

static double mean_off(const emp_measurement *m)
{
    double sum = 0.0;

    for (int32_t i = 0; i < m->count; i++) sum += fabs(off_of(m, i));
    return sum / m->count;
}

/* \a m: NULL where there is no fit. */
static void tabulate_constants(emp_sheet *s, const emp_measurement *m)
{
    const emp_measure_table *t = m != NULL ? &emp_measure_tables[m->set] : NULL;
    char                     value[48], interval[112];

    EMP_SHEET_INIT(s, constant_columns);
    for (int32_t j = 0; m != NULL && j < t->count; j++) {
        const emp_constant *k = &t->constant[j];
        EMP_SHEET_ADD(
            s, EMP_V(k->name),
            EMP_V(
                emp_constant_format(k, m->fit.parameter[j], DIGITS, value, sizeof value)),
            EMP_V(emp_constant_interval(k, &m->fit, j, interval, sizeof interval)),
            EMP_V(m->fit.parameter[j]), EMP_V(m->fit.is_fitted[j]),
            EMP_V(m->fit.is_at_bound[j]), EMP_V(m->fit.low[j]), EMP_V(m->fit.high[j]));
    }
}

static void tabulate_benchmarks(emp_sheet *s, const emp_measurement *m,
                                const struct bench *b)
{
    EMP_SHEET_INIT(s, benchmark_columns);
    s->rows = "benchmarks";
    for (int32_t i = 0; i < b->count; i++)
        EMP_SHEET_ADD(s, EMP_V(b->micro[i].name), EMP_V(b->measured_s[i]),
                      EMP_V(b->spread_frac[i]), EMP_V(b->products), EMP_V(b->cache_bytes),
                      EMP_V(b->core_count), EMP_V(m != NULL ? m->fit.value[i] : NAN),
                      EMP_V(m != NULL ? off_of(m, i) : NAN));
    if (m == NULL) {
        emp_sheet_note(s, "Machine %s, runtime %s. Products by %s; no constants.",
                       b->args->machine, b->args->runtime, b->products);
        return;
    }
    if (!m->fit.has_converged) emp_sheet_note(s, "%s", EMP_FIT_UNFINISHED);
    emp_sheet_note(s,
                   "Machine %s, runtime %s. Products by %s; constants fitted: %d, to "
                   "benchmarks: %d; mean of |off| %.1f %%.",
                   b->args->machine, b->args->runtime, b->products, m->fit.fitted_count,
                   m->count, 100.0 * mean_off(m));
}

/* \a m: NULL where there is no fit. */
static emp_status print(const emp_measurement *m, const struct bench *b, emp_error *err)
{
    emp_sheet        constants, benchmarks;
    emp_sheet_format format = b->args->format;

    tabulate_constants(&constants, m);
    tabulate_benchmarks(&benchmarks, m, b);
    constants.next = &benchmarks;
    if (format == EMP_SHEET_JSON)
        emp_sheet_set_facts(
            &benchmarks,
            json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "machine", b->args->machine,
                      "runtime", b->args->runtime, "products", b->products, "converged",
                      m != NULL ? json_boolean(m->fit.has_converged) : json_null(),
                      "mean_off", cli_json_number(m != NULL ? mean_off(m) : NAN),
                      "constants", emp_sheet_rows(&constants)));
    emp_status st = emp_sheet_print(
        stdout, m != NULL && cli_format_is_for_people(format) ? &constants : &benchmarks,
        format, err);
    emp_sheet_clear(&benchmarks);
    emp_sheet_clear(&constants);
    return st;
}

/* ---- the command ------------------------------------------------------------------- */

static emp_status save(const emp_measurement *m, const struct bench *b, emp_error *err)
{
    struct utsname system = {0};
    const char    *cores = b->args->replay.cores;
    char           computer[256], command[1024];

    uname(&system);
    if (b->args->measured != NULL || b->args->is_import)
        snprintf(computer, sizeof computer, "the computer of %s",
                 b->args->is_import ? "imported results" : b->args->measured);
    else
        snprintf(computer, sizeof computer, "a computer with %ld cores (%s)",
                 sysconf(_SC_NPROCESSORS_ONLN), system.machine);
    snprintf(
        command, sizeof command,
        "emplace calibrate measure --backend %s --machine %s --runtime %s --steps %d "
        "--warmup %d%s%s%s%s%s%s",
        b->args->replay.backend, b->args->machine, b->args->runtime,
        b->args->replay.options.steps, b->args->replay.options.warmup,
        b->args->replay.options.keeps_rates ? " --keep-rates" : "",
        cores != NULL ? " --cores '" : "", cores != NULL ? cores : "",
        cores != NULL ? "'" : "", b->args->measured != NULL ? " --measured " : "",
        b->args->measured != NULL ? b->args->measured : "");
    emp_measure_origin origin = {computer, b->products, command};
    if (m->set == EMP_MICRO_GPUS)
        origin = (emp_measure_origin){b->products, NULL, command};
    return emp_measurement_save(m, b->args->out, &origin, err);
}

/* The device models beside the machine's file are not replaced without --force either. */
static emp_status check_models(const struct args *a, emp_error *err)
{
    static const char *const parts[] = {"host", "group", "gpu"};
    enum { GPU = 2 };

    for (int i = is_cuda(a) ? GPU : 0; i < (is_cuda(a) ? GPU + 1 : GPU); i++) {
        char        path[EMP_MEASURE_PATH_BYTES];
        const char *output = path;
        emp_measurement_model_path(path, a->out, parts[i]);
        EMP_CHECK(emp_output_check_replaced(&output, 1, a->is_forced, err));
    }
    return EMP_OK;
}

static emp_status check(const struct args *a, emp_error *err)
{
    char runtime[EMP_MEASURE_PATH_BYTES];

    EMP_CHECK(cli_replay_check_backend(&a->replay, err));
    EMP_CHECK(emp_output_check_folder(a->export_to, a->is_forced, err));
    if (a->out == NULL) return EMP_OK;
    if (strlen(a->out) < 6 || strcmp(a->out + strlen(a->out) - 5, ".yaml") != 0)
        return EMP_ERROR(EMP_EINVAL, "--out is \"%s\"; it must end in .yaml", a->out);
    emp_measurement_runtime_path(runtime, a->out);
    EMP_CHECK(emp_output_check(a->out, err));
    EMP_CHECK(emp_output_check(runtime, err));
    const char *const read[] = {a->machine, a->runtime, a->measured};
    const char *const written[] = {a->out, runtime};
    EMP_CHECK(emp_output_check_inputs(read, 3, written, 2, err));
    EMP_CHECK(emp_output_check_inputs(a->import, a->import_count, written, 2, err));
    EMP_CHECK(check_models(a, err));
    return emp_output_check_replaced((const char *const[]){a->out, runtime}, 2,
                                     a->is_forced, err);
}

static void describe_cores(struct bench *b)
{
    int64_t cache = sysconf(_SC_LEVEL2_CACHE_SIZE);

    b->cache_bytes = cache > 0 ? cache : usual_cache_bytes;
    b->core_count = b->args->replay.cores != NULL ? 0 : emp_cpu_core_count();
}

static emp_status run(struct bench *b, emp_measurement **m, emp_error *err)
{
    emp_status         st = EMP_OK;
    const struct args *a = b->args;

    if (set_of(a) == EMP_MICRO_CORES) describe_cores(b);
    EMP_TRY(emp_machine_load(&b->machine, a->machine, err));
    EMP_TRY(emp_runtime_init(&b->runtime, a->runtime, err));
    EMP_TRY(
        emp_micros_build(b->micro, &b->count, set_of(a), b->machine, &b->runtime, err));
    EMP_TRY(check_maps(b, err));
    EMP_TRY(a->export_to != NULL ? export_all(b, err) : measure_all(b, err));
    if (a->export_to != NULL) goto cleanup;
    b->is_measured = true;
    emp_measure_params params = {.set = set_of(a),
                                 .micro = b->micro,
                                 .measured_s = b->measured_s,
                                 .count = b->count,
                                 .machine = b->machine,
                                 .runtime = &b->runtime,
                                 .cache_bytes = b->cache_bytes,
                                 .core_count = (int32_t)b->core_count,
                                 .threads = a->threads,
                                 .stop = cli_stop_flag(),
                                 .on_progress = on_fit,
                                 .context = b};
    EMP_TRY(emp_measurement_create(m, &params, err));

cleanup:
    cli_bar_clear(&b->bar);
    return st;
}

static const struct argp_child children[] = {
    {&cli_replay_argp, 0, NULL, 0}, {&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_calibrate_measure_argp = {options,  parse, NULL, doc,
                                                children, NULL,  NULL};

emp_status cmd_calibrate_measure(int argc, char **argv, emp_error *err)
{
    struct args      args = {.replay = cli_replay_options_default(),
                             .threads = cli_default_threads()};
    emp_status       st = EMP_OK;
    emp_measurement *m = NULL;
    struct bench    *b = NULL;

    args.replay.options.steps = 9;
    cli_parse(&cmd_calibrate_measure_argp, argc, argv, &args);
    if (args.machine == NULL) args.machine = "cpu2";
    if (args.runtime == NULL) args.runtime = cli_replay_runtime(&args.replay);
    EMP_TRY(check(&args, err));
    EMP_TRY(EMP_ALLOC(b, 1));
    b->args = &args;
    cli_bar_init(&b->bar, NULL);
    st = run(b, &m, err);
    if (m == NULL && b->is_measured)
        print(NULL, b, NULL); /* what took minutes is not lost */
    if (st != EMP_OK || args.export_to != NULL) goto cleanup;
    /* Measurements take minutes: they are printed and saved, whichever of the two fails. */
    const emp_status saved = args.out != NULL ? save(m, b, err) : EMP_OK;
    const emp_status printed = print(m, b, saved == EMP_OK ? err : NULL);
    EMP_TRY(saved);
    EMP_TRY(printed);
    cli_warn_rates(&args.replay);

cleanup:
    emp_measurement_destroy(m);
    if (b != NULL) {
        cli_replay_results_clear(&b->imported);
        emp_micros_clear(b->micro, b->count);
        emp_machine_destroy(b->machine);
    }
    emp_free(b);
    return st;
}
