// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_rnn.h"

#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"

static int32_t output_size(const emp_tf_rnn_cell *cell)
{
    return cell->projection > 0 ? cell->projection : cell->units;
}

static bool drops(double keep) { return keep > 0.0 && keep < 1.0; }

static bool has_dropout(const emp_tf_rnn_cell *cell)
{
    return drops(cell->keep_input) || drops(cell->keep_output);
}

/* A DropoutWrapper converts the three probabilities of keeping input, state and output.
 */
void emp_tf_create_wrappers(emp_tf *tf, const emp_tf_rnn_cell *cell)
{
    for (int32_t layer = 0; layer < cell->layers && has_dropout(cell); layer++) {
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
    if (has_dropout(cell)) emp_tf_enter(tf, "DropoutWrapperZeroState");
    emp_tf_enter(tf, "BasicLSTMCellZeroState");
    state->c = emp_tf_zero_state_tensor(tf, cell->batch, cell->units);
    state->h = emp_tf_zero_state_tensor(tf, cell->batch, output_size(cell));
    emp_tf_leave(tf, outer);
}

void emp_tf_zero_state(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state)
{
    const char *outer = tf->scope;

    if (!cell->is_bare && !cell->has_beside) emp_tf_enter(tf, "MultiRNNCellZeroState");
    for (int32_t layer = 0; layer < cell->layers; layer++) {
        layer_zero_state(tf, cell, layer >= cell->first_residual, &state[layer]);
    }
    emp_tf_leave(tf, outer);
}

/* ---- steps ------------------------------------------------------------------------- */

/* "<parent>cell_<number>/", or the parent itself for a bare cell. */
static const char *cell_scope(emp_tf *tf, const emp_tf_rnn_cell *cell, const char *parent,
                              int32_t layer)
{
    if (cell->is_bare) return parent;
    return emp_tf_join(tf, parent,
                       emp_tf_number(tf, "cell_%d/", cell->first_layer + layer), "");
}

static void create_variables(emp_tf *tf, emp_tf_rnn_cell *cell, int32_t layer,
                             emp_port input)
{
    const char *scope = emp_tf_join(tf, cell_scope(tf, cell, cell->variables, layer),
                                    "basic_lstm_cell/", "");
    int64_t     gates = 4 * (int64_t)cell->units;
    int64_t     rows = emp_tf_shape(tf, input).dim[1] + output_size(cell);

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

    emp_port kernel = emp_tf_loop_invariant(tf, cell->kernel[layer].read);
    emp_port bias = emp_tf_loop_invariant(tf, cell->bias[layer].read);
    gates = emp_tf_matmul(tf, "MatMul", gates, kernel, false, false);
    gates = emp_tf_op2(tf, "BiasAdd", NULL, gates, bias);
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
        emp_port projector = emp_tf_loop_invariant(tf, cell->projector[layer].read);
        state->h = emp_tf_matmul(tf, "MatMul", state->h, projector, false, false);
    }
    return state->h;
}

/* tensorflow/nmt's residual function: of an input that carries more behind what the layer
 * below put out, only that is added. */
static emp_port add_input(emp_tf *tf, emp_port input, emp_port output)
{
    int64_t width = emp_tf_shape(tf, input).dim[1];
    int64_t size = emp_tf_shape(tf, output).dim[1];

    if (width > size) {
        emp_op_attrs two = {.count = 2};
        emp_port     sizes =
            emp_tf_ints(tf, NULL, "Const", (const int64_t[]){size, width - size}, 2);
        const char    *full = emp_tf_unique(tf, "split");
        emp_port       axis = emp_tf_int(tf, full, "split_dim", -1);
        const emp_port split[] = {input, sizes, axis};
        input = emp_tf_emit(tf, full, "SplitV", &two, split, 3);
    }
    return emp_tf_op2(tf, "Add", "add", input, output);
}

/* The scope of a layer's wrappers: a new one each step. */
static const char *wrapper_scope(emp_tf *tf, const emp_tf_rnn_cell *cell, int32_t layer)
{
    const char *name = emp_tf_number(tf, "cell_%d", cell->first_layer + layer);

    if (cell->is_bare) return tf->scope;
    return emp_tf_join(tf, emp_tf_unique_in(tf, cell->ops, name), "/", "");
}

static emp_port layer_step(emp_tf *tf, emp_tf_rnn_cell *cell, int32_t layer,
                           emp_port input, emp_tf_lstm_state *state)
{
    const char *wrappers = wrapper_scope(tf, cell, layer);
    const char *outer = emp_tf_reenter(tf, wrappers);

    if (cell->has_beside)
        input = emp_tf_concat(tf, NULL, (const emp_port[]){input, cell->beside}, 2, -1);
    emp_port x = input;
    if (drops(cell->keep_input)) x = emp_tf_dropout(tf, NULL, x, cell->keep_input);
    if (!cell->has_variables[layer]) create_variables(tf, cell, layer, x);
    emp_tf_reenter(tf, emp_tf_join(tf, cell_scope(tf, cell, cell->ops, layer),
                                   "basic_lstm_cell/", ""));
    emp_port output = lstm(tf, cell, layer, x, state);
    emp_tf_reenter(tf, wrappers);
    if (drops(cell->keep_output))
        output = emp_tf_dropout(tf, NULL, output, cell->keep_output);
    if (layer >= cell->first_residual) output = add_input(tf, input, output);
    emp_tf_leave(tf, outer);
    return output;
}

static emp_tf_lstm_state carry(emp_tf *tf, emp_tf_lstm_state state)
{
    return (emp_tf_lstm_state){.c = emp_tf_loop_carry(tf, state.c),
                               .h = emp_tf_loop_carry(tf, state.h)};
}

static emp_tf_lstm_state leave(emp_tf *tf, emp_tf_lstm_state state)
{
    return (emp_tf_lstm_state){.c = emp_tf_loop_exit(tf, state.c),
                               .h = emp_tf_loop_exit(tf, state.h)};
}

emp_port emp_tf_rnn_step(emp_tf *tf, emp_tf_rnn_cell *cell, emp_port input,
                         emp_tf_lstm_state *state)
{
    const char *outer = tf->scope;

    for (int32_t layer = 0; layer < cell->layers; layer++) {
        emp_tf_reenter(tf, cell_scope(tf, cell, cell->ops, layer));
        state[layer] = carry(tf, state[layer]);
    }
    emp_tf_leave(tf, outer);
    for (int32_t layer = 0; layer < cell->layers; layer++) {
        input = layer_step(tf, cell, layer, input, &state[layer]);
    }
    return input;
}

void emp_tf_rnn_exit(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state)
{
    const char *outer = tf->scope;

    for (int32_t layer = 0; layer < cell->layers; layer++) {
        emp_tf_reenter(tf, cell_scope(tf, cell, cell->ops, layer));
        state[layer] = leave(tf, state[layer]);
    }
    emp_tf_leave(tf, outer);
}
