// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_rnn.h"

#include "graphs/tensorflow/tf_ops.h"

static int32_t output_size(const emp_tf_rnn_cell *cell)
{
    return cell->projection > 0 ? cell->projection : cell->units;
}

/* A DropoutWrapper converts the three probabilities of keeping input, state and output.
 */
void emp_tf_create_wrappers(emp_tf *tf, const emp_tf_rnn_cell *cell)
{
    for (int32_t layer = 0; layer < cell->layers && cell->keep_prob < 1.0; layer++) {
        const char *outer = emp_tf_enter(tf, "DropoutWrapperInit");
        for (int32_t i = 0; i < 3; i++) emp_tf_float(tf, NULL, "Const", 1.0);
        emp_tf_leave(tf, outer);
    }
}

/* ---- zero states ------------------------------------------------------------------- */

static emp_port vector(emp_tf *tf, int64_t value)
{
    return emp_tf_ints(tf, NULL, "Const", &value, 1);
}

emp_port emp_tf_zero_state_tensor(emp_tf *tf, int32_t batch, int32_t size)
{
    emp_port rows = vector(tf, batch);
    emp_port columns = vector(tf, size);
    emp_port sizes = emp_tf_concat(tf, NULL, (const emp_port[]){rows, columns}, 2, 0);
    emp_port zeros = emp_tf_zeros(tf, sizes);

    vector(tf, batch); /* the static shape is computed once more and not used */
    vector(tf, size);
    return zeros;
}

static void layer_zero_state(emp_tf *tf, const emp_tf_rnn_cell *cell, bool is_residual,
                             emp_tf_lstm_state *state)
{
    const char *outer = tf->scope;

    if (is_residual) emp_tf_enter(tf, "ResidualWrapperZeroState");
    if (cell->keep_prob < 1.0) emp_tf_enter(tf, "DropoutWrapperZeroState");
    emp_tf_enter(tf, "BasicLSTMCellZeroState");
    state->c = emp_tf_zero_state_tensor(tf, cell->batch, cell->units);
    state->h = emp_tf_zero_state_tensor(tf, cell->batch, output_size(cell));
    emp_tf_leave(tf, outer);
}

void emp_tf_zero_state(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state)
{
    const char *outer = emp_tf_enter(tf, "MultiRNNCellZeroState");

    for (int32_t layer = 0; layer < cell->layers; layer++) {
        layer_zero_state(tf, cell, cell->residual && layer > 0, &state[layer]);
    }
    emp_tf_leave(tf, outer);
}

/* ---- steps ------------------------------------------------------------------------- */

static void create_variables(emp_tf *tf, emp_tf_rnn_cell *cell, int32_t layer,
                             emp_port input)
{
    const char *scope = emp_tf_join(
        tf, cell->variables, emp_tf_number(tf, "cell_%d/", cell->first_layer + layer),
        "basic_lstm_cell/");
    int64_t gates = 4 * (int64_t)cell->units;
    int64_t rows = emp_tf_shape(tf, input).dim[1] + output_size(cell);

    cell->kernel[layer] = emp_tf_weights(tf, emp_tf_join(tf, scope, "kernel", ""),
                                         EMP_SHAPE(rows, gates), EMP_TF_INIT_UNIFORM);
    cell->bias[layer] = emp_tf_weights(tf, emp_tf_join(tf, scope, "bias", ""),
                                       EMP_SHAPE(gates), EMP_TF_INIT_ZEROS);
    if (cell->projection > 0) {
        cell->projector[layer] =
            emp_tf_weights(tf, emp_tf_join(tf, scope, "projection/kernel", ""),
                           EMP_SHAPE(cell->units, cell->projection), EMP_TF_INIT_UNIFORM);
    }
    cell->has_variables[layer] = true;
}

/* i, j, f, o = split([x, h] W + b); c = c sigmoid(f + 1) + sigmoid(i) tanh(j);
 * h = tanh(c) sigmoid(o) */
static emp_port lstm(emp_tf *tf, const emp_tf_rnn_cell *cell, int32_t layer,
                     emp_port input, emp_tf_lstm_state *state)
{
    emp_op_attrs   four = {.count = 4};
    emp_port       axis = emp_tf_int(tf, NULL, "Const", 1);
    const emp_port both[] = {input, state->h};
    emp_port       gates = emp_tf_concat(tf, NULL, both, 2, 1);

    gates = emp_tf_matmul(tf, "MatMul", gates, cell->kernel[layer].read, false, false);
    gates = emp_tf_op2(tf, "BiasAdd", NULL, gates, cell->bias[layer].read);
    emp_tf_int(tf, NULL, "Const", 4);
    emp_port split = emp_tf_op(tf, "Split", "split", &four, EMP_TF_PORTS(axis, gates));
    emp_port i = {split.op, 0}, j = {split.op, 1}, f = {split.op, 2}, o = {split.op, 3};

    f = emp_tf_op2(tf, "Add", NULL, f, emp_tf_float(tf, NULL, "Const", 1.0));
    f = emp_tf_op1(tf, "Sigmoid", NULL, f);
    emp_port kept = emp_tf_op2(tf, "Mul", NULL, state->c, f);
    i = emp_tf_op1(tf, "Sigmoid", NULL, i);
    j = emp_tf_op1(tf, "Tanh", NULL, j);
    emp_port added = emp_tf_op2(tf, "Mul", NULL, i, j);
    state->c = emp_tf_op2(tf, "Add", NULL, kept, added);
    emp_port bounded = emp_tf_op1(tf, "Tanh", NULL, state->c);
    o = emp_tf_op1(tf, "Sigmoid", NULL, o);
    state->h = emp_tf_op2(tf, "Mul", NULL, bounded, o);
    if (cell->projection > 0) {
        state->h = emp_tf_matmul(tf, "MatMul", state->h, cell->projector[layer].read,
                                 false, false);
    }
    return state->h;
}

static emp_port layer_step(emp_tf *tf, emp_tf_rnn_cell *cell, int32_t layer,
                           emp_port input, emp_tf_lstm_state *state)
{
    const char *name = emp_tf_number(tf, "cell_%d", cell->first_layer + layer);
    const char *outer = emp_tf_reenter(tf, cell->ops);
    const char *layer_scope = emp_tf_join(tf, emp_tf_unique(tf, name), "/", "");
    emp_port    x = input;

    emp_tf_reenter(tf, layer_scope); /* wrappers: a new scope each step */
    if (cell->keep_prob < 1.0) x = emp_tf_dropout(tf, NULL, x, cell->keep_prob);
    if (!cell->has_variables[layer]) create_variables(tf, cell, layer, x);
    emp_tf_reenter(tf, emp_tf_join(tf, cell->ops, name, "/basic_lstm_cell/"));
    emp_port output = lstm(tf, cell, layer, x, state);
    emp_tf_reenter(tf, layer_scope);
    if (cell->residual && layer > 0) output = emp_tf_op2(tf, "Add", "add", input, output);
    emp_tf_leave(tf, outer);
    return output;
}

emp_port emp_tf_rnn_step(emp_tf *tf, emp_tf_rnn_cell *cell, emp_port input,
                         emp_tf_lstm_state *state)
{
    for (int32_t layer = 0; layer < cell->layers; layer++) {
        input = layer_step(tf, cell, layer, input, &state[layer]);
    }
    return input;
}
