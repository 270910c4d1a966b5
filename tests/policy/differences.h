/** \file tests/policy/differences.h
 * Central differences of a loss and Adam's step by its formulas, for tests of gradients in the double build.
 */
#ifndef EMP_TESTS_POLICY_DIFFERENCES_H
#define EMP_TESTS_POLICY_DIFFERENCES_H

#include "policy/nn/params.h"

typedef double loss_function(void);

/** Normal numbers, the same for a stream. */
void   fill(double *x, int count, uint32_t stream);
double dot(const double *a, const double *b, int count);

/** gradient[i] = (loss at x[i] + step - loss at x[i] - step) / (2 step); \return the largest magnitude. */
double differentiate(double *gradient, double *x, size_t count, double step,
                     loss_function *loss);

/** Expects that each \a every th number of \a gradient is the difference of the loss by x, within 1e-6 of the
 * largest one. */
void check_some(const char *what, loss_function *loss, double *x, const double *gradient,
                int count, int every);
void check(const char *what, loss_function *loss, double *x, const double *gradient,
           int count);

/** Expects \a want of the gradient of a block, or its negative, within \a tolerance. */
void expect_gradient(const emp_params *p, const double *want, double sign,
                     double tolerance);

enum { ADAM_MOST = 40000 };

/** The expected result of an update for a block: its values and Adam's moments. */
typedef struct {
    double gradient[ADAM_MOST], value[ADAM_MOST], moment1[ADAM_MOST], moment2[ADAM_MOST];
} plain_block;

/** Step \a number, from 1, of Adam up the gradient, which is clipped to a length. */
void plain_adam(plain_block *b, size_t count, double lr, double epsilon, double clip,
                int number);
/** Expects the values of a block. */
void expect_block(const emp_params *p, const plain_block *b, double tolerance,
                  const char *name);

#endif /* EMP_TESTS_POLICY_DIFFERENCES_H */
