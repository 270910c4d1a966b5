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
#include "bench/calibrate/calibrate.h"
#include "bench/tables/paper.h"

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

/* ---- titles and columns ----------------------------------------------------------- */

static const char *const titles[EMP_ANCHOR_KINDS] = {
    "Matrix products on a GPU",
    "Single convolutions on a GPU",
    "Passes over a GPU's memory",
    "Small kernels",
    "Copies",
    "The host's time to issue ops",
    "Training steps of image classifiers on a GPU",
    "Training steps of recurrent networks on a GPU",
    "Training steps of other networks on a GPU",
    "The CPU"};

static const emp_sheet_column columns[] = {
    EMP_COLUMN("kind", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("anchor", "anchor", EMP_SHEET_WORD, .width = 34),
    EMP_COLUMN("device", "device", EMP_SHEET_WORD, .width = 22),
    EMP_COLUMN("role", "role", EMP_SHEET_WORD),
    EMP_COLUMN("spec", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("measured_s", "measured", EMP_SHEET_SECONDS),
    EMP_COLUMN("model_s", "model", EMP_SHEET_SECONDS),
    EMP_COLUMN("off", "off", EMP_SHEET_CHANGE),
    EMP_COLUMN("bar", "bar", EMP_SHEET_SHARE, .form = "%.0f %%"),
    EMP_COLUMN("verdict", "verdict", EMP_SHEET_WORD),
    EMP_COLUMN("source", NULL, EMP_SHEET_WORD)};

/* ---- errors ------------------------------------------------------------------------ */

emp_status emp_anchors_predict(emp_anchor_times *times, const emp_anchors *anchors,
                               const emp_runtime *runtime, int32_t threads,
                               emp_error *err)
{
    int32_t    count = anchors->count;
    emp_status st = EMP_OK;
    struct {
        emp_status st;
        emp_error  err;
    } *of = emp_calloc((size_t)count, sizeof *of);

    if (of == NULL) return EMP_ERROR(EMP_ENOMEM, "times of %d anchors", count);
        /* the steps come last and take longest, so they are begun first */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int32_t i = count - 1; i >= 0; i--)
        of[i].st =
            emp_anchor_predict(&times[i], &anchors->anchor[i], runtime, &of[i].err);
    for (int32_t i = 0; i < count && st == EMP_OK; i++) {
        st = of[i].st;
        if (st != EMP_OK && err != NULL) *err = of[i].err;
    }
    emp_free(of);
    return st;
}

enum { NAME_BYTES = 64, MODELS_BYTES = 256 };

/* "k40", of .../models/k40.yaml */
static void name_model(char name[NAME_BYTES], const emp_machine *machine)
{
    const emp_machine_model *model = emp_machine_first_model(machine, EMP_DEVICE_GPU);

    snprintf(name, NAME_BYTES, "%s", model != NULL ? model->name : "");
}

/* The GPU model of the machine that an anchor's device begins with. */
static emp_status find_model(char name[NAME_BYTES], const emp_anchor *anchor,
                             emp_error *err)
{
    char         machine_name[NAME_BYTES];
    emp_machine *machine = NULL;

    snprintf(machine_name, sizeof machine_name, "%.*s", (int)strcspn(anchor->device, ":"),
             anchor->device);
    EMP_CHECK(emp_machine_load(&machine, machine_name, err));
    name_model(name, machine);
    emp_machine_destroy(machine);
    return EMP_OK;
}

emp_status emp_anchors_check_model(const emp_anchors *anchors, const emp_machine *machine,
                                   emp_error *err)
{
    char wanted[NAME_BYTES], name[NAME_BYTES], models[MODELS_BYTES] = "";

    name_model(wanted, machine);
    for (int32_t i = 0; i < anchors->count; i++) {
        EMP_CHECK(find_model(name, &anchors->anchor[i], err));
        if (strcmp(name, wanted) == 0) return EMP_OK;
        size_t used = strlen(models);
        if (strstr(models, name) == NULL)
            snprintf(models + used, sizeof models - used, "%s%s", used == 0 ? "" : ", ",
                     name);
    }
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "no measurements are known of GPU model %s of machine %s; there are "
                     "some of %s",
                     wanted, machine->name, models);
}

double emp_anchor_off(const emp_anchor_times *times)
{
    return times->model_s / times->measured_s - 1.0;
}

static bool counts(emp_anchor_kind of, emp_anchor_kind kind)
{
    return kind == EMP_ANCHOR_KINDS ? of != EMP_ANCHOR_CPU : of == kind;
}

emp_anchor_errors emp_anchors_errors(const emp_anchors      *anchors,
                                     const emp_anchor_times *times, emp_anchor_kind kind)
{
    emp_anchor_errors e = {0};
    double            sum = 0.0;

    for (int32_t i = 0; i < anchors->count; i++) {
        double off = emp_anchor_off(&times[i]);
        if (!counts(anchors->anchor[i].kind, kind)) continue;
        e.count++;
        e.within += fabs(off) <= anchors->anchor[i].bar_frac;
        sum += fabs(off);
        if (fabs(off) > fabs(e.worst_frac)) e.worst_frac = off;
    }
    e.mean_frac = e.count > 0 ? sum / e.count : NAN;
    return e;
}

/* ---- tables ------------------------------------------------------------------------ */

static const char *kind_word(emp_anchor_kind kind, char word[16])
{
    size_t      length = 0;
    const char *at = emp_words_at(EMP_ANCHOR_KIND_WORDS, (int32_t)kind, &length);

    snprintf(word, 16, "%.*s", (int)length, at);
    return word;
}

