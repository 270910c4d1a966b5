// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/lp/guard.h"

#include <glpk.h>
#include <setjmp.h>
#include <stddef.h>

/* GLPK has nothing to say to our users, not even before it gives up. */
static int silence(void *context, const char *text)
{
    (void)context, (void)text;
    return 1;
}

/* GLPK calls it instead of abort(). */
static void leave(void *failed) { longjmp(*(jmp_buf *)failed, 1); }

int emp_lp_guarded(int (*solve)(void *context), void *context)
{
    jmp_buf      failed;
    volatile int failure = GLP_EFAIL;

    if (setjmp(failed) == 0) {
        glp_term_hook(silence, NULL);
        glp_error_hook(leave, &failed);
        failure = solve(context);
        glp_error_hook(NULL, NULL);
    }
    glp_free_env();
    return failure;
}
