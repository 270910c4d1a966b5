// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a fit to the oracle's own times, made with other constants, find those constants;
 * do the files that it writes load and say so; is nonsense refused by name? Small graphs:
 * an LSTM, and ResNet-50. */
#include <gsl/gsl_errno.h>

#include "bench/calibrate/calibrate.h"
#include "tests/test.h"

static void set_up(void)
{
    gsl_set_error_handler_off();
    scratch_create();
}

TestSuite(calibrate, .init = set_up, .fini = scratch_tear_down);

/* Products large enough to keep a GPU busy, and one image, for which issuing ops takes
 * most of the time: together they show every constant. */
#define LSTM "rnnlm:units=1024,steps=3,sampled=2048,vocab=8000"
#define NET  "resnet:depth=50,batch=64"
#define ONE  "resnet:depth=50,batch=1"

enum { CELLS = 5 };

static const emp_cell blank_cells[CELLS] = {
    {.name = "lstm:cpu", .spec = LSTM, .device = 0},
    {.name = "lstm:gpu", .spec = LSTM, .device = 1},
    {.name = "net:cpu", .spec = NET, .device = 0},
    {.name = "net:gpu", .spec = NET, .device = 1},
    {.name = "one:gpu", .spec = ONE, .device = 1},
};

/* Times of the cells with constants that no file has, in the order of their table: issue,
 * skinny_factor, conv_factor, gemm_core, conv_core. */
enum { CHANGED = 5 };
static const double truth[CHANGED] = {22e-6, 2.2, 1.2, 21e9, 7.5e9};

static void publish(emp_cell *cells)
{
    emp_machine     *machine = NULL;
    emp_runtime      runtime;
    emp_cell_oracle *oracle = NULL;
    emp_sim_result   result[CELLS];

    memcpy(cells, blank_cells, sizeof blank_cells);
    ASSERT_OK(emp_machine_load(&machine, "k40x1", &err));
    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    for (int j = 0; j < CHANGED; j++)
        emp_constant_set(&emp_constants[j], machine, &runtime, truth[j]);
    ASSERT_OK(emp_cell_oracle_create(&oracle, cells, CELLS, machine, &runtime, &err));
    ASSERT_OK(emp_cell_oracle_run(oracle, CELLS, machine, &runtime, 2, result, &err));
    for (int i = 0; i < CELLS; i++)
        cells[i].published_s = (double)result[i].step_time_ns * 1e-9;
    emp_cell_oracle_destroy(oracle);
    emp_machine_destroy(machine);
}

static emp_calibrate_params make_params(const emp_cell *cells, int32_t count)
{
    return (emp_calibrate_params){.cells = cells,
                                  .cell_count = count,
                                  .machine = "k40x1",
                                  .runtime = "tf-r1.3",
                                  .threads = 1};
}

static void expect_constants_found(const emp_calibration *c, const emp_cell *cells)
{
    for (int i = 0; i < CELLS; i++)
        cr_expect_lt(fabs(emp_cell_off(&cells[i], c->outcome[i].step_s)), 1e-3, "%s: %g",
                     cells[i].name, emp_cell_off(&cells[i], c->outcome[i].step_s));
    for (int j = 0; j < CHANGED; j++) {
        cr_expect(c->fit.is_fitted[j], "%s", emp_constants[j].name);
        cr_expect_lt(fabs(c->fit.parameter[j] / truth[j] - 1.0), 1e-3, "%s: %g, not %g",
                     emp_constants[j].name, c->fit.parameter[j], truth[j]);
    }
    cr_expect_eq(c->fit.fitted_count, CHANGED); /* not the scaling exponent */
}

/* A data folder with the machine file only: the fit writes what it changes. */
static void copy_machine(void)
{
    cr_assert_eq(
        system(scratch_print(
            "mkdir %s/machines && cp \"$EMP_SOURCE_DIR\"/data/machines/k40x1.yaml "
            "%s/machines",
            scratch_path(""), scratch_path(""))),
        0);
}

