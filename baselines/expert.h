/** \file baselines/expert.h
 * What the name of an op says of its place in a model. Names follow TensorFlow's scopes,
 * in generated and in imported graphs alike:
 *
 *     decoder/step/step/attention/attention/multi_rnn_cell/cell_1/basic_lstm_cell/MatMul_3
 *     gradients/<forward name>_grad/...            the gradient ops of a forward op
 *     Adam/update_<variable name>/ApplyAdam        the update of a variable
 *     emb_src/Adam_1                               a slot of a variable
 *
 * The wrapped name stands inside, so one rule serves forward ops, gradients, updates,
 * slots.
 */
#ifndef EMP_BASELINES_EXPERT_H
#define EMP_BASELINES_EXPERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    EMP_ROLE_NONE,      /**< no rule: follows its neighbours */
    EMP_ROLE_CELL,      /**< of a recurrent layer: ".../cell_K/..." */
    EMP_ROLE_EMBEDDING, /**< a path component "emb..." */
    EMP_ROLE_OUTPUT     /**< attention, memory layer, projection, softmax */
} emp_role;

/** The role of an op; sets \a *cell to K of EMP_ROLE_CELL, else to -1. */
emp_role emp_role_of_name(const char *name, int32_t *cell);

/** True for ops of the decoder of an encoder-decoder model. */
bool emp_name_is_in_decoder(const char *name);

#endif /* EMP_BASELINES_EXPERT_H */
