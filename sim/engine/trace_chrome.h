/** \file sim/engine/trace_chrome.h
 * Writes a simulated step as JSON trace events, for Perfetto (ui.perfetto.dev) and
 * chrome://tracing. A process per device; a track per compute stream, host thread, copy
 * stream and batch of CPU tasks; a counter of memory in use.
 */
#ifndef EMP_SIM_ENGINE_TRACE_CHROME_H
#define EMP_SIM_ENGINE_TRACE_CHROME_H

#include "sim/engine/sim.h"

/** Runs \a sim once and writes what happened to \a path, by a temporary file and a
 * rename. \a problem is the one of \a sim. \retval EMP_EIO  The message names the file.
 */
emp_status emp_trace_chrome_write(const char *path, emp_sim *sim,
                                  const emp_problem   *problem,
                                  const emp_device_id *device_of_op,
                                  emp_sim_result *result, emp_error *err);

#endif /* EMP_SIM_ENGINE_TRACE_CHROME_H */
