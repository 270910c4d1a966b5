/** \file search/partition/scotch_cut.h
 * Scotch (Pellegrini, 1994), static mapping of a weighted graph: the only includer of
 * scotch.h.
 *
 * A mapping onto devices has a weighted target: the powers of its devices, and as the
 * distance of two of them the time that a transfer between them takes (emp_scotch_arch_write()), or 1
 * for any two. Classes that can only run on the CPU are fixed to part 0.
 *
 * Threads. Any number may call; equal seeds give equal parts. A cut into many parts takes
 * seconds. When one is stopped, its thread goes on and the result is dropped (base/work.h).
 *
 * Errors of both functions: EMP_ENOMEM; EMP_EEXTERNAL if Scotch fails; EMP_EINTERRUPTED.
 */
#ifndef EMP_SEARCH_PARTITION_SCOTCH_CUT_H
#define EMP_SEARCH_PARTITION_SCOTCH_CUT_H

#include <stdatomic.h>
#include <stdio.h>

#include "search/partition/partition_graph.h"

/* A machine as Scotch's file format "deco 0" describes an architecture to be mapped onto:
 * 
 *     deco 0
 *     <parts> <largest domain>
 *     <part> <power> <domain>              a line each
 *     <distances to parts 0 .. p-1>        a line each for p = 1, 2, ...
 * 
 * The power of the target in hundredths of the strongest part, at least 1. Distance: what a
 * transfer of 1 MiB takes over the route, latency included, in quarters of the nearest
 * pair's, at most 64. Domains are nodes of a binary tree, numbered as a heap (node n splits
 * into 2n and 2n + 1): neighbouring parts share a subtree, whose halves are about equally
 * strong, as Scotch bisects badly into very unequal parts. */

enum { EMP_SCOTCH_ARCH_BYTES = 1 << 15 /**< room for any target */ };

/** Writes the description of \a target, at least 2 parts. */
void emp_scotch_arch_write(const emp_partition_target *target, FILE *file);

typedef enum { EMP_SCOTCH_MACHINE, EMP_SCOTCH_COMPLETE } emp_scotch_architecture;
#define EMP_SCOTCH_ARCHITECTURE_WORDS "machine|complete"

/** The aims of Scotch's own strategies. */
typedef enum {
    EMP_SCOTCH_QUALITY,
    EMP_SCOTCH_DEFAULT,
    EMP_SCOTCH_SPEED,
    EMP_SCOTCH_BALANCE
} emp_scotch_strategy;
#define EMP_SCOTCH_STRATEGY_WORDS "quality|default|speed|balance"

typedef struct {
    emp_scotch_architecture architecture;
    emp_scotch_strategy     strategy;
    double imbalance; /**< of a part's load over its share; customary is 0.05 */
} emp_scotch_options;

/** Maps onto the devices of \a target. An emp_partitioner; \a options are
 * emp_scotch_options. */
emp_status emp_scotch_map(const emp_partition_graph  *graph,
                          const emp_partition_target *target, const void *options,
                          uint64_t seed, const atomic_int *stop, int32_t *part_of_vertex,
                          emp_error *err);

/** Cuts into equal parts, all at the same distance; the largest has at most about
 * 1 + \a imbalance times the mean load. The graph must be without the CPU. Fills
 * part_of_vertex with 0 .. part_count-1; parts may be empty.
 * \param stop  As of an emp_partitioner. */
emp_status emp_scotch_parts(const emp_partition_graph *graph, int32_t part_count,
                            double imbalance, uint64_t seed, const atomic_int *stop,
                            int32_t *part_of_vertex, emp_error *err);

#endif /* EMP_SEARCH_PARTITION_SCOTCH_CUT_H */
