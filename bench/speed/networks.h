/** \file bench/speed/networks.h
 * The networks of learners with synthetic inputs and fixed actions, ready to be updated again and again.
 * An update is forward and backward passes, clipping and a step of Adam, without the scores.
 *
 * The same update is described to a peer by a file: the network's name and constants on
 * one line, then arrays, each a line "name float|int rows cols" and its numbers in the
 * machine's own 32-bit form.
 */
#ifndef EMP_BENCH_SPEED_NETWORKS_H
#define EMP_BENCH_SPEED_NETWORKS_H

#include <stdio.h>

#include "base/rng.h"
#include "policy/nn/params.h"

enum { EMP_NETWORKS = 5 };

typedef struct {
    int32_t  hidden;  /**< of the placer, HSDAG and DOPPLER; others' are fixed */
    int32_t  samples; /**< placements, episodes, or steps of one; the grouper has one */
    int32_t  size;    /**< groups, ops, nodes, sets or steps */
    int32_t  groups;  /**< of the grouper */
    int32_t  threads; /**< most that an update will have */
    uint64_t seed;
} emp_network_params;

typedef struct {
    const char *name;
    size_t      bytes;           /**< of its state, which is zeroed before init() */
    int32_t     hidden, samples; /**< the default; 0 = an option's */
    emp_status (*init)(void *state, const emp_network_params *params, emp_rng *rng,
                       emp_error *err);
    void (*clear)(void *state); /**< legal after a failed init() */
    /** Makes an update; returns the loss before its last step. */
    double (*update)(void *state, int32_t threads);
    /** The parameters that updates change, of DOPPLER its second network's; borrowed. */
    emp_params *(*params)(void *state);
    void (*write)(void *state, FILE *stream); /**< describes the next update */
} emp_network;

extern const emp_network emp_network_placer, emp_network_grouper, emp_network_go,
    emp_network_hsdag, emp_network_doppler;
extern const emp_network *const emp_networks[EMP_NETWORKS];

/** Makes the state of a network; NULL when out of memory or \a err says what else. */
emp_status emp_network_create(void **state, const emp_network *network,
                              const emp_network_params *params, emp_error *err);
void       emp_network_destroy(void *state, const emp_network *network);
/* ---- for the networks ---- */

/** The neighbours of a node in a synthetic graph: so far off, ascending. */
enum { EMP_NETWORK_NEIGHBORS = 4 };
extern const int32_t emp_network_offset[EMP_NETWORK_NEIGHBORS];
/** Fills rows of neighbours; returns their number. \a first has count + 1 entries. */
int32_t emp_network_connect(int32_t *first, int32_t *neighbor, int32_t count);

void emp_network_write_reals(FILE *stream, const char *name, const emp_real *value,
                             int32_t rows, int32_t cols);
void emp_network_write_ints(FILE *stream, const char *name, const int32_t *value,
                            int32_t rows, int32_t cols);
/** Rounds to 32 bits. */
void emp_network_write_doubles(FILE *stream, const char *name, const double *value,
                               int32_t rows, int32_t cols);
/** Slices by their numbers from \a first on, "p0", "p1", ..., as names repeat. */
void emp_network_write_parameters(FILE *stream, const emp_params *params, int32_t first);

#endif /* EMP_BENCH_SPEED_NETWORKS_H */
