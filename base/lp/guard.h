/** \file base/lp/guard.h
 * GLPK as a library that a program can live with: by itself it prints, and where it cannot
 * go on, as without memory, it calls abort().
 *
 * Threads. GLPK has an environment for each thread; calls may run side by side.
 */
#ifndef EMP_BASE_LP_GUARD_H
#define EMP_BASE_LP_GUARD_H

/** Returns what \a solve does, whose values but 0 are GLPK's codes of failure; GLP_EFAIL if
 * GLPK would have aborted. This function frees the GLPK objects that \a solve makes. It must leave its
 * own memory to the caller, as a failure jumps out of it. */
int emp_lp_guarded(int (*solve)(void *context), void *context);

#endif /* EMP_BASE_LP_GUARD_H */
