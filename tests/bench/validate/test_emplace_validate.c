// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate measure and emplace validate as a user meets them. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "base/text/csv.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

#define WORKLOAD "rnnlm:layers=1,units=16,batch=4,steps=2,vocab=64,sampled=16"
#define FEW      "--workloads " WORKLOAD " --placements 8 --memory 1024 "

TestSuite(emplace_validate, .init = emplace_set_up, .fini = emplace_tear_down);

/* Runs the program, which prints JSON: the first of its workloads. */
static const json_t *first_workload(const char *arguments)
{
    return json_at(emplace_json(arguments), "workloads/0");
}

/* The constants of the file, below what says how they were measured. */
static char *constants_of(const char *name)
{
    char *file = scratch_text(name), *begin = strstr(file, "core:");

    cr_assert_not_null(begin, "%s", file);
    return begin;
}

/* Single steps are noisy: whether the fit converges is not known, but said. The same measurements
 * give the same constants again. */
Test(emplace_validate, what_is_measured_becomes_a_machine_to_validate_on)
{
    emplace_ok("calibrate measure --steps 1 --warmup 0 --memory 2048 -o mine.yaml "
               "--cores gpu:0=0 --format csv");
    emplace_write("benchmarks.csv", program_out);
    emplace_expect_file("mine.yaml", "--runtime replay-cpu --steps 1 --warmup 0 "
                                     "--cores 'gpu:0=0'");
    /* as if of a server, which may have more cores than a device */
    cr_assert_eq(system(scratch_print("cd '%s' && sed 's/\\(,[0-9]*\\),0,/\\1,192,/' "
                                      "benchmarks.csv >server.csv",
                                      scratch_path(""))),
                 0);
    json_t *report = emplace_json(
        "calibrate measure --measured server.csv -o again.yaml --format json");
    emplace_expect_file("again.yaml", "cores: 192|on the computer of server.csv");
    cr_expect(json_is_boolean(json_at(report, "converged")));
    cr_expect(json_is_real(json_at(report, "mean_off")));
    cr_expect_gt(json_array_size(json_at(report, "benchmarks")), 10);
    cr_expect_str_eq(constants_of("models/mine-group.yaml"),
                     constants_of("models/again-group.yaml"));
    cr_expect_eq(emplace_run("calibrate measure --measured mine.yaml"), 1,
                 "no table of benchmarks: %s", program_out);
    emplace_write("models/other-host.yaml", "of another machine");
    cr_expect_eq(emplace_run("calibrate measure --measured benchmarks.csv -o other.yaml"),
                 1);
    emplace_expect_parts(program_err, "models/other-host.yaml");
    emplace_ok("validate " FEW
               "-m mine.yaml -r mine-runtime.yaml --steps 2 --format json "
               "--unsteady --record mine.h5");
    cr_expect(emplace_has_file("mine.h5"), "--record writes a file");
    const json_t *part = json_at(emplace_printed(), "workloads/0");
    cr_expect_eq(number_at(part, "timed") + number_at(part, "shared"), 8);
    cr_expect_eq(json_array_size(json_at(part, "placements")), 8);
    cr_expect_lt(number_at(part, "peak_error"), 0.2);
    cr_expect_gt(json_array_size(json_at(part, "op_types")), 5);
}

Test(emplace_validate, results_of_exported_plans_are_found_again)
{
    cr_assert_eq(mkdir(scratch_path("plans"), 0777), 0);
    emplace_ok("validate " FEW "--export plans");
    cr_assert(emplace_has_file("plans/0-rnnlm-003.txt"), "no plan of placement 3");
    cr_assert_eq(
        program_run("replay/emplace-replay",
                    "plans/0-rnnlm-003.txt --backend cpu --memory 1024 --steps 2 "
                    "--keep-rates --out result.txt"),
        0, "%s", program_err);
    const json_t *part =
        first_workload("validate " FEW "--unsteady --format json --import result.txt");
    cr_assert_geq(json_array_size(json_at(part, "placements")), 1);
    cr_expect_eq(json_array_size(json_at(part, "placements")) +
                     (size_t)number_at(part, "missing"),
                 8);
    emplace_prints("validate " FEW "--unsteady --import result.txt",
                   "--keep-rates: copies slept");
}

/* Benchmarks of a GPU go to a server as plans. Here a group of cores stands for the GPU. */
Test(emplace_validate, benchmarks_of_a_gpu_travel_as_plans)
{
    emplace_prints("calibrate measure --backend cuda -m h200x1 --export plans",
                   "53 plans");
    cr_assert_eq(program_run("replay/emplace-replay",
                             "plans/47.txt --backend cpu --memory 1024 --steps 2 "
                             "--out result.txt"),
                 0, "%s", program_err);
    cr_expect_eq(
        emplace_run("calibrate measure --backend cuda -m h200x1 --import result.txt"), 1);
    emplace_expect_parts(program_err, "none of the results is of benchmark product");
}

