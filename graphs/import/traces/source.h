/** \file graphs/import/traces/source.h
 * How a person names a trace and one of its steps: "trace:kineto=FILE,et=FILE,step=103".
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_SOURCE_H
#define EMP_GRAPHS_IMPORT_TRACES_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_TRACE_PATH_BYTES = 1024 };

typedef struct {
    char    kineto[EMP_TRACE_PATH_BYTES];
    char    execution[EMP_TRACE_PATH_BYTES]; /**< "" = none */
    int64_t step;                            /**< -1: a usual one */
} emp_trace_source;

/** Whether the text begins with "trace:". */
bool emp_trace_source_is(const char *text);

/** Reads such a text. A path has no comma.
 * \retval EMP_EINVAL  An unknown word, a value that is missing or too long; the message names
 *                     it. */
emp_status emp_trace_source_parse(emp_trace_source *out, const char *text,
                                  emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TRACES_SOURCE_H */
