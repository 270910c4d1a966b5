/** \file graphs/tensorflow/tf_attention.h
 * AttentionWrapper around a cell, statically unrolled: the mechanisms of contrib.seq2seq.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_ATTENTION_H
#define EMP_GRAPHS_TENSORFLOW_TF_ATTENTION_H

#include "graphs/tensorflow/tf_rnn.h"

typedef enum {
    EMP_TF_BAHDANAU,        /**< v . tanh(keys + W query) */
    EMP_TF_NORMED_BAHDANAU, /**< g v / |v| . tanh(keys + W query + b) */
    EMP_TF_LUONG,           /**< query . keys */
    EMP_TF_SCALED_LUONG     /**< g query . keys */
} emp_tf_attention_kind;

/** The options that name them, in the order of the enum; as in tensorflow/nmt. */
#define EMP_TF_ATTENTION_WORDS "bahdanau|normed_bahdanau|luong|scaled_luong"

/** Set the first group of fields; the rest is made here. */
typedef struct {
    emp_tf_attention_kind kind;
    emp_tf_rnn_cell      *cell;      /**< Borrowed. Its ops lie in "<ops>...". */
    emp_port              memory;    /**< [batch, time, depth], what is attended to */
    bool                  has_layer; /**< a layer brings the context to [batch, units] */
    const char           *variables; /**< "decoder/step/attention/" */
    const char           *ops;       /**< "decoder/step/step/attention/" */

    emp_port        keys;      /**< [batch, time, units] */
    emp_port        attention; /**< [batch, units or depth], fed to the next step */
    emp_port        fed;       /**< the one that the last step was fed */
    emp_port        time;
    emp_tf_variable query_kernel, v, g, b, layer_kernel;
    bool            has_variables;
} emp_tf_attention;

/** Projects the memory to keys, in the current scope. */
void emp_tf_attention_create_keys(emp_tf *tf, emp_tf_attention *a);

/** zero_state() in the current scope. \a cell_state becomes the zeros of the cell. */
void emp_tf_attention_zero_state(emp_tf *tf, emp_tf_attention *a,
                                 emp_tf_lstm_state *cell_state);

/** One decoder step: updates the states and the attention, returns the cell's output
 * [batch, units]. */
emp_port emp_tf_attention_step(emp_tf *tf, emp_tf_attention *a, emp_port input,
                               emp_tf_lstm_state *cell_state);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_ATTENTION_H */
