/** \file policy/nn/params.h
 * All parameters of a network in one block: values, gradients and Adam's two moments are
 * one aligned allocation each, cut into named slices. Initialisation, clipping, the
 * optimizer, checkpoints and reductions are loops over the block.
 */
#ifndef EMP_POLICY_NN_PARAMS_H
#define EMP_POLICY_NN_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "policy/nn/real.h"

enum { EMP_MAX_SLICES = 112 };

/** One matrix (rows x cols, row-major) of a network. */
typedef struct {
    const char *name; /**< static storage */
    int32_t     rows, cols;
    size_t      offset; /**< of its first value in the block; set by emp_params_init() */
} emp_param_slice;

typedef struct {
    emp_real       *value, *gradient;
    emp_real       *moment1, *moment2; /**< Adam's running means of g and g^2 */
    size_t          count;             /**< of each block, padding included */
    int64_t         step;              /**< Adam updates made */
    int32_t         threads;           /**< that share a loop over a block: 1 at first.
                                            Results do not depend on it */
    int32_t         slice_count;
    emp_param_slice slice[EMP_MAX_SLICES];
} emp_params;

/** Allocates the blocks, zeroed, for \a count slices whose names and sizes are given. */
emp_status emp_params_init(emp_params *params, const emp_param_slice *slices,
                           int32_t count, emp_error *err);
void       emp_params_clear(emp_params *params); /**< legal after a failed init */

emp_real *emp_params_value(const emp_params *params, int32_t slice);
emp_real *emp_params_gradient(const emp_params *params, int32_t slice);

void emp_params_zero_gradient(emp_params *params);

/** Glorot and Bengio (2010): uniform in +-gain sqrt(6 / (rows + cols)). */
void emp_params_glorot(emp_params *params, int32_t slice, double gain, emp_rng *rng);

/** Uniform in +-limit. */
void emp_params_uniform(emp_params *params, int32_t slice, double limit, emp_rng *rng);

/** A matrix of which the shorter side's vectors are orthonormal, all such alike (Saxe et al.,
 * 2014): normal numbers, then Gram-Schmidt. O(short^2 long). */
void emp_params_orthogonal(emp_params *params, int32_t slice, emp_rng *rng);

/** Values, moments and the number of steps, for an update that may be taken back. */
typedef struct {
    emp_real *value, *moment1, *moment2;
    int64_t   step;
} emp_params_copy;

/** Room for a copy, owned by \a arrays. */
void emp_params_copy_allocate(emp_params_copy *copy, const emp_params *params,
                              emp_arrays *arrays);
void emp_params_copy_take(emp_params_copy *copy, const emp_params *params);
/** The parameters are again as when the copy was taken. */
void emp_params_copy_give_back(emp_params *params, const emp_params_copy *copy);

/** Multiplies all gradients by \a factor. */
void emp_params_scale_gradient(emp_params *params, double factor);

/** Scales the gradients so that their Euclidean norm is at most \a limit; returns the norm before. */
double emp_params_clip(emp_params *params, double limit);

typedef struct {
    double learning_rate;
    double beta1, beta2; /**< decay of the moments: 0.9, 0.999 */
    double epsilon;      /**< added to the root of the second moment ... */
    bool   epsilon_hat;  /**< ... before its bias is corrected, as TensorFlow does, not
                            after: "epsilon hat" of the paper */
} emp_adam;

/** Adam begins anew: no steps made, moments 0. */
void emp_params_forget(emp_params *params);

/** One step of Adam (Kingma and Ba, 2015), bias-corrected, against the gradient. */
void emp_params_adam(emp_params *params, const emp_adam *adam);

/** One step of Adam up the gradient that is held, which is clipped to the norm \a limit before. Returns the norm
 * without the clip. */
double emp_params_ascend(emp_params *params, double limit, const emp_adam *adam);

#endif /* EMP_POLICY_NN_PARAMS_H */
