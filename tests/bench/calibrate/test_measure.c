// SPDX-License-Identifier: GPL-3.0-or-later
/* Constants of a machine of cores, or of a GPU, from times of benchmarks: times that a known
 * machine would give lead back to it, files that are written load as what was fitted. */
#include <gsl/gsl_errno.h>
#include <stdatomic.h>

#include "bench/calibrate/measure.h"
#include "tests/test.h"

enum { CACHE_BYTES = 1 << 20, CORES = 2 };

/* The known machine's constants, as multiples of those that the fit starts from. */
static const double factors[] = {0.6, 1.5, 0.8, 2.0};

static emp_micro_set            set;
static const emp_measure_table *table;
static emp_machine             *start;
static emp_runtime              runtime;
static emp_micro                micro[EMP_MICRO_MOST];
static int32_t                  count;
static double                   measured_s[EMP_MICRO_MOST];
static double                   known[EMP_FIT_MAX_PARAMETERS];
static emp_measurement         *made;

static double predict(const emp_micro *m, const emp_machine *machine,
                      const emp_runtime *rules)
{
    emp_sim_result result;

    ASSERT_OK(emp_step_predict(&result, m->graph, m->device_of_op, machine, rules,
                               m->name, &err));
    return (double)result.step_time_ns * 1e-9;
}

static void measure_known_machine(void)
{
    emp_machine *truth = emp_measure_start(start, set, CACHE_BYTES, CORES);
    emp_runtime  rules = runtime;

    cr_assert_not_null(truth);
    for (int32_t j = 0; j < table->count; j++) {
        const emp_constant *c = &table->constant[j];
        double              value = factors[j % 4] * emp_constant_get(c, truth, &rules);
        known[j] = fmin(fmax(value, c->low), c->high);
        emp_constant_set(c, truth, &rules, known[j]);
    }
    emp_measure_derive(truth, &rules, set);
    for (int32_t i = 0; i < count; i++) measured_s[i] = predict(&micro[i], truth, &rules);
    emp_machine_destroy(truth);
}

static void set_up(emp_micro_set which, const char *machine, const char *profile)
{
    scratch_create();
    gsl_set_error_handler_off();
    set = which;
    table = &emp_measure_tables[set];
    ASSERT_OK(emp_machine_load(&start, machine, &err));
    ASSERT_OK(emp_runtime_init(&runtime, profile, &err));
    ASSERT_OK(emp_micros_build(micro, &count, set, start, &runtime, &err));
    measure_known_machine();
}

static void set_up_cores(void) { set_up(EMP_MICRO_CORES, "cpu2", "replay-cpu"); }

static void set_up_gpu(void) { set_up(EMP_MICRO_GPUS, "h200x1", "replay-cuda"); }

/* A model that states one constant beside its card, and a runtime with a base. */
static void set_up_card(void) { set_up(EMP_MICRO_GPUS, "rtx5090x1", "graph-launch"); }

static void tear_down(void)
{
    emp_measurement_destroy(made);
    emp_micros_clear(micro, count);
    emp_machine_destroy(start);
    scratch_tear_down();
}

TestSuite(measure, .init = set_up_cores, .fini = tear_down);
TestSuite(measure_gpu, .init = set_up_gpu, .fini = tear_down);
TestSuite(measure_card, .init = set_up_card, .fini = tear_down);

static emp_measure_params make_params(void)
{
    return (emp_measure_params){.set = set,
                                .micro = micro,
                                .measured_s = measured_s,
                                .count = count,
                                .machine = start,
                                .runtime = &runtime,
                                .cache_bytes = CACHE_BYTES,
                                .core_count = CORES,
                                .threads = 2};
}

static emp_measurement *fit(void)
{
    emp_measure_params params = make_params();

    ASSERT_OK(emp_measurement_create(&made, &params, &err));
    return made;
}

static int32_t expect_constants(const emp_measurement *m, const char *name,
                                double most_off)
{
    int32_t found = 0;

    for (int32_t j = 0; j < table->count; j++) {
        if (!m->fit.is_fitted[j]) continue;
        if (name != NULL && strcmp(table->constant[j].name, name) != 0) continue;
        found++;
        cr_expect_lt(fabs(m->fit.parameter[j] / known[j] - 1.0), most_off,
                     "%s is %g, not %g", table->constant[j].name, m->fit.parameter[j],
                     known[j]);
    }
    return found;
}

