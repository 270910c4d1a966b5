// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/instances/layers.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"

enum { GROUP_MAX = 1 << 16, KEY_TEXT_BYTES = 160 };

/* In the order of `names`; those from the first optional one on may be left out. */
enum {
    FIRST,
    LAST,
    FORWARD,
    BACKWARD,
    UPDATE,
    PARAMETERS,
    OUTPUT,
    STORED,
    TENSOR_PARALLEL,
    MICRO_BATCH,
    TABLE,
    MODEL,
    GPU,
    COLUMNS
};
enum { NEEDED = BACKWARD + 1 };

static const char *const names[COLUMNS] = {
    "layer_first", "layer_last", "fwd_s",         "bwd_s",
    "update_s",    "params",     "act_out_elems", "act_stored_elems",
    "tp",          "microbatch", "table",         "model",
    "gpu"};

typedef struct {
    const emp_csv *csv;
    int32_t        column[COLUMNS]; /* -1 = the table has none */
} reader;

/* ---- what a table looks like ---- */

static bool has_word(emp_slice line, const char *word)
{
    size_t length = strlen(word);

    for (size_t at = 0; at + length <= line.size;) {
        size_t end = at;
        while (end < line.size && line.data[end] != '\t' && line.data[end] != ',') end++;
        if (end - at == length && memcmp(line.data + at, word, length) == 0) return true;
        at = end + 1;
    }
    return false;
}

bool emp_layers_is(emp_slice file)
{
    emp_slice line = {"", 0};

    while ((line.size == 0 || line.data[0] == '#') && emp_slice_next_line(&line, &file)) {
    }
    return has_word(line, names[FIRST]) && has_word(line, names[FORWARD]) &&
           has_word(line, names[BACKWARD]);
}

/* ---- rows ---- */

static emp_status find_columns(reader *r, emp_error *err)
{
    for (int32_t i = 0; i < COLUMNS; i++) {
        emp_status st =
            emp_csv_find(&r->column[i], r->csv, names[i], i < NEEDED ? err : NULL);
        if (st == EMP_OK) continue;
        if (i < NEEDED) return st;
        r->column[i] = -1;
    }
    return EMP_OK;
}

static emp_status read_real(double *value, const reader *r, int32_t row, int32_t which,
                            double maximum, emp_error *err)
{
    int32_t column = r->column[which];

    *value = 0.0;
    if (column < 0 || (which >= NEEDED && emp_csv_text(r->csv, row, column)[0] == '\0'))
        return EMP_OK;
    EMP_CHECK(emp_csv_real(value, r->csv, row, column, err));
    if (*value >= 0.0 && *value <= maximum) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is %g, want 0 to %g", r->csv->path,
                     row + 1, names[which], *value, maximum);
}

static emp_status read_count(int32_t *value, const reader *r, int32_t row, int32_t which,
                             int64_t low, int64_t high, emp_error *err)
{
    int64_t count = 1;

    if (r->column[which] >= 0)
        EMP_CHECK(emp_csv_count(&count, r->csv, row, r->column[which], err));
    if (count < low || count > high)
        return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is %lld, want %lld to %lld",
                         r->csv->path, row + 1, names[which], (long long)count,
                         (long long)low, (long long)high);
    *value = (int32_t)count;
    return EMP_OK;
}

static const char *text_of(const reader *r, int32_t row, int32_t which)
{
    return r->column[which] < 0 ? "" : emp_csv_text(r->csv, row, r->column[which]);
}

static emp_status read_layer(emp_layer *layer, const reader *r, int32_t row,
                             emp_error *err)
{
    double parameters, output, stored;

    EMP_CHECK(read_real(&layer->forward_s, r, row, FORWARD, EMP_LAYER_SECONDS_MAX, err));
    EMP_CHECK(
        read_real(&layer->backward_s, r, row, BACKWARD, EMP_LAYER_SECONDS_MAX, err));
    EMP_CHECK(read_real(&layer->update_s, r, row, UPDATE, EMP_LAYER_SECONDS_MAX, err));
    EMP_CHECK(read_real(&parameters, r, row, PARAMETERS, EMP_LAYER_ELEMENTS_MAX, err));
    EMP_CHECK(read_real(&output, r, row, OUTPUT, EMP_LAYER_ELEMENTS_MAX, err));
    EMP_CHECK(read_real(&stored, r, row, STORED, EMP_LAYER_ELEMENTS_MAX, err));
    layer->parameters = (int64_t)parameters;
    layer->output_elements = (int64_t)output;
    layer->stored_elements = (int64_t)stored;
    return EMP_OK;
}

