/** \file run/ranks/ranks.h
 * How the programs that share one run, its ranks, talk with each other: what the runner
 * needs of MPI and no more. Ranks are numbered from 0; each calls the same collective
 * functions in the same order. run/ranks has the one implementation.
 *
 * Data are bytes: ranks must have the same layout of them.
 */
#ifndef EMP_RUN_RANKS_RANKS_H
#define EMP_RUN_RANKS_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_ANY_RANK = -1 };

/** A const table. Every function may fail with EMP_EEXTERNAL: ranks have gone. */
typedef struct {
    int32_t rank, count; /**< this one; how many, at least 2 */

    /** Collective. Each rank's block of \a bytes, in order of ranks, to \a all of each. */
    emp_status (*gather)(const void *mine, void *all, size_t bytes, emp_error *err);
    /** Collective. The block of rank \a owner to all others. */
    emp_status (*broadcast)(int32_t owner, void *block, size_t bytes, emp_error *err);

    emp_status (*send)(int32_t to, const void *block, size_t bytes, emp_error *err);
    /** Waits for a block from *from; EMP_ANY_RANK: from any, and says from which. Blocks of
     * one rank come in the order in which they were sent. */
    emp_status (*receive)(int32_t *from, void *block, size_t bytes, emp_error *err);

    /** Collective, also for ranks that have failed: \a st if all is well everywhere. If not,
     * the lowest rank that failed gets its own status back and is to report it, the others
     * EMP_EELSEWHERE and an empty \a err. After that all of them end. */
    emp_status (*agree)(emp_status st, emp_error *err);
} emp_ranks;

#endif /* EMP_RUN_RANKS_RANKS_H */
