/** \file run/ranks/distributed.h
 * MPI, for runs that several programs share (run/ranks/ranks.h). mpi.c is the only file that
 * knows it; a build without MPI has alone.c in its place.
 *
 * MPI is started only if mpirun started this program with others: otherwise no function of
 * the library is called.
 */
#ifndef EMP_RUN_RANKS_DISTRIBUTED_H
#define EMP_RUN_RANKS_DISTRIBUTED_H

#include <signal.h>
#include <stdbool.h>

#include "run/ranks/ranks.h"

/** How many programs mpirun started together, by the environment; 1 without it. */
int32_t emp_distributed_count(void);

/** Joins the programs that mpirun started. At most once in a program.
 *
 * \param[out] ranks  NULL when this one is alone.
 * \param[in]  stop   Set by a signal handler. mpirun sends SIGTERM to the others when a rank
 *                    dies: who then waits for one that does not answer gives up soon.
 * \retval EMP_EUNSUPPORTED  It is not alone, and this build is without MPI.
 * \retval EMP_EEXTERNAL     MPI does not start. */
emp_status emp_distributed_join(const emp_ranks            **ranks,
                                const volatile sig_atomic_t *stop, emp_error *err);

/** Last of all calls: leaves in good order, or, if this rank alone has failed, ends the
 * others. Nothing when it is alone. */
void emp_distributed_leave(bool has_failed);

/** Name and version of the MPI library, one line; NULL: this build is without. */
const char *emp_distributed_library(void);

#endif /* EMP_RUN_RANKS_DISTRIBUTED_H */