static emp_status read_row(emp_layer_row *to, const reader *r, int32_t row,
                           emp_error *err)
{
    emp_layer_key *key = &to->key;

    EMP_CHECK(read_count(&to->first, r, row, FIRST, 0, EMP_LAYERS_MAX - 1, err));
    EMP_CHECK(read_count(&to->last, r, row, LAST, to->first, EMP_LAYERS_MAX - 1, err));
    EMP_CHECK(
        read_count(&key->tensor_parallel, r, row, TENSOR_PARALLEL, 1, GROUP_MAX, err));
    EMP_CHECK(read_count(&key->micro_batch, r, row, MICRO_BATCH, 1, GROUP_MAX, err));
    key->table = text_of(r, row, TABLE);
    key->model = text_of(r, row, MODEL);
    key->gpu = text_of(r, row, GPU);
    return read_layer(&to->layer, r, row, err);
}

emp_status emp_layer_table_parse(emp_layer_table *t, emp_slice file, const char *path,
                                 emp_error *err)
{
    reader r = {.csv = &t->csv};

    EMP_CHECK(emp_csv_parse(&t->csv, file.data, file.size, path, err));
    EMP_CHECK(find_columns(&r, err));
    if (t->csv.row_count == 0)
        return EMP_ERROR(EMP_EFORMAT, "%s has no row, need a layer", path);
    EMP_CHECK(EMP_ALLOC(t->row, (size_t)t->csv.row_count));
    for (; t->row_count < t->csv.row_count; t->row_count++)
        EMP_CHECK(read_row(&t->row[t->row_count], &r, t->row_count, err));
    return EMP_OK;
}

void emp_layer_table_clear(emp_layer_table *t)
{
    emp_csv_clear(&t->csv);
    emp_free(t->row);
    *t = (emp_layer_table){0};
}

/* ---- the layers of a model ---- */

static bool is_text(const char *wanted, const char *text)
{
    return wanted == NULL || strcmp(wanted, text) == 0;
}

bool emp_layer_row_is(const emp_layer_row *row, const emp_layer_key *key)
{
    return is_text(key->table, row->key.table) && is_text(key->model, row->key.model) &&
           is_text(key->gpu, row->key.gpu) &&
           (key->tensor_parallel == 0 ||
            key->tensor_parallel == row->key.tensor_parallel) &&
           (key->micro_batch == 0 || key->micro_batch == row->key.micro_batch);
}

/* "model OPT-350, gpu RTX-3090, tp 2, microbatch 4": what a key asks for. */
static const char *write_key(char text[KEY_TEXT_BYTES], const emp_layer_key *key)
{
    char group[64] = "";

    if (key->tensor_parallel > 0 && key->micro_batch > 0)
        snprintf(group, sizeof group, ", tp %d, microbatch %d", key->tensor_parallel,
                 key->micro_batch);
    snprintf(text, KEY_TEXT_BYTES, "model %.40s, gpu %.40s%s",
             key->model == NULL ? "(any)" : key->model,
             key->gpu == NULL ? "(any)" : key->gpu, group);
    return text;
}

static int32_t count_layers(const emp_layer_table *t, const emp_layer_key *key)
{
    int32_t count = 0;

    for (int32_t i = 0; i < t->row_count; i++)
        if (emp_layer_row_is(&t->row[i], key) && t->row[i].last >= count)
            count = t->row[i].last + 1;
    return count;
}

