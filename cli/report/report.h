/** \file cli/report.h
 * What the oracle said of a placement, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_REPORT_H
#define EMP_CLI_REPORT_REPORT_H

#include <jansson.h>

#include "cli/options/inputs.h"
#include "run/sensitivity.h"
#include "run/sheet/sheet.h"
#include "run/store/store.h"
#include "sim/bounds/bounds.h"
#include "sim/explain/explain.h"

/** Object with step_time_s, feasible, oom, peak_bytes, busy_s, traffic_bytes,
 * transfer_count, fingerprint, op_count, edge_count, lower_bound_s and gap_frac,
 * lower_bound_gpu_kernels_s and gap_gpu_kernels_frac (gaps are null if the placement does not fit); NULL when
 * memory is out. With \a why
 * (NULL is fine) the out-of-memory verdict names what is in memory. */
json_t *cli_report_json(const emp_problem *problem, const emp_sim_result *result,
                        const emp_explain *why, const emp_bounds *bounds);

/** The same in a few lines on standard output. */
void cli_report_print(const emp_problem *problem, const emp_sim_result *result,
                      const emp_explain *why, const emp_bounds *bounds);

/** A run on \a inputs and its best placement, of which the oracle says \a best, as \a format says.
 * \param sensitivity  OPTIONAL. What the answer owes to derived constants. */
emp_status cli_report_run(const emp_record *record, const cli_inputs *inputs,
                          const emp_sim_result *best, const emp_bounds *bounds,
                          const emp_sensitivity *sensitivity, emp_sheet_format format,
                          emp_error *err);

/** Adds won_by to the object, if the record is of a portfolio: the member that found the best
 * placement. */
void cli_add_winner(json_t *object, const emp_record *record);

/** Every bound by its key, in seconds (null where the rules know none), lower_bound_s and
 * infeasible; NULL when memory is out. */
json_t *cli_bounds_json(const emp_bounds *bounds);

#endif /* EMP_CLI_REPORT_REPORT_H */
