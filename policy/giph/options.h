/** \file policy/giph/options.h
 * Every constant of GiPH by name (giph.c has the table).
 */
#ifndef EMP_POLICY_GIPH_OPTIONS_H
#define EMP_POLICY_GIPH_OPTIONS_H

#include "policy/nn/params.h"

/** What is taken from the return G of a move, sum of gamma^i times the i-th reward from it on. */
typedef enum {
    EMP_GIPH_BASELINE_REWARDS, /**< mean reward of the episode up to the move */
    EMP_GIPH_BASELINE_RETURNS  /**< mean G of moves of that number, over late episodes */
} emp_giph_baseline;

typedef struct {
    int32_t  max_nodes;
    int32_t  episodes; /**< side by side; an update has all of them */
    int32_t  moves;    /**< of an episode, for each node */
    double   gamma;
    uint32_t baseline;    /**< emp_giph_baseline */
    double   criticality; /**< share that a critical path teaches */
    double   clip;        /**< largest norm of the gradient */
    emp_adam adam;
} emp_giph_options;

#endif /* EMP_POLICY_GIPH_OPTIONS_H */
