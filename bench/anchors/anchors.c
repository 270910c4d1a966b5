// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* scandir */
#include "bench/anchors/anchors.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "bench/calibrate/calibrate.h"
#include "bench/tables/paper.h"

enum { NAME, KIND, ROLE, DEVICE, SPEC, MEASURED, BAR, SOURCE, COLUMNS };

static const char *const column_names[COLUMNS] = {"name", "kind",     "role", "device",
                                                  "spec", "measured", "bar",  "source"};

/* A row of a table, for messages. */
typedef struct {
    const char *path;
    int32_t     number; /* from 1 */
} place;

/* ---- cells ------------------------------------------------------------------------- */

static emp_status read_word(const place *at, const char *words, const char *what,
                            const char *text, int32_t *position, emp_error *err)
{
    *position = emp_words_find(words, text, strlen(text));
    if (*position >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: the %s is \"%s\"; it is one of %s",
                     at->path, at->number, what, text, words);
}

/* A time, or a rate. */
static emp_status read_measured(const place *at, const char *text, emp_anchor *a,
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
                     "%s, row %d: measured is \"%s\"; it is a time or a rate above 0 "
                     "with its unit, such as 12.5 ms, 10.0 GB/s or 3.1 TFLOP/s",
                     at->path, at->number, text);
}

static emp_status read_bar(const place *at, const char *text, emp_anchor *a,
                           emp_error *err)
{
    char  *end = NULL;
    double percent = strtod(text, &end);

    a->bar_frac = percent / 100.0;
    if (end != text && strcmp(end, " %") == 0 && percent > 0.0 && percent <= 1000.0)
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT,
                     "%s, row %d: the bar is \"%s\"; it is a percentage such as 20 %%",
                     at->path, at->number, text);
}

/* ---- rows -------------------------------------------------------------------------- */

static emp_status check_name(const emp_anchors *to, const place *at, const char *name,
                             emp_error *err)
{
    if (*name == '\0')
        return EMP_ERROR(EMP_EFORMAT, "%s, row %d: the anchor has no name", at->path,
                         at->number);
    for (int32_t i = 0; i < to->count; i++)
        if (strcmp(to->anchor[i].name, name) == 0)
            return EMP_ERROR(EMP_EFORMAT,
                             "%s, row %d: there is an anchor \"%s\" already; names are "
                             "unique",
                             at->path, at->number, name);
    return EMP_OK;
}

static emp_status read_anchor(emp_anchors *to, const place *at,
                              const char *const cell[COLUMNS], emp_error *err)
{
    emp_anchor a = {.name = cell[NAME],
                    .device = cell[DEVICE],
                    .spec = cell[SPEC],
                    .source = cell[SOURCE]};
    int32_t    kind, role;

    EMP_CHECK(check_name(to, at, a.name, err));
    EMP_CHECK(read_word(at, EMP_ANCHOR_KIND_WORDS, "kind", cell[KIND], &kind, err));
    EMP_CHECK(read_word(at, "check|fit", "role", cell[ROLE], &role, err));
    EMP_CHECK(read_measured(at, cell[MEASURED], &a, err));
    EMP_CHECK(read_bar(at, cell[BAR], &a, err));
    if (*a.source == '\0')
        return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s has no source", at->path,
                         at->number, a.name);
    a.kind = (emp_anchor_kind)kind;
    a.is_fit = role == 1;
    EMP_CHECK(EMP_GROW(to->anchor, to->count + 1, to->room));
    to->anchor[to->count++] = a;
    return EMP_OK;
}

/* The last table. */
static emp_status read_rows(emp_anchors *to, emp_error *err)
{
    const emp_csv *csv = &to->table[to->table_count - 1];
    int32_t        column[COLUMNS];

    EMP_CHECK(emp_csv_find_all(column, csv, column_names, COLUMNS, err));
    for (int32_t row = 0; row < csv->row_count; row++) {
        const char *cell[COLUMNS];
        for (int32_t c = 0; c < COLUMNS; c++) cell[c] = emp_csv_text(csv, row, column[c]);
        EMP_CHECK(read_anchor(to, &(place){csv->path, row + 1}, cell, err));
    }
    return EMP_OK;
}

static emp_status add_table(emp_csv **table, emp_anchors *to, emp_error *err)
{
    EMP_CHECK(EMP_GROW(to->table, to->table_count + 1, to->table_room));
    *table = &to->table[to->table_count++];
    **table = (emp_csv){0};
    return EMP_OK;
}

emp_status emp_anchors_read(emp_anchors *anchors, const char *name, const char *bytes,
                            size_t size, emp_error *err)
{
    emp_csv *table;

    EMP_CHECK(add_table(&table, anchors, err));
    EMP_CHECK(emp_csv_parse(table, bytes, size, name, err));
    return read_rows(anchors, err);
}

/* ---- files ------------------------------------------------------------------------- */

static emp_status read_file(emp_anchors *anchors, const char *path, emp_error *err)
{
    emp_csv *table;

    EMP_CHECK(add_table(&table, anchors, err));
    EMP_CHECK(emp_csv_load(table, path, err));
    return read_rows(anchors, err);
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
    for (int32_t i = 0; i < anchors->table_count; i++) emp_csv_clear(&anchors->table[i]);
    emp_free(anchors->table);
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