/* The measurements of an H200 become a machine with its rates. */
Test(emplace_validate, what_a_gpu_took_becomes_its_model)
{
    json_t *report = emplace_json(
        scratch_print("calibrate measure --backend cuda -m h200x1 --measured "
                      "%s/bench/results/h200/benchmarks.csv -o mine.yaml --format json",
                      getenv("EMP_SOURCE_DIR")));
    cr_expect(json_is_true(json_at(report, "converged")));
    cr_expect_lt(number_at(report, "mean_off"), 0.25);
    emplace_expect_file("mine.yaml", "# on GPU 0: NVIDIA H200");
    const double step_s = emplace_number(
        "simulate resnet:depth=50 -m ./mine.yaml -r ./mine-runtime.yaml -p "
        "gpu --format json",
        "step_time_s");
    cr_expect(step_s > 0.04 && step_s < 0.06, "%g s, where it took 0.062", step_s);
    emplace_ok(scratch_print("calibrate measure --backend cuda -m mine.yaml --measured "
                             "%s/bench/results/h200/benchmarks.csv -o again.yaml",
                             getenv("EMP_SOURCE_DIR")));
}

Test(emplace_validate, what_was_measured_before_a_failure_is_printed)
{
    cr_expect_eq(emplace_run("validate --workloads \"" WORKLOAD
                             " nothing:x=1\" --placements 3 "
                             "--memory 1024 --steps 1 --format json"),
                 1);
    cr_expect(program_is_one_sentence(program_err, "emplace: "), "%s", program_err);
    emplace_expect_parts(program_err, "nothing");
    const json_t *part = json_at(emplace_printed(), "workloads/0");
    cr_expect_eq(json_array_size(json_at(part, "placements")), 3);
    cr_expect_eq(number_at(part, "timed") + number_at(part, "shared"), 3);
    cr_expect_eq(number_at(part, "missing"), 0);
    cr_expect_gt(json_array_size(json_at(part, "op_types")), 5,
                 "per-op times need no logged step");
}

Test(emplace_validate, kernels_that_were_measured_part_the_error)
{
    emplace_ok("calibrate ops " WORKLOAD " -o costs.csv --limit 5 --memory 1024");
    emplace_warns("validate --workloads " WORKLOAD
                  " --placements 3 --steps 2 --memory 1024 "
                  "--unsteady --costs costs.csv --format json",
                  "% of the time of all kernels");
    const json_t *part = json_at(emplace_printed(), "workloads/0");
    cr_expect_gt(number_at(part, "kernel_error"), 0.0);
    cr_expect_gt(number_at(part, "schedule_error"), 0.0);
    cr_expect_geq(number_at(part, "repeat_error"), 0.0);
    cr_expect_gt(number_at(part, "placements/0/scheduled_s"), 0.0);
    emplace_prints("validate --workloads " WORKLOAD
                   " --placements 2 --steps 1 --memory 1024 " /* the second: one device */
                   "--unsteady",
                   "parts of the error: of kernels");
    emplace_expect_parts(program_out, "noise: the first placement");
}

/* Costs of a thousandth of the kernels' times: the pace is about a thousand, and divides what is measured. */
Test(emplace_validate, the_pace_of_the_reference_divides_what_is_measured)
{
    enum { FACTOR = 1000 };
    emp_csv costs = {0};
    int32_t op, us, model;

    emplace_ok("calibrate ops " WORKLOAD " -o costs.csv --limit 5 --memory 1024");
    ASSERT_OK(emp_csv_load(&costs, scratch_path("costs.csv"), &err));
    ASSERT_OK(emp_csv_find(&op, &costs, "op", &err));
    ASSERT_OK(emp_csv_find(&us, &costs, "us", &err));
    ASSERT_OK(emp_csv_find(&model, &costs, "model", &err));
    FILE *out = fopen(scratch_path("short.csv"), "w");
    cr_assert_not_null(out);
    fprintf(out, "op,us,model\n");
    for (int32_t row = 0; row < costs.row_count; row++) {
        double value;
        ASSERT_OK(emp_csv_real(&value, &costs, row, us, &err));
        fprintf(out, "\"%s\",%.17g,%s\n", emp_csv_text(&costs, row, op), value / FACTOR,
                emp_csv_text(&costs, row, model));
    }
    fclose(out);
    emp_csv_clear(&costs);
    emplace_warns("validate --workloads " WORKLOAD
                  " --placements 2 --rounds 2 --steps 1 --memory 1024 --pace "
                  "--unsteady --costs short.csv --format json",
                  "% of the time of all kernels");
    const json_t *first = json_at(emplace_printed(), "workloads/0/placements/0");
    const double  measured_s = number_at(first, "measured_s"),
                 predicted_s = number_at(first, "predicted_s");
    cr_expect_lt(measured_s, 30.0 * predicted_s, "%g and %g", measured_s, predicted_s);
}

