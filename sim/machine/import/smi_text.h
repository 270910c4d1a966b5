/** \file sim/machine/import/smi_text.h
 * Text that nvidia-smi printed and a user saved, line by line.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_SMI_TEXT_H
#define EMP_SIM_MACHINE_IMPORT_SMI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_SMI_MOST_BYTES = 1 << 24 };

/** A line or a word of the text; borrowed, not terminated. */
typedef struct {
    const char *at;
    size_t      length;
} emp_smi_span;

/** Where a reader is. Set `at` and `end`; `number` begins at 0. */
typedef struct {
    const char  *at, *end;
    emp_smi_span line;
    int32_t      number; /**< of the line; the first is 1 */
} emp_smi_reader;

/** Removes the escapes by which a terminal underlines, in place. O(bytes).
 * \param size  Of \a text; becomes what is left.
 * \retval EMP_EFORMAT  The text has zero bytes. */
emp_status emp_smi_text_clean(char *text, size_t *size, const char *path, emp_error *err);

/** Takes the next line, without its end. \return false behind the last one. */
bool emp_smi_next_line(emp_smi_reader *reader);

/** Takes the next word of \a rest; words are separated by blanks and tabs. \return false at its end. */
bool emp_smi_next_word(emp_smi_span *rest, emp_smi_span *word);

/** Without blanks at both ends. */
emp_smi_span emp_smi_trim(emp_smi_span span);

bool emp_smi_equals(emp_smi_span span, const char *text);

/** Copies what fits of it, terminated; all but printable ASCII becomes '?'. */
void emp_smi_copy(char *to, size_t size, emp_smi_span span);

#endif /* EMP_SIM_MACHINE_IMPORT_SMI_TEXT_H */
