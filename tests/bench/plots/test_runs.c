// SPDX-License-Identifier: GPL-3.0-or-later
/* Are runs put together that belong together, and is anything else refused by name? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "bench/plots/runs.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

static emp_device_id placement[] = {1, 2};
static uint8_t       levels[] = {1, 0};

static void save_record(const char *name, emp_record *r, const char *method)
{
    snprintf(r->method, sizeof r->method, "%s", method);
    snprintf(r->workload, sizeof r->workload, "tiny");
    snprintf(r->machine, sizeof r->machine, "k40x2");
    snprintf(r->runtime, sizeof r->runtime, "ideal");
    snprintf(r->stopped_by, sizeof r->stopped_by, "budget");
    MUST(emp_record_save(scratch_path(name), r, &why));
}

static void save(const char *name, const char *method, uint64_t seed, int64_t budget,
                 double best_s, bool is_feasible)
{
    emp_curve_point point = {budget, budget, best_s, best_s};
    emp_record      r = {.seed = seed,
                         .budget_evaluations = budget,
                         .evaluations = budget,
                         .feasible_count = is_feasible ? budget : 0,
                         .median_s = best_s,
                         .best_step_time_s = best_s,
                         .is_feasible = is_feasible,
                         .device_count = 3,
                         .decision = {.device_of_op = placement, .op_count = 2},
                         .point_count = 1,
                         .curve = &point};

    save_record(name, &r, method);
}

/* A run of one evaluation. */
static emp_record make_decision(emp_curve_point *point)
{
    return (emp_record){.seed = 1,
                        .budget_evaluations = 1,
                        .evaluations = 1,
                        .feasible_count = 1,
                        .median_s = 0.5,
                        .best_step_time_s = 0.5,
                        .is_feasible = true,
                        .device_count = 3,
                        .decision = {.device_of_op = placement, .op_count = 2},
                        .point_count = 1,
                        .curve = point};
}

/* \a level_of_op is NULL of one that decides devices alone. */
static void save_decision(const char *name, uint8_t *level_of_op, uint64_t start_hash)
{
    emp_curve_point point = {1, 1, 0.5, 0.5};
    emp_record      r = make_decision(&point);

    r.has_order = level_of_op != NULL;
    r.decision.level_of_op = level_of_op;
    r.start_hash = start_hash;
    save_record(name, &r, "anneal");
}

static emp_status add(emp_report_runs *runs, const char *name, emp_error *err)
{
    return emp_report_runs_add(runs, scratch_path(name), err);
}

Test(runs, seeds_are_one_series_and_budgets_are_not, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_report_runs runs = {0};

    save("b.h5", "ce", 2, 100, 0.5, true);
    save("a.h5", "ce", 1, 100, 0.1, false); /* faster, but does not fit */
    save("c.h5", "ce", 1, 200, 0.7, true);
    save("d.h5", "expert", 1, 1, 0.4, true);
    save("e.checkpoint.h5", "hdp", 1, 1, 0.4, true);
    scratch_write("a.timing.json", "{\"elapsed_s\": 2.5}", 18);
    MUST(add(&runs, "", &why));
    MUST(emp_report_runs_group(&runs, &why));
    cr_assert_eq(runs.run_count, 4, "without the checkpoint");
    cr_assert_eq(runs.group_count, 1);
    cr_assert_eq(runs.series_count, 3);
    cr_expect_eq(runs.series[0].run_count, 2);
    cr_expect_eq(runs.run[0].record.seed, 1);
    cr_expect_eq(runs.run[0].timing.elapsed_s, 2.5);
    cr_expect(isnan(runs.run[1].timing.elapsed_s));
    cr_expect_str_eq(runs.series[0].label, "ce, 100 evaluations");
    cr_expect_str_eq(runs.series[1].label, "ce, 200 evaluations");
    cr_expect_str_eq(runs.series[2].label, "expert");
    cr_expect_eq(runs.run[runs.group[0].best_run].record.best_step_time_s, 0.4);
    emp_report_runs_clear(&runs);
}

