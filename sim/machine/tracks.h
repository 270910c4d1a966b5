/** \file sim/machine/tracks.h
 * The tracks of devices in timelines. A simulated step and a replayed one use the same, so
 * that they can be compared. A device's process has the device's number. Knows `base` alone:
 * the replay's runner is built from it without the rest of `sim`.
 */
#ifndef EMP_SIM_MACHINE_TRACKS_H
#define EMP_SIM_MACHINE_TRACKS_H

#include <stdbool.h>

#include "base/io/trace_events.h"

/** Tracks of a GPU. A CPU has its tasks from 0 on, and its copies to other hosts. */
enum {
    EMP_TRACK_COMPUTE,
    EMP_TRACK_HOST,
    EMP_TRACK_TO_DEVICE,
    EMP_TRACK_TO_HOST,
    EMP_TRACK_TO_PEER,
    EMP_TRACK_GPU_COUNT,
    EMP_TRACK_BETWEEN_HOSTS = 128
};

/** Where a copy is shown: on the GPU that is not the copy's host, else on the sender. */
emp_trace_track emp_track_of_copy(int32_t from, bool from_cpu, int32_t to, bool to_cpu);

/** Names the process of a GPU and all its tracks. */
void emp_track_name_gpu(emp_trace_events *e, int32_t gpu, const char *name);
/** Names track \a tid of a CPU: tasks, or copies to other hosts. */
void emp_track_name_cpu(emp_trace_events *e, int32_t cpu, int32_t tid);
/** The memory of a device in use, from \a at_ns on. */
void emp_track_memory(emp_trace_events *e, int32_t device, int64_t at_ns, int64_t bytes);

#endif /* EMP_SIM_MACHINE_TRACKS_H */
