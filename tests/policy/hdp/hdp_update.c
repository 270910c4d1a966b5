// SPDX-License-Identifier: GPL-3.0-or-later
/* Do two whole updates give the weights that an independent implementation gives?
 * hdp_update.txt and, of the preset literal, hdp_literal.txt come from
 * scripts/oracle/hdp_update.py (PyTorch, float64). This file is
 * compiled into the tests of both builds: float must agree to 1e-4 of the update, double
 * to the nine digits of the file. */
#include "policy/hdp/hdp.h"
#include "tests/support/survive.h"

enum { MAX_ARRAYS = 200, MAX_NAME = 64, SAMPLES = 4, DEVICES = 3, GROUPS = 8 };

typedef struct {
    char    name[MAX_NAME];
    int     rows, cols;
    double *value;
} array;

static array arrays[MAX_ARRAYS];
static int   array_count;

static void read_arrays(const char *name)
{
    char        path[4096];
    const char *source = getenv("EMP_SOURCE_DIR");
    FILE       *file;
    array      *a = arrays;

    snprintf(path, sizeof path, "%s/tests/policy/hdp/%s", source ? source : ".", name);
    file = fopen(path, "r");
    cr_assert_not_null(file, "no %s", path);
    while (fscanf(file, "%63s %d %d", a->name, &a->rows, &a->cols) == 3) {
        a->value = (double *)calloc((size_t)a->rows * (size_t)a->cols, sizeof *a->value);
        for (int i = 0; i < a->rows * a->cols; i++)
            cr_assert_eq(fscanf(file, "%lf", &a->value[i]), 1, "%s is cut off", a->name);
        cr_assert_lt(++array_count, MAX_ARRAYS);
        a++;
    }
    fclose(file);
}

static const array *find(const char *format, const char *kind, const char *slice)
{
    char name[2 * MAX_NAME];

    snprintf(name, sizeof name, format, kind, slice);
    for (int i = 0; i < array_count; i++) {
        if (strcmp(arrays[i].name, name) == 0) return &arrays[i];
    }
    cr_assert_fail("no array %s", name);
    return NULL;
}

static const array *find_of_update(const char *what, int update)
{
    char number[12];

    snprintf(number, sizeof number, "%d", update);
    return find("%s%s", what, number);
}

static emp_op_features *read_ops(void)
{
    const array *type = find("%s%s", "op_type", ""),
                *from = find("%s%s", "edge_from", "");
    emp_op_features *ops = NULL;

    cr_assert_eq(
        emp_op_features_create_empty(&ops, type->cols, type->cols, from->cols, NULL),
        EMP_OK);
    ops->type_count = 5;
    for (int i = 0; i < type->cols; i++) {
        ops->type[i] = (int32_t)type->value[i];
        ops->position[i] = (float)find("%s%s", "op_position", "")->value[i];
    }
    for (int i = 0; i < type->cols * EMP_OP_FEATURES; i++)
        ops->value[i] = (emp_real)find("%s%s", "op_value", "")->value[i];
    for (int i = 0; i < type->cols * EMP_ROW_SIZES; i++)
        ops->sizes[i] = (float)find("%s%s", "op_size", "")->value[i];
    for (int i = 0; i < from->cols; i++) {
        ops->edge[i][0] = (int32_t)from->value[i];
        ops->edge[i][1] = (int32_t)find("%s%s", "edge_to", "")->value[i];
    }
    return ops;
}

static void load_weights(const emp_params *params, const char *kind)
{
    for (int32_t s = 0; s < params->slice_count; s++) {
        const array *a = find("%s/%s/before", kind, params->slice[s].name);
        emp_real    *value = emp_params_value(params, s);
        cr_assert(a->rows == params->slice[s].rows && a->cols == params->slice[s].cols,
                  "%s is %d x %d", a->name, a->rows, a->cols);
        for (int i = 0; i < a->rows * a->cols; i++) value[i] = (emp_real)a->value[i];
    }
}

/* How far off gradients and steps may be, of their size. */
typedef struct {
    double gradient, first, second;
} errors;

/* The second update starts where rounding left the first. In float it was up to 2.6e-4 off
 * with OpenBLAS's kernels for Haswell, Zen and SkylakeX on an AMD EPYC. */
static const errors of_float = {1e-4, 1e-4, 4e-4}, of_double = {1e-7, 1e-7, 1e-7};

/* |sign ours - theirs| <= most |theirs - from|, as vectors. */
static void compare(const emp_real *ours, const array *theirs, const double *from,
                    double sign, double most)
{
    double error = 0.0, size = 0.0;

    for (int i = 0; i < theirs->rows * theirs->cols; i++) {
        double       want = theirs->value[i], base = from != NULL ? from[i] : 0.0;
        const double off = sign * (double)ours[i] - want;
        error += off * off;
        size += (want - base) * (want - base);
    }
    cr_expect_gt(size, 0.0, "%s did not move", theirs->name);
    cr_expect_lt(sqrt(error), most * sqrt(size), "%s: off by %g of %g", theirs->name,
                 sqrt(error), sqrt(size));
}

