/** \file policy/giph/network.h
 * The network of GiPH: two-way message passing over gpNet (world.h), then a score of each pair.
 *
 *     y0 = relu(x A + a) A' + a'                              of each pair, x its features
 *     m  = relu((y_from, e) U + u)                            of each link, e its features
 *     y  = y0 + relu((mean of m over links that come in) W + w)
 *     score = relu((y forwards, y backwards) S + s) S' + s'
 *
 * Forwards, nodes come in topological order, so that y_from is final. Backwards, links are
 * reversed, and U, u, W, w are others. The mean over no link is 0.
 *
 * The 583 parameters know of no graph and no machine.
 */
#ifndef EMP_POLICY_GIPH_NETWORK_H
#define EMP_POLICY_GIPH_NETWORK_H

#include "policy/giph/world.h"
#include "policy/nn/params.h"

enum {
    EMP_GIPH_WIDTH = 5,    /**< of y */
    EMP_GIPH_MESSAGE = 10, /**< of m */
    EMP_GIPH_HIDDEN = 16,  /**< of the score */
    EMP_GIPH_PARAMETERS = 583
};

/** One direction of a pass. */
typedef struct {
    emp_real *y;    /**< [pair][EMP_GIPH_WIDTH] */
    emp_real *rise; /**< likewise: y - y0 */
    emp_real *mean; /**< [pair][EMP_GIPH_MESSAGE] of what comes in */
    emp_real *m;    /**< [link][EMP_GIPH_MESSAGE] */
} emp_giph_pass;

/** The values of one pass over a gpNet; each thread has its own. */
typedef struct {
    emp_real     *hidden, *y0;      /**< [pair][EMP_GIPH_WIDTH] */
    emp_giph_pass pass[2];          /**< forwards, backwards */
    emp_real     *both;             /**< [pair][2 EMP_GIPH_WIDTH] */
    emp_real     *score_hidden;     /**< [pair][EMP_GIPH_HIDDEN] */
    emp_real     *score;            /**< [pair] */
    emp_real     *d_score;          /**< [pair] its gradient, in */
    emp_real     *d_y, *d_y0, *d_h; /**< [pair][EMP_GIPH_WIDTH] */
    emp_real     *d_mean;           /**< [pair][EMP_GIPH_MESSAGE] */
    emp_real     *d_both, *d_score_hidden;
    emp_real     *d_m; /**< [link][EMP_GIPH_MESSAGE] */
    emp_arrays    arrays;
} emp_giph_work;

/** Allocates the parameters and draws them, uniform in +-1 / sqrt(inputs of the layer), biases
 * too. */
emp_status emp_giph_params_init(emp_params *params, uint64_t seed, uint32_t stream,
                                emp_error *err);

/** For all gpNets of a world. Clear it afterwards, also after a failure. */
emp_status emp_giph_work_init(emp_giph_work *work, const emp_giph_world *world,
                              emp_error *err);
void       emp_giph_work_clear(emp_giph_work *work);

/** Fills the scores. O(pairs + links). */
void emp_giph_forward(emp_giph_work *work, const emp_params *params,
                      const emp_gpnet *net);

/** Adds to \a gradient, a block like the parameters', their gradient of sum d_score score,
 * after emp_giph_forward(). */
void emp_giph_backward(emp_giph_work *work, const emp_params *params,
                       const emp_gpnet *net, emp_real *gradient);

#endif /* EMP_POLICY_GIPH_NETWORK_H */
