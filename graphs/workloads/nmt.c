// SPDX-License-Identifier: GPL-3.0-or-later
/* Neural machine translation (tensorflow/nmt), unrolled or in loops: LSTM encoder, LSTM
 * decoder with attention and input feeding, softmax over the target vocabulary. */
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/workloads/nmt_internal.h"

enum {
    LAYERS,
    UNITS,
    BATCH,
    STEPS,
    SRC_STEPS,
    TGT_STEPS,
    VOCAB,
    RESIDUAL,
    DROPOUT,
    BIDIRECTIONAL,
    PER_STEP_SOFTMAX,
    ATTENTION,
    ARCHITECTURE,
    DYNAMIC,
    COMMON
};

const char emp_nmt_description[] =
    "translation: LSTM encoder and decoder with attention, unrolled or in loops";

const emp_option emp_nmt_params[] = {
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, EMP_TF_MAX_LAYERS,
                        "LSTM layers on each side", 2),
    EMP_WORKLOAD_NUMBER(UNITS, "units", 1, 65536, "units of a layer", 1024),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "sentence pairs", 64),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 1, EMP_WORKLOAD_MAX_STEPS,
                        "words of each sentence", 40),
    EMP_WORKLOAD_NUMBER(SRC_STEPS, "src_steps", 0, EMP_WORKLOAD_MAX_STEPS,
                        "words of a source sentence; 0 = steps", 0),
    EMP_WORKLOAD_NUMBER(TGT_STEPS, "tgt_steps", 0, EMP_WORKLOAD_MAX_STEPS,
                        "words of a target sentence; 0 = steps", 0),
    EMP_WORKLOAD_NUMBER(VOCAB, "vocab", 2, 10000000, "words of each language", 50000),
    EMP_WORKLOAD_FLAG(RESIDUAL, "residual", "layers above the bottom add their input", 1),
    EMP_WORKLOAD_FLAG(DROPOUT, "dropout", "drop a fifth of each layer's input", 0),
    EMP_WORKLOAD_FLAG(BIDIRECTIONAL, "bidirectional",
                      "bottom encoder layer reads both ways", 1),
    EMP_WORKLOAD_FLAG(PER_STEP_SOFTMAX, "per_step_softmax", "a softmax at every step", 1),
    EMP_WORKLOAD_WORD(ATTENTION, "attention", EMP_TF_ATTENTION_WORDS,
                      "how the decoder scores the source words", EMP_TF_BAHDANAU),
    EMP_WORKLOAD_WORD(ARCHITECTURE, "architecture", EMP_NMT_ARCHITECTURE_WORDS,
                      "gnmt: the bottom layer alone attends", EMP_NMT_STANDARD),
    EMP_WORKLOAD_FLAG(DYNAMIC, "dynamic", "while loops instead of a static unroll", 0),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_ADAM, 1, 0),
};

static const double clip_norm = 5.0;

bool emp_nmt_is_gnmt(const emp_nmt *m) { return m->architecture != EMP_NMT_STANDARD; }

emp_tf_rnn_cell emp_nmt_cell(const emp_nmt *m, const char *variables, const char *ops)
{
    return (emp_tf_rnn_cell){
        .layers = m->layers,
        .units = m->units,
        .batch = m->batch,
        .first_residual = m->residual ? 1 : EMP_TF_NO_RESIDUAL,
        .keep_input = m->keep_input,
        .variables = variables,
        .ops = ops,
    };
}

/* What the numbers of the spec say. */
static emp_nmt read_spec(const int64_t *v)
{
    return (emp_nmt){
        .layers = (int32_t)v[LAYERS],
        .units = (int32_t)v[UNITS],
        .batch = (int32_t)v[BATCH],
        .src_steps = (int32_t)(v[SRC_STEPS] > 0 ? v[SRC_STEPS] : v[STEPS]),
        .tgt_steps = (int32_t)(v[TGT_STEPS] > 0 ? v[TGT_STEPS] : v[STEPS]),
        .vocab = v[VOCAB],
        .keep_input = v[DROPOUT] != 0 ? 0.8 : 1.0,
        .residual = v[RESIDUAL] != 0,
        .bidirectional = v[BIDIRECTIONAL] != 0,
        .per_step_softmax = v[PER_STEP_SOFTMAX] != 0,
        .dynamic = v[DYNAMIC] != 0,
        .architecture = (emp_nmt_architecture)v[ARCHITECTURE],
        .attention = (emp_tf_attention_kind)v[ATTENTION],
    };
}

