// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/plan/text_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static emp_status read_line(emp_text_lines *lines, emp_error *err)
{
    lines->line++;
    if (fgets(lines->text, sizeof lines->text, lines->file) == NULL)
        return EMP_ERROR(ferror(lines->file) ? EMP_EIO : EMP_EFORMAT,
                         "%s ends after line %" PRId64 ": it is not whole", lines->path,
                         lines->line - 1);
    size_t length = strlen(lines->text);
    if (length == 0 || lines->text[length - 1] != '\n')
        return EMP_ERROR(EMP_EFORMAT, "%s:%" PRId64 ": a line without end", lines->path,
                         lines->line);
    lines->text[length - 1] = '\0';
    lines->at = lines->text;
    return EMP_OK;
}

emp_status emp_text_lines_open(emp_text_lines *lines, const char *path,
                               const char *format, emp_error *err)
{
    emp_status st = EMP_OK;

    lines->path = path;
    lines->line = 0;
    lines->file = fopen(path, "r");
    if (lines->file == NULL) EMP_FAIL(EMP_EIO, "%s: %s", path, strerror(errno));
    EMP_TRY(read_line(lines, err));
    if (strcmp(lines->text, format) != 0)
        EMP_FAIL(EMP_EFORMAT, "%s: its first line is not '%s'", path, format);

cleanup:
    if (st != EMP_OK) emp_text_lines_close(lines);
    return st;
}

void emp_text_lines_close(emp_text_lines *lines)
{
    if (lines->file != NULL) fclose(lines->file);
    lines->file = NULL;
}

emp_status emp_text_lines_expect(emp_text_lines *lines, int64_t lines_left,
                                 emp_error *err)
{
    long here = ftell(lines->file);

    if (here < 0 || fseek(lines->file, 0, SEEK_END) != 0) return EMP_OK; /* a pipe */
    long end = ftell(lines->file);
    if (fseek(lines->file, here, SEEK_SET) != 0)
        return EMP_ERROR(EMP_EIO, "%s: %s", lines->path, strerror(errno));
    if (lines_left > (end - here) / (int64_t)strlen("op 0\n"))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%" PRId64 ": counts of more than the file holds",
                         lines->path, lines->line);
    return EMP_OK;
}

static char *next_word(emp_text_lines *lines)
{
    char *word = lines->at + strspn(lines->at, " ");
    char *end = word + strcspn(word, " ");

    if (*word == '\0') return NULL;
    lines->at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

static emp_status complain(const emp_text_lines *lines, const char *what, emp_error *err)
{
    return emp_error_set(err, EMP_EFORMAT, __FILE__, __LINE__,
                         "%s:%" PRId64 ": %s is expected", lines->path, lines->line,
                         what);
}

emp_status emp_text_lines_word(emp_text_lines *lines, const char **word, emp_error *err)
{
    *word = next_word(lines);
    return *word != NULL ? EMP_OK : complain(lines, "a word", err);
}

emp_status emp_text_lines_next(emp_text_lines *lines, const char *keyword, emp_error *err)
{
    const char *word;

    EMP_CHECK(read_line(lines, err));
    word = next_word(lines);
    if (word == NULL || strcmp(word, keyword) != 0)
        return EMP_ERROR(EMP_EFORMAT, "%s:%" PRId64 ": a line '%s' is expected, not '%s'",
                         lines->path, lines->line, keyword, word == NULL ? "" : word);
    return EMP_OK;
}

emp_status emp_text_lines_integer(emp_text_lines *lines, int64_t minimum, int64_t maximum,
                                  int64_t *value, emp_error *err)
{
    char *word = next_word(lines), *end = NULL;

    if (word == NULL) return complain(lines, "a whole number", err);
    errno = 0;
    *value = strtoll(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || *value < minimum || *value > maximum)
        return emp_error_set(err, EMP_EFORMAT, __FILE__, __LINE__,
                             "%s:%" PRId64 ": a whole number from %" PRId64 " to %" PRId64
                             " is expected, not '%s'",
                             lines->path, lines->line, minimum, maximum, word);
    return EMP_OK;
}

emp_status emp_text_lines_count(emp_text_lines *lines, int64_t minimum, int64_t maximum,
                                int32_t *value, emp_error *err)
{
    int64_t    wide = 0;
    emp_status st = emp_text_lines_integer(lines, minimum, maximum, &wide, err);

    *value = (int32_t)wide;
    return st;
}

emp_status emp_text_lines_number(emp_text_lines *lines, double *value, emp_error *err)
{
    char *word = next_word(lines), *end = NULL;

    if (word == NULL) return complain(lines, "a number", err);
    *value = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(*value))
        return complain(lines, "a number", err);
    return EMP_OK;
}

emp_status emp_text_lines_hash(emp_text_lines *lines, uint64_t *value, emp_error *err)
{
    char *word = next_word(lines), *end = NULL;

    if (word == NULL || strlen(word) != 16)
        return complain(lines, "a hash of 16 digits", err);
    *value = strtoull(word, &end, 16);
    return *end == '\0' ? EMP_OK : complain(lines, "a hash of 16 digits", err);
}

void emp_text_lines_rest(emp_text_lines *lines, char *text, size_t size)
{
    snprintf(text, size, "%s", lines->at);
    lines->at += strlen(lines->at);
}
