/** \file search/partition/scotch_arch.h
 * A machine as Scotch's file format "deco 0" describes an architecture to be mapped onto:
 *
 *     deco 0
 *     <parts> <largest domain>
 *     <part> <power> <domain>              a line each
 *     <distances to parts 0 .. p-1>        a line each for p = 1, 2, ...
 *
 * Power: that of the target in hundredths of the strongest part, at least 1. Distance: what a
 * transfer of 1 MiB takes over the route, latency included, in quarters of the nearest
 * pair's, at most 64. Domains are nodes of a binary tree, numbered as a heap (node n splits
 * into 2n and 2n + 1): neighbouring parts share a subtree, whose halves are about equally
 * strong, as Scotch bisects badly into very unequal parts.
 */
#ifndef EMP_SEARCH_PARTITION_SCOTCH_ARCH_H
#define EMP_SEARCH_PARTITION_SCOTCH_ARCH_H

#include <stdio.h>

#include "search/partition/partition_graph.h"

enum { EMP_SCOTCH_ARCH_BYTES = 1 << 15 /**< room for any target */ };

/** Fills power [part] with whole numbers, 1 .. 100. */
void emp_scotch_arch_powers(const emp_partition_target *target, int32_t *power);

/** Writes the description of \a target, at least 2 parts. */
void emp_scotch_arch_write(const emp_partition_target *target, FILE *file);

#endif /* EMP_SEARCH_PARTITION_SCOTCH_ARCH_H */
