/** \file cli/report/report_why.h
 * Why a step takes as long and needs as much memory as it does, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_WHY_H
#define EMP_CLI_REPORT_WHY_H

#include <jansson.h>

#include "sim/explain/explain.h"
#include "sim/explain/what_if.h"

/** Explains the step if it \a is_wanted or if \a result is out of memory; else, and where
 * an out-of-memory step cannot be explained, *out is NULL. */
emp_status cli_why_create(emp_explain **out, const emp_problem *problem,
                          const emp_decision *decision, const emp_sim_result *result,
                          bool is_wanted, emp_error *err);

/** The object under "why" of docs/explain.md; NULL when memory is out. */
json_t *cli_why_json(const emp_problem *problem, const emp_explain *why,
                     const emp_what_if *what_if);

/** The same in tables on standard output, at most 80 characters wide but for names of
 * devices and links. */
void cli_why_print(const emp_problem *problem, const emp_explain *why,
                   const emp_what_if *what_if);

/** What a memory holds, as members of \a object, or as lines. \return false when memory
 * is out. */
bool cli_why_add_memory(json_t *object, const emp_problem *problem,
                        const emp_explain_memory *memory);
void cli_why_print_memory(const emp_problem *problem, const emp_explain_memory *memory);

#endif /* EMP_CLI_REPORT_WHY_H */
