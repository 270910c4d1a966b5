// SPDX-License-Identifier: GPL-3.0-or-later
/* The encoder of the translation model: LSTM layers, the bottom one perhaps both ways. */
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/workloads/nmt_internal.h"

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
 * others those of layer 0. */
static void create_directions(emp_tf *tf, const emp_nmt *m, emp_tf_rnn_cell cell[2])
{
    if (emp_nmt_is_gnmt(m)) {
        cell[0] = emp_nmt_cell(m, "encoder/bidirectional_rnn/fw/",
                               "encoder/bidirectional_rnn/fw/fw/");
        cell[1] = emp_nmt_cell(m, "encoder/bidirectional_rnn/bw/",
                               "encoder/bidirectional_rnn/bw/bw/");
    } else {
        cell[0] = emp_nmt_cell(m, "encoder/bidirectional_rnn/fw/multi_rnn_cell/",
                               "encoder/bidirectional_rnn/fw/fw/multi_rnn_cell/");
        cell[1] = emp_nmt_cell(m, "encoder/bidirectional_rnn/bw/multi_rnn_cell/",
                               "encoder/bidirectional_rnn/bw/bw/multi_rnn_cell/");
    }
    for (int32_t i = 0; i < 2; i++) {
        cell[i].layers = 1;
        cell[i].is_bare = emp_nmt_is_gnmt(m);
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
    if (emp_nmt_is_gnmt(m)) emp_tf_leave(tf, outer);
    for (int32_t t = 0; t < m->src_steps; t++) {
        const emp_port both[] = {ahead[t], back[t]};
        inputs[t] = emp_tf_concat(tf, NULL, both, 2, 1);
    }
    emp_tf_leave(tf, outer);
}

emp_port emp_nmt_encode(emp_tf *tf, const emp_nmt *m, emp_port words,
                        emp_tf_lstm_state *state)
{
    int32_t         below = m->bidirectional ? 1 : 0;
    emp_port        x[EMP_WORKLOAD_MAX_STEPS];
    emp_tf_rnn_cell cell =
        emp_nmt_cell(m, "encoder/rnn/multi_rnn_cell/", "encoder/rnn/rnn/multi_rnn_cell/");

    words = emp_tf_unstack(tf, words, m->src_steps, 1);
    for (int32_t t = 0; t < m->src_steps; t++) x[t] = (emp_port){words.op, t};
    const char *outer = emp_tf_enter(tf, "encoder");
    if (below > 0) run_both_ways(tf, m, x, state);
    cell.layers -= below;
    cell.first_layer = emp_nmt_is_gnmt(m) ? 0 : below;
    if (cell.layers > 0) {
        emp_tf_create_wrappers(tf, &cell);
        emp_tf_enter(tf, "rnn");
        run(tf, m, &cell, false, x, x, state + below);
    }
    emp_tf_leave(tf, outer);
    return emp_tf_stack(tf, NULL, x, m->src_steps, 1);
}
