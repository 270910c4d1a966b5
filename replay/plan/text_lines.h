/** \file replay/plan/text_lines.h
 * Reading of the plain text files that travel between machines: a keyword a line, then
 * fields with blanks between them. Messages name the file and the line.
 */
#ifndef EMP_REPLAY_PLAN_TEXT_LINES_H
#define EMP_REPLAY_PLAN_TEXT_LINES_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum { EMP_TEXT_LINE_BYTES = 16384 };

typedef struct {
    FILE       *file;
    const char *path; /**< borrowed */
    int64_t     line;
    char        text[EMP_TEXT_LINE_BYTES];
    char       *at; /**< the rest of the line */
} emp_text_lines;

/** Opens \a path, whose first line must be \a format. \retval EMP_EIO \retval EMP_EFORMAT
 */
emp_status emp_text_lines_open(emp_text_lines *lines, const char *path,
                               const char *format, emp_error *err);
void       emp_text_lines_close(emp_text_lines *lines);

/** That the file can hold \a lines_left more lines: what its head counts cannot ask for
 * more memory than some multiple of its size. No effect on what has no size.
 * \retval EMP_EFORMAT */
emp_status emp_text_lines_expect(emp_text_lines *lines, int64_t lines_left,
                                 emp_error *err);

/** Goes to the next line, which must begin with \a keyword.
 * \retval EMP_EFORMAT  Another keyword, or the file ends: it is not whole. */
emp_status emp_text_lines_next(emp_text_lines *lines, const char *keyword,
                               emp_error *err);

/** The next field of the line. \retval EMP_EFORMAT  None, or outside its range. */
emp_status emp_text_lines_integer(emp_text_lines *lines, int64_t minimum, int64_t maximum,
                                  int64_t *value, emp_error *err);
emp_status emp_text_lines_count(emp_text_lines *lines, int64_t minimum, int64_t maximum,
                                int32_t *value, emp_error *err);
emp_status emp_text_lines_number(emp_text_lines *lines, double *value, emp_error *err);
emp_status emp_text_lines_hash(emp_text_lines *lines, uint64_t *value, emp_error *err);
/** Borrowed until the next line. */
emp_status emp_text_lines_word(emp_text_lines *lines, const char **word, emp_error *err);
/** All that is left of the line, copied, cut to \a size - 1 bytes. */
void emp_text_lines_rest(emp_text_lines *lines, char *text, size_t size);

#endif /* EMP_REPLAY_PLAN_TEXT_LINES_H */
