/** \file base/io/watcher.h
 * Children that are not trusted to clean up after themselves. Between such a child and this process stands
 * a watcher, a small process that adopts whatever the child starts, also in sessions of its own (setsid).
 * When it is told to end, or this process ends in whatever way, it kills all of them. The children of
 * this process by other means are not looked at.
 *
 *     pid_t watcher = emp_watcher_fork();
 *     if (watcher == 0) { ...the child...; _exit(0); }
 *     ...
 *     int how = emp_watcher_end(watcher);
 */
#ifndef EMP_BASE_IO_WATCHER_H
#define EMP_BASE_IO_WATCHER_H

#include <sys/types.h>

/** fork() of a child in a group of its own, which does not hear Ctrl-C and other signals for the group of this
 * process. Watchers are listed for emp_watcher_end_all(), 64 at a time; others end with this process.
 * All end with the thread that calls, so call it from one that outlives the child.
 * \return  0 in the child; its watcher in this process, which ends as the child does when the child and all
 *          that it has started have ended; -1 with errno. */
pid_t emp_watcher_fork(void);

/** Ends the child and all that it has started, and waits for that, for a few seconds at most.
 * \return  How the child has ended, as waitpid() says it. */
int emp_watcher_end(pid_t watcher);

/** Tells all listed watchers to end their children, without waiting: for a signal handler that ends the
 * program. Safe in handlers. */
void emp_watcher_end_all(void);

#endif /* EMP_BASE_IO_WATCHER_H */