/* Writes v.csv: as \a name.csv, but every step takes \a factor times what is predicted there,
 * its quartiles are \a spread apart, and no devices share cores. Whether they share is measured,
 * so it differs from run to run. \return the number of rows. */
static int32_t make_up(const char *name, double factor, double spread)
{
    enum { LOW_S, MEASURED_S, HIGH_S, SHARED, PREDICTED_S, COLUMNS };
    static const char *const title[COLUMNS] = {"low_s", "measured_s", "high_s", "shared",
                                               "predicted_s"};
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    int32_t column[COLUMNS];
    double  predicted_s;
    FILE   *out = fopen(scratch_path("v.csv"), "w");

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
    fclose(out);
    return rows;
}

/* If all steps take 1.25 times what is predicted, the model is 20 % short, and its order is
 * right. The measurements of one model judge another. */
Test(emplace_validate, measurements_are_judged_again_and_nothing_is_measured)
{
    emplace_ok("validate " FEW "--steps 1 --unsteady --format csv");
    emplace_write("measured.csv", program_out);
    cr_assert_eq(make_up("measured.csv", 1.25, 0.05), 8 * 3);
    const json_t *part = first_workload("validate " FEW "--measured v.csv --format json");
    cr_expect_eq(number_at(part, "timed"), 8);
    cr_expect_eq(number_at(part, "missing"), 0);
    cr_expect_float_eq(number_at(part, "mean_abs_error"), 0.2, 1e-6);
    cr_expect_float_eq(number_at(part, "bias"), -0.2, 1e-6);
    cr_expect_float_eq(number_at(part, "spearman"), 1.0, 1e-9);
    cr_expect_float_eq(number_at(part, "worst_spread"), 0.05, 1e-6);
    double constant_s = number_at(part, "constant_s");
    cr_expect_geq(constant_s, number_at(part, "least_s"));
    cr_expect_leq(constant_s, number_at(part, "most_s"));
    cr_expect_neq(number_at(first_workload("validate " FEW
                                           "--measured v.csv -m cpu2-slow --format json"),
                            "bias"),
                  -0.2, "another model");
    cr_expect_geq(number_at(first_workload("validate " FEW
                                           "--seed 2 --measured v.csv --format json"),
                            "missing"),
                  1, "another placement");

    make_up("measured.csv", 1.0, 0.11); /* what spreads is refused */
    cr_expect_eq(emplace_run("validate " FEW
                             "--measured v.csv --summary --format csv --record v.h5"),
                 1);
    emplace_expect_parts(program_err, "8 of 8 measurements are not steady");
    emplace_expect_parts(program_err, "--unsteady");
    emplace_expect_parts(program_out, "constant_error");
    cr_expect_null(scratch_find("v.h5"), "and not recorded");
    emplace_prints("validate " FEW "--measured v.csv --unsteady --record v.h5",
                   "8 measurements spread by more than 10 %");
}

Test(emplace_validate, what_keep_rates_does_is_said_where_it_is_used)
{
    emplace_warns("validate " FEW "-m cpu2-slow --steps 1 --keep-rates --unsteady",
                  "copies slept");
    emplace_expect_parts(program_out, "Spearman of only these sleeps");
    emplace_warns("replay expert --workload " WORKLOAD
                  " -m cpu2-slow --steps 1 --memory 1024 --keep-rates",
                  "copies slept");
}

Test(emplace_validate, errors_say_what_is_wrong)
{
    static const struct {
        const char *arguments;
        int         status;
        const char *part;
    } cases[] = {
        {"validate nowhere.txt", 2, "nowhere.txt"},
        {"validate --import", 2, "--import"},
        {"validate --measured x.csv --import y.txt", 2, "--measured"},
        {"validate " FEW "--costs a.csv --costs b.csv", 2, "2 files for 1"},
        {"validate " FEW "--costs nowhere.csv", 1, "nowhere.csv"},
        {"validate " FEW "--pace", 2, "--costs"},
        {"validate --pace --measured x.csv", 2, "--pace"},
        {"validate " FEW "--costs a.csv --record a.csv --force", 1, "a.csv"},
        {"calibrate ops " WORKLOAD " --cache /dev/null/x -o a.csv", 1, "/dev/null/x"},
        {"validate --export plans --record v.h5", 2, "--export"},
        {"calibrate measure --export plans -o m.yaml", 2, "--export"},
        {"replay best.json --export p.txt --out r.txt", 2, "--export"},
        {"bound rnnlm -m k40x2 --nodes 5", 2, "--prove"},
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
        cr_expect_eq(emplace_run(cases[i].arguments), cases[i].status, "%s: %s",
                     cases[i].arguments, program_err);
        emplace_expect_parts(program_err, cases[i].part);
    }
}
