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

/* zeros([batch, size]) as cells make it: six constants, two ops. */
static emp_port tf_zero_state_tensor(emp_tf *tf, int32_t batch, int32_t size)
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
    state->c = tf_zero_state_tensor(tf, cell->batch, cell->units);
    state->h = tf_zero_state_tensor(tf, cell->batch, output_size(cell));
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

/* tf.assert_equal() of two static sizes: returns the Assert op. */
static emp_op_id assert_equal(emp_tf *tf, int64_t x, int64_t y)
{
    static const char *const data[] = {"data_0", "data_1", "data_2", "data_4"};
    const char              *outer = emp_tf_enter(tf, "assert_equal");
    emp_port                 a = emp_tf_int(tf, NULL, "x", x);
    emp_port                 b = emp_tf_int(tf, NULL, "y", y);
    emp_port                 equal = emp_tf_op2(tf, "Equal", NULL, a, b);
    emp_port                 none = emp_tf_ints(tf, NULL, "Const", NULL, 0);
    emp_port                 all = emp_tf_op2(tf, "All", NULL, equal, none);
    emp_port                 text[4];

    emp_tf_enter(tf, "Assert");
    for (int32_t i = 0; i < 4; i++) emp_tf_string(tf, NULL, "Const", EMP_SHAPE_SCALAR);
    const char *full = emp_tf_unique(tf, "Assert");
    for (int32_t i = 0; i < 4; i++) {
        text[i] = emp_tf_string(tf, full, data[i], EMP_SHAPE_SCALAR);
    }
    emp_port check =
        emp_tf_emit(tf, full, "Assert", NULL,
                    EMP_TF_PORTS(all, text[0], text[1], text[2], a, text[3], b));
    emp_tf_leave(tf, outer);
    return check.op;
}

/* ---- once -------------------------------------------------------------------------- */

/* Transposes by the identity and flattens: how Tensordot prepares an operand. */
static emp_port flatten(emp_tf *tf, emp_port x, emp_shape shape)
{
    static const int64_t identity[] = {0, 1, 2};
    emp_shape            x_shape = emp_tf_shape(tf, x);

    x = emp_tf_transpose(tf, x, identity, x_shape.rank);
    return emp_tf_reshape(tf, x, shape);
}

static bool is_luong(const emp_tf_attention *a)
{
    return a->kind == EMP_TF_LUONG || a->kind == EMP_TF_SCALED_LUONG;
}

void emp_tf_attention_create_keys(emp_tf *tf, emp_tf_attention *a)
{
    emp_shape memory = emp_tf_shape(tf, a->memory);
    int64_t   batch = memory.dim[0], time = memory.dim[1], depth = memory.dim[2];
    int64_t   units = a->cell->units;
    emp_shape shape = EMP_SHAPE(batch, time, units);

    const char *outer =
        emp_tf_enter(tf, is_luong(a) ? "LuongAttention" : "BahdanauAttention");
    emp_tf_filled(tf, "ones", EMP_DTYPE_INT32, EMP_SHAPE(1), 1);
    emp_tf_variable kernel =
        emp_tf_weights(tf, emp_tf_join(tf, outer, "memory_layer/kernel", ""),
                       EMP_SHAPE(depth, units), EMP_TF_INIT_UNIFORM);
    emp_tf_enter(tf, "memory_layer");
    const char *full = emp_tf_unique(tf, "Tensordot");
    emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    emp_port rows = flatten(tf, a->memory, EMP_SHAPE(batch * time, depth));
    emp_port columns = flatten(tf, kernel.read, EMP_SHAPE(depth, units));
    emp_port product = emp_tf_matmul(tf, "MatMul", rows, columns, false, false);
    emp_port sizes = emp_tf_dims(tf, NULL, "shape", &shape);
    a->keys = emp_tf_emit(tf, full, "Reshape", NULL, EMP_TF_PORTS(product, sizes));
    emp_tf_leave(tf, outer);
}

