// SPDX-License-Identifier: GPL-3.0-or-later
/* The decoder of the translation model: LSTM layers with attention and input feeding. */
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/workloads/nmt_internal.h"

static emp_port embed(emp_tf *tf, const emp_nmt *m, const emp_tf_variable *table,
                      emp_port words)
{
    words = emp_tf_gather(tf, NULL, table->read, words);
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
        emp_nmt_cell(m, "decoder/step/attention/multi_rnn_cell/",
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
        emp_nmt_cell(m, "decoder/cell_0_attention/attention/",
                     "decoder/cell_0_attention/cell_0_attention/attention/");
    emp_tf_rnn_cell  above = emp_nmt_cell(m, "decoder/", "decoder/");
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

void emp_nmt_decode(emp_tf *tf, const emp_nmt *m, emp_port memory,
                    const emp_tf_variable *table, emp_port words,
                    emp_tf_lstm_state *state, emp_port *outputs)
{
    const char *outer = emp_tf_enter(tf, "decoder");

    if (emp_nmt_is_gnmt(m))
        decode_gnmt(tf, m, memory, table, words, outputs);
    else
        decode_standard(tf, m, memory, table, words, state, outputs);
    emp_tf_leave(tf, outer);
}
