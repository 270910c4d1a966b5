// SPDX-License-Identifier: GPL-3.0-or-later
/* Least squares on models whose answer is known in closed form. Files of models: values change in place,
 * all else stays, and files without the key are refused. */
#include <gsl/gsl_errno.h>

#include "bench/calibrate/calibrate.h"
#include "bench/calibrate/fit.h"
#include "tests/test.h"

static void set_up(void) { gsl_set_error_handler_off(); }

TestSuite(fit, .init = set_up);

enum { MAX = EMP_FIT_MAX_CELLS };

/* value_i = sum over j of p_j row[i][j] */
struct linear {
    int    cells, parameters;
    double row[MAX][2];
    int    fail_after; /* calls; 0 = never */
};

static emp_status run_linear(void *context, const double *p, double *value,
                             emp_error *err)
{
    struct linear *m = (struct linear *)context;

    if (m->fail_after > 0 && --m->fail_after == 0)
        return EMP_ERROR(EMP_EIO, "scripted failure");
    for (int i = 0; i < m->cells; i++) {
        value[i] = 0.0;
        for (int j = 0; j < m->parameters; j++) value[i] += p[j] * m->row[i][j];
    }
    return EMP_OK;
}

static const double low[] = {0.01, 0.01}, high[] = {100.0, 100.0}, start[] = {1.0, 1.0};

static emp_fit_problem make_problem(struct linear *model, const double *target)
{
    return (emp_fit_problem){.parameter_count = model->parameters,
                             .cell_count = model->cells,
                             .start = start,
                             .low = low,
                             .high = high,
                             .target = target,
                             .model = run_linear,
                             .context = model};
}

/* Five cells, two parameters, no exact fit. */
static struct linear five = {5, 2, {{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}, 0};
static const double  five_target[] = {2.0, 3.1, 3.8, 5.2, 5.9};

/* Weighted normal equations: rows over targets, right-hand side 1. */
struct normal {
    double inverse[2][2], p[2];
};

static struct normal solve_five(void)
{
    struct normal n;
    double        a[2][2] = {{0}}, b[2] = {0};

    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 2; j++) {
            double x = five.row[i][j] / five_target[i];
            b[j] += x;
            for (int k = 0; k < 2; k++) a[j][k] += x * five.row[i][k] / five_target[i];
        }
    }
    double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    n.inverse[0][0] = a[1][1] / det;
    n.inverse[1][1] = a[0][0] / det;
    n.inverse[0][1] = n.inverse[1][0] = -a[0][1] / det;
    for (int j = 0; j < 2; j++) n.p[j] = n.inverse[j][0] * b[0] + n.inverse[j][1] * b[1];
    return n;
}

/* h_i of the hat matrix: a left-out residual is r_i / (1 - h_i). */
static double leverage(const struct normal *n, int i)
{
    double h = 0.0;

    for (int j = 0; j < 2; j++)
        for (int k = 0; k < 2; k++)
            h += five.row[i][j] * n->inverse[j][k] * five.row[i][k];
    return h / (five_target[i] * five_target[i]);
}

static emp_fit solve(const emp_fit_problem *problem)
{
    emp_fit fit;

    ASSERT_OK(emp_fit_solve(&fit, problem, &err));
    return fit;
}

/* The parameters are those of the normal equations, the left-out residuals those of the hat matrix, and the
 * intervals Student's. */
Test(fit, equals_the_closed_forms)
{
    const emp_fit_problem problem = make_problem(&five, five_target);
    const struct normal   n = solve_five();
    const emp_fit         fit = solve(&problem);
    const double          t_3 = 3.182446305; /* 97.5 % of Student's t, 5 - 2 degrees */
    double                square = 0.0;

    cr_expect_eq(fit.fitted_count, 2);
    cr_expect(fit.has_converged);
    for (int i = 0; i < 5; i++) {
        double r = fit.value[i] / five_target[i] - 1.0;
        cr_expect_float_eq(fit.left_out[i] / five_target[i] - 1.0,
                           r / (1.0 - leverage(&n, i)), 1e-5, "cell %d", i);
        square += r * r;
    }
    for (int j = 0; j < 2; j++) {
        /* in ln p: dp / p */
        double width = t_3 * sqrt(square / 3.0 * n.inverse[j][j]) / n.p[j];
        cr_expect_float_eq(fit.parameter[j], n.p[j], 1e-6);
        cr_expect_not(fit.is_at_bound[j]);
        cr_expect_float_eq(fit.high[j], n.p[j] * exp(width), 1e-3 * n.p[j]);
        cr_expect_float_eq(fit.low[j], n.p[j] * exp(-width), 1e-3 * n.p[j]);
    }
}

