// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the benchmark of searches time what it says, and end as it should? Times themselves are
 * nobody's promise. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "bench/micro/search.h"
#include "run/methods.h"

enum { OPS = 400, PROPOSALS = 100, ROUNDS = 3 };

static int progress_calls;

static void note(void *context, double done_frac)
{
    *(double *)context = done_frac;
    progress_calls++;
}

static emp_search_params make_params(const char *const *methods, int32_t count)
{
    emp_search_params p = {.machine = "k40x2",
                           .runtime = "ideal",
                           .size = {OPS, 2 * OPS},
                           .size_count = 2,
                           .repeats = ROUNDS,
                           .ops = (int64_t)PROPOSALS * OPS,
                           .seed = 1};

    for (; p.method_count < count; p.method_count++)
        cr_assert_eq(
            emp_method_find(&p.method[p.method_count], methods[p.method_count], NULL),
            EMP_OK);
    return p;
}

static void check_memory(void) { cr_expect_eq(emp_mem_live_blocks(), 0, "leaked"); }

TestSuite(search_speed, .fini = check_memory);

Test(search_speed, has_a_row_for_each_graph_and_method)
{
    const char *const methods[] = {"anneal", "local"};
    emp_search_params p = make_params(methods, 2);
    emp_search_report report;
    emp_sheet         sheet;
    emp_error         err = {0};
    double            done_frac = 0.0;

    p.on_progress = note;
    p.context = &done_frac;
    cr_assert_eq(emp_search_measure(&report, &p, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(report.row_count, 4);
    for (int32_t i = 0; i < report.row_count; i++) {
        const emp_search_row *r = &report.row[i];
        cr_expect_eq(r->op_count, i < 2 ? OPS : 2 * OPS);
        cr_expect_str_eq(r->method->name, methods[i % 2]);
        cr_expect_eq(r->proposals_per_s.count, ROUNDS);
        cr_expect_gt(r->proposals_per_s.low, 0.0);
        cr_expect(isfinite(r->oracle_share.median) && r->oracle_share.median > 0.0);
    }
    cr_expect_eq(progress_calls, 4 * ROUNDS);
    cr_expect_float_eq(done_frac, 1.0, 1e-12);
    emp_search_tabulate(&sheet, &report, &p);
    json_t *rows = emp_sheet_rows(&sheet);
    cr_expect_eq(json_array_size(rows), 4);
    json_decref(rows);
    emp_sheet_clear(&sheet);
}

Test(search_speed, a_row_of_a_table_is_timed_too)
{
    static const emp_task task = {"small", "Small", "rnnlm:steps=4", "k40x2", 2, NULL};
    const char *const     methods[] = {"refine"};
    emp_search_params     p = make_params(methods, 1);
    emp_search_report     report;
    emp_error             err = {0};

    p.runtime = "tf-r1.3";
    p.task = &task;
    p.task_count = 1;
    p.moves = 24;
    p.repeats = 1;
    cr_assert_eq(emp_search_measure(&report, &p, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(report.row_count, 1);
    const emp_search_row *r = &report.row[0];
    cr_expect_str_eq(r->task, "small");
    cr_expect_gt(r->proposals_per_s.median, 0.0);
}

Test(search_speed, a_method_that_proposes_once_has_nothing_to_time)
{
    const char *const methods[] = {"gpu"};
    emp_search_params p = make_params(methods, 1);
    emp_search_report report;
    emp_error         err = {0};

    cr_expect_eq(emp_search_measure(&report, &p, &err), EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "gpu ended with its first batch"), "%s", err.msg);
}

Test(search_speed, a_stop_keeps_whole_rows_only)
{
    const char *const methods[] = {"anneal"};
    emp_search_params p = make_params(methods, 1);
    atomic_int        stop = 1;
    emp_search_report report;
    emp_error         err = {0};

    p.stop = &stop;
    cr_expect_neq(emp_search_measure(&report, &p, &err), EMP_OK);
    cr_expect_eq(report.row_count, 0);
}
