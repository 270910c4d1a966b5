// SPDX-License-Identifier: GPL-3.0-or-later
/* The construction layer by itself: names, control dependencies, gradients of single ops.
 */
#include "base/mem.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"
#include "tests/test.h"

static emp_tf    tf;
static emp_error err;

static void set_up(void)
{
    err = (emp_error){0};
    cr_assert_eq(emp_tf_init(&tf, &err), EMP_OK, "%s", err.msg);
}

static void tear_down(void)
{
    emp_tf_clear(&tf);
    expect_all_freed();
}

TestSuite(tf_graph, .init = set_up, .fini = tear_down);

static const char *name_of(emp_port port)
{
    cr_assert_eq(tf.status, EMP_OK, "%s", err.msg);
    return emp_graph_builder_name(tf.builder, port.op);
}

static emp_port vector(int64_t size)
{
    return emp_tf_placeholder(&tf, NULL, EMP_DTYPE_FLOAT, EMP_SHAPE(size));
}

Test(tf_graph, names_get_suffixes_when_taken)
{
    emp_port x = vector(3);

    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", NULL, x)), "Relu");
    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", NULL, x)), "Relu_1");
    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", "Relu_2", x)), "Relu_2");
    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", NULL, x)), "Relu_3");
}

Test(tf_graph, scopes_share_the_names_of_ops)
{
    emp_port    x = vector(3);
    const char *outer = emp_tf_enter(&tf, "layer");

    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", NULL, x)), "layer/Relu");
    emp_tf_leave(&tf, outer);
    outer = emp_tf_enter(&tf, "layer");
    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", NULL, x)), "layer_1/Relu");
    emp_tf_leave(&tf, outer);
    outer = emp_tf_reenter(&tf, "layer/");
    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", NULL, x)), "layer/Relu_1");
    emp_tf_leave(&tf, outer);
    cr_expect_str_eq(name_of(emp_tf_op1(&tf, "Relu", "layer", x)), "layer_2");
}

Test(tf_graph, constants_are_named_after_what_reads_them)
{
    emp_port pair[] = {vector(3), vector(4)};
    emp_port joined = emp_tf_concat(&tf, NULL, pair, 2, 0);

    cr_expect_str_eq(name_of(joined), "concat");
    cr_expect_str_eq(name_of(emp_graph_builder_input(tf.builder, joined.op, 2)),
                     "concat/axis");
    cr_expect_eq(emp_tf_shape(&tf, joined).dim[0], 3 + 4);
}

/* An op that reads one made inside the block waits through it. */
Test(tf_graph, control_dependencies_are_not_repeated)
{
    emp_port   x = vector(3);
    emp_port   waited = emp_tf_op1(&tf, "Tanh", NULL, x);
    emp_graph *graph = NULL;

    emp_tf_begin_controls(&tf, &waited.op, 1);
    emp_port first = emp_tf_op1(&tf, "Relu", NULL, x);
    emp_port second = emp_tf_op1(&tf, "Relu", NULL, first);
    emp_port reader = emp_tf_op1(&tf, "Relu", NULL, waited);
    emp_tf_end_controls(&tf);
    emp_port after = emp_tf_op1(&tf, "Relu", NULL, x);
    cr_assert_eq(emp_tf_finish(&tf, &graph), EMP_OK, "%s", err.msg);

    const emp_port ops[] = {first, second, reader, after};
    const int32_t  waits[] = {1, 0, 0, 0};
    for (int32_t i = 0; i < 4; i++) {
        emp_op_id op = ops[i].op;
        cr_expect_eq(graph->control_offset[op + 1] - graph->control_offset[op], waits[i],
                     "op %d", i);
    }
    emp_graph_destroy(graph);
}

static emp_tf_grad gradient_through(const char *type, emp_tf_variable *w)
{
    emp_tf_grad grad;

    *w = emp_tf_weights(&tf, "w", EMP_SHAPE(2, 3), EMP_TF_INIT_ZEROS);
    emp_port y = emp_tf_op1(&tf, type, NULL, w->read);
    emp_port loss = emp_tf_reduce_all(&tf, "Sum", NULL, y);
    emp_tf_gradients(&tf, loss, &w->ref, 1, &grad);
    return grad;
}

