/** \file cli/commands/validate.h
 * What the files of `emplace validate` share: what was asked, what was found, and its output.
 */
#ifndef EMP_CLI_COMMANDS_VALIDATE_H
#define EMP_CLI_COMMANDS_VALIDATE_H

#include "bench/validate/validate.h"
#include "cli/progress.h"
#include "cli/replay/replay_runner.h"

enum { CLI_VALIDATE_WORKLOADS = EMP_VALIDATION_PARTS };

typedef struct {
    const char        *workload[CLI_VALIDATE_WORKLOADS];
    int32_t            workload_count;
    char               list[CLI_VALIDATE_WORKLOADS][256];
    const char        *machine, *runtime, *export_to, *plot, *record, *measured;
    const char        *costs[CLI_VALIDATE_WORKLOADS]; /* of the workloads in turn */
    int32_t            costs_count;
    const char       **import;
    int32_t            import_count, placements, rounds;
    uint64_t           seed;
    cli_replay_options replay;
    bool               is_import, is_summary, takes_unsteady, follows_pace, is_forced;
    emp_sheet_format   format;
} cli_validate_args;

/* One workload and what was found. */
typedef struct {
    const char *spec;
    emp_validation_case
           *cases; /* [rounds * placements] a round after the other; then pooled */
    int32_t count; /* cases so far; once pooled, placements */
    emp_validation_summary summary;
    emp_validation_types   types;
    double                 repeat_error_frac; /* NaN: none was measured twice */
    emp_replay_plan       *reference;         /* of --pace; NULL: none */
    double                 reference_busy_s;  /* predicted, of all devices */
    double  pace; /* of its kernels, when it ran last: measured / predicted; 0: never */
    int32_t missing; /* placements with no result, or not reached */
} cli_validate_part;

typedef struct {
    const cli_validate_args *args;
    cli_validate_part        part[CLI_VALIDATE_WORKLOADS];
    cli_replay_results       imported;
    emp_validation_record    record; /* of args->measured */
    cli_bar                  bar;
    int32_t                  done;
    bool                     is_uncalibrated; /* the machine: see cli_is_uncalibrated() */
} cli_validation;

/** Prints what was found, as the options say. */
emp_status cli_validation_print(const cli_validation *validation, emp_error *err);
/** Writes the record that the options name. */
emp_status cli_validation_save(const cli_validation *validation, emp_error *err);
/** Writes the plot that they name. \retval EMP_EINVAL  There is nothing to plot. */
emp_status cli_validation_plot(const cli_validation *validation, emp_error *err);

#endif /* EMP_CLI_COMMANDS_VALIDATE_H */
