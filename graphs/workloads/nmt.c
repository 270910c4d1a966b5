// SPDX-License-Identifier: GPL-3.0-or-later
/* Neural machine translation (tensorflow/nmt), unrolled or in loops: LSTM encoder, LSTM
 * decoder with attention and input feeding, softmax over the target vocabulary. */
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_rnn.h"
#include "graphs/workloads/workloads_internal.h"

/** tensorflow/nmt's attention_architecture. */
typedef enum {
    EMP_NMT_STANDARD, /**< the attention wraps all layers of the decoder */
    EMP_NMT_GNMT, /**< it wraps the bottom one; the ones above read the attention of the step before */
    EMP_NMT_GNMT_V2 /**< they read the attention of this step */
} emp_nmt_architecture;

/** The options that name them, in the order of the enum. */
#define EMP_NMT_ARCHITECTURE_WORDS "standard|gnmt|gnmt_v2"

/** The values of a spec. */
typedef struct {
    int32_t               layers, units, batch;
    int32_t               src_steps, tgt_steps; /**< words of a sentence */
    int64_t               vocab;
    double                keep_input; /**< 1 = no dropout */
    bool                  residual, bidirectional, per_step_softmax;
    bool                  dynamic; /**< while loops, not a static unroll */
    emp_nmt_architecture  architecture;
    emp_tf_attention_kind attention;
} emp_nmt;

/* Whether the bottom layer of the decoder alone has the attention. */
static bool is_gnmt(const emp_nmt *m) { return m->architecture != EMP_NMT_STANDARD; }

/* A cell of all layers with the model's sizes, wrappers and those scopes. */
static emp_tf_rnn_cell make_cell(const emp_nmt *m, const char *variables, const char *ops)
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

/* ---- encoder ---- */

/* The encoder of the translation model: LSTM layers, the bottom one perhaps both ways. */
/* All steps of a cell in the current scope, from the last one if \a is_backward. Inputs and
 * outputs may be one array. */
static void run(emp_tf *tf, const emp_nmt *m, emp_tf_rnn_cell *cell, bool is_backward,
                const emp_port *inputs, emp_port *outputs, emp_tf_lstm_state *state)
{
    emp_tf_loop loop;

    emp_tf_zero_state(tf, cell, state);
    if (m->dynamic) emp_tf_loop_open(tf, &loop, m->src_steps);
    for (int32_t i = 0; i < m->src_steps; i++) {
        int32_t t = is_backward ? m->src_steps - 1 - i : i;
        emp_tf_loop_step(tf);
        emp_port x = emp_tf_loop_read(tf, inputs[t]);
        x = emp_tf_rnn_step(tf, cell, x, state);
        outputs[t] = emp_tf_loop_write(tf, x);
    }
    emp_tf_rnn_exit(tf, cell, state);
    emp_tf_loop_close(tf);
}

/* One direction of the bidirectional bottom layer. */
static void run_direction(emp_tf *tf, const emp_nmt *m, emp_tf_rnn_cell *cell,
                          const char *name, bool is_backward, const emp_port *inputs,
                          emp_port *outputs, emp_tf_lstm_state *state)
{
    const char *outer = emp_tf_enter(tf, name);

    if (cell->is_bare) emp_tf_enter(tf, name); /* static_rnn opens its scope once more */
    run(tf, m, cell, is_backward, inputs, outputs, state);
    emp_tf_leave(tf, outer);
}

/* The cells of both directions. GNMT's have the names that TensorFlow gives them, the
 * others have the names of layer 0. */
