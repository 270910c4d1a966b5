/** \file cli/options/source_options.h
 * What a file leaves open, as options beside it: they become parts of the SPEC.
 */
#ifndef EMP_CLI_OPTIONS_SOURCE_OPTIONS_H
#define EMP_CLI_OPTIONS_SOURCE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

/** Zero-initialise. */
typedef struct {
    const char *batch, *train, *signature;
    bool        is_lenient;
    char        dims[2048]; /**< ",dim.name=size" of each --dim */
    char        spec[8192]; /**< what cli_source_spec() returns */
} cli_source_options;

/** A command adds it as an argp child with its cli_source_options as input. */
extern const struct argp cli_source_argp;

/** The SPEC with the options as its parameters; SPEC itself where none is given. */
const char *cli_source_spec(cli_source_options *o, const char *spec);

#endif /* EMP_CLI_OPTIONS_SOURCE_OPTIONS_H */
