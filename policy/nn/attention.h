/** \file policy/nn/attention.h
 * Additive attention (Bahdanau et al., 2015) of one query over S memory rows of A
 * numbers:
 *
 *     e_s = v' tanh(q + m_s),   a = softmax(e),   context = sum of a_s m_s
 *
 * The context is taken of the same transformed rows m that are compared with the query.
 * The S x A values tanh(q + m) are computed again in the backward pass, not stored.
 */
#ifndef EMP_POLICY_NN_ATTENTION_H
#define EMP_POLICY_NN_ATTENTION_H

#include "policy/nn/real.h"

/** Writes \a weights (S) and \a context (A). */
void emp_attention_forward(emp_real *weights, emp_real *context, const emp_real *query,
                           const emp_real *memory, const emp_real *v, int32_t S,
                           int32_t A);

/** Adds to \a dquery (A), \a dmemory (S,A) and \a dv (A) from the gradient \a dcontext of
 * the context. \a scratch holds S + A numbers. */
void emp_attention_backward(emp_real *dquery, emp_real *dmemory, emp_real *dv,
                            const emp_real *dcontext, const emp_real *weights,
                            const emp_real *query, const emp_real *memory,
                            const emp_real *v, int32_t S, int32_t A, emp_real *scratch);

#endif /* EMP_POLICY_NN_ATTENTION_H */
