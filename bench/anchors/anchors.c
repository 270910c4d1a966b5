// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* scandir */
#include "bench/anchors/anchors.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/options.h"

enum { NAME, KIND, ROLE, DEVICE, SPEC, MEASURED, BAR, SOURCE, COLUMNS };

static const char header[] = "name\tkind\trole\tdevice\tspec\tmeasured\tbar\tsource";

/* Where a table is being read. */
struct reader {
    emp_anchors *to;
    const char  *name;
    int32_t      line;
};

/* ---- cells ------------------------------------------------------------------------- */

static emp_status read_word(const struct reader *r, const char *words, const char *what,
                            const char *text, int32_t *position, emp_error *err)
{
    *position = emp_words_find(words, text, strlen(text));
    if (*position >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: the %s is \"%s\"; it is one of %s", r->name,
                     r->line, what, text, words);
}

/* A time, or a rate. */
static emp_status read_measured(const struct reader *r, const char *text, emp_anchor *a,
                                emp_error *err)
{
    static const emp_unit units[] = {EMP_UNIT_SECONDS, EMP_UNIT_BYTES_PER_S,
                                     EMP_UNIT_FLOPS_PER_S};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        a->unit = units[i];
        if (emp_units_parse(text, units[i], &a->measured, NULL) != EMP_OK) continue;
        if (isfinite(a->measured) && a->measured > 0.0) return EMP_OK;
    }
    return EMP_ERROR(EMP_EFORMAT,
                     "%s:%d: measured is \"%s\"; it is a time or a rate above 0 with its "
                     "unit, such as 12.5 ms, 10.0 GB/s or 3.1 TFLOP/s",
                     r->name, r->line, text);
}

static emp_status read_bar(const struct reader *r, const char *text, emp_anchor *a,
                           emp_error *err)
{
    char  *end = NULL;
    double percent = strtod(text, &end);

    a->bar_frac = percent / 100.0;
    if (end != text && strcmp(end, " %") == 0 && percent > 0.0 && percent <= 1000.0)
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT,
                     "%s:%d: the bar is \"%s\"; it is a percentage such as 20 %%",
                     r->name, r->line, text);
}

/* ---- lines ------------------------------------------------------------------------- */

/* Cuts a line at its tabs. Returns the number of cells, at most COLUMNS + 1. */
static int32_t cut(char *line, char *cell[COLUMNS + 1])
{
    int32_t count = 0;

    for (char *at = line; at != NULL && count <= COLUMNS;) {
        cell[count++] = at;
        at = strchr(at, '\t');
        if (at != NULL) *at++ = '\0';
    }
    return count;
}

static emp_status check_name(const struct reader *r, const char *name, emp_error *err)
{
    if (*name == '\0')
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: the anchor has no name", r->name, r->line);
    for (int32_t i = 0; i < r->to->count; i++) {
        if (strcmp(r->to->anchor[i].name, name) != 0) continue;
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: there is an anchor \"%s\" already; names are unique",
                         r->name, r->line, name);
    }
    return EMP_OK;
}

static emp_status add(emp_anchors *to, const emp_anchor *a, emp_error *err)
{
    EMP_CHECK(EMP_GROW(to->anchor, to->count + 1, to->room));
    to->anchor[to->count++] = *a;
    return EMP_OK;
}

static emp_status read_anchor(const struct reader *r, char *line, emp_error *err)
{
    char      *cell[COLUMNS + 1];
    int32_t    count = cut(line, cell), kind, role;
    emp_anchor a = {.line = r->line};

    if (count != COLUMNS) {
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s cells than %d; the columns are %s",
                         r->name, r->line, count < COLUMNS ? "fewer" : "more", COLUMNS,
                         "name, kind, role, device, spec, measured, bar, source");
    }
    EMP_CHECK(check_name(r, cell[NAME], err));
    EMP_CHECK(read_word(r, EMP_ANCHOR_KIND_WORDS, "kind", cell[KIND], &kind, err));
    EMP_CHECK(read_word(r, "check|fit", "role", cell[ROLE], &role, err));
    EMP_CHECK(read_measured(r, cell[MEASURED], &a, err));
    EMP_CHECK(read_bar(r, cell[BAR], &a, err));
    if (*cell[SOURCE] == '\0')
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s has no source", r->name, r->line,
                         cell[NAME]);
    a.name = cell[NAME];
    a.kind = (emp_anchor_kind)kind;
    a.is_fit = role == 1;
    a.device = cell[DEVICE];
    a.spec = cell[SPEC];
    a.source = cell[SOURCE];
    return add(r->to, &a, err);
}

