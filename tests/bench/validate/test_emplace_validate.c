// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate measure and emplace validate as a user meets them. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/program.h"
#include "tests/support/scratch.h"

#define WORKLOAD "rnnlm:layers=1,units=16,batch=4,steps=2,vocab=64,sampled=16"
#define FEW      "--workloads " WORKLOAD " --placements 8 --memory 1024 "

static void tear_down(void)
{
    program_forget();
    scratch_remove();
}

TestSuite(emplace_validate, .init = scratch_create, .fini = tear_down);

static int run(const char *arguments) { return program_run("cli/emplace", arguments); }

static json_t *read_out(void)
{
    json_error_t where;
    json_t      *root = json_loads(program_out, 0, &where);

    cr_assert_not_null(root, "%s", where.text);
    return json_array_get(json_object_get(root, "workloads"), 0);
}

Test(emplace_validate, what_is_measured_becomes_a_machine_to_validate_on)
{
    json_error_t where;

    /* single steps are noisy: whether the fit converges is not known, but said */
    cr_assert_eq(run("calibrate measure --steps 1 --warmup 0 --memory 2048 -o mine.yaml "
                     "--cores gpu:0=0 --json"),
                 0, "%s", program_err);
    char *file = scratch_read("mine.yaml", NULL);
    cr_expect_not_null(strstr(file, "--runtime replay-cpu --steps 1 --warmup 0 "
                                    "--cores 'gpu:0=0'"),
                       "%s", file);
    free(file);
    json_t *report = json_loads(program_out, 0, &where);
    cr_assert_not_null(report, "%s", where.text);
    cr_expect(json_is_boolean(json_object_get(report, "converged")));
    cr_expect(json_is_real(json_object_get(report, "mean_off")));
    cr_expect_gt(json_array_size(json_object_get(report, "benchmarks")), 10);
    json_decref(report);
    cr_assert_eq(run("validate " FEW "-m mine.yaml -r mine-runtime.yaml --steps 2 --json "
                     "--record mine.h5"),
                 0, "%s", program_err);
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
    cr_assert_eq(run("validate " FEW "--export plans"), 0, "%s", program_err);
    char *plan = scratch_find("plans/0-rnnlm-003.txt");
    cr_assert_not_null(plan, "no plan of placement 3");
    free(plan);
    cr_assert_eq(
        program_run("replay/emplace-replay",
                    "plans/0-rnnlm-003.txt --backend cpu --memory 1024 --steps 2 "
                    "--out result.txt"),
        0, "%s", program_err);
    cr_assert_eq(run("validate " FEW "--json --import result.txt"), 0, "%s", program_err);
    json_t *part = read_out(), *list = json_object_get(part, "placements");
    cr_assert_geq(json_array_size(list), 1);
    cr_expect_eq(json_array_size(list) +
                     (size_t)json_integer_value(json_object_get(part, "missing")),
                 8);
}

Test(emplace_validate, what_was_measured_before_a_failure_is_printed)
{
    cr_expect_eq(run("validate --workloads \"" WORKLOAD " nothing:x=1\" --placements 3 "
                     "--memory 1024 --steps 1 --json"),
                 1);
    cr_expect(program_is_one_sentence(program_err, "emplace: "), "%s", program_err);
    cr_expect_not_null(strstr(program_err, "nothing"), "%s", program_err);
    json_t *part = read_out();
    cr_expect_eq(json_array_size(json_object_get(part, "placements")), 3);
    cr_expect_eq(json_integer_value(json_object_get(part, "timed")) +
                     json_integer_value(json_object_get(part, "shared")),
                 3);
    cr_expect_eq(json_integer_value(json_object_get(part, "missing")), 0);
    cr_expect_gt(json_array_size(json_object_get(part, "op_types")), 5,
                 "per-op times need no logged step");
}

struct error_case {
    char arguments[160];
    int  status;
    char mentions[48];
};

/* clang-format off */
static struct error_case error_cases[] = {
    {"validate nowhere.txt",                                2, "nowhere.txt"},
    {"validate --import",                                   2, "--import"},
    {"validate --json --csv",                               2, "not both"},
    {"validate --placements 0",                             2, "\"0\""},
    {"validate " FEW "--backend tpu",                       1, "\"tpu\""},
    {"validate " FEW "--import nowhere.txt",                1, "nowhere.txt"},
    {"validate " FEW "--plot nowhere/x.svg",                1, "nowhere"},
    {"validate --workloads nothing:x=1",                    1, "nothing"},
    {"calibrate measure --backend cuda",                    1, "\"cuda\""},
    {"calibrate measure --out mine.txt",                    1, ".yaml"},
    {"calibrate measure --out nowhere/mine.yaml",           1, "nowhere"},
    {"calibrate measure --machine k40x1",                   1, "two GPUs"},
    {"calibrate guess",                                     2, "measure"},
};
/* clang-format on */

ParameterizedTestParameters(emplace_validate, errors_say_what_is_wrong)
{
    return cr_make_param_array(struct error_case, error_cases,
                               sizeof error_cases / sizeof *error_cases);
}

ParameterizedTest(struct error_case *c, emplace_validate, errors_say_what_is_wrong)
{
    cr_expect_eq(run(c->arguments), c->status, "%s: %s", c->arguments, program_err);
    cr_expect_not_null(strstr(program_err, c->mentions), "%s: %s", c->arguments,
                       program_err);
}
