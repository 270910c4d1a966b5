// SPDX-License-Identifier: GPL-3.0-or-later
/* Are runs put together that belong together, and is anything else refused by name? */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "bench/plots/runs.h"
#include "tests/test.h"

TestSuite(runs, .init = scratch_create, .fini = scratch_remove);

static emp_device_id placement[] = {1, 2};
static uint8_t       levels[] = {1, 0};

static emp_record make_run(uint64_t seed, int64_t budget, double best_s,
                           emp_curve_point *point)
{
    *point = (emp_curve_point){budget, budget, best_s, best_s};
    return (emp_record){.method = "ce",
                        .seed = seed,
                        .budget_evaluations = budget,
                        .evaluations = budget,
                        .feasible_count = budget,
                        .median_s = best_s,
                        .best_step_time_s = best_s,
                        .is_feasible = true,
                        .device_count = 3,
                        .decision = {.device_of_op = placement, .op_count = 2},
                        .point_count = 1,
                        .curve = point};
}

static void save_record(const char *name, emp_record *r)
{
    snprintf(r->workload, sizeof r->workload, "tiny");
    snprintf(r->machine, sizeof r->machine, "k40x2");
    snprintf(r->runtime, sizeof r->runtime, "ideal");
    snprintf(r->stopped_by, sizeof r->stopped_by, "budget");
    ASSERT_OK(emp_record_save(scratch_path(name), r, &err));
}

static void save(const char *name, const char *method, uint64_t seed, int64_t budget,
                 double best_s)
{
    emp_curve_point point;
    emp_record      r = make_run(seed, budget, best_s, &point);

    snprintf(r.method, sizeof r.method, "%s", method);
    save_record(name, &r);
}

static emp_status add(emp_report_runs *runs, const char *name, emp_error *err)
{
    return emp_report_runs_add(runs, scratch_path(name), err);
}

static void read_folder(emp_report_runs *runs)
{
    ASSERT_OK(add(runs, "", &err));
    ASSERT_OK(emp_report_runs_group(runs, &err));
}

static void expect_labels(const emp_report_runs *runs, const char *const *labels,
                          int32_t count)
{
    cr_assert_eq(runs->series_count, count);
    for (int32_t i = 0; i < count; i++)
        cr_expect_str_eq(runs->series[i].label, labels[i]);
}

Test(runs, seeds_are_one_series_and_budgets_are_not)
{
    static const char *const labels[] = {"ce, 100 evaluations", "ce, 200 evaluations",
                                         "expert"};
    SCOPED(emp_report_runs, emp_report_runs_clear) runs = {0};
    emp_curve_point point;
    emp_record      faster = make_run(1, 100, 0.1, &point);

    faster.feasible_count = 0;
    faster.is_feasible = false;
    save_record("a.h5", &faster);
    save("b.h5", "ce", 2, 100, 0.5);
    save("c.h5", "ce", 1, 200, 0.7);
    save("d.h5", "expert", 1, 1, 0.4);
    save("e.checkpoint.h5", "hdp", 1, 1, 0.4);
    scratch_write("a.timing.json", "{\"elapsed_s\": 2.5}", 18);
    read_folder(&runs);
    cr_assert_eq(runs.run_count, 4, "without the checkpoint");
    cr_assert_eq(runs.group_count, 1);
    expect_labels(&runs, labels, 3);
    cr_expect_eq(runs.series[0].run_count, 2);
    cr_expect_eq(runs.run[0].record.seed, 1);
    cr_expect_eq(runs.run[0].timing.elapsed_s, 2.5);
    cr_expect(isnan(runs.run[1].timing.elapsed_s));
    cr_expect_eq(runs.run[runs.group[0].best_run].record.best_step_time_s, 0.4);

    /* once more, with one run that was added */
    save("f.h5", "expert", 1, 2, 0.3);
    ASSERT_OK(add(&runs, "f.h5", &err));
    ASSERT_OK(emp_report_runs_group(&runs, &err));
    cr_assert_eq(runs.group_count, 1);
    cr_expect_eq(runs.series_count, 4);
    cr_expect_eq(runs.run[runs.group[0].best_run].record.best_step_time_s, 0.3);
}

/* Runs of one method and seed that decide other things or begin elsewhere, and methods from outside of one name
 * whose code differs. */
Test(runs, what_is_decided_where_it_begins_and_code_make_series)
{
    static const char *const labels[] = {"Mine, code 00000001",
                                         "Mine, code 00000002",
                                         "Other",
                                         "anneal",
                                         "anneal, from placement 00000001",
                                         "anneal, devices and order"};
    static const struct {
        const char *file, *method;
        bool        has_order;
        uint64_t    start, code;
    } saved[] = {{"a.h5", "anneal", false, 0, 0},
                 {"b.h5", "anneal", true, 0, 0},
                 {"c.h5", "anneal", false, 0x100000001, 0},
                 {"d.h5", "Mine", false, 0, 1},
                 {"e.h5", "Mine", false, 0, 2},
                 {"f.h5", "Other", false, 0, 3}};
    SCOPED(emp_report_runs, emp_report_runs_clear) runs = {0};

    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        emp_curve_point point;
        emp_record      r = make_run(1, 1, 0.5, &point);
        snprintf(r.method, sizeof r.method, "%s", saved[i].method);
        r.has_order = saved[i].has_order;
        r.decision.level_of_op = r.has_order ? levels : NULL;
        r.start_hash = saved[i].start;
        r.method_hash = saved[i].code;
        save_record(saved[i].file, &r);
    }
    read_folder(&runs);
    expect_labels(&runs, labels, 6);
}

