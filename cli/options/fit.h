/** \file cli/options/fit.h
 * `--fit KEY` of simulate and place: the largest value of a size in SPEC, such as seq or batch, with which a placement
 * fits into the memories. SPEC is loaded, placed and simulated anew for each value; values double until one does not
 * fit, and are then bisected. So the answer takes for granted that what fits with a value fits with a smaller one.
 */
#ifndef EMP_CLI_OPTIONS_FIT_H
#define EMP_CLI_OPTIONS_FIT_H

#include "cli/options/run_options.h"

/** Makes the decision that is to fit; \a args are the command's. EMP_EINFEASIBLE: it does not fit. */
typedef emp_status cli_fit_decide(emp_owned_decision *decision, bool *is_partial,
                                  const void *args, const emp_problem *problem,
                                  emp_error *err);

typedef struct {
    const char            *key; /**< "seq" */
    const cli_run_options *run;
    const char            *placement; /**< a method or a file, for the output */
    cli_fit_decide        *decide;
    const void            *args;
} cli_fit_request;

enum { CLI_FIT_KEY = 800 };
/** A row of argp's table. */
#define CLI_FIT_OPTION                                                               \
    {                                                                                \
        "fit", CLI_FIT_KEY, "seq|batch|KEY", 0,                                      \
            "Print the largest value of that size of SPEC with which the placement " \
            "fits into "                                                             \
            "the memories, and nothing else",                                        \
            0                                                                        \
    }

/** Writes \a spec with the number \a value for \a key, in place of the one that it has or at its end. The path of a
 * GGUF file becomes a spec.
 * \retval EMP_EINVAL  It is no spec, or too long. */
emp_status cli_fit_spec(char *out, size_t size, const char *spec, const char *key,
                        int64_t value, emp_error *err);

/** Finds the value and prints it, as the format of the request says.
 * \retval EMP_EINVAL  The value 1 is refused, whose message it is. \retval EMP_EINTERRUPTED  Ctrl-C. */
emp_status cli_fit(const cli_fit_request *request, emp_error *err);

#endif /* EMP_CLI_OPTIONS_FIT_H */