Test(fit, shares_name_the_cells_that_decide)
{
    /* cell 0 has p0 alone; cells 1 and 2 have p1 alone, twice the same */
    struct linear   model = {3, 2, {{1, 0}, {0, 1}, {0, 1}}, 0};
    const double    target[] = {2.0, 3.0, 3.0};
    emp_fit_problem problem = make_problem(&model, target);
    emp_fit         fit = solve(&problem);

    cr_expect_float_eq(fit.share[0][0], 1.0, 1e-9);
    cr_expect_float_eq(fit.share[1][1], 0.5, 1e-6);
    cr_expect_float_eq(fit.share[1][2], 0.5, 1e-6);
    cr_expect(isnan(fit.left_out[0])); /* nothing else knows p0 */
    cr_expect_float_eq(fit.left_out[1], 3.0, 1e-5);
}

Test(fit, keeps_what_the_cells_do_not_determine)
{
    struct linear   model = {2, 2, {{1, 1}, {1, 1}}, 0};
    const double    target[] = {5.0, 5.0};
    emp_fit_problem problem = make_problem(&model, target);
    emp_fit         fit = solve(&problem);

    cr_expect_eq(fit.fitted_count, 1);
    cr_expect(fit.is_fitted[0]);
    cr_expect_not(fit.is_fitted[1]);
    cr_expect_eq(fit.parameter[1], start[1]);
    cr_expect_float_eq(fit.parameter[0], 4.0, 1e-5);
}

Test(fit, as_many_parameters_as_cells_leave_no_interval)
{
    struct linear   model = {2, 2, {{1, 0}, {0, 1}}, 0};
    const double    target[] = {2.0, 3.0};
    emp_fit_problem problem = make_problem(&model, target);
    emp_fit         fit = solve(&problem);

    cr_expect_float_eq(fit.parameter[0], 2.0, 1e-6);
    cr_expect_float_eq(fit.parameter[1], 3.0, 1e-6);
    cr_expect(isnan(fit.low[0]) && isnan(fit.high[1]));
    cr_expect(isnan(fit.left_out[0]) && isnan(fit.left_out[1]));
}

Test(fit, stops_at_a_bound_and_says_so)
{
    struct linear   model = {2, 1, {{1}, {1}}, 0};
    const double    target[] = {500.0, 500.0}; /* the parameter ends at 100 */
    emp_fit_problem problem = make_problem(&model, target);
    emp_fit         fit = solve(&problem);

    cr_expect(fit.is_at_bound[0]);
    cr_expect_eq(fit.parameter[0], high[0]);
    cr_expect(isnan(fit.low[0]) && isnan(fit.high[0]));
}

/* Parameter 0 counts above 1/2 only. */
static emp_status run_flat(void *context, const double *p, double *value, emp_error *err)
{
    (void)context, (void)err;
    value[0] = fmax(p[0], 0.5);
    value[1] = value[2] = p[1];
    return EMP_OK;
}

Test(fit, what_the_solution_does_not_determine_has_no_interval)
{
    const double    target[] = {0.3, 3.0, 3.1};
    emp_fit_problem problem = make_problem(&five, target);
    emp_fit         fit;

    problem.cell_count = 3;
    problem.model = run_flat;
    ASSERT_OK(emp_fit_solve(&fit, &problem, &err));
    cr_expect(fit.is_fitted[0] && fit.is_fitted[1]);
    cr_expect_eq(fit.value[0], 0.5);
    cr_expect(isnan(fit.low[0]) && isnan(fit.high[0]));
    cr_expect_eq(fit.share[0][0], 0.0);
    cr_expect(fit.low[1] < fit.parameter[1] && fit.parameter[1] < fit.high[1]);
}

/* Least squares come nearer to a root of this order by a tenth a step. */
static emp_status run_steep(void *context, const double *p, double *value, emp_error *err)
{
    (void)context, (void)err;
    value[0] = 1.0 + 1e-3 * pow(log(p[0]), 10.0);
    return EMP_OK;
}

Test(fit, that_does_not_converge_says_so_and_has_its_best_parameters)
{
    const double    target[] = {1.0}, begin[] = {20.0};
    emp_fit_problem problem = make_problem(&five, target);
    emp_fit         fit;

    problem.parameter_count = problem.cell_count = 1;
    problem.start = begin;
    problem.model = run_steep;
    ASSERT_OK(emp_fit_solve(&fit, &problem, &err));
    cr_expect_not(fit.has_converged);
    cr_expect(fit.is_fitted[0]);
    cr_expect(fit.parameter[0] > 1.0 && fit.parameter[0] < 1.5, "%g", fit.parameter[0]);
    cr_expect_lt(fit.value[0], 1.01);
}