static void add_anchor(emp_sheet *s, const emp_anchor *a, const emp_anchor_times *t)
{
    double off = emp_anchor_off(t);
    char   word[16];

    EMP_SHEET_ADD(s, EMP_V(kind_word(a->kind, word)), EMP_V(a->name), EMP_V(a->device),
                  EMP_V(a->is_fit ? "fit" : "check"), EMP_V(a->spec),
                  EMP_V(t->measured_s), EMP_V(t->model_s), EMP_V(off), EMP_V(a->bar_frac),
                  EMP_V(fabs(off) <= a->bar_frac ? "within" : "beyond"),
                  EMP_V(a->source));
}

static void note_errors(emp_sheet *s, const char *of, const emp_anchor_errors *e)
{
    if (e->count == 0) return;
    emp_sheet_note(s, "%s: %d, mean error %.1f %%, worst %+.1f %%, within their bars %d.",
                   of, e->count, 100 * e->mean_frac, 100 * e->worst_frac, e->within);
}

static void tabulate_kind(emp_sheet *s, const emp_anchors *anchors,
                          const emp_anchor_times *times, emp_anchor_kind kind)
{
    EMP_SHEET_INIT(s, columns);
    s->rows = "anchors";
    s->is_bare = true;
    emp_sheet_set_title(s, "%s", titles[kind]);
    for (int32_t i = 0; i < anchors->count; i++)
        if (anchors->anchor[i].kind == kind)
            add_anchor(s, &anchors->anchor[i], &times[i]);
    emp_anchor_errors e = emp_anchors_errors(anchors, times, kind);
    note_errors(s, "Anchors", &e);
}

static void add_cell(emp_sheet *s, const emp_cell *cell, const emp_machine *machine,
                     const emp_sim_result *r)
{
    double model_s = (double)r->step_time_ns * 1e-9;
    bool   is_oom = isinf(cell->published_s);

    EMP_SHEET_ADD(
        s, EMP_V("cell"), EMP_V(cell->name), EMP_V(machine->device[cell->device].name),
        EMP_V("cell"), EMP_V(cell->spec), emp_value_if(!is_oom, EMP_V(cell->published_s)),
        EMP_V(model_s), EMP_V(is_oom ? NAN : emp_cell_off(cell, model_s)), EMP_NONE,
        EMP_V(is_oom           ? r->is_feasible ? "fits, not as published"
                                                : "out of memory, as published"
              : r->is_feasible ? "fits"
                               : "out of memory, not as published"),
        EMP_V(emp_paper_source));
}

static emp_status tabulate_cells(emp_sheet *s, const emp_machine *machine,
                                 const emp_runtime *runtime, int32_t threads,
                                 emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_cell         cells[EMP_MAX_CELLS];
    emp_sim_result   result[EMP_MAX_CELLS];
    emp_cell_oracle *oracle = NULL;
    int32_t          count = 0;

    EMP_TRY(emp_cells_select("all", cells, &count, err));
    EMP_TRY(emp_cell_oracle_create(&oracle, cells, count, machine, runtime, err));
    EMP_TRY(emp_cell_oracle_run(oracle, count, machine, runtime, threads, result, err));
    emp_sheet_set_title(s, "Single devices in the paper's table");
    for (int32_t i = 0; i < count; i++) add_cell(s, &cells[i], machine, &result[i]);

cleanup:
    emp_cell_oracle_destroy(oracle);
    return st;
}

static void note_all(emp_sheet *s, const emp_anchors *anchors,
                     const emp_anchor_times *times, const emp_machine *machine,
                     const emp_runtime *runtime)
{
    emp_anchor_errors all = emp_anchors_errors(anchors, times, EMP_ANCHOR_KINDS);
    int32_t           fits = 0;

    for (int32_t i = 0; i < anchors->count; i++) fits += anchors->anchor[i].is_fit;
    note_errors(s, "Anchors of GPUs, copies and the host", &all);
    emp_sheet_note(
        s,
        "Role fit: the anchor determines constants. Role check: it only checks "
        "them. There are %d and %d.",
        fits, anchors->count - fits);
    emp_sheet_note(s, "Machine %s, runtime %s.", machine->name, runtime->name);
    emp_sheet_note(s, "Sources stand in the tables, and in --format csv and json.");
}

/* Tables of the kinds that there are. Returns how many. */
static int32_t tabulate_kinds(emp_sheet *sheets, const emp_anchors *anchors,
                              const emp_anchor_times *times)
{
    int32_t used = 0;

    for (int32_t k = 0; k < EMP_ANCHOR_KINDS; k++) {
        if (emp_anchors_errors(anchors, times, (emp_anchor_kind)k).count == 0) continue;
        tabulate_kind(&sheets[used], anchors, times, (emp_anchor_kind)k);
        if (used > 0) sheets[used - 1].next = &sheets[used];
        used++;
    }
    return used;
}

emp_status emp_anchors_tabulate(emp_sheet          sheets[EMP_ANCHOR_SHEETS],
                                const emp_anchors *anchors, const emp_anchor_times *times,
                                const emp_machine *machine, const emp_runtime *runtime,
                                bool with_cells, int32_t threads, emp_error *err)
{
    int32_t used = tabulate_kinds(sheets, anchors, times);

    if (used == 0) return EMP_ERROR(EMP_EUNSUPPORTED, "there are no anchors");
    sheets[0].list = "kinds";
    if (with_cells) {
        EMP_SHEET_INIT(&sheets[used], columns);
        sheets[used].rows = "anchors";
        sheets[used - 1].next = &sheets[used];
        EMP_CHECK(tabulate_cells(&sheets[used++], machine, runtime, threads, err));
    }
    note_all(&sheets[used - 1], anchors, times, machine, runtime);
    emp_sheet_set_head(&sheets[0], json_pack("{s:s, s:s}", "machine", machine->name,
                                             "runtime", runtime->name));
    return EMP_OK;
}
