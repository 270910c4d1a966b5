/** \file graphs/transformer/step.h
 * What a step does with a transformer: how many tokens, in which element type, and whether it
 * trains, reads a prompt or writes one token.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_STEP_H
#define EMP_GRAPHS_TRANSFORMER_STEP_H

#include "sim/graph/op.h"

typedef enum {
    EMP_PHASE_TRAIN, /**< forward, backward and update of whole sequences */
    EMP_PHASE_PREFILL, /**< reads whole sequences and fills the cache; logits of the last tokens */
    EMP_PHASE_DECODE /**< one token more of each sequence, the last of `sequence` */
} emp_transformer_phase;

#define EMP_TRANSFORMER_PHASE_WORDS "train|prefill|decode"

typedef enum {
    EMP_UPDATE_ADAM, /**< two float32 states a weight */
    EMP_UPDATE_SGD   /**< none */
} emp_transformer_update;

#define EMP_TRANSFORMER_UPDATE_WORDS "adam|sgd"

typedef struct {
    emp_transformer_phase  phase;
    int64_t                batch;    /**< sequences */
    int64_t                sequence; /**< tokens of each, with those in the cache */
    emp_dtype              dtype;    /**< of weights and activations */
    emp_transformer_update update;
    bool
         samples_on_host; /**< logits of prompts and tokens are copied to a CPU, which draws the next token */
    bool has_master; /**< float32 copies of weights of another element type, with Adam */
} emp_transformer_step;

/** A step that trains 8 sequences of 2,048 tokens in bfloat16 by Adam with float32 copies. */
emp_transformer_step emp_transformer_step_default(void);

/** Tokens of a step. */
int64_t emp_transformer_tokens(const emp_transformer_step *step);

#endif /* EMP_GRAPHS_TRANSFORMER_STEP_H */