static void expect_times_and_files(const emp_measurement *m, double most_off)
{
    emp_machine *loaded = NULL;
    emp_runtime  rules;
    char         path[EMP_MEASURE_PATH_BYTES], runtime_path[EMP_MEASURE_PATH_BYTES];

    snprintf(path, sizeof path, "%s", scratch_path("mine.yaml"));
    emp_measurement_runtime_path(runtime_path, path);
    ASSERT_OK(
        emp_measurement_save(m, path, &(emp_measure_origin){"here", "us", "test"}, &err));
    ASSERT_OK(emp_machine_load(&loaded, path, &err));
    ASSERT_OK(emp_runtime_init(&rules, runtime_path, &err));
    cr_expect_eq(loaded->device_count, start->device_count);
    for (int32_t i = 0; i < count; i++) {
        double step_s = predict(&micro[i], loaded, &rules);
        cr_expect_lt(fabs(step_s / m->fit.value[i] - 1.0), 1e-3, "%s: %g s, not %g s",
                     micro[i].name, step_s, m->fit.value[i]);
        cr_expect_lt(fabs(m->fit.value[i] / measured_s[i] - 1.0), most_off, "%s",
                     micro[i].name);
    }
    emp_machine_destroy(loaded);
}

Test(measure, times_of_a_known_machine_lead_back_to_its_constants)
{
    emp_measurement *m = fit();
    const int32_t    fitted = expect_constants(m, NULL, 0.02);

    cr_expect_geq(fitted, table->count - 1, "only %d of %d", fitted, table->count);
    expect_times_and_files(m, 0.02);
}

/* Constants that say the same of all benchmarks, as the host's and the GPU's times of an op, are
 * not separated. Those are found that stand alone. */
Test(measure_gpu, times_of_a_known_gpu_are_found_again)
{
    static const char *const told_apart[] = {"stream", "gemm_per_wave",
                                             "issue_kernelless", "step", "bandwidth"};
    emp_measurement         *m = fit();

    for (int i = 0; i < 5; i++)
        cr_expect_eq(expect_constants(m, told_apart[i], 0.1), 1, "%s", told_apart[i]);
    expect_times_and_files(m, 0.1);
}

Test(measure_card, files_of_few_keys_get_those_that_were_fitted)
{
    emp_measurement *m = fit();

    cr_expect_gt(expect_constants(m, "stream", 0.1), 0);
    expect_times_and_files(m, 0.1);
}

Test(measure, noise_of_five_percent_leaves_constants_within_their_intervals)
{
    int32_t outside = 0;

    for (int32_t i = 0; i < count; i++) measured_s[i] *= 1.0 + 0.05 * sin(7.0 * i + 1.0);
    emp_measurement *m = fit();
    for (int32_t j = 0; j < table->count; j++) {
        if (!m->fit.is_fitted[j]) continue;
        outside += known[j] < m->fit.low[j] || known[j] > m->fit.high[j];
        cr_expect_lt(fabs(log(m->fit.parameter[j] / known[j])), 0.4, "%s is %g, not %g",
                     table->constant[j].name, m->fit.parameter[j], known[j]);
    }
    cr_expect_leq(outside, 3, "%d of %d intervals of 95 %%", outside, table->count);
}

Test(measure, says_what_cannot_be_fitted)
{
    const emp_runtime  other = {.name = "own", .rules = EMP_RULES_BAECHI};
    const atomic_int   stop = 1;
    emp_measurement   *m = NULL;
    emp_measure_params params = make_params();

    params.stop = &stop;
    EXPECT_REFUSED(emp_measurement_create(&m, &params, &err), EMP_EINTERRUPTED, "");
    params = make_params();
    params.runtime = &other;
    EXPECT_REFUSED(emp_measurement_create(&m, &params, &err), EMP_EINVAL, "'baechi'");
    params = make_params();
    measured_s[3] = 0.0;
    EXPECT_REFUSED(emp_measurement_create(&m, &params, &err), EMP_EINVAL, micro[3].name);
    cr_expect_null(m);
}
