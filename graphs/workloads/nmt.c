// SPDX-License-Identifier: GPL-3.0-or-later
/* Neural machine translation (tensorflow/nmt), statically unrolled: LSTM encoder, LSTM
 * decoder with Bahdanau attention and input feeding, softmax over the target vocabulary.
 */
#include "graphs/tensorflow/tf_attention.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_rnn.h"
#include "graphs/workloads/workloads_internal.h"

enum {
    LAYERS,
    UNITS,
    BATCH,
    STEPS,
    VOCAB,
    RESIDUAL,
    DROPOUT,
    BIDIRECTIONAL,
    PER_STEP_SOFTMAX,
    COMMON
};

const emp_option emp_nmt_params[] = {
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, EMP_TF_MAX_LAYERS,
                        "LSTM layers on each side", 2),
    EMP_WORKLOAD_NUMBER(UNITS, "units", 1, 65536, "units of a layer", 1024),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "sentence pairs", 64),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 1, EMP_WORKLOAD_MAX_STEPS,
                        "words of each sentence", 40),
    EMP_WORKLOAD_NUMBER(VOCAB, "vocab", 2, 10000000, "words of each language", 51200),
    EMP_WORKLOAD_FLAG(RESIDUAL, "residual", "layers above the bottom add their input", 1),
    EMP_WORKLOAD_FLAG(DROPOUT, "dropout", "drop a fifth of each layer's input", 0),
    EMP_WORKLOAD_FLAG(BIDIRECTIONAL, "bidirectional",
                      "bottom encoder layer reads both ways", 1),
    EMP_WORKLOAD_FLAG(PER_STEP_SOFTMAX, "per_step_softmax", "a softmax at every step", 1),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_ADAM, 1, 0),
};

static const double clip_norm = 5.0;

static emp_tf_rnn_cell make_cell(const int64_t *v, const char *variables, const char *ops)
{
    return (emp_tf_rnn_cell){
        .layers = (int32_t)v[LAYERS],
        .units = (int32_t)v[UNITS],
        .batch = (int32_t)v[BATCH],
        .residual = v[RESIDUAL] != 0,
        .keep_prob = v[DROPOUT] != 0 ? 0.8 : 1.0,
        .variables = variables,
        .ops = ops,
    };
}

/* ---- encoder ----------------------------------------------------------------------- */

/* One direction of the bidirectional bottom layer. */
static void run_direction(emp_tf *tf, const int64_t *v, emp_tf_rnn_cell *cell,
                          const char *name, bool is_backward, const emp_port *inputs,
                          emp_port *outputs, emp_tf_lstm_state *state)
{
    int32_t     steps = (int32_t)v[STEPS];
    const char *outer = emp_tf_enter(tf, name);

    cell->layers = 1;
    emp_tf_create_wrappers(tf, cell);
    emp_tf_zero_state(tf, cell, state);
    for (int32_t i = 0; i < steps; i++) {
        int32_t t = is_backward ? steps - 1 - i : i;
        outputs[t] = emp_tf_rnn_step(tf, cell, inputs[t], state);
    }
    emp_tf_leave(tf, outer);
}

/* Replaces the inputs by [forward, backward] outputs; keeps the backward state. */
static void run_both_ways(emp_tf *tf, const int64_t *v, emp_port *inputs,
                          emp_tf_lstm_state *state)
{
    emp_tf_rnn_cell forward =
        make_cell(v, "encoder/bidirectional_rnn/fw/multi_rnn_cell/",
                  "encoder/bidirectional_rnn/fw/fw/multi_rnn_cell/");
    emp_tf_rnn_cell backward =
        make_cell(v, "encoder/bidirectional_rnn/bw/multi_rnn_cell/",
                  "encoder/bidirectional_rnn/bw/bw/multi_rnn_cell/");
    emp_port          ahead[EMP_WORKLOAD_MAX_STEPS], back[EMP_WORKLOAD_MAX_STEPS];
    emp_tf_lstm_state unused;
    const char       *outer = emp_tf_enter(tf, "bidirectional_rnn");

    run_direction(tf, v, &forward, "fw", false, inputs, ahead, &unused);
    run_direction(tf, v, &backward, "bw", true, inputs, back, state);
    for (int32_t t = 0; t < v[STEPS]; t++) {
        const emp_port both[] = {ahead[t], back[t]};
        inputs[t] = emp_tf_concat(tf, NULL, both, 2, 1);
    }
    emp_tf_leave(tf, outer);
}

/* Returns the top layer's outputs [batch, steps, units]; fills the states of all layers.
 */
static emp_port encode(emp_tf *tf, const int64_t *v, emp_port words,
                       emp_tf_lstm_state *state)
{
    int32_t         steps = (int32_t)v[STEPS], below = v[BIDIRECTIONAL] != 0 ? 1 : 0;
    emp_port        x[EMP_WORKLOAD_MAX_STEPS];
    emp_tf_rnn_cell cell =
        make_cell(v, "encoder/rnn/multi_rnn_cell/", "encoder/rnn/rnn/multi_rnn_cell/");

    words = emp_tf_unstack(tf, words, steps, 1);
    for (int32_t t = 0; t < steps; t++) x[t] = (emp_port){words.op, t};
    const char *outer = emp_tf_enter(tf, "encoder");
    if (below > 0) run_both_ways(tf, v, x, state);
    cell.layers -= below;
    cell.first_layer = below;
    if (cell.layers > 0) {
        emp_tf_enter(tf, "rnn");
        emp_tf_create_wrappers(tf, &cell);
        emp_tf_zero_state(tf, &cell, state + below);
        for (int32_t t = 0; t < steps; t++) {
            x[t] = emp_tf_rnn_step(tf, &cell, x[t], state + below);
        }
    }
    emp_tf_leave(tf, outer);
    return emp_tf_stack(tf, NULL, x, steps, 1);
}