Test(runs, under_other_options_of_the_problem_are_of_another_group)
{
    SCOPED(emp_report_runs, emp_report_runs_clear) runs = {0};
    emp_curve_point point;
    emp_record      r = make_run(1, 1, 0.5, &point);

    save_record("a.h5", &r);
    strcpy(r.overrides, " --forbid cpu");
    save_record("b.h5", &r);
    read_folder(&runs);
    cr_expect_eq(runs.group_count, 2);
}

/* The warnings, one sentence a line. */
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

static void expect_warned(const char *part)
{
    cr_expect_not_null(strstr(warned, part), "no \"%s\" in %s", part, warned);
}

static void set_time(const char *name, time_t seconds)
{
    struct timespec times[] = {{seconds, 0}, {seconds, 0}};

    cr_assert_eq(utimensat(AT_FDCWD, scratch_path(name), times, 0), 0);
}

Test(runs, of_one_run_the_newer_record_counts)
{
    SCOPED(emp_report_runs, emp_report_runs_clear) runs = {.warn = note_warning};

    save("a.h5", "ce", 1, 100, 0.5);
    save("b.h5", "ce", 1, 100, 0.4);
    save("c.h5", "ce", 1, 100, 0.3);
    save("d.h5", "ce", 2, 100, 0.6);
    set_time("a.h5", 1000);
    set_time("b.h5", 3000);
    set_time("c.h5", 2000);
    read_folder(&runs);
    cr_assert_eq(runs.run_count, 2);
    cr_expect_eq(runs.run[0].record.best_step_time_s, 0.4);
    cr_expect_eq(runs.run[1].record.best_step_time_s, 0.6);
    expect_warned("b.h5 and ");
    expect_warned("c.h5 are of the same run");
    expect_warned("2 older records");
}

static void leave_bad_files(void)
{
    size_t          size;
    emp_curve_point point;
    emp_record      none = make_run(1, 0, NAN, &point);

    save("b.h5", "ce", 1, 100, 0.5);
    char *bytes = scratch_bytes("b.h5", &size);
    scratch_write("torn.h5", bytes, size / 2);
    none.is_feasible = false;
    save_record("none.h5", &none);
    scratch_write("foreign.h5", "no record", 9);
}

Test(runs, other_files_in_a_folder_are_skipped_in_one_line)
{
    SCOPED(emp_report_runs, emp_report_runs_clear) runs = {.warn = note_warning};

    save("b.h5", "ce", 1, 100, 0.5);
    scratch_write("b.timing.json", "{\"elapsed_s\": 2.5}", 18);
    scratch_write("c.refused.txt", "0\nreason\n", 9);
    ASSERT_OK(add(&runs, "", &err));
    cr_expect_str_eq(warned, "", "%s", warned);
    scratch_write("a notes.txt", "x", 1);
    ASSERT_OK(add(&runs, "", &err));
    expect_warned("a notes.txt is no run record");
    leave_bad_files();
    ASSERT_OK(add(&runs, "", &err));
    expect_warned("4 files of ");
    expect_warned("foreign.h5 is no run record; and 3 more");
    cr_expect_eq(runs.run_count, 3, "b.h5, each time");
    scratch_write("b.timing.json", "{}", 2);
    ASSERT_OK(add(&runs, "b.h5", &err));
    expect_warned("b.timing.json");
    cr_expect(isnan(runs.run[3].timing.elapsed_s), "a broken timing counts as absent");
}

Test(runs, what_is_no_run_is_named)
{
    static const struct {
        const char *name, *part;
        emp_status  status;
    } cases[] = {{"", "no run record", EMP_EIO},
                 {"nonesuch.h5", "nonesuch.h5", EMP_EIO},
                 {"foreign.h5", "foreign.h5", EMP_EFORMAT},
                 {"torn.h5", "torn.h5", EMP_EFORMAT},
                 {"none.h5", "best_step_time_s is nan", EMP_EFORMAT}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_report_runs runs = {0};
        if (i == 1) leave_bad_files();
        EXPECT_REFUSED(add(&runs, cases[i].name, &err), cases[i].status, cases[i].part);
        EXPECT_REFUSED(add(&runs, cases[i].name, &err), cases[i].status,
                       scratch_path(cases[i].name));
        cr_expect_eq(runs.run_count, 0);
        emp_report_runs_clear(&runs);
    }
}

static emp_status add_and_group(emp_report_runs *runs)
{
    *runs = (emp_report_runs){0};
    EMP_CHECK(add(runs, "", NULL));
    return emp_report_runs_group(runs, NULL);
}

Test(runs, every_allocation_may_fail)
{
    emp_report_runs runs;

    save("a.h5", "ce", 1, 100, 0.5);
    save("b.h5", "ce", 1, 100, 0.5);
    scratch_write("a.timing.json", "{\"elapsed_s\": 2, \"curve\": [[4, 0.5]]}", 37);
    scratch_write("other.txt", "x", 1);
    SURVIVES_EVERY_ALLOCATION_FAILURE(add_and_group(&runs), emp_report_runs_clear(&runs));
    emp_report_runs_clear(&runs);
}
