// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "run/ranks/ranks.h"

int32_t emp_ranks_count(void)
{
    /* Of Open MPI; of MPICH and its relatives. */
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        long        count = text != NULL ? strtol(text, NULL, 10) : 0;
        if (count > 1 && count <= INT32_MAX) return (int32_t)count;
    }
    return 1;
}
