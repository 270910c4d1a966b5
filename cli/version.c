// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/version.h"

#include <gsl/gsl_version.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/blas/openblas.h"
#include "run/ranks/ranks.h"
#include "run/sheet/manifest.h"
#include "run/store/store.h"

/* Which matrix kernels run, and what was done about it. */
static void print_blas(void)
{
    const char *core = emp_openblas_core_name();
    const char *mistaken = emp_openblas_mistaken_core_name();

    if (core == NULL) {
        printf("OpenBLAS: not found; learners need it\n");
        return;
    }
    printf("OpenBLAS core %s (", core);
    if (mistaken != NULL)
        printf("set by this program: OpenBLAS took the CPU for %s)\n", mistaken);
    else if (getenv("OPENBLAS_CORETYPE") != NULL)
        printf("set by OPENBLAS_CORETYPE)\n");
    else
        printf("its own choice)\n");
}

void cli_print_version(bool is_verbose)
{
    emp_manifest manifest = emp_manifest_get();

    printf("emplace %s (commit %.12s%s)\n", manifest.version, manifest.commit,
           manifest.is_dirty ? ", modified" : "");
    if (!is_verbose) return;
    printf("compiler %s\n", manifest.code);
    printf("GSL %s\n%s\n", gsl_version, emp_store_library_version());
    print_blas();
    printf("jansson %s\nzlib %s\n", JANSSON_VERSION, zlibVersion());
    printf("MPI: %s\n",
           emp_ranks_library() != NULL ? emp_ranks_library() : "not in this build");
}