void emp_tf_attention_zero_state(emp_tf *tf, emp_tf_attention *a,
                                 emp_tf_lstm_state *cell_state)
{
    const emp_tf_rnn_cell *cell = a->cell;
    emp_shape              memory = emp_tf_shape(tf, a->memory);
    int32_t                time = (int32_t)memory.dim[1], depth = (int32_t)memory.dim[2];
    const char            *outer = emp_tf_enter(tf, "AttentionWrapperZeroState");

    emp_tf_zero_state(tf, cell, cell_state);
    emp_op_id check = assert_equal(tf, cell->batch, cell->batch);
    emp_tf_begin_controls(tf, &check, 1);
    for (int32_t layer = 0; layer < cell->layers; layer++) {
        emp_tf_lstm_state *s = &cell_state[layer];
        s->c = emp_tf_op1(tf, "Identity", "checked_cell_state", s->c);
        s->h = emp_tf_op1(tf, "Identity", "checked_cell_state", s->h);
    }
    emp_tf_end_controls(tf);
    a->time = emp_tf_filled(tf, "zeros", EMP_DTYPE_INT32, EMP_SHAPE_SCALAR, 0);
    a->attention =
        tf_zero_state_tensor(tf, cell->batch, a->has_layer ? cell->units : depth);
    tf_zero_state_tensor(tf, cell->batch, time); /* alignments */
    tf_zero_state_tensor(tf, cell->batch, time); /* attention state */
    emp_tf_leave(tf, outer);
}

/* ---- steps ------------------------------------------------------------------------- */

static emp_tf_variable weights(emp_tf *tf, const emp_tf_attention *a, const char *name,
                               emp_shape shape)
{
    return emp_tf_weights(tf, emp_tf_join(tf, a->variables, name, ""), shape,
                          EMP_TF_INIT_UNIFORM);
}

/* A Dense layer's product, in a scope that all steps share. */
static emp_port dense(emp_tf *tf, const emp_tf_attention *a, const char *scope,
                      emp_port x, const emp_tf_variable *kernel)
{
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, a->ops, scope, "/"));

    emp_port weights = emp_tf_loop_invariant(tf, kernel->read);
    x = emp_tf_matmul(tf, "MatMul", x, weights, false, false);
    emp_tf_leave(tf, outer);
    return x;
}

/* get_variable() with a number as initializer. Each call, also one that finds the variable,
 * makes a tensor of the number outside of all scopes, to ask for its type. */
static emp_port scalar(emp_tf *tf, emp_tf_attention *a, const char *name)
{
    const char *outer = emp_tf_reenter(tf, "");

    emp_tf_float(tf, NULL, "Const", 1.0);
    emp_tf_leave(tf, outer);
    if (!a->has_variables) {
        a->g = emp_tf_get_variable(tf, emp_tf_join(tf, a->variables, name, ""),
                                   EMP_DTYPE_FLOAT, EMP_SHAPE_SCALAR, EMP_TF_INIT_VALUE,
                                   true);
    }
    return emp_tf_loop_invariant(tf, a->g.read);
}

/* g v / |v|, computed anew at every step. */
static emp_port normed_v(emp_tf *tf, emp_tf_attention *a)
{
    emp_port g = scalar(tf, a, "bahdanau_attention/attention_g");

    if (!a->has_variables) {
        a->b = emp_tf_weights(
            tf, emp_tf_join(tf, a->variables, "bahdanau_attention/attention_b", ""),
            EMP_SHAPE(a->cell->units), EMP_TF_INIT_ZEROS);
    }
    emp_port unit = emp_tf_loop_invariant(tf, a->v.read);
    emp_port v = emp_tf_op2(tf, "Mul", "mul", g, unit);
    emp_port norm = emp_tf_op1(tf, "Square", NULL, unit);
    norm = emp_tf_reduce_all(tf, "Sum", NULL, norm);
    norm = emp_tf_op1(tf, "Rsqrt", NULL, norm);
    return emp_tf_op2(tf, "Mul", "mul", v, norm);
}