Test(tf_graph, a_gradient_has_the_shape_of_its_variable)
{
    static const char *const types[] = {"Sigmoid", "Tanh", "Relu", "Softmax", "Rsqrt"};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        emp_tf_variable w;
        emp_tf_grad     grad = gradient_through(types[i], &w);
        emp_shape       shape = emp_tf_shape(&tf, grad.values);
        cr_assert_eq(tf.status, EMP_OK, "%s: %s", types[i], err.msg);
        cr_expect(emp_shape_equal(&shape, &w.shape), "%s", types[i]);
        cr_expect_lt(grad.indices.op, 0, "%s: dense", types[i]);
    }
}

Test(tf_graph, several_uses_are_summed_and_gated)
{
    emp_tf_grad grad;

    tf.gate_gradients = true;
    emp_tf_variable w = emp_tf_weights(&tf, "w", EMP_SHAPE(3), EMP_TF_INIT_ZEROS);
    emp_port        square = emp_tf_op2(&tf, "Mul", "square", w.read, w.read);
    emp_port        loss = emp_tf_reduce_all(&tf, "Sum", NULL, square);
    emp_tf_gradients(&tf, loss, &w.ref, 1, &grad);

    cr_expect_str_eq(name_of(grad.values), "gradients/AddN");
    cr_expect_str_eq(name_of(emp_graph_builder_input(tf.builder, grad.values.op, 0)),
                     "gradients/square_grad/tuple/control_dependency");
    cr_expect_str_eq(name_of(emp_graph_builder_input(tf.builder, grad.values.op, 1)),
                     "gradients/square_grad/tuple/control_dependency_1");
}

/* Looked up twice: rows of both look-ups, not a table of zeros. */
Test(tf_graph, gradients_of_look_ups_stay_sparse)
{
    emp_tf_grad     grad;
    emp_tf_variable table = emp_tf_weights(&tf, "t", EMP_SHAPE(50, 4), EMP_TF_INIT_ZEROS);
    emp_port        ids = emp_tf_placeholder(&tf, NULL, EMP_DTYPE_INT32, EMP_SHAPE(6));
    emp_port        rows[] = {emp_tf_gather(&tf, table.read, ids),
                              emp_tf_gather(&tf, table.read, ids)};
    emp_tf_gradients(
        &tf, emp_tf_reduce_all(&tf, "Sum", NULL, emp_tf_concat(&tf, NULL, rows, 2, 0)),
        &table.ref, 1, &grad);
    cr_assert_eq(tf.status, EMP_OK, "%s", err.msg);
    cr_assert_geq(grad.indices.op, 0);
    emp_shape values = emp_tf_shape(&tf, grad.values);
    cr_expect_eq(values.dim[0], 6 + 6);
    cr_expect_eq(values.dim[1], 4);
    cr_expect_eq(emp_tf_shape(&tf, grad.indices).dim[0], 6 + 6);
}

Test(tf_graph, what_the_loss_does_not_see_has_no_gradient)
{
    emp_tf_grad     grads[2];
    emp_tf_variable used = emp_tf_weights(&tf, "u", EMP_SHAPE(3), EMP_TF_INIT_ZEROS);
    emp_tf_variable unused = emp_tf_weights(&tf, "v", EMP_SHAPE(3), EMP_TF_INIT_ZEROS);
    emp_port        stopped = emp_tf_op1(&tf, "StopGradient", NULL, unused.read);
    emp_port        sum = emp_tf_op2(&tf, "Add", NULL, used.read, stopped);
    emp_port        loss = emp_tf_reduce_all(&tf, "Sum", NULL, sum);

    emp_tf_gradients(&tf, loss, (emp_port[]){used.ref, unused.ref}, 2, grads);
    cr_assert_eq(tf.status, EMP_OK, "%s", err.msg);
    cr_expect_geq(grads[0].values.op, 0);
    cr_expect_lt(grads[1].values.op, 0);
}

Test(tf_graph, an_op_without_a_gradient_is_named)
{
    emp_tf_variable w;
    emp_graph      *graph = NULL;

    gradient_through("Tan", &w);
    cr_expect_eq(emp_tf_finish(&tf, &graph), EMP_EUNSUPPORTED);
    cr_expect_not_null(strstr(err.msg, "op Tan"), "%s", err.msg);
    cr_expect_null(graph);
}
