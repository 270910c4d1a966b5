/** \file tests/policy/doppler/plain_doppler.h
 * DOPPLER's two policies once more, as plainly as the formulas of policy/doppler/net.h can be
 * written: nothing but x is kept from step to step. For graphs
 * whose ops have costs of their own, on devices that are all alike, under the rules `edges`.
 */
#ifndef EMP_TESTS_POLICY_DOPPLER_PLAIN_DOPPLER_H
#define EMP_TESTS_POLICY_DOPPLER_PLAIN_DOPPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/nn/params.h"

enum { PLAIN_OPS = 8, PLAIN_DEVICES = 3, PLAIN_WIDTH = 4, PLAIN_STEPS = 2 };

typedef struct {
    int    ops;
    double compute[PLAIN_OPS], message[PLAIN_OPS]; /**< ns */
    bool   reads[PLAIN_OPS][PLAIN_OPS];            /**< [reader][op] */
} plain_graph;

/** The choices at each step. */
typedef struct {
    int op[PLAIN_OPS], device[PLAIN_OPS];
} plain_episode;

/** The sums over the steps of an episode. */
typedef struct {
    double log_prob; /**< sum of gamma^(ops-1-t) ln p(choice) */
    double imitated; /**< sum of ln p of all choices that the teacher may make */
    double entropy;
} plain_sums;

/** \a selector and \a placer have the names of slices that the product gives them. */
plain_sums plain_play(const plain_graph *g, const plain_episode *e,
                      const emp_params *selector, const emp_params *placer, bool is_gated,
                      double gamma);

#endif /* EMP_TESTS_POLICY_DOPPLER_PLAIN_DOPPLER_H */
