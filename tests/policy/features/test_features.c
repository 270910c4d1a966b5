// SPDX-License-Identifier: GPL-3.0-or-later
/* Do learners see of a graph what op_features.h and op_features.h say? Values are
 * checked by hand on one layer:
 *
 *     Placeholder -> MatMul <- Identity <- VariableV2,   MatMul -> Relu
 */
#include "policy/features/op_features.h"
#include "sim/graph/graph_builder.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

EMP_OWNS(emp_op_features, emp_op_features_destroy)
#define OWN_FEATURES EMP_OWNER(emp_op_features)

enum { IN, VARIABLE, READ, PRODUCT, RELU, OPS };

static task             problem;
static emp_op_features *ops;

static void create(void)
{
    hand_graph_layers(&problem, 1);
    MUST(emp_op_features_create(&ops, problem.problem, &why));
}

static void destroy(void)
{
    emp_op_features_destroy(ops);
    task_destroy(&problem);
    expect_all_freed();
}

TestSuite(features, .init = create, .fini = destroy);

/* Before standardization. */
static double value(emp_op_id op, int32_t i)
{
    double standard = (double)ops->value[ops->row_of_op[op] * EMP_OP_FEATURES + i];

    return standard * ops->deviation[i] + ops->mean[i];
}

Test(features, columns_have_mean_0_and_variance_1_or_are_0)
{
    for (int32_t c = 0; c < EMP_OP_FEATURES; c++) {
        double sum = 0.0, squares = 0.0;
        for (int32_t r = 0; r < ops->row_count; r++) {
            double v = (double)ops->value[r * EMP_OP_FEATURES + c];
            sum += v;
            squares += v * v;
        }
        cr_expect_float_eq(sum, 0.0, 1e-5, "column %d", c);
        cr_expect(fabs(squares - ops->row_count) < 1e-4 || squares < 1e-9,
                  "column %d: %g", c, squares);
    }
}

/* Builds a graph of ops that each read, or wait for, earlier or later ones by number. */
typedef struct {
    char type[12];
    int  reads; /* number of the op; -1 = none */
    int  waits_for;
} plain_op;

static emp_op_features *features_of(const plain_op *plain, int32_t count, emp_problem **p,
                                    emp_graph **g)
{
    emp_graph_builder *b = NULL;
    emp_op_features   *f = NULL;
    emp_shape          shape = EMP_SHAPE(4);
    emp_op_attrs       attrs = {.dtype = EMP_DTYPE_FLOAT, .has_shape = true};

    attrs.shape = shape;
    MUST(emp_graph_builder_create(&b, NULL));
    for (int32_t i = 0; i < count; i++) {
        emp_op_id op = -1;
        char      name[16];
        int       length = snprintf(name, sizeof name, "op%d", i);
        MUST(emp_graph_builder_declare(b, name, (size_t)length, plain[i].type,
                                       strlen(plain[i].type), &attrs, &shape, 1, &op,
                                       NULL));
        emp_graph_builder_set_target(b, op);
    }
    for (int32_t i = 0; i < count; i++) {
        if (plain[i].reads >= 0)
            MUST(emp_graph_builder_connect(b, (emp_port){plain[i].reads, 0}, i, NULL));
        if (plain[i].waits_for >= 0)
            MUST(emp_graph_builder_add_control(b, plain[i].waits_for, i, NULL));
    }
    MUST(emp_graph_builder_finish(b, g, NULL));
    emp_graph_builder_destroy(b);
    MUST(emp_problem_create(p, *g, problem.machine, &problem.problem->runtime, "plain",
                            NULL));
    MUST(emp_op_features_create(&f, *p, NULL));
    return f;
}

static void expect_order(const plain_op *plain, int32_t count, const int32_t *order)
{
    OWN_PROBLEM  p = NULL;
    OWN_GRAPH    g = NULL;
    OWN_FEATURES f = features_of(plain, count, &p, &g);

    for (int32_t i = 0; i < count; i++)
        cr_expect_float_eq((double)f->position[f->row_of_op[order[i]]], (double)i / count,
                           1e-6, "op %d is not number %d", order[i], i);
}

/* Two variables; op 4 is two steps from the first and comes before the second, op 5 waits for what reads the second, and
 * no variable leads to op 6. A file may list ops in any order, and have no variable. */
Test(features, ops_are_numbered_by_the_variable_that_they_are_nearest_to)
{
    static const plain_op plain[] = {{"VariableV2", -1, -1}, {"VariableV2", -1, -1},
                                     {"Relu", 0, -1},        {"Relu", 1, -1},
                                     {"Relu", 2, 3},         {"NoOp", -1, 3},
                                     {"Placeholder", -1, -1}};
    static const plain_op others[] = {
        {"Relu", 1, -1}, {"Relu", 3, -1}, {"Relu", 3, -1}, {"Placeholder", -1, -1}};

    expect_order(plain, 7, (const int32_t[]){0, 2, 4, 1, 3, 5, 6});
    expect_order(others, 4, (const int32_t[]){3, 1, 2, 0});
}

