// SPDX-License-Identifier: GPL-3.0-or-later
/* The language model of Jozefowicz et al. (2016), statically unrolled: embedding, LSTM
 * layers, softmax over the vocabulary (sampled, full, or full at every step). */
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_rnn.h"
#include "graphs/workloads/workloads_internal.h"

enum {
    LAYERS,
    UNITS,
    PROJECTION,
    BATCH,
    STEPS,
    VOCAB,
    SAMPLED,
    PER_STEP_SOFTMAX,
    DROPOUT,
    COMMON
};

const char emp_rnnlm_description[] =
    "language model: LSTM layers, sampled or full softmax, statically unrolled";

const emp_option emp_rnnlm_params[] = {
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, EMP_TF_MAX_LAYERS, "LSTM layers", 2),
    EMP_WORKLOAD_NUMBER(UNITS, "units", 1, 65536, "units of a layer", 2048),
    EMP_WORKLOAD_NUMBER(PROJECTION, "projection", 0, 65536,
                        "size of h and embedding; 0 = units", 0),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "sequences", 64),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 1, EMP_WORKLOAD_MAX_STEPS, "unrolled time steps",
                        40),
    EMP_WORKLOAD_NUMBER(VOCAB, "vocab", 2, 10000000, "words", 793470),
    EMP_WORKLOAD_NUMBER(SAMPLED, "sampled", 0, 1000000,
                        "sampled classes; 0 = full softmax", 8192),
    EMP_WORKLOAD_FLAG(PER_STEP_SOFTMAX, "per_step_softmax",
                      "a full softmax at every step", 0),
    EMP_WORKLOAD_FLAG(DROPOUT, "dropout", "drop a tenth of each layer's output", 0),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_ADAGRAD, 1, 0),
};

static const double clip_norm = 10.0;

/* The projection onto the vocabulary. */
typedef struct {
    emp_tf_variable w, b;
} softmax;

static softmax create_softmax(emp_tf *tf, int64_t rows, int64_t columns, int64_t vocab)
{
    softmax s;

    s.w = emp_tf_weights(tf, "softmax_w", EMP_SHAPE(rows, columns), EMP_TF_INIT_UNIFORM);
    s.b = emp_tf_weights(tf, "softmax_b", EMP_SHAPE(vocab), EMP_TF_INIT_UNIFORM);
    return s;
}

static emp_port full_loss(emp_tf *tf, emp_port inputs, emp_port targets, int64_t size,
                          int64_t vocab)
{
    softmax  s = create_softmax(tf, size, vocab, vocab);
    emp_port logits = emp_tf_matmul(tf, "MatMul", inputs, s.w.read, false, false);

    logits = emp_tf_op2(tf, "BiasAdd", NULL, logits, s.b.read);
    targets = emp_tf_reshape(tf, targets, EMP_SHAPE(-1));
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", targets, logits);
    return emp_tf_reduce_all(tf, "Mean", NULL, losses);
}

/* The means of the steps' losses, added. */
static emp_port per_step_loss(emp_tf *tf, const emp_port *outputs, emp_port targets,
                              int32_t steps, int64_t size, int64_t vocab)
{
    softmax  s = create_softmax(tf, vocab, size, vocab);
    emp_port losses[EMP_WORKLOAD_MAX_STEPS];

    targets = emp_tf_unstack(tf, targets, steps, 1);
    for (int32_t t = 0; t < steps; t++) {
        emp_port logits = emp_tf_matmul(tf, "MatMul", outputs[t], s.w.read, false, true);
        logits = emp_tf_op2(tf, "BiasAdd", NULL, logits, s.b.read);
        emp_port loss = emp_tf_sparse_softmax_cross_entropy(
            tf, "SparseSoftmaxCrossEntropyWithLogits", (emp_port){targets.op, t}, logits);
        losses[t] = emp_tf_reduce_all(tf, "Mean", NULL, loss);
    }
    emp_op_attrs attrs = {.count = steps};
    emp_port     sum = emp_tf_op(tf, "AddN", NULL, &attrs, losses, steps);
    return emp_tf_reduce_all(tf, "Mean", NULL, sum);
}

