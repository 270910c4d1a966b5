/** \file replay/trace.h
 * Writes a step that was measured as JSON trace events, in the form in which the simulator
 * writes one that it computed: a process per device, the same tracks, names and arrows.
 * Opened side by side in Perfetto they can be compared slice by slice.
 */
#ifndef EMP_REPLAY_TRACE_H
#define EMP_REPLAY_TRACE_H

#include "replay/execute.h"

/** By a temporary file and a rename. \retval EMP_EIO  The message names the file. */
emp_status emp_replay_trace_write(const char *path, const emp_replay_plan *plan,
                                  const emp_replay_timeline *timeline, emp_error *err);

#endif /* EMP_REPLAY_TRACE_H */
