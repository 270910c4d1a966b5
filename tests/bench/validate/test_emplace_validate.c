// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate measure and emplace validate as a user meets them. */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/csv.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

#define WORKLOAD "rnnlm:layers=1,units=16,batch=4,steps=2,vocab=64,sampled=16"
#define FEW      "--workloads " WORKLOAD " --placements 8 --memory 1024 "

static void tear_down(void)
{
    program_forget();
    scratch_remove();
}

TestSuite(emplace_validate, .init = scratch_create, .fini = tear_down);

static int run(const char *arguments) { return program_run("cli/emplace", arguments); }

static void must_run(const char *arguments)
{
    cr_assert_eq(run(arguments), 0, "%s: %s", arguments, program_err);
}

static void expect_out(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "no \"%s\" in %s", part, text);
}

static json_t *read_object(void)
{
    json_error_t where;
    json_t      *root = json_loads(program_out, 0, &where);

    cr_assert_not_null(root, "%s", where.text);
    return root;
}

static json_t *read_out(void)
{
    return json_array_get(json_object_get(read_object(), "workloads"), 0);
}

static double number(json_t *part, const char *key)
{
    json_t *value = json_object_get(part, key);

    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

static void save_out(const char *name)
{
    scratch_write(name, program_out, strlen(program_out));
}

/* The constants of the file, below what says how they were measured. */
static char *constants_of(const char *name)
{
    char *file = scratch_read(name, NULL), *begin = strstr(file, "core:");

    cr_assert_not_null(begin, "%s", file);
    memmove(file, begin, strlen(begin) + 1);
    return file;
}

/* Single steps are noisy: whether the fit converges is not known, but said. The same measurements
 * give the same constants again. */
Test(emplace_validate, what_is_measured_becomes_a_machine_to_validate_on)
{
    json_error_t where;

    must_run("calibrate measure --steps 1 --warmup 0 --memory 2048 -o mine.yaml "
             "--cores gpu:0=0 --format csv");
    save_out("benchmarks.csv");
    char *file = scratch_read("mine.yaml", NULL);
    expect_out(file, "--runtime replay-cpu --steps 1 --warmup 0 "
                     "--cores 'gpu:0=0'");
    free(file);
    must_run("calibrate measure --measured benchmarks.csv -o again.yaml --format json");
    json_t *report = json_loads(program_out, 0, &where);
    cr_assert_not_null(report, "%s", where.text);
    cr_expect(json_is_boolean(json_object_get(report, "converged")));
    cr_expect(json_is_real(json_object_get(report, "mean_off")));
    cr_expect_gt(json_array_size(json_object_get(report, "benchmarks")), 10);
    json_decref(report);
    char *first = constants_of("models/mine-group.yaml");
    char *second = constants_of("models/again-group.yaml");
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
    cr_expect_eq(run("calibrate measure --measured mine.yaml"), 1,
                 "no table of benchmarks: %s", program_out);
    must_run("validate " FEW "-m mine.yaml -r mine-runtime.yaml --steps 2 --format json "
             "--unsteady --record mine.h5");
    char *record = scratch_find("mine.h5");
    cr_expect_not_null(record, "--record writes a file");
    free(record);
    json_t *part = read_out();
    cr_expect_eq(json_integer_value(json_object_get(part, "timed")) +
                     json_integer_value(json_object_get(part, "shared")),
                 8);
    cr_expect_eq(json_array_size(json_object_get(part, "placements")), 8);
    cr_expect_lt(json_real_value(json_object_get(part, "peak_error")), 0.2);
    cr_expect_gt(json_array_size(json_object_get(part, "op_types")), 5);
}

Test(emplace_validate, results_of_exported_plans_are_found_again)
{
    cr_assert_eq(mkdir(scratch_path("plans"), 0777), 0);
    must_run("validate " FEW "--export plans");
    char *plan = scratch_find("plans/0-rnnlm-003.txt");
    cr_assert_not_null(plan, "no plan of placement 3");
    free(plan);
    cr_assert_eq(
        program_run("replay/emplace-replay",
                    "plans/0-rnnlm-003.txt --backend cpu --memory 1024 --steps 2 "
                    "--out result.txt"),
        0, "%s", program_err);
    must_run("validate " FEW "--unsteady --format json --import result.txt");
    json_t *part = read_out(), *list = json_object_get(part, "placements");
    cr_assert_geq(json_array_size(list), 1);
    cr_expect_eq(json_array_size(list) +
                     (size_t)json_integer_value(json_object_get(part, "missing")),
                 8);
}

/* Benchmarks of a GPU go to a server as plans. Here a group of cores stands for the GPU. */
Test(emplace_validate, benchmarks_of_a_gpu_travel_as_plans)
{
    must_run("calibrate measure --backend cuda -m h200x1 --export plans");
    expect_out(program_out, "53 plans");
    cr_assert_eq(program_run("replay/emplace-replay",
                             "plans/47.txt --backend cpu --memory 1024 --steps 2 "
                             "--out result.txt"),
                 0, "%s", program_err);
    cr_expect_eq(run("calibrate measure --backend cuda -m h200x1 --import result.txt"),
                 1);
    expect_out(program_err, "none of the results is of benchmark product");
}

/* The measurements of an H200 become a machine with its rates. */
Test(emplace_validate, what_a_gpu_took_becomes_its_model)
{
    char arguments[1024];

    snprintf(arguments, sizeof arguments,
             "calibrate measure --backend cuda -m h200x1 --measured "
             "%s/bench/results/h200/benchmarks.csv -o mine.yaml --format json",
             getenv("EMP_SOURCE_DIR"));
    must_run(arguments);
    json_t *report = read_object();
    cr_expect(json_is_true(json_object_get(report, "converged")));
    cr_expect_lt(json_real_value(json_object_get(report, "mean_off")), 0.25);
    json_decref(report);
    char *machine = scratch_read("mine.yaml", NULL);
    expect_out(machine, "# on GPU 0: NVIDIA H200");
    free(machine);
    must_run("simulate resnet:depth=50 -m ./mine.yaml -r ./mine-runtime.yaml -p "
             "gpu --format json");
    json_t *step = read_object();
    double  step_s = json_real_value(json_object_get(step, "step_time_s"));
    cr_expect(step_s > 0.04 && step_s < 0.06, "%g s, where it took 0.062", step_s);
    json_decref(step);
}

Test(emplace_validate, what_was_measured_before_a_failure_is_printed)
{
    cr_expect_eq(run("validate --workloads \"" WORKLOAD " nothing:x=1\" --placements 3 "
                     "--memory 1024 --steps 1 --format json"),
                 1);
    cr_expect(program_is_one_sentence(program_err, "emplace: "), "%s", program_err);
    expect_out(program_err, "nothing");
    json_t *part = read_out();
    cr_expect_eq(json_array_size(json_object_get(part, "placements")), 3);
    cr_expect_eq(json_integer_value(json_object_get(part, "timed")) +
                     json_integer_value(json_object_get(part, "shared")),
                 3);
    cr_expect_eq(json_integer_value(json_object_get(part, "missing")), 0);
    cr_expect_gt(json_array_size(json_object_get(part, "op_types")), 5,
                 "per-op times need no logged step");
}

/* Where a step was executed, its error has two parts, and one placement is measured again. */
Test(emplace_validate, kernels_that_were_measured_part_the_error)
{
    must_run("calibrate ops " WORKLOAD " -o costs.csv --limit 5 --memory 1024");
    must_run("validate --workloads " WORKLOAD " --placements 3 --steps 2 --memory 1024 "
             "--unsteady --costs costs.csv --format json");
    expect_out(program_err, "% of the time of all kernels");
    json_t *part = read_out();
    cr_expect_gt(number(part, "kernel_error"), 0.0);
    cr_expect_gt(number(part, "schedule_error"), 0.0);
    cr_expect_geq(number(part, "repeat_error"), 0.0);
    json_t *first = json_array_get(json_object_get(part, "placements"), 0);
    cr_expect_gt(number(first, "scheduled_s"), 0.0);
    must_run("validate --workloads " WORKLOAD " --placements 1 --steps 1 --memory 1024 "
             "--unsteady");
    expect_out(program_out, "parts of the error: of kernels");
    expect_out(program_out, "noise: the first placement");
}

/* ---- measurements made up ---------------------------------------------------------- */

/* Writes v.csv: as \a name.csv, but every step takes \a factor times what is predicted there,
 * its quartiles are \a spread apart, and no devices share cores. Whether they share is measured,
 * so it differs from run to run. \return the number of rows. */
static int32_t make_up(const char *name, double factor, double spread)
{
    enum { LOW_S, MEASURED_S, HIGH_S, SHARED, PREDICTED_S, COLUMNS };
    static const char *const title[COLUMNS] = {"low_s", "measured_s", "high_s", "shared",
                                               "predicted_s"};
    emp_csv                  csv = {0};
    int32_t                  column[COLUMNS];
    double                   predicted_s;
    FILE                    *out = fopen(scratch_path("v.csv"), "w");

    cr_assert_not_null(out);
    ASSERT_OK(emp_csv_load(&csv, scratch_path(name), &err));
    for (int i = 0; i < COLUMNS; i++)
        ASSERT_OK(emp_csv_find(&column[i], &csv, title[i], &err));
    for (int32_t row = -1; row < csv.row_count; row++) {
        for (int32_t c = 0; c < csv.column_count; c++) {
            const char *text = emp_csv_text(&csv, row, c);
            const char *mark = strchr(text, ',') != NULL ? "\"" : "";
            int         which = LOW_S;
            while (which < COLUMNS && c != column[which]) which++;
            if (row >= 0 && which <= HIGH_S) {
                ASSERT_OK(
                    emp_csv_real(&predicted_s, &csv, row, column[PREDICTED_S], &err));
                fprintf(out, "%.17g,",
                        factor * predicted_s *
                            (1.0 + 0.5 * spread * (which - MEASURED_S)));
            } else if (row >= 0 && which == SHARED) {
                fprintf(out, "0,");
            } else {
                fprintf(out, "%s%s%s,", mark, text, mark);
            }
        }
        fprintf(out, "end\n");
    }
    int32_t rows = csv.row_count;
    emp_csv_clear(&csv);
    fclose(out);
    return rows;
}

/* If all steps take 1.25 times what is predicted, the model is 20 % short, and its order is
 * right. The measurements of one model judge another. */
Test(emplace_validate, measurements_are_judged_again_and_nothing_is_measured)
{
    must_run("validate " FEW "--steps 1 --unsteady --format csv");
    save_out("measured.csv");
    cr_assert_eq(make_up("measured.csv", 1.25, 0.05), 8 * 3);
    must_run("validate " FEW "--measured v.csv --format json");
    json_t *part = read_out();
    cr_expect_eq(number(part, "timed"), 8);
    cr_expect_eq(number(part, "missing"), 0);
    cr_expect_float_eq(number(part, "mean_abs_error"), 0.2, 1e-6);
    cr_expect_float_eq(number(part, "bias"), -0.2, 1e-6);
    cr_expect_float_eq(number(part, "spearman"), 1.0, 1e-9);
    cr_expect_float_eq(number(part, "worst_spread"), 0.05, 1e-6);
    double constant_s = number(part, "constant_s");
    cr_expect_geq(constant_s, number(part, "least_s"));
    cr_expect_leq(constant_s, number(part, "most_s"));
    must_run("validate " FEW "--measured v.csv -m cpu2-slow --format json");
    cr_expect_neq(number(read_out(), "bias"), -0.2, "another model");
    must_run("validate " FEW "--seed 2 --measured v.csv --format json");
    cr_expect_geq(number(read_out(), "missing"), 1, "another placement");

    make_up("measured.csv", 1.0, 0.11); /* what spreads is refused */
    cr_expect_eq(
        run("validate " FEW "--measured v.csv --summary --format csv --record v.h5"), 1);
    expect_out(program_err, "8 of 8 measurements are not steady");
    expect_out(program_err, "--unsteady");
    expect_out(program_out, "constant_error");
    cr_expect_null(scratch_find("v.h5"), "and not recorded");
    must_run("validate " FEW "--measured v.csv --unsteady --record v.h5");
    expect_out(program_out, "8 measurements spread by more than 10 %");
}

Test(emplace_validate, what_keep_rates_does_is_said_where_it_is_used)
{
    must_run("validate " FEW "-m cpu2-slow --steps 1 --keep-rates --unsteady");
    expect_out(program_err, "copies slept");
    expect_out(program_out, "Spearman of only these sleeps");
    must_run("replay expert --workload " WORKLOAD
             " -m cpu2-slow --steps 1 --memory 1024 --keep-rates");
    expect_out(program_err, "copies slept");
}

Test(emplace_validate, errors_say_what_is_wrong)
{
    static const struct {
        const char *arguments;
        int         status;
        const char *part;
    } cases[] = {{"validate nowhere.txt", 2, "nowhere.txt"},
                 {"validate --import", 2, "--import"},
                 {"validate --measured x.csv --import y.txt", 2, "--measured"},
                 {"validate " FEW "--costs a.csv --costs b.csv", 2, "2 files for 1"},
                 {"validate " FEW "--costs nowhere.csv", 1, "nowhere.csv"},
                 {"validate --placements 0", 2, "\"0\""},
                 {"validate " FEW "--import nowhere.txt", 1, "nowhere.txt"},
                 {"validate " FEW "--plot nowhere/x.svg", 1, "nowhere"},
                 {"calibrate measure --backend cuda", 2, "--machine"},
                 {"calibrate measure --export p --measured x.csv", 2, "--measured"},
                 {"calibrate measure nowhere.txt", 2, "nowhere.txt"},
                 {"calibrate measure --out mine.txt", 1, ".yaml"},
                 {"calibrate measure --out nowhere/mine.yaml", 1, "nowhere"},
                 {"calibrate measure --machine k40x1", 1, "two GPUs"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(run(cases[i].arguments), cases[i].status, "%s: %s",
                     cases[i].arguments, program_err);
        cr_expect_not_null(strstr(program_err, cases[i].part), "%s: %s",
                           cases[i].arguments, program_err);
    }
}
