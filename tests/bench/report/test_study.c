// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the right placements side by side, on one scale, and is what is missing reported? */
#include "bench/report/page.h"
#include "sim/bounds/bounds.h"
#include "sim/runtime/runtime.h"
#include "tests/support/problems.h"
#include "tests/test.h"

static const char nmt[] = "nmt:layers=2,steps=4,units=16,vocab=100,batch=4";

static task            t;
static emp_report_runs runs;
static char            absence[EMP_ERROR_MSG_BYTES];
static emp_status      makes; /* what making the problem again ends with */

static emp_status get_problem(void *context, const emp_report_run *run,
                              const emp_problem **problem, emp_error *err)
{
    (void)context;
    (void)run;
    if (makes != EMP_OK) return EMP_ERROR(makes, "the graph is gone");
    *problem = t.problem;
    return EMP_OK;
}

static void on_absence(void *context, const emp_record *record, const char *why)
{
    (void)context;
    (void)record;
    snprintf(absence, sizeof absence, "%s", why);
}

static const emp_report_params params = {.get_problem = get_problem,
                                         .on_absence = on_absence};

/* A run of so many batches, all on a device. */
static void add_run(const char *method, double best_s, bool is_feasible, int32_t points,
                    emp_device_id device)
{
    emp_report_run *run = &runs.run[runs.run_count++];
    emp_record     *r = &run->record;

    run->path = emp_strdup(method);
    run->timing.elapsed_s = run->timing.cpu_s = NAN;
    *r = (emp_record){.seed = 1,
                      .graph_hash = t.problem->graph->hash,
                      .machine_hash = t.problem->machine->hash,
                      .runtime_hash = emp_runtime_hash(&t.problem->runtime),
                      .evaluations = 4 * points,
                      .budget_evaluations = points > 1 ? 100 : 0,
                      .best_step_time_s = best_s,
                      .is_feasible = is_feasible,
                      .device_count = t.problem->machine->device_count,
                      .decision = {.op_count = t.problem->graph->op_count},
                      .point_count = points};
    snprintf(r->method, sizeof r->method, "%s", method);
    for (int32_t d = 0; d < r->device_count; d++)
        snprintf(r->device_name[d], sizeof r->device_name[d], "%s",
                 t.problem->machine->device[d].name);
    r->decision.device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)r->decision.op_count);
    r->curve = EMP_NEW_ARRAY(emp_curve_point, (size_t)points);
    for (int32_t op = 0; op < r->decision.op_count; op++)
        r->decision.device_of_op[op] = device;
    for (int32_t p = 0; p < points; p++)
        r->curve[p] =
            (emp_curve_point){4 * (p + 1), 4, best_s * (points - p), best_s * 9};
}

static void set_up(void)
{
    task_create(&t, nmt, "k40x2", "tf-r1.3");
    runs.run = EMP_NEW_ARRAY(emp_report_run, 16);
    makes = EMP_OK;
}

static void tear_down(void)
{
    emp_report_runs_clear(&runs);
    task_destroy(&t);
}

TestSuite(study, .init = set_up, .fini = tear_down);

static void create(emp_study *s)
{
    ASSERT_OK(emp_report_runs_group(&runs, &err));
    ASSERT_OK(emp_study_create(s, &runs, 0, &params, &err));
}

static const emp_drawing_shape *find_text(const emp_drawing *d, const char *text)
{
    for (int32_t i = 0; i < d->shape_count; i++)
        if (d->shape[i].kind == EMP_DRAWING_TEXT && strcmp(d->shape[i].text, text) == 0)
            return &d->shape[i];
    return NULL;
}

static emp_point place_of(const emp_drawing *d, const char *text)
{
    const emp_drawing_shape *shape = find_text(d, text);

    cr_assert_not_null(shape, "no \"%s\" in %s", text, d->name);
    return d->point[shape->first_point];
}

