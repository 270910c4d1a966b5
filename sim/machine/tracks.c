// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/tracks.h"

#include <stdio.h>

emp_trace_track emp_track_of_copy(int32_t from, bool from_cpu, int32_t to, bool to_cpu)
{
    if (from_cpu && !to_cpu) return (emp_trace_track){to, EMP_TRACK_TO_DEVICE};
    return (emp_trace_track){from, from_cpu ? EMP_TRACK_BETWEEN_HOSTS
                                   : to_cpu ? EMP_TRACK_TO_HOST
                                            : EMP_TRACK_TO_PEER};
}

void emp_track_name_gpu(emp_trace_events *e, int32_t gpu, const char *name)
{
    static const char *const names[EMP_TRACK_GPU_COUNT] = {
        "compute stream", "host thread", "copies from host", "copies to host",
        "copies to peers"};

    emp_trace_name_process(e, gpu, name);
    for (int32_t t = 0; t < EMP_TRACK_GPU_COUNT; t++)
        emp_trace_name_track(e, (emp_trace_track){gpu, t}, names[t]);
}

void emp_track_name_cpu(emp_trace_events *e, int32_t cpu, int32_t tid)
{
    char name[32];

    snprintf(name, sizeof name, "tasks %d", tid);
    emp_trace_name_track(e, (emp_trace_track){cpu, tid},
                         tid == EMP_TRACK_BETWEEN_HOSTS ? "copies to other hosts" : name);
}

void emp_track_memory(emp_trace_events *e, int32_t device, int64_t at_ns, int64_t bytes)
{
    emp_trace_bytes(e, "memory", device, at_ns, bytes);
}
