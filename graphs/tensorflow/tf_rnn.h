/** \file graphs/tensorflow/tf_rnn.h
 * Recurrent networks, unrolled or in a while loop: BasicLSTMCell in a MultiRNNCell, with
 * the DropoutWrapper and ResidualWrapper around each layer when asked for.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_RNN_H
#define EMP_GRAPHS_TENSORFLOW_TF_RNN_H

#include "graphs/tensorflow/tf_train.h"

enum { EMP_TF_MAX_LAYERS = 64, EMP_TF_NO_RESIDUAL = EMP_TF_MAX_LAYERS };

/** State of one layer, [batch, units] each ([batch, projection] for h). */
typedef struct {
    emp_port c, h;
} emp_tf_lstm_state;

/** Set the first group of fields, zero the rest. */
typedef struct {
    int32_t     layers, units, batch;
    int32_t     first_layer;    /**< number of the bottom layer: "cell_<first_layer>" */
    int32_t     first_residual; /**< layers from this one on add their input */
    int32_t     projection;     /**< size of h if smaller than units; 0 = units */
    double      keep_input;     /**< share of a layer's input that dropout keeps */
    double      keep_output;    /**< the same of its output; 1 and 0 = no dropout */
    bool        is_bare;        /**< one layer that is not in a MultiRNNCell */
    const char *variables;      /**< scope of the variables: "rnn/multi_rnn_cell/" */
    const char *ops;            /**< scope of the ops: "rnn/rnn/multi_rnn_cell/" */
    bool        has_beside;     /**< layers read \a beside too; not in a MultiRNNCell */
    emp_port    beside;         /**< [batch, any], set before each step */

    /* Made by the first step, as their shapes follow from its input. */
    emp_tf_variable kernel[EMP_TF_MAX_LAYERS], bias[EMP_TF_MAX_LAYERS];
    emp_tf_variable projector[EMP_TF_MAX_LAYERS];
    bool            has_variables[EMP_TF_MAX_LAYERS];
} emp_tf_rnn_cell;

/** The constants that wrappers make when they are created, in the current scope. */
void emp_tf_create_wrappers(emp_tf *tf, const emp_tf_rnn_cell *cell);

/** cell.zero_state() in the current scope. */
void emp_tf_zero_state(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state);

/** One time step through all layers: updates \a state, returns the output. A bare cell's
 * wrappers make their ops in the current scope. */
emp_port emp_tf_rnn_step(emp_tf *tf, emp_tf_rnn_cell *cell, emp_port input,
                         emp_tf_lstm_state *state);

/** The states that an open loop leaves behind its last step. */
void emp_tf_rnn_exit(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state);

/* AttentionWrapper around a cell, statically unrolled: the mechanisms of contrib.seq2seq.
 */

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

#endif /* EMP_GRAPHS_TENSORFLOW_TF_RNN_H */