/* Runs of one method and seed that decide other things, or begin elsewhere, are not the same. */
Test(runs, what_is_decided_and_where_it_begins_make_series, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_report_runs runs = {0};

    save_decision("a.h5", NULL, 0);
    save_decision("b.h5", levels, 0);
    save_decision("c.h5", NULL, 0x100000001);
    MUST(add(&runs, "", &why));
    MUST(emp_report_runs_group(&runs, &why));
    cr_assert_eq(runs.run_count, 3);
    cr_assert_eq(runs.series_count, 3);
    cr_expect_str_eq(runs.series[0].label, "anneal");
    cr_expect_str_eq(runs.series[1].label, "anneal, from placement 00000001");
    cr_expect_str_eq(runs.series[2].label, "anneal, devices and order");
    emp_report_runs_clear(&runs);
}

/* Two methods from outside of one name, and a third of another. */
Test(runs, methods_whose_code_differs_make_series, .init = scratch_create,
     .fini = scratch_remove)
{
    static const struct {
        const char *file, *method;
        uint64_t    code;
    } saved[] = {{"a.h5", "Mine", 1}, {"b.h5", "Mine", 2}, {"c.h5", "Other", 3}};
    static const char *const labels[] = {"Mine, code 00000001", "Mine, code 00000002",
                                         "Other"};
    emp_report_runs          runs = {0};

    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        emp_curve_point point = {1, 1, 0.5, 0.5};
        emp_record      r = make_decision(&point);
        r.method_hash = saved[i].code;
        save_record(saved[i].file, &r, saved[i].method);
    }
    MUST(add(&runs, "", &why));
    MUST(emp_report_runs_group(&runs, &why));
    cr_assert_eq(runs.series_count, 3);
    for (int32_t i = 0; i < 3; i++) cr_expect_str_eq(runs.series[i].label, labels[i]);
    emp_report_runs_clear(&runs);
}

/* What was warned of, one sentence a line. */
static char warned[2048];

EMP_PRINTF_LIKE(1, 2) static void note_warning(const char *format, ...)
{
    size_t  used = strlen(warned);
    va_list args;

    va_start(args, format);
    vsnprintf(warned + used, sizeof warned - used, format, args);
    va_end(args);
    strncat(warned, "\n", sizeof warned - strlen(warned) - 1);
}

static void set_time(const char *name, time_t seconds)
{
    struct timespec times[] = {{seconds, 0}, {seconds, 0}};

    cr_assert_eq(utimensat(AT_FDCWD, scratch_path(name), times, 0), 0);
}

Test(runs, of_one_run_the_newer_record_counts, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_report_runs runs = {.warn = note_warning};

    save("a.h5", "ce", 1, 100, 0.5, true);
    save("b.h5", "ce", 1, 100, 0.4, true);
    save("c.h5", "ce", 1, 100, 0.3, true);
    save("d.h5", "ce", 2, 100, 0.6, true);
    set_time("a.h5", 1000);
    set_time("b.h5", 3000);
    set_time("c.h5", 2000);
    MUST(add(&runs, "", &why));
    MUST(emp_report_runs_group(&runs, &why));
    cr_assert_eq(runs.run_count, 2);
    cr_expect_eq(runs.run[0].record.best_step_time_s, 0.4);
    cr_expect_eq(runs.run[1].record.best_step_time_s, 0.6);
    cr_expect_not_null(strstr(warned, "b.h5 and "), "%s", warned);
    cr_expect_not_null(strstr(warned, "c.h5 are of the same run"), "%s", warned);
    cr_expect_not_null(strstr(warned, "2 older records"), "%s", warned);
    emp_report_runs_clear(&runs);
}

