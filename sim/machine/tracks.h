/** \file sim/machine/tracks.h
 * The tracks of devices in timelines. A simulated step and a replayed one use the same, so
 * that they can be compared. A device's process has the device's number. It depends on `base` only,
 * because the runner of replays is built without the rest of `sim`.
 */
#ifndef EMP_SIM_MACHINE_TRACKS_H
#define EMP_SIM_MACHINE_TRACKS_H

#include <stdbool.h>
#include <stdio.h>

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
static inline emp_trace_track emp_track_of_copy(int32_t from, bool from_cpu, int32_t to,
                                                bool to_cpu)
{
    if (from_cpu && !to_cpu) return (emp_trace_track){to, EMP_TRACK_TO_DEVICE};
    return (emp_trace_track){from, from_cpu ? EMP_TRACK_BETWEEN_HOSTS
                                   : to_cpu ? EMP_TRACK_TO_HOST
                                            : EMP_TRACK_TO_PEER};
}

/** Names the process of a GPU and all its tracks. */
static inline void emp_track_name_gpu(emp_trace_events *e, int32_t gpu, const char *name)
{
    static const char *const names[EMP_TRACK_GPU_COUNT] = {
        "compute stream", "host thread", "copies from host", "copies to host",
        "copies to peers"};

    emp_trace_name_process(e, gpu, name);
    for (int32_t t = 0; t < EMP_TRACK_GPU_COUNT; t++)
        emp_trace_name_track(e, (emp_trace_track){gpu, t}, names[t]);
}

/** Names track \a tid of a CPU: tasks, or copies to other hosts. */
static inline void emp_track_name_cpu(emp_trace_events *e, int32_t cpu, int32_t tid)
{
    char name[32];

    snprintf(name, sizeof name, "tasks %d", tid);
    emp_trace_name_track(e, (emp_trace_track){cpu, tid},
                         tid == EMP_TRACK_BETWEEN_HOSTS ? "copies to other hosts" : name);
}

/** The memory of a device in use, from \a at_ns on. */
static inline void emp_track_memory(emp_trace_events *e, int32_t device, int64_t at_ns,
                                    int64_t bytes)
{
    emp_trace_bytes(e, "memory", device, at_ns, bytes);
}

#endif /* EMP_SIM_MACHINE_TRACKS_H */