static void expect_files_load(const emp_calibration *c, const emp_cell *cells)
{
    emp_machine *machine = NULL;
    emp_runtime  runtime;

    ASSERT_OK(emp_calibration_save(c, scratch_path(""), "made up", "a test", &err));
    ASSERT_OK(emp_machine_load(&machine, scratch_path("machines/k40x1.yaml"), &err));
    ASSERT_OK(emp_runtime_init(&runtime, scratch_path("runtimes/tf-r1.3.yaml"), &err));
    for (int j = 0; j < EMP_CONSTANTS; j++)
        cr_expect_eq(emp_constant_get(&emp_constants[j], machine, &runtime),
                     c->fit.parameter[j], "%s", emp_constants[j].name);
    for (int i = 0; i < CELLS; i++)
        cr_expect(emp_machine_is_fitted_to(machine, cells[i].name));
    cr_expect_not(emp_machine_is_fitted_to(machine, "net"));
    emp_machine_destroy(machine);
}

/* The files are written twice, the second time over the first. */
Test(calibrate, finds_the_constants_behind_synthetic_times_and_writes_them)
{
    static const char *const parts[] = {
        "command: \"a test\"",
        "{name: \"skinny_factor\", low: ", "{name: \"lstm:gpu\", published: "};
    emp_cell             cells[CELLS];
    emp_calibration     *c = NULL;
    emp_calibrate_params params = make_params(cells, CELLS);

    copy_machine();
    publish(cells);
    ASSERT_OK(emp_calibration_create(&c, &params, &err));
    expect_constants_found(c, cells);
    expect_files_load(c, cells);
    for (int32_t i = 0; i < c->machine->model_count; i++)
        if (c->machine->model[i].kind == EMP_DEVICE_GPU)
            snprintf(c->machine->model[i].path, sizeof c->machine->model[i].path, "%s",
                     scratch_path("machines/models/k40.yaml"));
    expect_files_load(c, cells);
    char *text = scratch_text("machines/models/k40.yaml");
    char *section = strstr(text, "\nfit:\n");
    cr_assert_not_null(section);
    cr_expect_null(strstr(section + 1, "\nfit:\n"));
    for (int i = 0; i < 3; i++) cr_expect_not_null(strstr(section, parts[i]), "%s", text);
    emp_calibration_destroy(c);
}

/* The machine k40x1 of the data folder, or only its CPU, with another exponent. */
static const char *write_machine(const char *exponent, const char *keep)
{
    static char path[SCRATCH_PATH_BYTES];
    snprintf(path, sizeof path, "%s", scratch_path("m.yaml"));
    cr_assert_eq(
        system(scratch_print(
            "cd '%s' && mkdir -p models && data=\"$EMP_SOURCE_DIR\"/data/machines && "
            "grep %s $data/k40x1.yaml >m.yaml && "
            "sed 's/scaling_exponent: 0.75/scaling_exponent: %s/' "
            "$data/models/haswell-18.yaml >models/haswell-18.yaml",
            scratch_path(""), keep, exponent)),
        0);
    return path;
}

