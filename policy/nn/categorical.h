/** \file policy/nn/categorical.h
 * Categorical distributions given by rows of logits.
 */
#ifndef EMP_POLICY_NN_CATEGORICAL_H
#define EMP_POLICY_NN_CATEGORICAL_H

#include "policy/nn/real.h"

/** Logits in, probabilities out; returns the entropy in nats. */
double emp_categorical_softmax(emp_real *row, int32_t count);

/** The index at which the running sum of \a p passes \a u in [0, 1); its probability is
 * above 0. */
int32_t emp_categorical_sample(const emp_real *p, int32_t count, double u);

/** Turns probabilities into weight x the gradient of log p[chosen] by the logits. */
void emp_categorical_score(emp_real *p, int32_t count, int32_t chosen, double weight);

/** Adds weight x the gradient of the entropy by the logits to \a dlogits. */
void emp_categorical_entropy_gradient(emp_real *dlogits, const emp_real *p, int32_t count,
                                      double weight);

/** The root of the mean square of a row. */
double emp_categorical_rms(const emp_real *row, int32_t count);

/** Adds noise of mean 0 and the given standard deviation that depends on \a key and the
 * index alone. Nearly normal: the sum of four uniform bytes, within 3.45 deviations.
 * Meant for rows by the thousand, where a true normal variate would cost more than the
 * network. */
void emp_categorical_add_noise(emp_real *row, int32_t count, uint32_t key,
                               double deviation);

#endif /* EMP_POLICY_NN_CATEGORICAL_H */
