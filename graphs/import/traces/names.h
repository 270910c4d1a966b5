/** \file graphs/import/traces/names.h
 * Texts of traces as parts of op names.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_NAMES_H
#define EMP_GRAPHS_IMPORT_TRACES_NAMES_H

#include <stddef.h>

enum { EMP_TRACE_PART_BYTES = 64 };

/** The bytes of a text that may stand in a name, others as '_'; what is too long is cut off. */
void emp_trace_put_text(char part[EMP_TRACE_PART_BYTES], const char *text, size_t length);

/** The function of a kernel's signature: of "void at::native::f<int>(...)" it is f. Of what is no
 * signature it is the text up to '(' or '<'. */
void emp_trace_put_kernel(char part[EMP_TRACE_PART_BYTES], const char *name,
                          size_t length);

#endif /* EMP_GRAPHS_IMPORT_TRACES_NAMES_H */