/* The read is in the variable's colocation class and follows it. */
Test(features, every_class_that_is_free_to_move_has_a_row)
{
    cr_expect_eq(ops->row_count, OPS - 1);
    cr_expect_eq(ops->edge_count, 3);
    cr_expect_eq(ops->row_of_op[READ], ops->row_of_op[VARIABLE]);
    for (emp_op_id op = 0; op < OPS; op++) {
        cr_assert_geq(ops->row_of_op[op], 0);
        cr_expect_eq(ops->op_of_row[ops->row_of_op[op]], op == READ ? VARIABLE : op);
    }
}

Test(features, sizes_are_logarithms_and_missing_ones_minus_one)
{
    const double want[] = {log(1 + 8) / 10, log(1 + 16) / 10, -1, -1, -1};

    for (int32_t i = 0; i < 5; i++)
        cr_expect_float_eq(value(PRODUCT, i), want[i], 1e-6, "size %d", i);
    cr_expect_eq((double)ops->sizes[ops->row_of_op[PRODUCT] * EMP_ROW_SIZES], 8.0);
    cr_expect_eq((double)ops->sizes[ops->row_of_op[PRODUCT] * EMP_ROW_SIZES + 1], 16.0);
}

/* The variable's tree, variable 0, read 1, product 2, relu 3; then in 4. */
Test(features, neighbours_are_fractions_of_a_breadth_first_numbering)
{
    const int32_t in = EMP_FEATURE_OUTPUTS * EMP_FEATURE_DIMS;
    const int32_t out = in + EMP_FEATURE_NEIGHBOURS;

    cr_expect_float_eq(value(PRODUCT, in), 4.0 / OPS, 1e-6, "producer in");
    cr_expect_float_eq(value(PRODUCT, in + 1), 1.0 / OPS, 1e-6, "producer read");
    cr_expect_float_eq(value(PRODUCT, in + 2), 2.0 / OPS, 1e-6, "no third: itself");
    cr_expect_float_eq(value(PRODUCT, out), 3.0 / OPS, 1e-6, "consumer relu");
    cr_expect_float_eq(value(PRODUCT, out + 1), 2.0 / OPS, 1e-6, "no second: itself");
    cr_expect_float_eq((double)ops->position[ops->row_of_op[RELU]], 3.0 / OPS, 1e-6);
}

/* One neighbour per direction: the first that the default window has; the other columns
 * are the same. */
Test(features, a_window_keeps_the_first_neighbours)
{
    emp_op_features *narrow = NULL, *none = NULL;
    const int32_t    sizes = EMP_FEATURE_SIZES, row = ops->row_of_op[PRODUCT];
    const emp_real  *wide = &ops->value[row * ops->width];

    cr_expect_eq(ops->width, EMP_OP_FEATURES);
    MUST(
        emp_op_features_create_window(&narrow, problem.problem, 1, EMP_ABSENT_OWN, NULL));
    cr_assert_eq(narrow->width, sizes + 2);
    const emp_real *value_of = &narrow->value[row * narrow->width];
    for (int32_t i = 0; i <= sizes; i++) cr_expect_eq(value_of[i], wide[i]);
    cr_expect_eq(value_of[sizes + 1], wide[sizes + EMP_FEATURE_NEIGHBOURS]);
    emp_op_features_destroy(narrow);
    MUST(emp_op_features_create_window(&none, problem.problem, 0, EMP_ABSENT_OWN, NULL));
    cr_assert_eq(none->width, sizes);
    for (int32_t i = 0; i < sizes; i++)
        cr_expect_eq(none->value[row * none->width + i], wide[i]);
    emp_op_features_destroy(none);
}

Test(features, an_absent_neighbour_may_be_minus_one)
{
    OWN_FEATURES  f = NULL;
    const int32_t in = EMP_FEATURE_SIZES, row = ops->row_of_op[PRODUCT];

    MUST(emp_op_features_create_window(&f, problem.problem, 6, EMP_ABSENT_MINUS_1, NULL));
    for (int32_t c = in; c < f->width; c++) {
        double got = (double)f->value[row * f->width + c] * f->deviation[c] + f->mean[c];
        bool   is_there = c < in + 2 || c == in + 6;
        cr_expect_float_eq(got, is_there ? value(PRODUCT, c) : -1.0, 1e-6, "column %d",
                           c);
    }
}