static void create_directions(emp_tf *tf, const emp_nmt *m, emp_tf_rnn_cell cell[2])
{
    if (is_gnmt(m)) {
        cell[0] = make_cell(m, "encoder/bidirectional_rnn/fw/",
                            "encoder/bidirectional_rnn/fw/fw/");
        cell[1] = make_cell(m, "encoder/bidirectional_rnn/bw/",
                            "encoder/bidirectional_rnn/bw/bw/");
    } else {
        cell[0] = make_cell(m, "encoder/bidirectional_rnn/fw/multi_rnn_cell/",
                            "encoder/bidirectional_rnn/fw/fw/multi_rnn_cell/");
        cell[1] = make_cell(m, "encoder/bidirectional_rnn/bw/multi_rnn_cell/",
                            "encoder/bidirectional_rnn/bw/bw/multi_rnn_cell/");
    }
    for (int32_t i = 0; i < 2; i++) {
        cell[i].layers = 1;
        cell[i].is_bare = is_gnmt(m);
        emp_tf_create_wrappers(tf, &cell[i]);
    }
}

/* Replaces the inputs by [forward, backward] outputs; keeps the backward state. */
static void run_both_ways(emp_tf *tf, const emp_nmt *m, emp_port *inputs,
                          emp_tf_lstm_state *state)
{
    emp_tf_rnn_cell   cell[2];
    emp_port          ahead[EMP_WORKLOAD_MAX_STEPS], back[EMP_WORKLOAD_MAX_STEPS];
    emp_tf_lstm_state unused;

    create_directions(tf, m, cell);
    const char *outer = emp_tf_enter(tf, "bidirectional_rnn");
    run_direction(tf, m, &cell[0], "fw", false, inputs, ahead, &unused);
    run_direction(tf, m, &cell[1], "bw", true, inputs, back, state);
    if (is_gnmt(m)) emp_tf_leave(tf, outer);
    for (int32_t t = 0; t < m->src_steps; t++) {
        const emp_port both[] = {ahead[t], back[t]};
        inputs[t] = emp_tf_concat(tf, NULL, both, 2, 1);
    }
    emp_tf_leave(tf, outer);
}

/* Returns the top layer's outputs [batch, src_steps, depth]; fills the states of all
 * layers. \a words are the embedded ones [batch, src_steps, units]. */
static emp_port encode(emp_tf *tf, const emp_nmt *m, emp_port words,
                       emp_tf_lstm_state *state)
{
    int32_t         below = m->bidirectional ? 1 : 0;
    emp_port        x[EMP_WORKLOAD_MAX_STEPS];
    emp_tf_rnn_cell cell =
        make_cell(m, "encoder/rnn/multi_rnn_cell/", "encoder/rnn/rnn/multi_rnn_cell/");

    words = emp_tf_unstack(tf, words, m->src_steps, 1);
    for (int32_t t = 0; t < m->src_steps; t++) x[t] = (emp_port){words.op, t};
    const char *outer = emp_tf_enter(tf, "encoder");
    if (below > 0) run_both_ways(tf, m, x, state);
    cell.layers -= below;
    cell.first_layer = is_gnmt(m) ? 0 : below;
    if (cell.layers > 0) {
        emp_tf_create_wrappers(tf, &cell);
        emp_tf_enter(tf, "rnn");
        run(tf, m, &cell, false, x, x, state + below);
    }
    emp_tf_leave(tf, outer);
    return emp_tf_stack(tf, NULL, x, m->src_steps, 1);
}

/* ---- decoder ---- */

/* The decoder of the translation model: LSTM layers with attention and input feeding. */
static emp_port embed(emp_tf *tf, const emp_nmt *m, const emp_tf_variable *table,
                      emp_port words)
{
    words = emp_tf_gather(tf, table->read, words);
    return emp_tf_unstack(tf, words, m->tgt_steps, 1);
}