/* ---- decoder ----------------------------------------------------------------------- */

static void decode(emp_tf *tf, const int64_t *v, emp_port memory,
                   const emp_tf_variable *table, emp_port words, emp_tf_lstm_state *state,
                   emp_port *outputs)
{
    emp_tf_lstm_state zeros[EMP_TF_MAX_LAYERS];
    emp_tf_rnn_cell   cell =
        make_cell(v, "decoder/step/attention/multi_rnn_cell/",
                  "decoder/step/step/attention/attention/multi_rnn_cell/");
    emp_tf_attention attention = {
        .cell = &cell,
        .memory = memory,
        .variables = "decoder/step/attention/",
        .ops = "decoder/step/step/attention/",
    };
    const char *outer = emp_tf_enter(tf, "decoder");

    emp_tf_create_wrappers(tf, &cell);
    emp_tf_attention_create_keys(tf, &attention);
    words = emp_tf_gather(tf, NULL, table->read, words);
    words = emp_tf_unstack(tf, words, (int32_t)v[STEPS], 1);
    emp_tf_attention_zero_state(tf, &attention, zeros);
    for (int32_t t = 0; t < v[STEPS]; t++) {
        emp_port input = {words.op, t};
        outputs[t] = emp_tf_attention_step(tf, &attention, input, state);
    }
    emp_tf_leave(tf, outer);
}

/* ---- losses ------------------------------------------------------------------------ */

static emp_port batched_loss(emp_tf *tf, const int64_t *v, const emp_port *outputs,
                             const emp_tf_variable *w, emp_port targets)
{
    emp_port logits = emp_tf_concat(tf, NULL, outputs, (int32_t)v[STEPS], 1);

    logits = emp_tf_reshape(tf, NULL, logits, EMP_SHAPE(-1, v[UNITS]));
    targets = emp_tf_reshape(tf, NULL, targets, EMP_SHAPE(-1));
    logits = emp_tf_matmul(tf, "MatMul", logits, w->read, false, false);
    emp_port loss = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", targets, logits);
    loss = emp_tf_reduce_all(tf, "Sum", NULL, loss);
    return emp_tf_op_y(tf, "RealDiv", "truediv", loss, (double)v[BATCH]);
}

static emp_port per_step_loss(emp_tf *tf, const int64_t *v, const emp_port *outputs,
                              const emp_tf_variable *w, emp_port targets)
{
    int32_t  steps = (int32_t)v[STEPS];
    emp_port logits[EMP_WORKLOAD_MAX_STEPS];
    emp_port weights =
        emp_tf_placeholder(tf, "tgt_weights", EMP_DTYPE_FLOAT, emp_tf_shape(tf, targets));
    const char *outer = emp_tf_enter(tf, "softmax");

    targets = emp_tf_unstack(tf, targets, steps, 1);
    weights = emp_tf_unstack(tf, weights, steps, 1);
    for (int32_t t = 0; t < steps; t++) {
        logits[t] = emp_tf_matmul(tf, "MatMul", outputs[t], w->read, false, false);
    }
    emp_port loss = emp_tf_sequence_loss(tf, logits, targets, weights, steps);
    emp_tf_leave(tf, outer);
    return loss;
}

/* ---- all together ------------------------------------------------------------------ */

static void emit(emp_tf *tf, const int64_t *v)
{
    emp_tf_lstm_state state[EMP_TF_MAX_LAYERS];
    emp_port          outputs[EMP_WORKLOAD_MAX_STEPS];
    emp_shape         sentences = EMP_SHAPE(v[BATCH], v[STEPS]);
    emp_shape         table = EMP_SHAPE(v[VOCAB], v[UNITS]);
    emp_tf_variable   step = emp_tf_global_step(tf);
    emp_port          source = emp_tf_placeholder(tf, "src", EMP_DTYPE_INT32, sentences);
    emp_port target_in = emp_tf_placeholder(tf, "tgt_in", EMP_DTYPE_INT32, sentences);
    emp_port target_out = emp_tf_placeholder(tf, "tgt_out", EMP_DTYPE_INT32, sentences);

    emp_tf_variable from = emp_tf_weights(tf, "emb_src", table, EMP_TF_INIT_UNIFORM);
    emp_tf_variable to = emp_tf_weights(tf, "emb_tgt", table, EMP_TF_INIT_UNIFORM);
    emp_port        words = emp_tf_gather(tf, NULL, from.read, source);
    emp_port        memory = encode(tf, v, words, state);
    decode(tf, v, memory, &to, target_in, state, outputs);
    emp_tf_variable softmax = emp_tf_weights(
        tf, "softmax_w", EMP_SHAPE(v[UNITS], v[VOCAB]), EMP_TF_INIT_UNIFORM);
    emp_port loss = v[PER_STEP_SOFTMAX] != 0
                        ? per_step_loss(tf, v, outputs, &softmax, target_out)
                        : batched_loss(tf, v, outputs, &softmax, target_out);
    emp_workload_train(tf, loss, &step, clip_norm, v + COMMON);
}

emp_status emp_nmt_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
