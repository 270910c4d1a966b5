/** \file policy/nn/categorical.h
 * Categorical distributions given by rows of logits, and how networks draw.
 */
#ifndef EMP_POLICY_NN_CATEGORICAL_H
#define EMP_POLICY_NN_CATEGORICAL_H

#include "policy/nn/real.h"

/** How a network draws: sample k of update t uses the same random numbers on any thread. */
typedef struct {
    uint64_t seed;
    uint32_t update;
    int32_t  threads;
} emp_draw;

/** Logits in, probabilities out; returns the entropy in nats. */
double emp_categorical_softmax(emp_real *row, int32_t count);

/** The same for \a rows rows, row r at x + r stride; adds up their entropies. */
double emp_categorical_softmax_rows(emp_real *x, int64_t stride, int32_t rows,
                                    int32_t count);

/** The index at which the running sum of \a p passes \a u in [0, 1); its probability is
 * above 0. */
int32_t emp_categorical_sample(const emp_real *p, int32_t count, double u);

/** The index of the largest of \a count probabilities or logits; of equal ones the first. */
int32_t emp_categorical_mode(const emp_real *p, int32_t count);

/** Turns probabilities into weight x the gradient of log p[chosen] by the logits. */
void emp_categorical_score(emp_real *p, int32_t count, int32_t chosen, double weight);

/** Adds weight x the gradient of the entropy by the logits to \a dlogits. */
void emp_categorical_entropy_gradient(emp_real *dlogits, const emp_real *p, int32_t count,
                                      double weight);

#endif /* EMP_POLICY_NN_CATEGORICAL_H */