/* Groups 1, 0, 3 by position, as below. */
Test(features, groups_can_be_given_in_other_orders)
{
    enum { GROUPS = 4 };
    int32_t group_of_row[OPS], order[GROUPS], again[GROUPS];
    double  sums[2 * GROUPS];
    int     differs = 0;

    group_of_row[ops->row_of_op[IN]] = 3;
    group_of_row[ops->row_of_op[VARIABLE]] = 1;
    group_of_row[ops->row_of_op[PRODUCT]] = group_of_row[ops->row_of_op[RELU]] = 0;
    cr_assert_eq(emp_group_order(order, ops, group_of_row, GROUPS, EMP_ORDER_REVERSE,
                                 false, 1, sums),
                 3);
    cr_expect(order[0] == 3 && order[1] == 0 && order[2] == 1);
    for (int sequence = EMP_ORDER_POSITION; sequence <= EMP_ORDER_REVERSE; sequence++) {
        cr_assert_eq(emp_group_order(order, ops, group_of_row, GROUPS,
                                     (emp_group_sequence)sequence, true, 1, sums),
                     GROUPS, "the empty one, too");
        if (sequence == EMP_ORDER_NUMBER)
            cr_expect(order[0] == 0 && order[2] == 2 && order[3] == 3);
        else if (sequence != EMP_ORDER_RANDOM)
            cr_expect_eq(order[3], 2, "it has no position");
    }
    for (uint64_t seed = 1; seed < 20; seed++) {
        cr_assert_eq(emp_group_order(order, ops, group_of_row, GROUPS, EMP_ORDER_RANDOM,
                                     false, seed, sums),
                     3);
        emp_group_order(again, ops, group_of_row, GROUPS, EMP_ORDER_RANDOM, false, seed,
                        sums);
        cr_expect_arr_eq(order, again, 3 * sizeof *order);
        cr_expect_eq(order[0] + order[1] + order[2], 0 + 1 + 3);
        differs += order[0] != 1;
    }
    cr_expect(differs > 5 && differs < 19, "%d of 19 seeds", differs);
}

Test(features, ops_without_a_choice_have_no_row)
{
    OWN_FEATURES fewer = NULL;
    int32_t      c = problem.graph->op[READ].colocation_class;

    problem.problem->kinds_of_class[c] = EMP_KIND_CPU;
    MUST(emp_op_features_create(&fewer, problem.problem, NULL));
    cr_expect_eq(fewer->row_count, OPS - 2);
    cr_expect(fewer->row_of_op[READ] == -1 && fewer->row_of_op[VARIABLE] == -1);
    cr_expect_eq(fewer->edge_count, 2, "the edge from the class joins no rows");
}

Test(features, a_problem_without_any_choice_is_refused)
{
    emp_op_features *none = NULL;

    for (int32_t c = 0; c < problem.graph->class_count; c++)
        problem.problem->kinds_of_class[c] = EMP_KIND_CPU;
    MUST_FAIL(emp_op_features_create(&none, problem.problem, &why), EMP_EINVAL,
              "none of 5 ops");
    cr_expect_null(none);
}

/* Groups: 3 has in, 1 the variable (and its read), 0 product and relu; 2 is empty. */
Test(features, groups_count_types_sum_sizes_and_share_edges)
{
    enum { GROUPS = 4 };
    int32_t  group_of_row[OPS], order[GROUPS], step_of_group[GROUPS];
    double   sums[2 * GROUPS];
    int32_t  width = emp_group_feature_count(ops, GROUPS);
    emp_real x[GROUPS * 64];

    cr_assert_eq(width, ops->type_count + EMP_ROW_SIZES + GROUPS);
    group_of_row[ops->row_of_op[IN]] = 3;
    group_of_row[ops->row_of_op[VARIABLE]] = 1;
    group_of_row[ops->row_of_op[PRODUCT]] = group_of_row[ops->row_of_op[RELU]] = 0;

    /* Mean positions in fifths: group 1 0, group 0 (2 + 3) / 2, group 3 4. */
    emp_group_order(order, ops, group_of_row, GROUPS, EMP_ORDER_POSITION, false, 1, sums);
    cr_expect(order[0] == 1 && order[1] == 0 && order[2] == 3);
    emp_group_order(order, ops, group_of_row, GROUPS, EMP_ORDER_NUMBER, false, 1, sums);
    cr_expect(order[0] == 0 && order[1] == 1 && order[2] == 3);

    emp_group_features(x, ops, group_of_row, GROUPS, order, 3, step_of_group);
    const emp_real *zero = x, *three = x + 2 * width;
    const emp_real *sizes = zero + ops->type_count, *shared = sizes + EMP_ROW_SIZES;
    int32_t         relu = ops->type[ops->row_of_op[RELU]];
    cr_expect_float_eq((double)zero[relu], log(2.0), 1e-6, "one Relu");
    cr_expect_eq((double)three[relu], 0.0);
    cr_expect_float_eq((double)sizes[0], log(1.0 + 8 + 8), 1e-6);
    cr_expect_float_eq((double)sizes[1], log(1.0 + 16 + 16), 1e-6);
    cr_expect(shared[0] < 0.5f && shared[1] > 0.5f && shared[2] < 0.5f &&
              shared[3] > 0.5f);
}
