/** \file cli/report/report.h
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
#include "sim/bounds/changes.h"
#include "sim/bounds/why.h"
#include "sim/explain/brief.h"
#include "sim/explain/explain.h"
#include "sim/machine/machine.h"

/** Object with step_time_s, feasible, oom, peak_bytes, busy_s, traffic_bytes,
 * transfer_count, fingerprint, op_count, edge_count, lower_bound_s and gap_frac,
 * lower_bound_gpu_kernels_s and gap_gpu_kernels_frac (gaps are null if the placement does not fit); NULL when
 * memory is out. With \a why
 * (NULL is fine) the out-of-memory verdict names what is in memory. */
json_t *cli_report_json(const emp_problem *problem, const emp_sim_result *result,
                        const emp_explanation *why, const emp_bounds *bounds);

/** The same in a few lines on standard output. */
void cli_report_print(const emp_problem *problem, const emp_sim_result *result,
                      const emp_explanation *why, const emp_bounds *bounds);

/** A run on \a inputs and its best placement, of which the oracle says \a best, as \a format says.
 * \param sensitivity  OPTIONAL. The influence of derived constants on the answer. */
emp_status cli_report_run(const emp_record *record, const cli_inputs *inputs,
                          const emp_sim_result *best, const emp_bounds *bounds,
                          const emp_sensitivity *sensitivity, emp_sheet_format format,
                          emp_error *err);

/** Adds won_by to the object, if the record is of a portfolio: the member that found the best
 * placement. */
void cli_add_winner(json_t *object, const emp_record *record);

/** True if streaming weights from a host may beat the bounds of a problem: its weights are held where they are read, and a
 * GPU may be too small for all that a step holds. */
bool cli_bounds_leave_homes(const emp_problem *problem);
/** The placements that a bound covers then. */
#define CLI_BOUND_HOMES \
    "for weights on the device that reads them; home=any covers streamed ones"

/** Every bound by its key, in seconds (null where the rules know none), lower_bound_s and
 * infeasible; NULL when out of memory. */
json_t *cli_bounds_json(const emp_bounds *bounds);

/* Where a bound comes from, and what would lower it. */

/** Object with lower_bound and lower_bound_gpu_kernels (null if it comes from the other's lemma), and changes; NULL when
 * memory is out. */
json_t *cli_bound_why_json(const emp_problem *problem, const emp_bounds *now,
                           const emp_bounds_why *all, const emp_bounds_why *gpus,
                           const emp_bounds_changes *changes);

/** The same as tables on standard output, of the ten longest rows unless \a is_full. */
void cli_bound_why_print(const emp_problem *problem, const emp_bounds *now,
                         const emp_bounds_why *all, const emp_bounds_why *gpus,
                         const emp_bounds_changes *changes, bool is_full);

/* `emplace machines show` and `emplace machines check`. */

/** Prints the way between each pair of devices: links, rate, and the time of three sizes. */
emp_status cli_machine_show(const emp_machine *machine, emp_sheet_format format,
                            emp_error *err);

/** The constants that follow from cards: a list of model, constant, value and rule. */
json_t *cli_machine_derived(const emp_machine *machine);

/** Prints a line that counts the derived constants of each model, for the report of a placement. The machine
 * has some. */
void cli_machine_print_derived(const emp_machine *machine);

/** Prints all that is implausible: as text a line for each, or that nothing is.
 * \retval EMP_EINVAL  Something is. */
emp_status cli_machine_check(const emp_machine *machine, emp_sheet_format format,
                             emp_error *err);

/* Why a step takes as long and needs as much memory as it does, for people and as JSON. */

/** Explains the step if it \a is_wanted or if \a result is out of memory; else, and where
 * an out-of-memory step cannot be explained, *out is NULL. */
emp_status cli_why_create(emp_explanation **out, const emp_problem *problem,
                          const emp_decision *decision, const emp_sim_result *result,
                          bool is_wanted, emp_error *err);

/** The object under "why" of docs/simulator.md; NULL when out of memory. */
json_t *cli_why_json(const emp_problem *problem, const emp_explanation *why,
                     const emp_what_if *what_if);

/** Prints the explanation in ten lines (sim/explain/brief.h). */
void cli_why_print_brief(const emp_problem *problem, const emp_explanation *why,
                         const emp_what_if *what_if);

/** The same in tables on standard output, at most 80 characters wide but for names of
 * devices and links. */
void cli_why_print(const emp_problem *problem, const emp_explanation *why,
                   const emp_what_if *what_if);

/** The content of a memory, as members of \a object, or as lines. \return false when memory
 * is out. */
bool cli_why_add_memory(json_t *object, const emp_problem *problem,
                        const emp_explain_memory *memory);
void cli_why_print_memory(const emp_problem *problem, const emp_explain_memory *memory);

/* Certificates of lower bounds, which scripts/bounds/check-bound checks (certificate.c): docs/formats.md. */

/** The facts of a problem that its bounds follow from, and the proofs of both bounds.
 * \param how        As of emp_bounds_explain(), with has_proof.
 * \param all, gpus  As emp_bounds_explain() has set them.
 * \param[out] out   The caller's.
 * \retval EMP_EUNSUPPORTED  Nothing fits, so there is no bound. \retval EMP_ENOMEM */
emp_status cli_certificate_json(json_t **out, const emp_problem *problem,
                                const emp_bounds_options *how, const emp_bounds *bounds,
                                const emp_bounds_why *all, const emp_bounds_why *gpus,
                                emp_error *err);

#endif /* EMP_CLI_REPORT_REPORT_H */
