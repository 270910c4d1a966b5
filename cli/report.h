/** \file cli/report.h
 * What the oracle said of a placement, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_H
#define EMP_CLI_REPORT_H

#include <jansson.h>

#include "sim/explain/explain.h"

/** Object with step_time_s, feasible, oom, peak_bytes, busy_s, traffic_bytes,
 * transfer_count, fingerprint, op_count, edge_count; NULL when memory is out. With \a why
 * (NULL is fine) the out-of-memory verdict names what is in memory. */
json_t *cli_report_json(const emp_problem *problem, const emp_sim_result *result,
                        const emp_explain *why);

/** The same in a few lines on standard output. */
void cli_report_print(const emp_problem *problem, const emp_sim_result *result,
                      const emp_explain *why);

#endif /* EMP_CLI_REPORT_H */
