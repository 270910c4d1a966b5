// SPDX-License-Identifier: GPL-3.0-or-later
/* The ranks of builds without MPI. */
#include "run/ranks/ranks.h"

emp_status emp_ranks_join(const emp_ranks **ranks, const atomic_int *stop, emp_error *err)
{
    (void)stop;
    *ranks = NULL;
    if (emp_ranks_count() > 1) {
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "mpirun started %d of this program, which was built without MPI; install "
            "libopenmpi-dev and build it again",
            emp_ranks_count());
    }
    return EMP_OK;
}

void emp_ranks_leave(bool has_failed) { (void)has_failed; }

const char *emp_ranks_library(void) { return NULL; }
