/** \file replay/plan/text_lines.h
 * The plain text files that travel between machines: a keyword a line, then fields with
 * blanks between them. One function spells a line for both directions:
 *
 *     emp_lines_next(io, "route");
 *     emp_lines_number(io, 17, &route->bytes_per_s);
 *
 * writes those fields, or reads them and checks that they are in range. The first failure
 * sticks: later calls do nothing, and leave what they would have read as it is. Messages
 * name the file and the line.
 */
#ifndef EMP_REPLAY_PLAN_TEXT_LINES_H
#define EMP_REPLAY_PLAN_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum { EMP_TEXT_LINE_BYTES = 16384 };

typedef struct {
    FILE       *file;
    const char *path; /**< borrowed */
    bool        is_writing;
    emp_status  status; /**< of the first failure */
    emp_error  *err;    /**< borrowed */
    int64_t     line;
    char        text[EMP_TEXT_LINE_BYTES];
    char       *at; /**< the rest of the line */
} emp_lines;

/** Opens \a path for reading; its first line must be \a format. Fails with EMP_EIO or
 * EMP_EFORMAT. */
void emp_lines_open(emp_lines *io, const char *path, const char *format, emp_error *err);
/** Writes to \a stream, which stays the caller's. */
void emp_lines_begin(emp_lines *io, FILE *stream, const char *format);
/** Ends the last line of what is written; closes what is read. */
void emp_lines_close(emp_lines *io);

/** That a file that is read can hold \a lines_left more lines: what its head counts cannot
 * ask for more memory than some multiple of its size. No effect on what has no size. */
void emp_lines_expect(emp_lines *io, int64_t lines_left);

/** Makes "path:line: WHAT" the failure, unless there is one. */
EMP_PRINTF_LIKE(2, 3)
void emp_lines_fail(emp_lines *io, const char *what, ...);

/** Goes to the next line, which must begin with \a keyword. */
void emp_lines_next(emp_lines *io, const char *keyword);

/** A whole number in a range. */
void emp_lines_integer(emp_lines *io, int64_t minimum, int64_t maximum, int64_t *value);
void emp_lines_count(emp_lines *io, int64_t minimum, int64_t maximum, int32_t *value);
void emp_lines_flag(emp_lines *io, bool *value);
/** A finite number, written with so many digits. */
void emp_lines_number(emp_lines *io, int digits, double *value);
void emp_lines_hash(emp_lines *io, uint64_t *value);
/** A word: \a text when writing; else one that is borrowed until the next line, or "". */
const char *emp_lines_word(emp_lines *io, const char *text);
/** A word, cut to \a size - 1 bytes. */
void emp_lines_name(emp_lines *io, char *text, size_t size);
/** All that is left of the line, cut to \a size - 1 bytes. */
void emp_lines_rest(emp_lines *io, char *text, size_t size);

#endif /* EMP_REPLAY_PLAN_TEXT_LINES_H */