emp_status emp_layer_table_select(emp_layer **layers, int32_t *count,
                                  const emp_layer_table *t, const emp_layer_key *key,
                                  emp_error *err)
{
    emp_status st = EMP_OK;
    char       text[KEY_TEXT_BYTES];
    emp_layer *layer = NULL;

    *layers = NULL;
    *count = count_layers(t, key);
    if (*count == 0)
        EMP_FAIL(EMP_EINVAL, "%s has no layer of %s", t->csv.path, write_key(text, key));
    EMP_TRY(EMP_ALLOC(layer, (size_t)*count));
    for (int32_t i = 0; i < *count; i++) layer[i].forward_s = -1.0;
    for (int32_t i = 0; i < t->row_count; i++) {
        if (!emp_layer_row_is(&t->row[i], key)) continue;
        for (int32_t l = t->row[i].first; l <= t->row[i].last; l++)
            if (layer[l].forward_s < 0.0) layer[l] = t->row[i].layer;
    }
    for (int32_t i = 0; i < *count; i++) {
        if (layer[i].forward_s < 0.0)
            EMP_FAIL(EMP_EINVAL, "%s has no layer %d of %s", t->csv.path, i,
                     write_key(text, key));
    }
    *layers = layer;
    layer = NULL;

cleanup:
    emp_free(layer);
    return st;
}

static void list_gpipe(emp_task *task, int32_t micro_batches)
{
    for (int32_t i = 0; i < micro_batches; i++) {
        task[i] = (emp_task){EMP_TASK_FORWARD, i};
        task[micro_batches + i] = (emp_task){EMP_TASK_BACKWARD, micro_batches - 1 - i};
    }
}

static void list_1f1b(emp_task *task, int32_t ahead, int32_t micro_batches)
{
    int32_t forward = 0, backward = 0;

    if (ahead > micro_batches) ahead = micro_batches;
    while (backward < micro_batches) {
        bool is_forward = forward < micro_batches && forward - backward < ahead;
        if (is_forward)
            *task++ = (emp_task){EMP_TASK_FORWARD, forward++};
        else
            *task++ = (emp_task){EMP_TASK_BACKWARD, backward++};
    }
}

void emp_schedule_list_passes(emp_task *task, emp_schedule schedule, int32_t stage,
                              int32_t stages, int32_t micro_batches)
{
    if (schedule == EMP_SCHEDULE_GPIPE)
        list_gpipe(task, micro_batches);
    else
        list_1f1b(task, stages - stage, micro_batches);
}

/* ---- exchanges ---- */

typedef struct {
    emp_task *task;
    int32_t   count, stage, stages, micro_batches;
} list;

/* A task of a micro-batch that there is, with a neighbour that there is. */
static void add(list *l, emp_task_kind kind, int32_t micro_batch, bool has_neighbour)
{
    if (micro_batch >= 0 && micro_batch < l->micro_batches && has_neighbour)
        l->task[l->count++] = (emp_task){kind, micro_batch};
}

/* Even stages go forward in even steps, odd ones in odd steps. */
static bool is_forward_step(const list *l, int32_t step)
{
    return (step - l->stage) % 2 == 0;
}

/* May be none of those that there are. */
static int32_t micro_batch_of(const list *l, int32_t step)
{
    if (is_forward_step(l, step)) return (step - l->stage) / 2;
    return (step - 2 * l->stages + l->stage + 1) / 2;
}

int32_t emp_schedule_list_tasks(emp_task *task, int32_t stage, int32_t stages,
                                int32_t micro_batches)
{
    list    l = {task, 0, stage, stages, micro_batches};
    bool    has_before = stage > 0, has_next = stage + 1 < stages;
    int32_t before = -1; /* the micro-batch of the step before */

    for (int32_t step = 0; step < 2 * (micro_batches + stages); step++) {
        bool is_early =
            step < (is_forward_step(&l, step) ? stage : 2 * stages - stage - 1);
        int32_t now = is_early ? -1 : micro_batch_of(&l, step);
        if (is_forward_step(&l, step)) {
            add(&l, EMP_TASK_SEND_GRADIENT, before, has_before);
            add(&l, EMP_TASK_RECEIVE_OUTPUT, now, has_before);
            add(&l, EMP_TASK_FORWARD, now, true);
        } else {
            add(&l, EMP_TASK_RECEIVE_GRADIENT, now, has_next);
            add(&l, EMP_TASK_SEND_OUTPUT, before, has_next);
            add(&l, EMP_TASK_BACKWARD, now, true);
        }
        before = now;
    }
    return l.count;
}
