/** \file cli/commands/place.h
 * Loading, running and saving: what `place` does, and `train` between its own steps.
 */
#ifndef EMP_CLI_COMMANDS_PLACE_H
#define EMP_CLI_COMMANDS_PLACE_H

#include "cli/options/run_options.h"

typedef struct {
    cli_run_options run;
    const char     *method;
    const char     *fit;         /**< of place: the size that is sought, or NULL */
    const char     *out;         /**< placement file, or NULL */
    const char     *record;      /**< record file, or NULL */
    const char     *start;       /**< placement file or record to begin at, or NULL */
    const char     *weights;     /**< file of weights to begin with, or NULL */
    const char     *weights_out; /**< file for weights, or NULL */
    const char
        *imitate, /**< of train: the method whose placements are imitated, or NULL */
        *imitate_options;    /**< of that method, or NULL */
    int64_t imitate_budget;  /**< evaluations a task; 0 = not given */
    int64_t imitate_rounds;  /**< steps a task */
    bool    is_forced;       /**< outputs may replace any file */
    bool    is_home_decided; /**< the home of each matrix is, too */
    char    homed[8192];     /**< then the spec that says so */
    bool    is_sensitivity;  /**< derived constants are changed by a fifth */
} cli_place_args;

/** The options of both, to be used as an argp child; the input is a cli_place_args. */
extern const struct argp cli_place_argp;

/** Looks for a placement, saves what was found and prints it. A checkpoint stands beside the record, run.checkpoint.h5
 * for run.h5, from which --resume goes on.
 * \retval EMP_EINVAL        The method has no state to go on from.
 * \retval EMP_EINTERRUPTED  Ctrl-C has ended the search; what was found so far is saved. */
emp_status cli_place_with_checkpoint(cli_place_args *args, emp_error *err);

#endif /* EMP_CLI_COMMANDS_PLACE_H */
