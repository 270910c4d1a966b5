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

/** zeros([batch, size]) as cells make it: six constants, two ops. */
emp_port emp_tf_zero_state_tensor(emp_tf *tf, int32_t batch, int32_t size);

/** cell.zero_state() in the current scope. */
void emp_tf_zero_state(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state);

/** One time step through all layers: updates \a state, returns the output. A bare cell's
 * wrappers make their ops in the current scope. */
emp_port emp_tf_rnn_step(emp_tf *tf, emp_tf_rnn_cell *cell, emp_port input,
                         emp_tf_lstm_state *state);

/** The states that an open loop leaves behind its last step. */
void emp_tf_rnn_exit(emp_tf *tf, const emp_tf_rnn_cell *cell, emp_tf_lstm_state *state);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_RNN_H */
