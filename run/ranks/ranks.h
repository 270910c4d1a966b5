/** \file run/ranks/ranks.h
 * How the programs that share a run or a study, its ranks, talk with each other: what the
 * runner needs of MPI and no more. Ranks are numbered from 0; each calls the same collective
 * functions in the same order. mpi.c is the only file that knows MPI; a build without it
 * has alone.c in its place.
 *
 * MPI is started only if mpirun started this program with others: otherwise no function of
 * the library is called. Data are bytes: ranks must have the same layout of them.
 */
#ifndef EMP_RUN_RANKS_RANKS_H
#define EMP_RUN_RANKS_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_ANY_RANK = -1 };

/** A const table. Every function may fail with EMP_EEXTERNAL: ranks have gone. */
typedef struct {
    int32_t rank, count; /**< this one; how many, at least 2 */
    bool takes_threads;  /**< any thread may call, one at a time; else the first alone */

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
     * EMP_EELSEWHERE and an empty \a err. After that all of them end, and it returns \a st at
     * once. */
    emp_status (*agree)(emp_status st, emp_error *err);
} emp_ranks;

/** How many programs mpirun started together, by the environment; 1 without it. */
int32_t emp_ranks_count(void);

/** Joins the programs that mpirun started. At most once in a program.
 *
 * \param[out] ranks  NULL when this is the only one.
 * \param[in]  stop   Set by a signal handler, to the signal. mpirun sends SIGTERM to the others
 *                    when a rank dies: who then waits for one that does not answer gives up
 *                    soon. SIGUSR1 is a scheduler's warning, and leaves time to wait.
 * \retval EMP_EUNSUPPORTED  It is not the only one, and this build is without MPI.
 * \retval EMP_EEXTERNAL     MPI does not start. */
emp_status emp_ranks_join(const emp_ranks **ranks, const atomic_int *stop,
                          emp_error *err);

/** Last of all calls: leaves in good order, or, if only this rank has failed, ends the
 * others. Nothing when it is the only one. */
void emp_ranks_leave(bool has_failed);

/** Name and version of the MPI library, one line; NULL: this build is without. */
const char *emp_ranks_library(void);

#endif /* EMP_RUN_RANKS_RANKS_H */
