/** \file tests/policy/giph/plain_giph.h
 * GiPH as a plain program in double: dense matrices over ops and devices, recursion instead of
 * orders, nothing kept. It reads GiPH's own problems, in which each op is a node: graph, factors
 * of devices and routes, and no code of policy/giph.
 */
#ifndef EMP_TESTS_POLICY_GIPH_PLAIN_GIPH_H
#define EMP_TESTS_POLICY_GIPH_PLAIN_GIPH_H

#include "sim/problem/problem.h"

enum { PLAIN_OPS = 12, PLAIN_DEVICES = 4, PLAIN_MOVES = 2 * PLAIN_OPS };

/** All parameters; w is [in][out]. */
typedef struct {
    double a1[5][5], a1_b[5], a2[5][5], a2_b[5];
    struct {
        double u[10][10], u_b[10], w[10][5], w_b[5];
    } way[2]; /**< forwards, backwards */
    double s1[10][16], s1_b[16], s2[16], s2_b;
} plain_params;

typedef struct {
    int    ops, devices;
    double compute[PLAIN_OPS], factor[PLAIN_DEVICES];
    double bytes[PLAIN_OPS][PLAIN_OPS]; /**< -1: no edge */
    double delay[PLAIN_DEVICES][PLAIN_DEVICES], rate[PLAIN_DEVICES][PLAIN_DEVICES];
} plain_problem;

/** A placement, how it ran, and how critical edges were seen then. */
typedef struct {
    int    device[PLAIN_OPS];
    double start[PLAIN_OPS], end[PLAIN_OPS];
    double critical[PLAIN_OPS][PLAIN_OPS];
} plain_state;

plain_problem plain_read(const emp_problem *problem);

/** The softmax over 10 bytes / most of the edges that leave an op. */
void plain_begin(const plain_problem *p, double critical[PLAIN_OPS][PLAIN_OPS]);
/** Follows the critical path of a state, and learns a tenth of it. */
void plain_learn(const plain_problem *p, const plain_state *s,
                 double critical[PLAIN_OPS][PLAIN_OPS]);

/** Score of every pair. */
void plain_scores(const plain_problem *p, const plain_params *w, const plain_state *s,
                  double score[PLAIN_OPS][PLAIN_DEVICES]);

/** ln of the probability that an op moves to a device, when the op `last` (-1: none) may not. */
double plain_log_p(const plain_problem *p, const plain_params *w, const plain_state *s,
                   int last, int op, int device);

#endif /* EMP_TESTS_POLICY_GIPH_PLAIN_GIPH_H */
