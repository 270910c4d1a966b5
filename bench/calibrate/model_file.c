// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/calibrate/model_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "base/io/output.h"

enum { LINE_BYTES = 1024, MAX_CHANGES = 16 };

static const char *skip_blanks(const char *text) { return text + strspn(text, " \t"); }

/* Where the value of "key: value" begins in the line, or NULL if it is no such line. */
static const char *value_of(const char *line, const char *key)
{
    const char *at = skip_blanks(line);
    size_t      length = strlen(key);

    if (strncmp(at, key, length) != 0 || at[length] != ':') return NULL;
    return skip_blanks(at + length + 1);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* A value in quotes goes to the next quote; a bare one, which may have a unit, to a comment or
 * the end of the line, without the blanks before that. */
static size_t length_of(const char *value)
{
    size_t length = 0, line = strcspn(value, "\r\n");

    if (*value == '"') return strcspn(value + 1, "\"\n") + 2;
    for (size_t i = 0; i < line; i++) {
        if (value[i] == '#' && (i == 0 || is_blank(value[i - 1]))) break;
        if (!is_blank(value[i])) length = i + 1;
    }
    return length;
}

/* Writes the line, with its new value if it has one. */
static void write_line(FILE *out, const char *line, const emp_model_change *changes,
                       int change_count, int *seen)
{
    for (int i = 0; i < change_count; i++) {
        const char *value = value_of(line, changes[i].key);
        if (value == NULL) continue;
        seen[i]++;
        const char *quote = *value == '"' ? "\"" : "";
        fprintf(out, "%.*s%s%s%s%s", (int)(value - line), line, quote, changes[i].value,
                quote, value + length_of(value));
        return;
    }
    fputs(line, out);
}

emp_status emp_model_file_open(emp_atomic_file *file, const char *path,
                               const char *source, const emp_model_change *changes,
                               int change_count, emp_error *err)
{
    emp_status st = EMP_OK;
    char       line[LINE_BYTES];
    int        seen[MAX_CHANGES] = {0};
    FILE      *in = fopen(source, "r");

    if (in == NULL) EMP_FAIL(EMP_EIO, "%s cannot be read: %s", source, strerror(errno));
    emp_input_give_up(path, source);
    EMP_TRY(emp_atomic_file_open(file, path, err));
    while (fgets(line, sizeof line, in) != NULL && strncmp(line, "fit:", 4) != 0) {
        write_line(file->stream, line, changes, change_count, seen);
    }
    if (ferror(in)) EMP_FAIL(EMP_EIO, "%s cannot be read: %s", source, strerror(errno));
    for (int i = 0; i < change_count; i++) {
        if (seen[i] == 1) continue;
        EMP_FAIL(EMP_EFORMAT,
                 "%s: %d lines begin with '%s:'; one is needed, to write its value",
                 source, seen[i], changes[i].key);
    }

cleanup:
    if (in != NULL) fclose(in);
    return st;
}

emp_status emp_model_file_make_folders(const char *path, emp_error *err)
{
    char folder[1024];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        EMP_CHECK(emp_folder_make(folder, err));
    }
    return EMP_OK;
}