Test(runs, other_files_in_a_folder_are_skipped_in_one_line, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_report_runs runs = {.warn = note_warning};
    size_t          size;

    save("b.h5", "ce", 1, 100, 0.5, true);
    scratch_write("b.timing.json", "{\"elapsed_s\": 2.5}", 18);
    scratch_write("c.refused.txt", "0\nreason\n", 9);
    MUST(add(&runs, "", &why));
    cr_expect_str_eq(warned, "", "%s", warned);
    scratch_write("a notes.txt", "x", 1);
    MUST(add(&runs, "", &why));
    cr_expect_not_null(strstr(warned, "1 file of "), "%s", warned);
    cr_expect_not_null(strstr(warned, "a notes.txt is no run record"), "%s", warned);
    warned[0] = '\0';
    char *bytes = scratch_read("b.h5", &size);
    scratch_write("torn.h5", bytes, size / 2);
    free(bytes);
    save("none.h5", "ce", 1, 0, NAN, false);
    scratch_write("foreign.h5", "no record", 9);
    MUST(add(&runs, "", &why));
    cr_expect_not_null(strstr(warned, "4 files of "), "%s", warned);
    cr_expect_not_null(strstr(warned, "foreign.h5 is no run record; and 3 more"), "%s",
                       warned);
    cr_expect_eq(runs.run_count, 3, "b.h5, each time");
    emp_report_runs_clear(&runs);
}

static void expect_refusal(const char *name, emp_status status, const char *part)
{
    emp_report_runs runs = {0};
    emp_error       err = {0};

    cr_expect_eq(add(&runs, name, &err), status);
    cr_expect_not_null(strstr(err.msg, scratch_path(name)), "%s: %s", name, err.msg);
    cr_expect_not_null(strstr(err.msg, part), "%s", err.msg);
    cr_expect_eq(runs.run_count, 0);
    emp_report_runs_clear(&runs);
}

Test(runs, what_is_no_run_is_named, .init = scratch_create, .fini = scratch_remove)
{
    size_t size;

    expect_refusal("", EMP_EIO, "no run record");
    expect_refusal("nonesuch.h5", EMP_EIO, "");
    scratch_write("foreign.h5", "no record", 9);
    expect_refusal("foreign.h5", EMP_EFORMAT, "");
    save("whole.h5", "ce", 1, 100, 0.5, true);
    char *bytes = scratch_read("whole.h5", &size);
    scratch_write("torn.h5", bytes, size / 2);
    expect_refusal("torn.h5", EMP_EFORMAT, "");
    free(bytes);
    save("none.h5", "ce", 1, 0, NAN, false);
    expect_refusal("none.h5", EMP_EFORMAT, "its best_step_time_s is nan");
}

Test(runs, a_broken_timing_counts_as_absent, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_report_runs runs = {.warn = note_warning};

    save("timed.h5", "ce", 1, 100, 0.5, true);
    scratch_write("timed.timing.json", "{}", 2);
    MUST(add(&runs, "timed.h5", &why));
    cr_expect_not_null(strstr(warned, "timed.timing.json"), "%s", warned);
    cr_expect(isnan(runs.run[0].timing.elapsed_s));
    emp_report_runs_clear(&runs);
}

Test(runs, every_allocation_may_fail, .init = scratch_create, .fini = scratch_remove)
{
    emp_status st = EMP_ENOMEM;
    long       live = emp_mem_live_blocks();

    save("a.h5", "ce", 1, 100, 0.5, true);
    save("b.h5", "ce", 1, 100, 0.5, true);
    scratch_write("a.timing.json", "{\"elapsed_s\": 2, \"curve\": [[4, 0.5]]}", 37);
    scratch_write("other.txt", "x", 1);
    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_report_runs runs = {0};
        emp_mem_fail_after(allowed);
        st = add(&runs, "", NULL);
        if (st == EMP_OK) st = emp_report_runs_group(&runs, NULL);
        emp_mem_fail_after(-1);
        emp_report_runs_clear(&runs);
        cr_assert_eq(emp_mem_live_blocks(), live);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM);
    }
}