static emp_port sampled_loss(emp_tf *tf, emp_port inputs, emp_port targets, int64_t size,
                             const int64_t *v)
{
    softmax s = create_softmax(tf, v[VOCAB], size, v[VOCAB]);

    targets = emp_tf_reshape(tf, targets, EMP_SHAPE(-1, 1));
    emp_port losses = emp_tf_sampled_softmax_loss(tf, s.w.read, s.b.read, targets, inputs,
                                                  (int32_t)v[SAMPLED]);
    return emp_tf_reduce_all(tf, "Mean", NULL, losses);
}

static void unroll(emp_tf *tf, const int64_t *v, emp_port inputs, int32_t steps,
                   emp_port *outputs)
{
    emp_tf_lstm_state state[EMP_TF_MAX_LAYERS];
    emp_tf_rnn_cell   cell = {
          .layers = (int32_t)v[LAYERS],
          .units = (int32_t)v[UNITS],
          .batch = (int32_t)v[BATCH],
          .projection = (int32_t)v[PROJECTION],
          .first_residual = EMP_TF_NO_RESIDUAL,
          .keep_output = v[DROPOUT] != 0 ? 0.9 : 1.0,
          .variables = "rnn/multi_rnn_cell/",
          .ops = "rnn/rnn/multi_rnn_cell/",
    };
    emp_tf_create_wrappers(tf, &cell);
    const char *outer = emp_tf_enter(tf, "rnn");
    emp_tf_zero_state(tf, &cell, state);
    for (int32_t t = 0; t < steps; t++) {
        outputs[t] = emp_tf_rnn_step(tf, &cell, (emp_port){inputs.op, t}, state);
    }
    emp_tf_leave(tf, outer);
}

static void emit(emp_tf *tf, const int64_t *v)
{
    int32_t         steps = (int32_t)v[STEPS];
    int64_t         size = v[PROJECTION] > 0 ? v[PROJECTION] : v[UNITS];
    emp_shape       tokens = EMP_SHAPE(v[BATCH], v[STEPS]);
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_port        words = emp_tf_placeholder(tf, NULL, EMP_DTYPE_INT32, tokens);
    emp_port        targets = emp_tf_placeholder(tf, NULL, EMP_DTYPE_INT32, tokens);
    emp_port        outputs[EMP_WORKLOAD_MAX_STEPS], loss;
    emp_tf_variable table =
        emp_tf_weights(tf, "emb", EMP_SHAPE(v[VOCAB], size), EMP_TF_INIT_UNIFORM);
    emp_port inputs = emp_tf_gather(tf, table.read, words);

    unroll(tf, v, emp_tf_unstack(tf, inputs, steps, 1), steps, outputs);
    emp_port all = emp_tf_concat(tf, NULL, outputs, steps, 1);
    all = emp_tf_reshape(tf, all, EMP_SHAPE(-1, size));
    if (v[PER_STEP_SOFTMAX] != 0)
        loss = per_step_loss(tf, outputs, targets, steps, size, v[VOCAB]);
    else if (v[SAMPLED] == 0)
        loss = full_loss(tf, all, targets, size, v[VOCAB]);
    else
        loss = sampled_loss(tf, all, targets, size, v);
    emp_workload_train(tf, loss, &step, clip_norm, v + COMMON);
}

emp_status emp_rnnlm_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    if (values[PER_STEP_SOFTMAX] == 0 && values[SAMPLED] > values[VOCAB]) {
        return EMP_ERROR(
            EMP_EINVAL,
            "rnnlm: sampled=%lld is more than vocab=%lld; sample fewer words, or 0 for "
            "the full softmax",
            (long long)values[SAMPLED], (long long)values[VOCAB]);
    }
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
