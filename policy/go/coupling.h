/** \file policy/go/coupling.h
 * How nodes are drawn together. A draw takes the device with the largest ln p + G, where G are
 * Gumbel numbers: each node's device then has the probability p, whoever shares G. Independent
 * draws give each node its own G. Coupled draws give one to each group of a METIS cut, so that
 * neighbours with alike distributions get one device. Each sample takes one of the cuts, which
 * have 4, 8, 16, ... groups, or none.
 */
#ifndef EMP_POLICY_GO_COUPLING_H
#define EMP_POLICY_GO_COUPLING_H

#include "base/arrays.h"
#include "base/rng.h"
#include "policy/features/transferable.h"
#include "search/method.h"

enum { EMP_GO_MAX_CUTS = 20 };

typedef struct {
    int32_t    count;     /**< of nodes */
    int32_t    cut_count; /**< 0: all draws are independent */
    int32_t    group_count[EMP_GO_MAX_CUTS];
    int32_t   *group[EMP_GO_MAX_CUTS]; /**< [position] */
    emp_arrays arrays;
} emp_coupling;

/** Independent draws. */
emp_coupling emp_coupling_none(int32_t count);
/** Cuts of the nodes, fewer than half as many groups as there are nodes.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and those of METIS */
emp_status emp_coupling_init(emp_coupling *coupling, const emp_node_graph *nodes,
                             const emp_transferable *features, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err);
void       emp_coupling_clear(emp_coupling *coupling);

/** Draws \a choice [position] from \a p [position][device]; \a gumbel is scratch of as many
 * numbers as \a p. */
void emp_coupling_draw(const emp_coupling *coupling, uint8_t *choice, const emp_real *p,
                       int32_t devices, float *gumbel, emp_rng *rng);

/** The likeliest devices. */
void emp_coupling_argmax(uint8_t *choice, const emp_real *p, int32_t count,
                         int32_t devices);

#endif /* EMP_POLICY_GO_COUPLING_H */