/* The attention wraps all layers; the softmax reads it. */
static void decode_standard(emp_tf *tf, const emp_nmt *m, emp_port memory,
                            const emp_tf_variable *table, emp_port words,
                            emp_tf_lstm_state *state, emp_port *outputs)
{
    emp_tf_loop       loop;
    emp_tf_lstm_state zeros[EMP_TF_MAX_LAYERS];
    emp_tf_rnn_cell   cell =
        make_cell(m, "decoder/step/attention/multi_rnn_cell/",
                  "decoder/step/step/attention/attention/multi_rnn_cell/");
    emp_tf_attention attention = {
        .kind = m->attention,
        .cell = &cell,
        .memory = memory,
        .has_layer = true,
        .variables = "decoder/step/attention/",
        .ops = "decoder/step/step/attention/",
    };

    emp_tf_attention_create_keys(tf, &attention);
    emp_tf_create_wrappers(tf, &cell);
    words = embed(tf, m, table, words);
    emp_tf_attention_zero_state(tf, &attention, zeros);
    if (m->dynamic) emp_tf_loop_open(tf, &loop, m->tgt_steps);
    for (int32_t t = 0; t < m->tgt_steps; t++) {
        emp_tf_loop_step(tf);
        emp_port x = emp_tf_loop_read(tf, (emp_port){words.op, t});
        emp_tf_attention_step(tf, &attention, x, state);
        outputs[t] = emp_tf_loop_write(tf, attention.attention);
    }
    emp_tf_loop_close(tf);
}

/* The attention wraps the bottom layer; the layers above read it beside the layer below.
 * The first of them has no residual connection where the encoder's has none. */
static void decode_gnmt(emp_tf *tf, const emp_nmt *m, emp_port memory,
                        const emp_tf_variable *table, emp_port words, emp_port *outputs)
{
    emp_tf_loop       loop;
    emp_tf_lstm_state state[EMP_TF_MAX_LAYERS];
    emp_tf_rnn_cell   bottom =
        make_cell(m, "decoder/cell_0_attention/attention/",
                  "decoder/cell_0_attention/cell_0_attention/attention/");
    emp_tf_rnn_cell  above = make_cell(m, "decoder/", "decoder/");
    emp_tf_attention attention = {
        .kind = m->attention,
        .cell = &bottom,
        .memory = memory,
        .variables = bottom.variables,
        .ops = bottom.ops,
    };

    bottom.layers = 1;
    bottom.is_bare = true;
    above.layers--;
    above.first_layer = 1;
    above.has_beside = true;
    if (m->residual) above.first_residual = m->bidirectional ? 1 : 0;
    emp_tf_attention_create_keys(tf, &attention);
    emp_tf_create_wrappers(tf, &bottom);
    emp_tf_create_wrappers(tf, &above);
    words = embed(tf, m, table, words);
    emp_tf_attention_zero_state(tf, &attention, state);
    emp_tf_zero_state(tf, &above, state + 1);
    if (m->dynamic) emp_tf_loop_open(tf, &loop, m->tgt_steps);
    for (int32_t t = 0; t < m->tgt_steps; t++) {
        emp_tf_loop_step(tf);
        emp_port x = emp_tf_loop_read(tf, (emp_port){words.op, t});
        x = emp_tf_attention_step(tf, &attention, x, state);
        bool is_new = m->architecture == EMP_NMT_GNMT_V2;
        above.beside = is_new ? attention.attention : attention.fed;
        x = emp_tf_rnn_step(tf, &above, x, state + 1);
        outputs[t] = emp_tf_loop_write(tf, x);
    }
    emp_tf_loop_close(tf);
}

/* Fills \a outputs [tgt_steps] with what the softmax reads, [batch, units] each.
 * \a words are target words [batch, tgt_steps], \a state the encoder's: GNMT starts from
 * zeros instead. */
static void decode(emp_tf *tf, const emp_nmt *m, emp_port memory,
                   const emp_tf_variable *table, emp_port words, emp_tf_lstm_state *state,
                   emp_port *outputs)
{
    const char *outer = emp_tf_enter(tf, "decoder");

    if (is_gnmt(m))
        decode_gnmt(tf, m, memory, table, words, outputs);
    else
        decode_standard(tf, m, memory, table, words, state, outputs);
    emp_tf_leave(tf, outer);
}

/* ---- the model ---- */

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

    logits = emp_tf_reshape(tf, logits, EMP_SHAPE(-1, m->units));
    targets = emp_tf_reshape(tf, targets, EMP_SHAPE(-1));
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
    emp_port        words = emp_tf_gather(tf, from.read, source);
    emp_port        memory = encode(tf, &m, words, state);
    decode(tf, &m, memory, &to, target_in, state, outputs);
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