Test(study, placements_are_fastest_first_with_hdp_and_the_expert)
{
    static const char *const fast[] = {"anneal", "ce", "ga", "local", "mcmc", "refine"};
    SCOPED(emp_study, emp_study_clear) s;

    for (int i = 0; i < 6; i++) add_run(fast[i], 1 + 0.1 * i, true, 3, i % 3);
    add_run("expert", 5, true, 1, 1);
    add_run("hdp", 6, true, 3, 2);
    add_run("gpu", 0.1, false, 1, 1); /* fastest, but does not fit */
    create(&s);
    const emp_drawing       *d = &s.figure[EMP_FIGURE_PLACEMENTS];
    static const char *const shown[] = {"anneal", "ce", "ga", "local", "expert", "hdp"};
    emp_point                before = place_of(d, shown[0]);
    for (int i = 1; i < 6; i++) {
        emp_point at = place_of(d, shown[i]);
        cr_expect(at.y > before.y || (at.y == before.y && at.x > before.x), "%s",
                  shown[i]);
        before = at;
    }
    cr_expect_null(find_text(d, "refine"));
    cr_expect_null(find_text(d, "gpu"));
    cr_expect_eq(s.left_out, 3);
    cr_expect_not_null(find_text(d, "cpu:0"), "the legend");
    cr_expect_not_null(find_text(d, "1 s a step"));
    cr_expect_gt(s.bound_s, 0);
    cr_expect_not_null(find_text(&s.figure[EMP_FIGURE_CURVES], "lower bound"));
    cr_expect_not(emp_drawing_is_empty(&s.figure[EMP_FIGURE_TIMELINE]));
    cr_expect(emp_drawing_is_empty(&s.figure[EMP_FIGURE_CLOCK]), "nobody has a timing");
    cr_expect_eq(s.clock.runs, 7);
}

static double bound_of(bool any_order)
{
    const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT, .any_order = any_order};
    emp_bounds               bounds;

    ASSERT_OK(emp_bounds_compute(&bounds, t.problem, &how, &err));
    return (double)bounds.best_ns * 1e-9;
}

/* Devices that take ops in an order that is decided need not drain: a figure with such runs has the lower bound. */
Test(study, the_bound_beside_decided_orders_holds_for_them)
{
    task_destroy(&t);
    task_create(&t, "rnnlm:steps=10", "k40x2", "tf-r1.3");
    ASSERT_OK(emp_problem_forbid_cpus(t.problem, NULL, &err));
    for (int i = 0; i < 2; i++) {
        SCOPED(emp_study, emp_study_clear) s;
        add_run(i == 0 ? "anneal" : "refine", 1 + i, true, 3, 1);
        runs.run[runs.run_count - 1].record.has_order = i == 1;
        create(&s);
        cr_expect_eq(s.bound_s, bound_of(i == 1), "%g", s.bound_s);
    }
    cr_expect_lt(bound_of(true), bound_of(false));
}

Test(study, without_its_graph_it_has_curves_alone)
{
    emp_study s;

    add_run("ce", 1, true, 3, 0);
    makes = EMP_EIO;
    create(&s);
    cr_expect_str_eq(absence, "the graph is gone");
    cr_expect_eq(s.absence.status, EMP_EIO);
    cr_expect(isnan(s.bound_s));
    cr_expect(emp_drawing_is_empty(&s.figure[EMP_FIGURE_PLACEMENTS]));
    cr_expect(emp_drawing_is_empty(&s.figure[EMP_FIGURE_TIMELINE]));
    cr_expect_not(emp_drawing_is_empty(&s.figure[EMP_FIGURE_CURVES]));
    cr_expect_null(find_text(&s.figure[EMP_FIGURE_CURVES], "lower bound"));
    emp_study_clear(&s);
    makes = EMP_OK;
    runs.run[0].record.machine_hash++;
    ASSERT_OK(emp_study_create(&s, &runs, 0, &params, &err));
    cr_expect(isnan(s.bound_s), "a bound of other constants is not shown");
    cr_expect_not(emp_drawing_is_empty(&s.figure[EMP_FIGURE_PLACEMENTS]));
    emp_study_clear(&s);
}

Test(study, every_allocation_may_fail)
{
    emp_study s;

    task_destroy(&t);
    t = task_chain(8);
    add_run("ce", 1, true, 3, 0);
    add_run("expert", 2, true, 1, 1);
    ASSERT_OK(emp_report_runs_group(&runs, NULL));
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_study_create(&s, &runs, 0, &params, NULL),
                                      emp_study_clear(&s));
    emp_study_clear(&s);
}