static void compare_all(const emp_params *params, const char *kind, int update,
                        const errors *most)
{
    for (int32_t s = 0; s < params->slice_count; s++) {
        const char  *name = params->slice[s].name;
        const array *before = find("%s/%s/before", kind, name);
        const array *first = find("%s/%s/after0", kind, name);
        if (update == 0) {
            const array *gradient = find("%s/%s/gradient", kind, name);
            /* ours is that of what is maximised, theirs that of the loss */
            compare(emp_params_gradient(params, s), gradient, NULL, -1.0, most->gradient);
            compare(emp_params_value(params, s), first, before->value, 1.0, most->first);
        } else {
            compare(emp_params_value(params, s), find("%s/%s/after1", kind, name),
                    first->value, 1.0, most->second);
        }
    }
}

static void update(emp_hdp_agent *agent, int number)
{
    const array *groups = find_of_update("groups", number);
    const array *devices = find_of_update("devices", number);
    const array *times = find_of_update("times", number);
    const array *feasible = find_of_update("feasible", number);
    int32_t      group_of_row[40], device[SAMPLES * GROUPS];
    emp_score    score[SAMPLES];

    for (int i = 0; i < 40; i++) group_of_row[i] = (int32_t)groups->value[i];
    /* The file names devices by group, the agent by step: a first proposal, whose devices
     * do not matter, tells which group each step is. */
    emp_hdp_agent_propose(agent, SAMPLES, group_of_row, NULL);
    for (int k = 0; k < SAMPLES; k++) {
        score[k] = (emp_score){.step_time_s = times->value[k],
                               .is_feasible = feasible->value[k] > 0};
        for (int s = 0; s < agent->used; s++) {
            device[k * agent->used + s] =
                (int32_t)devices->value[k * GROUPS + agent->order[s]];
        }
    }
    emp_hdp_agent_propose(agent, SAMPLES, group_of_row, device);
    cr_assert_eq(emp_learner_backward(agent, score, agent->net.samples, 0,
                                      agent->net.samples, NULL),
                 EMP_OK);
    emp_learner_step(agent);
}

#define SHAPE "groups=8,hidden=6,grouper_hidden=7,type_width=3"

static void expect_reference(const char *file, const char *preset, const char *text,
                             const errors *most)
{
    emp_hdp_options options = {0};
    emp_hdp_agent   agent;

    read_arrays(file);
    cr_assert_eq(emp_hdp_options_parse(&options, preset, text, NULL), EMP_OK);
    cr_assert_eq(emp_hdp_agent_init(&agent, read_ops(), DEVICES, &options, 1, 1, NULL),
                 EMP_OK);
    load_weights(&agent.grouper.params, "grouper");
    load_weights(&agent.net.params, "placer");
    for (int number = 0; number < 2; number++) {
        update(&agent, number);
        compare_all(&agent.grouper.params, "grouper", number, most);
        compare_all(&agent.net.params, "placer", number, most);
        cr_expect_float_eq(agent.learner.metric[0].value,
                           find_of_update("loss", number)->value[0], 1e-3,
                           "loss of update %d", number);
        cr_expect_float_eq(agent.learner.baseline.value,
                           find_of_update("baseline", number)->value[0], 1e-7,
                           "baseline after update %d", number);
    }
    emp_hdp_agent_clear(&agent);
    for (int i = 0; i < array_count; i++) free(arrays[i].value);
}

static const bool is_float = sizeof(emp_real) == sizeof(float);

Test(hdp, two_updates_equal_the_reference)
{
    expect_reference("hdp_update.txt", "paper",
                     SHAPE ",noise=0,updates_failures=1,baseline_first=0,entropy=0,"
                           "epsilon=1e-4,lr=0.1,grouping=learned,cap=0,failures_share=0,"
                           "heat=0,stretches=0,elites=0,gradient_bound=0,costs=0,"
                           "standardize=0,aligned=0",
                     is_float ? &of_float : &of_double);
}

/* With an epsilon this small a weight whose gradient is all but 0 moves by its sign, which
 * floats round. */
static const errors of_float_signs = {1e-4, 0.02, 0.05},
                    of_double_signs = {1e-7, 1e-6, 1e-5};

Test(hdp, two_literal_updates_equal_the_reference)
{
    expect_reference("hdp_literal.txt", "literal", SHAPE ",noise=0,updates_failures=1",
                     is_float ? &of_float_signs : &of_double_signs);
}
