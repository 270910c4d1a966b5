// SPDX-License-Identifier: GPL-3.0-or-later
/* The section `fit` of the data files. */
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "base/io/output.h"
#include "bench/calibrate/calibrate.h"

/* ---- a data file with some values changed ---- */

enum { LINE_BYTES = 1024, MAX_CHANGES = EMP_FIT_MAX_PARAMETERS };

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

/* A source being copied: once to see which changed keys it has, once to write. */
struct copy {
    const emp_model_change *changes;
    int                     change_count;
    int                     seen[MAX_CHANGES]; /* lines that have the key */
    bool                    is_written[MAX_CHANGES];
    char                    section[32]; /* that has the line; "": the top level */
    bool                    is_first;    /* no key of the section has been written */
};

static bool is_key(const char *line)
{
    return strchr("#\r\n", *skip_blanks(line)) == NULL;
}

/* Notes the section of a line: "key:" without a value, not indented, opens one. */
static void enter(struct copy *c, const char *line)
{
    const size_t length = strcspn(line, ":\n");

    if (is_blank(*line) || !is_key(line)) return;
    const bool opens = line[length] == ':' && !is_key(line + length + 1);
    snprintf(c->section, sizeof c->section, "%.*s", opens ? (int)length : 0, line);
    c->is_first = true;
}

static bool is_in_section(const struct copy *c, int i)
{
    return strcmp(c->changes[i].section, c->section) == 0;
}

static void count_keys(struct copy *c, const char *line)
{
    enter(c, line);
    for (int i = 0; i < c->change_count; i++)
        c->seen[i] += is_in_section(c, i) && value_of(line, c->changes[i].key) != NULL;
}

/* Writes the section's keys that the source lacks. */
static void write_missing(FILE *out, struct copy *c, int indent)
{
    for (int i = 0; i < c->change_count; i++) {
        if (c->seen[i] > 0 || c->is_written[i] || !is_in_section(c, i)) continue;
        fprintf(out, "%*s%s: \"%s\"\n", indent, "", c->changes[i].key,
                c->changes[i].value);
        c->is_written[i] = true;
    }
}

/* Writes the line, with its new value if it has one; before the first key of a section what that lacks, as
 * far in as the key. */
static void write_line(FILE *out, struct copy *c, const char *line)
{
    enter(c, line);
    if (is_blank(*line) && is_key(line) && c->is_first) {
        write_missing(out, c, (int)(skip_blanks(line) - line));
        c->is_first = false;
    }
    for (int i = 0; i < c->change_count; i++) {
        const char *value = value_of(line, c->changes[i].key);
        if (value == NULL || !is_in_section(c, i)) continue;
        const char *quote = *value == '"' ? "\"" : "";
        fprintf(out, "%.*s%s%s%s%s", (int)(value - line), line, quote,
                c->changes[i].value, quote, value + length_of(value));
        return;
    }
    fputs(line, out);
}

/* Writes the keys of the top level and the sections that the source lacks. */
static void write_rest(FILE *out, struct copy *c)
{
    c->section[0] = '\0';
    write_missing(out, c, 0);
    for (int i = 0; i < c->change_count; i++) {
        if (c->seen[i] > 0 || c->is_written[i]) continue;
        snprintf(c->section, sizeof c->section, "%s", c->changes[i].section);
        fprintf(out, "%s:\n", c->section);
        write_missing(out, c, 2);
    }
}

/* Reads the lines before the section `fit`, to count keys or, with \a out, to write them. */
static emp_status copy_lines(struct copy *c, FILE *in, FILE *out, const char *source,
                             emp_error *err)
{
    char line[LINE_BYTES];

    c->section[0] = '\0';
    while (fgets(line, sizeof line, in) != NULL && strncmp(line, "fit:", 4) != 0) {
        if (out == NULL)
            count_keys(c, line);
        else
            write_line(out, c, line);
    }
    if (ferror(in))
        return EMP_ERROR(EMP_EIO, "%s cannot be read: %s", source, strerror(errno));
    return EMP_OK;
}

emp_status emp_model_file_open(emp_atomic_file *file, const char *path,
                               const char *source, const emp_model_change *changes,
                               int change_count, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct copy c = {.changes = changes, .change_count = change_count};
    FILE       *in = fopen(source, "r");

    assert(change_count <= MAX_CHANGES);
    if (in == NULL) EMP_FAIL(EMP_EIO, "%s cannot be read: %s", source, strerror(errno));
    EMP_TRY(copy_lines(&c, in, NULL, source, err));
    for (int i = 0; i < change_count; i++) {
        if (c.seen[i] <= 1) continue;
        EMP_FAIL(EMP_EFORMAT, "%s: %d lines begin with '%s:'; one is needed", source,
                 c.seen[i], changes[i].key);
    }
    rewind(in);
    emp_input_give_up(path, source);
    EMP_TRY(emp_atomic_file_open(file, path, err));
    EMP_TRY(copy_lines(&c, in, file->stream, source, err));
    write_rest(file->stream, &c);

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

enum { DIGITS = 5, SHORT_DIGITS = 4 };

static const char *const folder_of_file[EMP_CALIBRATE_FILES] = {
    [EMP_CALIBRATE_CPU] = "machines/models",
    [EMP_CALIBRATE_GPU] = "machines/models",
    [EMP_CALIBRATE_RUNTIME] = "runtimes",
    [EMP_CALIBRATE_LINKS] = "machines",
};

static bool is_in(const emp_calibration *c, int32_t j, emp_calibrate_file file)
{
    return c->fit.is_fitted[j] && emp_constants[j].file == file;
}

static int list_changes(const emp_calibration *c, emp_calibrate_file file,
                        emp_model_change *changes)
{
    int change_count = 0;

    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        if (!is_in(c, j, file)) continue;
        emp_model_change *change = &changes[change_count++];
        change->section = emp_constant_section(&emp_constants[j]);
        change->key = emp_constants[j].name;
        emp_constant_format(&emp_constants[j], c->fit.parameter[j], DIGITS, change->value,
                            sizeof change->value);
    }
    return change_count;
}

