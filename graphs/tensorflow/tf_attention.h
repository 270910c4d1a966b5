/** \file graphs/tensorflow/tf_attention.h
 * AttentionWrapper around a MultiRNNCell with Bahdanau attention, statically unrolled.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_ATTENTION_H
#define EMP_GRAPHS_TENSORFLOW_TF_ATTENTION_H

#include "graphs/tensorflow/tf_rnn.h"

/** Set cell, memory and the scopes; the rest is made here. */
typedef struct {
    emp_tf_rnn_cell *cell;      /**< Borrowed. Its ops lie in "<ops>attention/...". */
    emp_port         memory;    /**< [batch, time, depth], what is attended to */
    const char      *variables; /**< "decoder/step/attention/" */
    const char      *ops;       /**< "decoder/step/step/attention/" */

    emp_port        keys;      /**< [batch, time, units] */
    emp_port        attention; /**< [batch, units], fed to the next step */
    emp_port        time;
    emp_tf_variable query_kernel, v, layer_kernel;
    bool            has_variables;
} emp_tf_attention;

/** Projects the memory to keys, in the current scope. */
void emp_tf_attention_create_keys(emp_tf *tf, emp_tf_attention *a);

/** zero_state() in the current scope; \a cell_state is what zero_state() of the cell
 * gives and is not used further: the encoder's state takes its place. */
void emp_tf_attention_zero_state(emp_tf *tf, emp_tf_attention *a,
                                 emp_tf_lstm_state *cell_state);

/** One decoder step: updates the states, returns the attention vector [batch, units]. */
emp_port emp_tf_attention_step(emp_tf *tf, emp_tf_attention *a, emp_port input,
                               emp_tf_lstm_state *cell_state);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_ATTENTION_H */