/* ---- losses ------------------------------------------------------------------------ */

static emp_port batched_loss(emp_tf *tf, const emp_nmt *m, const emp_port *outputs,
                             const emp_tf_variable *w, emp_port targets)
{
    emp_port logits = emp_tf_concat(tf, NULL, outputs, m->tgt_steps, 1);

    logits = emp_tf_reshape(tf, NULL, logits, EMP_SHAPE(-1, m->units));
    targets = emp_tf_reshape(tf, NULL, targets, EMP_SHAPE(-1));
    logits = emp_tf_matmul(tf, "MatMul", logits, w->read, false, false);
    emp_port loss = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", targets, logits);
    loss = emp_tf_reduce_all(tf, "Sum", NULL, loss);
    return emp_tf_op_y(tf, "RealDiv", "truediv", loss, (double)m->batch);
}

static emp_port per_step_loss(emp_tf *tf, const emp_nmt *m, const emp_port *outputs,
                              const emp_tf_variable *w, emp_port targets)
{
    emp_tf_loop loop;
    int32_t     steps = m->tgt_steps;
    emp_port    logits[EMP_WORKLOAD_MAX_STEPS];
    emp_port    weights =
        emp_tf_placeholder(tf, "tgt_weights", EMP_DTYPE_FLOAT, emp_tf_shape(tf, targets));
    const char *outer = emp_tf_enter(tf, "softmax");

    targets = emp_tf_unstack(tf, targets, steps, 1);
    weights = emp_tf_unstack(tf, weights, steps, 1);
    if (m->dynamic) emp_tf_loop_open(tf, &loop, steps);
    for (int32_t t = 0; t < steps; t++) {
        emp_tf_loop_step(tf);
        emp_port x = emp_tf_loop_read(tf, outputs[t]);
        emp_port weight = emp_tf_loop_invariant(tf, w->read);
        x = emp_tf_matmul(tf, "MatMul", x, weight, false, false);
        logits[t] = emp_tf_loop_write(tf, x);
    }
    emp_tf_loop_close(tf);
    emp_port loss = emp_tf_sequence_loss(tf, logits, targets, weights, steps);
    emp_tf_leave(tf, outer);
    return loss;
}

/* ---- all together ------------------------------------------------------------------ */

static void emit(emp_tf *tf, const int64_t *v)
{
    const emp_nmt     m = read_spec(v);
    emp_tf_lstm_state state[EMP_TF_MAX_LAYERS];
    emp_port          outputs[EMP_WORKLOAD_MAX_STEPS];
    emp_shape         sources = EMP_SHAPE(m.batch, m.src_steps);
    emp_shape         targets = EMP_SHAPE(m.batch, m.tgt_steps);
    emp_shape         table = EMP_SHAPE(m.vocab, m.units);
    emp_tf_variable   step = emp_tf_global_step(tf);
    emp_port          source = emp_tf_placeholder(tf, "src", EMP_DTYPE_INT32, sources);
    emp_port target_in = emp_tf_placeholder(tf, "tgt_in", EMP_DTYPE_INT32, targets);
    emp_port target_out = emp_tf_placeholder(tf, "tgt_out", EMP_DTYPE_INT32, targets);

    emp_tf_variable from = emp_tf_weights(tf, "emb_src", table, EMP_TF_INIT_UNIFORM);
    emp_tf_variable to = emp_tf_weights(tf, "emb_tgt", table, EMP_TF_INIT_UNIFORM);
    emp_port        words = emp_tf_gather(tf, NULL, from.read, source);
    emp_port        memory = emp_nmt_encode(tf, &m, words, state);
    emp_nmt_decode(tf, &m, memory, &to, target_in, state, outputs);
    emp_tf_variable softmax =
        emp_tf_weights(tf, "softmax_w", EMP_SHAPE(m.units, m.vocab), EMP_TF_INIT_UNIFORM);
    emp_port loss = m.per_step_softmax
                        ? per_step_loss(tf, &m, outputs, &softmax, target_out)
                        : batched_loss(tf, &m, outputs, &softmax, target_out);
    emp_workload_train(tf, loss, &step, clip_norm, v + COMMON);
}

emp_status emp_nmt_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