/* An end of an interval, "none" if there is no interval. */
static void print_end(FILE *out, const char *key, const emp_constant *constant,
                      double value)
{
    char text[48] = "none";

    if (!isnan(value)) {
        emp_constant_format(constant, value, SHORT_DIGITS, text, sizeof text);
    }
    fprintf(out, ", %s: \"%s\"", key, text);
}

static void print_constant(FILE *out, const emp_calibration *c,
                           const emp_constant *constant, int32_t j)
{
    const char *separator = "";

    fprintf(out, "    - {name: \"%s\"", constant->name);
    print_end(out, "low", constant, c->fit.low[j]);
    print_end(out, "high", constant, c->fit.high[j]);
    fprintf(out, ", leans_on: \"");
    for (int32_t i = 0; i < c->timed_count; i++) {
        if (!emp_calibration_leans(c, j, i)) continue;
        fprintf(out, "%s%s", separator, c->cells[i].name);
        separator = ", ";
    }
    fprintf(out, "\"}\n");
}

static void print_cell(FILE *out, const emp_calibration *c, int32_t i)
{
    const emp_cell *cell = &c->cells[i];

    fprintf(out,
            "    - {name: \"%s\", published: \"%.4g s\", fitted: \"%.4g s\", "
            "off: \"%+.1f %%\", left_out: \"",
            cell->name, cell->published_s, c->outcome[i].step_s,
            100.0 * emp_cell_off(cell, c->outcome[i].step_s));
    if (isnan(c->fit.left_out[i]))
        fprintf(out, "none\"}\n");
    else
        fprintf(out, "%.4g s\"}\n", c->fit.left_out[i]);
}

static void print_section(FILE *out, const emp_calibration *c, emp_calibrate_file file,
                          const char *source, const char *command)
{

    fprintf(out,
            "fit:\n"
            "  # %d constants of the machine and the runtime, fitted together; those of "
            "this file, with\n"
            "  # 95 %% intervals and the cells that make up at least %.0f %% of their "
            "variance. left_out: the\n"
            "  # cell as the others predict it; none: they do not determine all "
            "constants.\n",
            c->fit.fitted_count, 100.0 * EMP_LEANS_SHARE);
    if (!c->fit.has_converged) fprintf(out, "  # %s\n", EMP_FIT_UNFINISHED);
    fprintf(out, "  source: \"%s\"\n  command: \"%s\"\n  constants:\n", source, command);
    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        if (is_in(c, j, file)) print_constant(out, c, &emp_constants[j], j);
    }
    fprintf(out, "  cells:\n");
    for (int32_t i = 0; i < c->timed_count; i++) print_cell(out, c, i);
}

static void write_path(char path[EMP_CALIBRATE_PATH_BYTES], const emp_calibration *c,
                       emp_calibrate_file file, const char *folder)
{
    snprintf(path, EMP_CALIBRATE_PATH_BYTES, "%s/%s/%s", folder, folder_of_file[file],
             emp_calibrate_file_name(file, c->machine, &c->runtime));
}

bool emp_calibration_path(char path[EMP_CALIBRATE_PATH_BYTES], const emp_calibration *c,
                          emp_calibrate_file file, const char *folder)
{
    emp_model_change changes[EMP_FIT_MAX_PARAMETERS];

    write_path(path, c, file, folder);
    return list_changes(c, file, changes) > 0;
}

static emp_status save_file(const emp_calibration *c, emp_calibrate_file file,
                            const char *folder, const char *source, const char *command,
                            emp_error *err)
{
    emp_status       st = EMP_OK;
    char             path[EMP_CALIBRATE_PATH_BYTES];
    emp_model_change changes[EMP_FIT_MAX_PARAMETERS];
    int              change_count = list_changes(c, file, changes);
    emp_atomic_file  out = {0};

    if (change_count == 0) goto cleanup;
    write_path(path, c, file, folder);
    EMP_TRY(emp_model_file_make_folders(path, err));
    EMP_TRY(emp_model_file_open(&out, path,
                                emp_calibrate_file_path(file, c->machine, &c->runtime),
                                changes, change_count, err));
    print_section(out.stream, c, file, source, command);
    EMP_TRY(emp_atomic_file_commit(&out, err));

cleanup:
    emp_atomic_file_abort(&out);
    return st;
}

emp_status emp_calibration_save(const emp_calibration *calibration, const char *folder,
                                const char *source, const char *command, emp_error *err)
{
    for (emp_calibrate_file file = 0; file < EMP_CALIBRATE_FILES; file++) {
        EMP_CHECK(save_file(calibration, file, folder, source, command, err));
    }
    return EMP_OK;
}