Test(calibrate, refuses_by_name)
{
    const emp_cell oom = {
        .name = "a:gpu", .spec = LSTM, .device = 1, .published_s = INFINITY};
    const emp_cell cpu = {.name = "a:cpu", .spec = LSTM, .published_s = 1};
    const emp_cell bad = {.name = "b:cpu", .spec = "lstm:units=2", .published_s = 1};
    const struct {
        const emp_cell *cell;
        const char     *machine, *exponent, *keep, *runtime, *part;
    } cases[] = {
        {&oom, "k40x1", NULL, NULL, "tf-r1.3", "none of the cells"},
        {&bad, "k40x1", NULL, NULL, "tf-r1.3", "\"lstm:units=2\""},
        {&bad, "k90x1", NULL, NULL, "tf-r1.3", "'k90x1'"},
        {&bad, "k40x1", NULL, NULL, "tf-r2", "'tf-r2'"},
        {&cpu, NULL, "0.75", "-v 'k40\"\\|gpu_channel:\\|^#'", "tf-r1.3",
         "machine m has no GPU"},
        {&cpu, NULL, "1.5", "''", "tf-r1.3", "haswell-18.yaml: scaling_exponent"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_calibrate_params params = make_params(cases[i].cell, 1);
        emp_calibration     *c = NULL;
        emp_error            err = {0};
        params.machine = cases[i].machine != NULL
                             ? cases[i].machine
                             : write_machine(cases[i].exponent, cases[i].keep);
        params.runtime = cases[i].runtime;
        cr_expect_neq(emp_calibration_create(&c, &params, &err), EMP_OK);
        cr_expect_null(c);
        cr_expect_not_null(strstr(err.msg, cases[i].part), "%s: %s", cases[i].part,
                           err.msg);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

Test(calibrate, cells_are_chosen_by_name)
{
    emp_cell cells[EMP_MAX_CELLS];
    int32_t  count;

    ASSERT_OK(emp_cells_select("all", cells, &count, &err));
    cr_expect_eq(count, 11); /* the paper has no CPU figure for ResNet */
    cr_expect(isinf(cells[8].published_s) && isfinite(cells[7].published_s));
    ASSERT_OK(emp_cells_select("cpu,rnnlm:gpu", cells, &count, &err));
    cr_expect_eq(count, 6);
    cr_expect_str_eq(cells[2].name, "rnnlm:gpu");
    cr_expect_eq(cells[2].published_s, 1.57);
    EXPECT_REFUSED(emp_cells_select("cpu,rnnlm", cells, &count, &err), EMP_EINVAL,
                   "\"rnnlm\"; there are all, cpu, gpu, inception_v3:cpu");
    EXPECT_REFUSED(emp_cells_select("", cells, &count, &err), EMP_EINVAL, "");
    EXPECT_REFUSED(emp_cells_select("resnet:cpu", cells, &count, &err), EMP_EINVAL, "");
}

/* As files have them: no value has an exponent, and none has zeros at the end. */
Test(calibrate, constants_are_printed_as_people_write_them)
{
    static const struct {
        emp_constant constant;
        double       value;
        int          digits;
        const char  *text;
    } cases[] = {{{.unit = "us", .scale = 1e-6}, 27.6e-6, 5, "27.6 us"},
                 {{.unit = "us", .scale = 1e-6}, 0.12345, 3, "123450 us"},
                 {{.unit = "", .scale = 1}, 0.00001, 5, "0.00001"}};
    char text[32];

    for (int i = 0; i < 3; i++)
        cr_expect_str_eq(emp_constant_format(&cases[i].constant, cases[i].value,
                                             cases[i].digits, text, sizeof text),
                         cases[i].text);
}

/* Fail the 1st, 2nd, 3rd ... allocation; from the 100th on in steps of 2 %. */
Test(calibrate, survives_allocation_failures)
{
    const emp_cell cells[] = {
        {.name = "a:cpu",
         .spec = "rnnlm:units=64,steps=1,sampled=8,vocab=16,batch=8",
         .published_s = 0.01},
        {.name = "a:gpu",
         .spec = "rnnlm:units=64,steps=1,sampled=8,vocab=16,batch=8",
         .device = 1,
         .published_s = 0.01}};
    emp_calibrate_params params = make_params(cells, 2);
    emp_calibration     *c = NULL;
    emp_status           st = EMP_ENOMEM;

    for (long allowed = 0; st != EMP_OK; allowed += 1 + allowed / 100 * 2) {
        emp_mem_fail_after(allowed);
        st = emp_calibration_create(&c, &params, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld: %s", allowed, emp_status_str(st));
        cr_assert_null(c);
        cr_assert_eq(emp_mem_live_blocks(), 0, "leak after %ld", allowed);
    }
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_calibration_save(c, scratch_path(""), "s", "c", NULL), );
    emp_calibration_destroy(c);
}