static emp_status read_lines(struct reader *r, char *text, emp_error *err)
{
    bool has_header = false;

    for (char *at = text; *at != '\0';) {
        char  *line = at;
        size_t length = strcspn(at, "\n");
        at += length + (at[length] == '\n' ? 1 : 0);
        line[length] = '\0';
        r->line++;
        if (*line == '\0' || *line == '#') continue;
        if (has_header) {
            EMP_CHECK(read_anchor(r, line, err));
        } else if (strcmp(line, header) != 0) {
            return EMP_ERROR(
                EMP_EFORMAT,
                "%s:%d: the first line names the columns, with tabs between "
                "them: name, kind, role, device, spec, measured, bar, source",
                r->name, r->line);
        }
        has_header = true;
    }
    return EMP_OK;
}

static emp_status keep_text(emp_anchors *to, const char *bytes, size_t size, char **copy,
                            emp_error *err)
{
    EMP_CHECK(EMP_GROW(to->text, to->text_count + 1, to->text_room));
    EMP_CHECK(EMP_ALLOC(*copy, size + 1));
    if (size > 0) memcpy(*copy, bytes, size);
    to->text[to->text_count++] = *copy;
    return EMP_OK;
}

emp_status emp_anchors_read(emp_anchors *anchors, const char *name, const char *bytes,
                            size_t size, emp_error *err)
{
    char         *text = NULL;
    struct reader r = {anchors, name, 0};

    if (size > 0 && memchr(bytes, '\0', size) != NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: has a zero byte; it is a table as text", name);
    EMP_CHECK(keep_text(anchors, bytes, size, &text, err));
    return read_lines(&r, text, err);
}

/* ---- files ------------------------------------------------------------------------- */

static emp_status read_file(emp_anchors *anchors, const char *path, emp_error *err)
{
    enum { MOST = 1 << 20 };
    emp_status st = EMP_OK;
    char      *bytes = NULL;
    FILE      *file = NULL;

    EMP_TRY(emp_input_open(&file, path, err));
    EMP_TRY(EMP_ALLOC(bytes, MOST));
    size_t size = fread(bytes, 1, MOST, file);
    if (ferror(file)) EMP_FAIL(EMP_EIO, "%s cannot be read", path);
    if (size == MOST) EMP_FAIL(EMP_EFORMAT, "%s: longer than 1 MiB", path);
    EMP_TRY(emp_anchors_read(anchors, path, bytes, size, err));

cleanup:
    if (file != NULL) fclose(file);
    emp_free(bytes);
    return st;
}

static int is_table(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 4 && strcmp(entry->d_name + length - 4, ".tsv") == 0;
}

/* Stable: anchors of a kind keep their order. */
static void sort_by_kind(emp_anchors *a)
{
    for (int32_t i = 1; i < a->count; i++) {
        emp_anchor moved = a->anchor[i];
        int32_t    to = i;
        for (; to > 0 && a->anchor[to - 1].kind > moved.kind; to--)
            a->anchor[to] = a->anchor[to - 1];
        a->anchor[to] = moved;
    }
}

emp_status emp_anchors_load(emp_anchors *anchors, const char *folder, emp_error *err)
{
    emp_status      st = EMP_OK;
    struct dirent **entry = NULL;
    int             count = scandir(folder, &entry, is_table, alphasort);

    if (count < 0) EMP_FAIL(EMP_EIO, "%s is no folder that can be read", folder);
    if (count == 0) EMP_FAIL(EMP_EIO, "%s has no table of anchors, *.tsv", folder);
    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        EMP_TRY(read_file(anchors, path, err));
    }
    sort_by_kind(anchors);

cleanup:
    for (int i = 0; i < count; i++) free(entry[i]);
    free(entry);
    return st;
}

void emp_anchors_clear(emp_anchors *anchors)
{
    for (int32_t i = 0; i < anchors->text_count; i++) emp_free(anchors->text[i]);
    emp_free(anchors->text);
    emp_free(anchors->anchor);
    *anchors = (emp_anchors){0};
}
