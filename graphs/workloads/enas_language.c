// SPDX-License-Identifier: GPL-3.0-or-later
/* The recurrent cell: each of its nodes reads an earlier one through a highway,
 * s = s + t (h - s), and the mean of the nodes that nobody reads is the state. */
#include "graphs/workloads/enas_internal.h"

enum { NODES = 12, VOCABULARY = 10000 };

typedef struct {
    int32_t         from[NODES]; /* of node i > 0, an earlier one */
    const char     *function[NODES];
    bool            is_read[NODES];
    emp_tf_variable first, weight[NODES];
} recurrent_cell;

static emp_tf_variable weight(emp_enas *e, const char *name, emp_shape shape)
{
    return emp_tf_get_variable(e->tf, name, EMP_DTYPE_FLOAT, shape, EMP_TF_INIT_UNIFORM,
                               true);
}

static void draw_cell(emp_enas *e, recurrent_cell *c)
{
    static const char *const functions[] = {"Tanh", "Relu", "Identity", "Sigmoid"};

    *c = (recurrent_cell){0};
    for (int32_t i = 0; i < NODES; i++) {
        if (i > 0) {
            c->from[i] = (int32_t)emp_mt19937_below_numpy(&e->rng, (uint32_t)i);
            c->is_read[c->from[i]] = true;
        }
        c->function[i] = functions[emp_mt19937_below_numpy(&e->rng, 4)];
    }
    c->first = weight(e, "rnn/w_prev", EMP_SHAPE(2 * e->units, 2 * e->units));
    for (int32_t i = 1; i < NODES; i++)
        c->weight[i] = weight(e, emp_tf_number(e->tf, "rnn/w_%d", i),
                              EMP_SHAPE(e->units, 2 * e->units));
}

/* state + sigmoid(t) (f(h) - state), where the product has both h and t. */
static emp_port highway(emp_enas *e, emp_port product, emp_port state,
                        const char *function)
{
    emp_tf      *tf = e->tf;
    emp_op_attrs two = {.count = 2};
    emp_port     axis = emp_tf_int(tf, NULL, "split/split_dim", 1);
    emp_port both = emp_tf_op(tf, "Split", "split", &two, EMP_TF_PORTS(axis, product));
    emp_port h = emp_tf_op1(tf, function, NULL, both);
    emp_port t = emp_tf_op1(tf, "Sigmoid", NULL, (emp_port){both.op, 1});
    emp_port change = emp_tf_op2(tf, "Sub", "sub", h, state);

    change = emp_tf_op2(tf, "Mul", "mul", t, change);
    return emp_tf_op2(tf, "Add", "add", state, change);
}

static emp_port cell_step(emp_enas *e, const recurrent_cell *c, emp_port x,
                          emp_port state)
{
    emp_tf  *tf = e->tf;
    emp_port node[NODES], loose[NODES];
    int32_t  count = 0;
    emp_port both = emp_tf_concat(tf, NULL, EMP_TF_PORTS(x, state), 1);

    node[0] = highway(e, emp_tf_matmul(tf, "MatMul", both, c->first.read, false, false),
                      state, c->function[0]);
    for (int32_t i = 1; i < NODES; i++) {
        emp_port from = node[c->from[i]];
        node[i] =
            highway(e, emp_tf_matmul(tf, "MatMul", from, c->weight[i].read, false, false),
                    from, c->function[i]);
    }
    for (int32_t i = 0; i < NODES; i++)
        if (!c->is_read[i]) loose[count++] = node[i];
    emp_op_attrs attrs = {.count = count};
    emp_port     sum = emp_tf_op(tf, "AddN", NULL, &attrs, loose, count);
    return emp_tf_op_y(tf, "Mul", "mean", sum, 1.0 / count);
}

static emp_port unroll(emp_enas *e, const recurrent_cell *c, emp_port x)
{
    emp_tf  *tf = e->tf;
    emp_port outputs[EMP_WORKLOAD_MAX_STEPS];
    emp_port state = emp_tf_const(tf, NULL, "zeros", EMP_DTYPE_FLOAT,
                                  EMP_SHAPE(e->batch, e->units), NULL, 0);

    x = emp_tf_unstack(tf, x, e->steps, 1);
    for (int32_t t = 0; t < e->steps; t++) {
        const char *outer = emp_tf_enter(tf, emp_tf_number(tf, "step_%d", t));
        state = cell_step(e, c, (emp_port){x.op, t}, state);
        outputs[t] = state;
        emp_tf_leave(tf, outer);
    }
    emp_port all = emp_tf_stack(tf, NULL, outputs, e->steps, 1);
    return emp_tf_reshape(tf, NULL, all, EMP_SHAPE(e->batch * e->steps, e->units));
}

emp_port emp_enas_language_loss(emp_enas *e)
{
    emp_tf        *tf = e->tf;
    recurrent_cell cell;
    emp_shape      tokens = EMP_SHAPE(e->batch, e->steps);
    emp_port       words = emp_tf_placeholder(tf, "words", EMP_DTYPE_INT32, tokens);
    emp_port       labels = emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT32, tokens);

    emp_tf_variable table = weight(e, "rnn/embedding", EMP_SHAPE(VOCABULARY, e->units));
    draw_cell(e, &cell);
    const char *outer = emp_tf_enter(tf, "rnn");
    emp_port    x = emp_tf_gather(tf, NULL, table.read, words);
    emp_port    rows = unroll(e, &cell, x);
    emp_tf_leave(tf, outer);
    emp_port logits = emp_tf_matmul(tf, "MatMul", rows, table.read, false, true);
    labels = emp_tf_reshape(tf, NULL, labels, EMP_SHAPE(-1));
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", labels, logits);
    return emp_tf_reduce_all(tf, "Mean", NULL, losses);
}