/* For every memory position: [batch, time]. */
static emp_port bahdanau_score(emp_tf *tf, emp_tf_attention *a, emp_port query)
{
    int64_t units = a->cell->units, last = 2;
    bool    is_normed = a->kind == EMP_TF_NORMED_BAHDANAU;

    if (!a->has_variables) {
        a->query_kernel = weights(tf, a, "bahdanau_attention/query_layer/kernel",
                                  EMP_SHAPE(units, units));
    }
    query = dense(tf, a, "bahdanau_attention/query_layer", query, &a->query_kernel);
    const char *outer = emp_tf_enter(tf, "bahdanau_attention");
    query = emp_tf_expand_dims(tf, query, 1);
    if (!a->has_variables)
        a->v = weights(tf, a, "bahdanau_attention/attention_v", EMP_SHAPE(units));
    emp_port v = is_normed ? normed_v(tf, a) : emp_tf_loop_invariant(tf, a->v.read);
    emp_port keys = emp_tf_loop_invariant(tf, a->keys);
    emp_port sum = emp_tf_op2(tf, "Add", "add", keys, query);
    if (is_normed) {
        emp_port bias = emp_tf_loop_invariant(tf, a->b.read);
        sum = emp_tf_op2(tf, "Add", "add", sum, bias);
    }
    sum = emp_tf_op1(tf, "Tanh", NULL, sum);
    emp_port product = emp_tf_op2(tf, "Mul", "mul", v, sum);
    product = emp_tf_reduce(tf, "Sum", NULL, product, &last, 1, false);
    emp_tf_leave(tf, outer);
    return product;
}

static emp_port luong_score(emp_tf *tf, emp_tf_attention *a, emp_port query)
{
    const char *outer = emp_tf_enter(tf, "luong_attention");

    query = emp_tf_expand_dims(tf, query, 1);
    emp_port keys = emp_tf_loop_invariant(tf, a->keys);
    emp_port product = emp_tf_matmul(tf, "BatchMatMul", query, keys, false, true);
    product = emp_tf_squeeze(tf, NULL, product, 1U << 1);
    if (a->kind == EMP_TF_SCALED_LUONG) {
        emp_port scale = scalar(tf, a, "luong_attention/attention_g");
        product = emp_tf_op2(tf, "Mul", "mul", scale, product);
    }
    emp_tf_leave(tf, outer);
    return product;
}

/* The memory averaged with weights softmax(score): [batch, depth]. */
static emp_port read_memory(emp_tf *tf, const emp_tf_attention *a, emp_port scores)
{
    emp_port weight = emp_tf_op1(tf, "Softmax", NULL, scores);

    weight = emp_tf_expand_dims(tf, weight, 1);
    emp_port memory = emp_tf_loop_invariant(tf, a->memory);
    emp_port context = emp_tf_matmul(tf, "BatchMatMul", weight, memory, false, false);
    return emp_tf_squeeze(tf, NULL, context, 1U << 1);
}

/* A Dense layer of output and context. */
static emp_port apply_layer(emp_tf *tf, emp_tf_attention *a, emp_port output,
                            emp_port context)
{
    const emp_port both[] = {output, context};
    emp_port       x = emp_tf_concat(tf, NULL, both, 2, 1);

    if (!a->has_variables) {
        a->layer_kernel = weights(tf, a, "attention_layer/kernel",
                                  EMP_SHAPE(emp_tf_shape(tf, x).dim[1], a->cell->units));
    }
    return dense(tf, a, "attention_layer", x, &a->layer_kernel);
}

emp_port emp_tf_attention_step(emp_tf *tf, emp_tf_attention *a, emp_port input,
                               emp_tf_lstm_state *cell_state)
{
    const char *outer = emp_tf_reenter(tf, a->ops);
    int32_t     batch = a->cell->batch;

    a->fed = emp_tf_loop_carry(tf, a->attention);
    a->time = emp_tf_loop_carry(tf, a->time);
    const emp_port fed[] = {input, a->fed};
    emp_port       output = emp_tf_concat(tf, NULL, fed, 2, -1);

    output = emp_tf_rnn_step(tf, a->cell, output, cell_state);
    emp_op_id check = assert_equal(tf, batch, batch);
    emp_tf_begin_controls(tf, &check, 1);
    output = emp_tf_op1(tf, "Identity", "checked_cell_output", output);
    emp_tf_end_controls(tf);

    emp_port scores =
        is_luong(a) ? luong_score(tf, a, output) : bahdanau_score(tf, a, output);
    emp_port context = read_memory(tf, a, scores);
    if (a->has_layer) context = apply_layer(tf, a, output, context);
    a->has_variables = true;
    a->attention = emp_tf_concat(tf, NULL, &context, 1, 1);
    a->time = emp_tf_op_y(tf, "Add", "add", a->time, 1.0);
    emp_tf_leave(tf, outer);
    return output;
}
