// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/plan/text_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/input.h"

static void set_failure(emp_lines *io, emp_status status)
{
    if (io->status == EMP_OK) io->status = status;
}

void emp_lines_fail(emp_lines *io, const char *what, ...)
{
    emp_error *err = io->err;
    char       text[EMP_ERROR_MSG_BYTES];
    va_list    args;

    if (io->status != EMP_OK) return;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    set_failure(io,
                EMP_ERROR(EMP_EFORMAT, "%s:%" PRId64 ": %s", io->path, io->line, text));
}

static void read_line(emp_lines *io)
{
    emp_error *err = io->err;

    io->line++;
    if (fgets(io->text, sizeof io->text, io->file) == NULL) {
        set_failure(io, EMP_ERROR(ferror(io->file) ? EMP_EIO : EMP_EFORMAT,
                                  "%s ends after line %" PRId64 ": it is not whole",
                                  io->path, io->line - 1));
        return;
    }
    size_t length = strlen(io->text);
    if (length == 0 || io->text[length - 1] != '\n') {
        emp_lines_fail(io, "a line without end");
        return;
    }
    io->text[length - 1] = '\0';
    io->at = io->text;
}

void emp_lines_open(emp_lines *io, const char *path, const char *format, emp_error *err)
{
    *io = (emp_lines){.path = path, .err = err, .at = io->text};
    const emp_status st = emp_input_open(&io->file, path, err);
    if (st != EMP_OK) {
        set_failure(io, st);
        return;
    }
    read_line(io);
    if (io->status == EMP_OK && strcmp(io->text, format) != 0)
        set_failure(
            io, EMP_ERROR(EMP_EFORMAT, "%s: its first line is not '%s'", path, format));
}

void emp_lines_begin(emp_lines *io, FILE *stream, const char *format)
{
    *io = (emp_lines){.file = stream, .is_writing = true};
    fputs(format, stream);
}

void emp_lines_close(emp_lines *io)
{
    if (io->is_writing)
        fputc('\n', io->file);
    else if (io->file != NULL)
        fclose(io->file);
    io->file = NULL;
}

void emp_lines_expect(emp_lines *io, int64_t lines_left)
{
    emp_error *err = io->err;
    long       here = io->status == EMP_OK ? ftell(io->file) : -1;

    if (here < 0 || fseek(io->file, 0, SEEK_END) != 0) return; /* a pipe */
    long end = ftell(io->file);
    if (fseek(io->file, here, SEEK_SET) != 0)
        set_failure(io, EMP_ERROR(EMP_EIO, "%s: %s", io->path, strerror(errno)));
    if (lines_left > (end - here) / (int64_t)strlen("op 0\n"))
        emp_lines_fail(io, "counts of more than the file holds");
}

/* The next word of what is read; NULL when writing, after a failure and where there is
 * none, which is one. */
static char *next_word(emp_lines *io, const char *what)
{
    if (io->is_writing || io->status != EMP_OK) return NULL;
    char *word = io->at + strspn(io->at, " ");
    char *end = word + strcspn(word, " ");
    if (*word == '\0') {
        emp_lines_fail(io, "%s is expected", what);
        return NULL;
    }
    io->at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

void emp_lines_next(emp_lines *io, const char *keyword)
{
    if (io->is_writing) fprintf(io->file, "\n%s", keyword);
    if (io->is_writing || io->status != EMP_OK) return;
    read_line(io);
    if (io->status != EMP_OK) return;
    size_t length = strcspn(io->text, " ");
    io->at = io->text + length + (io->text[length] == ' ');
    io->text[length] = '\0';
    if (strcmp(io->text, keyword) != 0)
        emp_lines_fail(io, "a line '%s' is expected, not '%s'", keyword, io->text);
}

void emp_lines_integer(emp_lines *io, int64_t minimum, int64_t maximum, int64_t *value)
{
    if (io->is_writing) fprintf(io->file, " %" PRId64, *value);
    char *word = next_word(io, "a whole number"), *end = NULL;
    if (word == NULL) return;
    errno = 0;
    int64_t number = strtoll(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || number < minimum || number > maximum)
        emp_lines_fail(
            io, "a whole number from %" PRId64 " to %" PRId64 " is expected, not '%s'",
            minimum, maximum, word);
    else
        *value = number;
}

void emp_lines_count(emp_lines *io, int64_t minimum, int64_t maximum, int32_t *value)
{
    int64_t wide = *value;

    emp_lines_integer(io, minimum, maximum, &wide);
    if (!io->is_writing) *value = (int32_t)wide;
}

void emp_lines_flag(emp_lines *io, bool *value)
{
    int64_t wide = *value;

    emp_lines_integer(io, 0, 1, &wide);
    if (!io->is_writing) *value = wide != 0;
}

void emp_lines_number(emp_lines *io, int digits, double *value)
{
    if (io->is_writing) fprintf(io->file, " %.*g", digits, *value);
    char *word = next_word(io, "a number"), *end = NULL;
    if (word == NULL) return;
    double number = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(number))
        emp_lines_fail(io, "a number is expected");
    else
        *value = number;
}

void emp_lines_hash(emp_lines *io, uint64_t *value)
{
    if (io->is_writing) fprintf(io->file, " %016" PRIx64, *value);
    char *word = next_word(io, "a hash of 16 digits"), *end = NULL;
    if (word == NULL) return;
    uint64_t number = strtoull(word, &end, 16);
    if (strlen(word) != 16 || *end != '\0')
        emp_lines_fail(io, "a hash of 16 digits is expected");
    else
        *value = number;
}

const char *emp_lines_word(emp_lines *io, const char *text)
{
    if (io->is_writing) {
        fprintf(io->file, " %s", text);
        return text;
    }
    const char *word = next_word(io, "a word");
    return word != NULL ? word : "";
}

void emp_lines_name(emp_lines *io, char *text, size_t size)
{
    const char *word = emp_lines_word(io, text);

    if (!io->is_writing) snprintf(text, size, "%s", word);
}

void emp_lines_rest(emp_lines *io, char *text, size_t size)
{
    if (io->is_writing)
        fprintf(io->file, " %s", text);
    else if (io->status == EMP_OK)
        snprintf(text, size, "%s", io->at);
}
