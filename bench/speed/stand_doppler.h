/** \file bench/speed/stand_doppler.h
 * DOPPLER's two networks over a random graph, with the sizes of its preset `emplace`. An update is
 * all of one but the scores: embeddings, the passes in which eight episodes select nodes and give
 * them devices, then the same steps once more, forward and backward, and a step of Adam of each
 * network.
 *
 * Choices are made up. What the networks see at each step follows from them, so that it is the
 * same in every update.
 */
#ifndef EMP_BENCH_SPEED_STAND_DOPPLER_H
#define EMP_BENCH_SPEED_STAND_DOPPLER_H

#include "bench/speed/stand_task.h"
#include "bench/speed/stand_work.h"
#include "policy/doppler/doppler.h"

enum { EMP_STAND_DOPPLER_HIDDEN = 128, EMP_STAND_DOPPLER_NODES = 128 };

typedef struct {
    emp_loaded_task   task;
    emp_doppler_agent agent;
    double           *weight; /**< [episode] */
    int32_t           most_ready;

    /* Of each step of each episode, for the peer; -1 where there are fewer choices. */
    int32_t   *ready;             /**< [step][most_ready] nodes */
    emp_real  *ready_feature;     /**< [step][most_ready][EMP_DOPPLER_FEATURES] */
    int32_t   *candidate;         /**< [step][EMP_STAND_DEVICES] */
    emp_real  *candidate_feature; /**< [step][EMP_STAND_DEVICES][EMP_DOPPLER_FEATURES] */
    int32_t   *choice[2];         /**< [step] position in these, [emp_doppler_kind] */
    emp_arrays arrays;            /**< all of these arrays */
} emp_stand_doppler;

/** About \a nodes nodes, at most EMP_STAND_DOPPLER_NODES, as a peer has all steps in one batch.
 * \param threads  Most that an update will have. \retval EMP_ENOMEM */
emp_status emp_stand_doppler_init(emp_stand_doppler *stand, int32_t nodes, int32_t width,
                                  int32_t episodes, int32_t threads, emp_rng *rng,
                                  emp_error *err);
void emp_stand_doppler_clear(emp_stand_doppler *stand); /**< legal after a failed init */

/** Makes an update; returns the loss: minus the weighted sum of discounted ln p. */
double emp_stand_doppler_update(emp_stand_doppler *stand, int32_t threads);

void           emp_stand_doppler_write(const emp_stand_doppler *stand, FILE *stream);
emp_stand_work emp_stand_doppler_work(const emp_stand_doppler *stand);

#endif /* EMP_BENCH_SPEED_STAND_DOPPLER_H */
