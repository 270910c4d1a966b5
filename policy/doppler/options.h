/** \file policy/doppler/options.h
 * Every constant of DOPPLER, by name; ranges and presets are in doppler.c.
 */
#ifndef EMP_POLICY_DOPPLER_OPTIONS_H
#define EMP_POLICY_DOPPLER_OPTIONS_H

#include "policy/reinforce/learner.h"

typedef enum {
    EMP_DOPPLER_EPSILON, /**< the most probable choice, or with probability epsilon any */
    EMP_DOPPLER_SOFTMAX  /**< a draw from the probabilities */
} emp_doppler_exploration;

typedef enum { EMP_DOPPLER_MATRICES, EMP_DOPPLER_GATED } emp_doppler_messages;

typedef struct {
    emp_learner_options     learner; /**< of the stage with scores */
    int32_t                 max_nodes, width, steps;
    emp_doppler_messages    mpnn;
    emp_doppler_exploration explore;
    double                  gamma;
    double                  epsilon;   /**< falls to 0 over so many episodes ... */
    int32_t                 episodes;  /**< ... 0: those of the run */
    int32_t                 imitation; /**< episodes of the stage before */
    double                  imitation_rate, imitation_epsilon, imitation_entropy;
} emp_doppler_options;

#endif /* EMP_POLICY_DOPPLER_OPTIONS_H */
