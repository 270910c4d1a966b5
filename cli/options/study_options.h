/** \file cli/options/study_options.h
 * The options that name what a study of placements works on, shared by benchmarks that
 * draw placements of one SPEC.
 */
#ifndef EMP_CLI_OPTIONS_STUDY_OPTIONS_H
#define EMP_CLI_OPTIONS_STUDY_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "run/sheet/sheet.h"

typedef struct {
    const char      *spec, *machine, *runtime;
    int32_t          samples, least_samples; /**< fewer are refused */
    uint64_t         seed;
    emp_sheet_format format;
} cli_study_options;

/** Options and their parser, to be used as they are or as an argp child; the input is a
 * cli_study_options. SPEC and --machine must be given. */
extern const struct argp cli_study_argp;

/** What holds when an option is not given. */
cli_study_options cli_study_options_default(int32_t samples, int32_t least_samples);

#endif /* EMP_CLI_OPTIONS_STUDY_OPTIONS_H */
