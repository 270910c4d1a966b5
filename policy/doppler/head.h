/** \file policy/doppler/head.h
 * The last layers of both policies: a score for each of several choices. Row i of a choice has four
 * blocks of H numbers, of which the caller fills the last three:
 *
 *     row_i = [leaky(feature_i A + a), block 1, block 2, block 3]
 *     logit_i = leaky(row_i W + w) o + b,    the inner width is H / 2, at least 1
 *
 * Its parameters are EMP_DOPPLER_HEAD_SLICES slices of a block, one behind another. Gradients are
 * summed in an array of \a gradient_count reals, so that episodes of a batch can have one each.
 */
#ifndef EMP_POLICY_DOPPLER_HEAD_H
#define EMP_POLICY_DOPPLER_HEAD_H

#include "base/arrays.h"
#include "policy/doppler/scene.h"
#include "policy/nn/params.h"

enum { EMP_DOPPLER_HEAD_SLICES = 6, EMP_DOPPLER_BLOCKS = 4 };

typedef struct {
    const emp_params *params; /**< borrowed */
    int32_t           first;  /**< slice */
    int32_t           width;  /**< H */
    size_t            gradient_count;
} emp_doppler_head;

/** Choices that are scored together. */
typedef struct {
    int32_t    count;   /**< set by the caller, at most as many as there is room for */
    double    *plain;   /**< [choice][EMP_DOPPLER_FEATURES] scratch of the caller's */
    emp_real  *feature; /**< [choice][EMP_DOPPLER_FEATURES] */
    emp_real  *row;     /**< [choice][4 H] */
    emp_real  *hidden;  /**< [choice][H / 2] */
    emp_real  *p;       /**< [choice] logits, then probabilities */
    emp_real  *d_logit, *d_hidden, *d_row, *d_first;
    emp_real  *deviation; /**< [4 H] of blocks that the caller scales */
    double    *target;    /**< [choice] */
    emp_arrays arrays;    /**< all of these */
} emp_doppler_choices;

/** Fills the slices. */
void emp_doppler_head_slices(emp_param_slice slices[EMP_DOPPLER_HEAD_SLICES],
                             int32_t         width);
/** \a params has these slices from \a first on. */
emp_doppler_head emp_doppler_head_of(const emp_params *params, int32_t first,
                                     int32_t width);
/** Orthogonal weights, biases 0. */
void emp_doppler_head_randomize(emp_params *params, int32_t first, emp_rng *rng);

/** Room for so many choices. \retval EMP_ENOMEM */
emp_status emp_doppler_choices_init(emp_doppler_choices *choices, int32_t most,
                                    int32_t width, emp_error *err);
void       emp_doppler_choices_clear(emp_doppler_choices *choices);

/** From features and blocks 1 to 3 to probabilities. Returns their entropy. */
double emp_doppler_head_forward(const emp_doppler_head *head, emp_doppler_choices *c);

/** From d_logit to d_row, whose blocks 1 to 3 are the caller's; adds to \a gradient. */
void emp_doppler_head_backward(const emp_doppler_head *head, emp_doppler_choices *c,
                               emp_real *gradient);

/** Adds what episodes have summed to the gradients of the block. */
void emp_doppler_head_add(const emp_doppler_head *head, emp_params *params,
                          const emp_real *gradient);

#endif /* EMP_POLICY_DOPPLER_HEAD_H */
