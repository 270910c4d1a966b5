/** \file replay/cpu/cores.h
 * This computer: which of its cores do the work of which device, and how much of its memory a program may still take.
 */
#ifndef EMP_REPLAY_CPU_CORES_H
#define EMP_REPLAY_CPU_CORES_H

#include <pthread.h>

#include "replay/plan/plan.h"

typedef struct {
    int32_t count[EMP_REPLAY_MAX_DEVICES]; /**< 0 of devices that are no cores */
    int16_t core[EMP_REPLAY_MAX_DEVICES][EMP_REPLAY_MAX_CORES];
} emp_cpu_cores;

/** As the options say; where they do not, GPUs first, then CPUs, take the next cores that
 * this program may use, as many as the plan gives them, beginning anew when all are taken.
 * So cores are shared where there are fewer than the plan wants; no device has more
 * threads than there are cores. \a is_wanted [device]: is a group of cores.
 * \retval EMP_EINVAL  A core that this program may not use; the message says which it may. Or cores of a device that is
 * no group of them. */
emp_status emp_cpu_cores_choose(emp_cpu_cores *cores, const emp_replay_plan *plan,
                                const emp_replay_options *options, const bool *is_wanted,
                                emp_error *err);

/** Cores that this program may use; at least 1. */
int32_t emp_cpu_core_count(void);

/** Keeps a thread on these cores. */
emp_status emp_cpu_pin(pthread_t thread, const int32_t *core, int32_t count,
                       emp_error *err);

/** Memory of this computer that is there for the taking, in bytes: what the kernel calls
 * available, the limits of the program's control groups and of its address space. */
int64_t emp_cpu_available_bytes(void);

/** Bytes that the control groups of this program, versions 1 and 2, still allow: of each group from its own up to the root the
 * limit, less what is used but for inactive pages of files, which the kernel takes back on demand. The least of all groups;
 * below 0: there is no limit. O(groups). \param root  "", or a folder that has the files of /proc and /sys, for tests. */
int64_t emp_cpu_group_bytes(const char *root);

#endif /* EMP_REPLAY_CPU_CORES_H */
