/** \file graphs/workloads/nmt_internal.h
 * The parts of the translation model: what a spec says, encoder, decoder.
 */
#ifndef EMP_GRAPHS_WORKLOADS_NMT_INTERNAL_H
#define EMP_GRAPHS_WORKLOADS_NMT_INTERNAL_H

#include "graphs/tensorflow/tf_attention.h"
#include "graphs/workloads/workloads_internal.h"

/** tensorflow/nmt's attention_architecture. */
typedef enum {
    EMP_NMT_STANDARD, /**< the attention wraps all layers of the decoder */
    EMP_NMT_GNMT, /**< it wraps the bottom one; those above read that of the step before */
    EMP_NMT_GNMT_V2 /**< they read that of this step */
} emp_nmt_architecture;

/** The options that name them, in the order of the enum. */
#define EMP_NMT_ARCHITECTURE_WORDS "standard|gnmt|gnmt_v2"

/** What a spec says. */
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

/** Whether the bottom layer of the decoder alone has the attention. */
bool emp_nmt_is_gnmt(const emp_nmt *m);

/** A cell of all layers with the model's sizes, wrappers and those scopes. */
emp_tf_rnn_cell emp_nmt_cell(const emp_nmt *m, const char *variables, const char *ops);

/** Returns the top layer's outputs [batch, src_steps, depth]; fills the states of all
 * layers. \a words are the embedded ones [batch, src_steps, units]. */
emp_port emp_nmt_encode(emp_tf *tf, const emp_nmt *m, emp_port words,
                        emp_tf_lstm_state *state);

/** Fills \a outputs [tgt_steps] with what the softmax reads, [batch, units] each.
 * \a words are target words [batch, tgt_steps], \a state the encoder's: GNMT starts from
 * zeros instead. */
void emp_nmt_decode(emp_tf *tf, const emp_nmt *m, emp_port memory,
                    const emp_tf_variable *table, emp_port words,
                    emp_tf_lstm_state *state, emp_port *outputs);

#endif /* EMP_GRAPHS_WORKLOADS_NMT_INTERNAL_H */
