/** \file sim/explain/trace_chrome.h
 * Writes a simulated step as JSON trace events, for Perfetto (ui.perfetto.dev) and
 * chrome://tracing. A process per device; a track per compute stream, host thread (which
 * issues, sends and receives), copy stream (of a CPU: to other hosts) and batch of CPU
 * tasks; a last process for the fixed cost of the step, so that the trace ends with the step.
 * Copies that share a stream's track and overlap are spread over several tracks.
 *
 * A slice of an op has its type, the shape of its first output, FLOPs, bytes read and
 * written, and scope. Under the event rules every slice of an op, issue or copy says
 * whether it is on the critical path (explain.h). An op of no time has no slice but that of its
 * issue. Arrows go from the op that makes a tensor to its copy, and from there to the op that
 * was ready when the copy came.
 *
 * Each device has two counters: memory in use, and its peak so far as emp_sim_result counts it.
 */
#ifndef EMP_SIM_EXPLAIN_TRACE_CHROME_H
#define EMP_SIM_EXPLAIN_TRACE_CHROME_H

#include "sim/engine/sim.h"

/** Runs \a sim once, or under the event rules twice, and writes what happened to \a path, by a temporary file and a
 * rename. \a problem is the one of \a sim. \retval EMP_EIO  The message names the file.
 */
emp_status emp_trace_chrome_write(const char *path, emp_sim *sim,
                                  const emp_problem  *problem,
                                  const emp_decision *decision, emp_sim_result *result,
                                  emp_error *err);

#endif /* EMP_SIM_EXPLAIN_TRACE_CHROME_H */
