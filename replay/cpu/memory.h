/** \file replay/cpu/memory.h
 * How much of this computer's memory a program may still take.
 */
#ifndef EMP_REPLAY_CPU_MEMORY_H
#define EMP_REPLAY_CPU_MEMORY_H

#include <stdint.h>

/** Memory of this computer that is there for the taking, in bytes: what the kernel calls
 * available, the limits of the program's control groups and of its address space. */
int64_t emp_cpu_available_bytes(void);

/** Bytes that the control groups of this program, versions 1 and 2, still allow: of each group from its own up to the root the
 * limit, less what is used but for inactive pages of files, which the kernel takes back on demand. The least of all groups;
 * below 0: there is no limit. O(groups). \param root  "", or a folder that has the files of /proc and /sys, for tests. */
int64_t emp_cpu_group_bytes(const char *root);

#endif /* EMP_REPLAY_CPU_MEMORY_H */