Test(fit, passes_on_every_failure_of_the_model)
{
    struct linear   model = five;
    emp_fit_problem problem = make_problem(&model, five_target);
    emp_status      st = EMP_EIO;

    for (int calls = 1; st != EMP_OK; calls++) {
        emp_fit   fit;
        emp_error err = {0};
        model.fail_after = calls;
        st = emp_fit_solve(&fit, &problem, &err);
        cr_assert(st == EMP_OK || st == EMP_EIO, "call %d: %s", calls, err.msg);
        if (st != EMP_OK) cr_expect_str_eq(err.msg, "scripted failure");
        cr_assert_lt(calls, 10000);
    }
}

Test(fit, refuses_what_makes_no_sense)
{
    const double    outside[] = {1.0, 200.0};
    emp_fit_problem problem = make_problem(&five, five_target);
    emp_fit         fit;

    problem.start = outside;
    EXPECT_REFUSED(emp_fit_solve(&fit, &problem, &err), EMP_EINVAL,
                   "parameter 1 starts at 200, outside 0.01 .. 100");
    problem.cell_count = 0;
    EXPECT_REFUSED(emp_fit_solve(&fit, &problem, &err), EMP_EINVAL,
                   "0 cells; fit to 1 to 64");
}

TestSuite(model_file, .init = scratch_create, .fini = scratch_tear_down);

static const char source[] = "# a comment with rate: in it\n"
                             "gpu:\n"
                             "  rate: \"1.5 GB/s\"  # measured\n"
                             "  rate_limit: 3\n"
                             "  factor: 2 # fitted\n"
                             "fit:\n"
                             "  old: \"gone\"\n";

static emp_status rewrite(const emp_model_change *changes, int count, const char *section,
                          emp_error *err)
{
    emp_atomic_file file = {0};
    emp_status      st = EMP_OK;

    EMP_TRY(emp_model_file_open(&file, scratch_path("out.yaml"), scratch_path("in.yaml"),
                                changes, count, err));
    fputs(section, file.stream);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

Test(model_file, changes_values_and_the_section_only)
{
    static const struct {
        const char      *in;
        emp_model_change change[3];
        int              count;
        const char      *section, *out;
    } cases[] = {
        {source,
         {{"gpu", "factor", "2.25"}, {"gpu", "rate", "7 GB/s"}},
         2,
         "fit:\n  new: \"x\"\n",
         "# a comment with rate: in it\ngpu:\n  rate: \"7 GB/s\"  # measured\n"
         "  rate_limit: 3\n  factor: 2.25 # fitted\nfit:\n  new: \"x\"\n"},
        {"step: 5 us\nspan: 3 us\t # guessed\nname: a#b  \n",
         {{"", "step", "6.2 us"}, {"", "span", "4 us"}, {"", "name", "c"}},
         3,
         "",
         "step: 6.2 us\nspan: 4 us\t # guessed\nname: c  \n"},
        /* a key of two sections, and of the top level */
        {"gpu: # of it\n    rate: 1\nrate: 2\nreached:\n  rate: 3\n",
         {{"gpu", "rate", "7"}},
         1,
         "",
         "gpu: # of it\n    rate: 7\nrate: 2\nreached:\n  rate: 3\n"},
        /* keys and a section that are not there */
        {"gpu:\n  # of it\n\n    memory: 1\nbase: \"eager\"\nfit:\n  old: 1\n",
         {{"gpu", "rate", "7 GB/s"}, {"passes", "move", "2"}, {"", "step", "6 us"}},
         3,
         "fit:\n  new: 1\n",
         "gpu:\n  # of it\n\n    rate: \"7 GB/s\"\n    memory: 1\nbase: \"eager\"\n"
         "step: \"6 us\"\npasses:\n  move: \"2\"\nfit:\n  new: 1\n"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write("in.yaml", cases[i].in, strlen(cases[i].in));
        ASSERT_OK(rewrite(cases[i].change, cases[i].count, cases[i].section, &err));
        cr_expect_str_eq(scratch_text("out.yaml"), cases[i].out);
    }
}

Test(model_file, refuses_two_lines_of_a_key)
{
    static const char      twice[] = "rate: 1\nrate: 2\n";
    const emp_model_change rate = {"", "rate", "3"};

    EXPECT_REFUSED(rewrite(NULL, 0, "", &err), EMP_EIO, "in.yaml");
    scratch_write("in.yaml", twice, sizeof twice - 1);
    EXPECT_REFUSED(rewrite(&rate, 1, "", &err), EMP_EFORMAT,
                   "2 lines begin with 'rate:'");
}
