// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/store_samples.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "run/store/checkpoint.h"

enum { OPS = 6, POINTS = 3, METRICS = 2, ROWS = 4 };

/* A run before its first candidate, without arrays. */
static emp_record run_as_it_begins(void)
{
    return (emp_record){.method = "local",
                        .workload = "w",
                        .machine = "k40x2",
                        .runtime = "ideal",
                        .seed = 9,
                        .median_s = NAN,
                        .device_count = 2,
                        .device_name = {"cpu:0", "gpu:0"},
                        .decision = {.op_count = OPS}};
}

/* The arrays of a record that is saved may stand anywhere. */
typedef struct {
    emp_device_id   device[OPS];
    uint8_t         level[OPS];
    emp_curve_point curve[POINTS];
    double          metric[POINTS * METRICS];
    double          feasible_s[2];
} record_arrays;

static const char *const op_names[OPS] = {"a", "b", "scope/c", "scope/d", "", "e:0"};

static emp_record run_so_far(record_arrays *a)
{
    emp_record r = run_as_it_begins();

    *a = (record_arrays){
        {0, 1, 1, 0, 1, 1},
        {0, 63, 2, 2, 1, 0},
        {{4, 0, NAN, 2.5}, {8, 1, 0.5, 1.5}, {12, 1, 0.25, 1.0}},
        {1, 2, 3, 4, 5, NAN},
        {0.5, 0.25},
    };
    r.evaluations = 12;
    r.feasible_count = 2;
    r.best_step_time_s = 0.25;
    r.is_feasible = r.has_order = true;
    r.point_count = POINTS;
    r.metric_count = METRICS;
    snprintf(r.metric_name[0], sizeof r.metric_name[0], "loss");
    snprintf(r.metric_name[1], sizeof r.metric_name[1], "entropy");
    r.decision.device_of_op = a->device;
    r.decision.level_of_op = a->level;
    r.curve = a->curve;
    r.metric = a->metric;
    r.feasible_s = a->feasible_s;
    r.op_name = op_names;
    r.machine_text = "--- # k40x2.yaml 2\nx\n\n";
    return r;
}

typedef struct {
    uint8_t bytes[5];
    int32_t numbers[3];
    double  reals[2];
} state;

static emp_checkpoint checkpoint_of(emp_record *record, state *s)
{
    return (emp_checkpoint){.record = record,
                            .elapsed_s = 12.5,
                            .cpu_s = NAN,
                            .array_count = 3,
                            .array = {{"bytes", EMP_ARRAY_UINT8, 5, s->bytes},
                                      {"numbers", EMP_ARRAY_INT32, 3, s->numbers},
                                      {"reals", EMP_ARRAY_DOUBLE, 2, s->reals}}};
}

typedef struct {
    char    word[ROWS][EMP_COLUMN_TEXT_BYTES];
    int64_t whole[ROWS];
    double  real[ROWS];
} table;

static emp_columns columns_of(table *t)
{
    return (emp_columns){.text_count = 1,
                         .column_count = 3,
                         .row_count = ROWS,
                         .text = {{.key = "about"}},
                         .column = {{"word", EMP_COLUMN_TEXT, t->word},
                                    {"whole", EMP_COLUMN_INT64, t->whole},
                                    {"real", EMP_COLUMN_DOUBLE, t->real}}};
}

static bool save_weights(const char *path)
{
    emp_weights w = {.method = "go", .tasks = "rnnlm on k40x2", .evaluations = 4096};
    bool is_saved = emp_weights_add(&w, "value", EMP_ARRAY_FLOAT, 3, NULL) == EMP_OK &&
                    emp_weights_add(&w, "flag", EMP_ARRAY_UINT8, 40, NULL) == EMP_OK &&
                    emp_weights_save(path, &w, NULL) == EMP_OK;

    emp_weights_clear(&w);
    return is_saved;
}

bool store_sample_save(store_kind kind, const char *path)
{
    record_arrays        arrays;
    const emp_record     run = run_so_far(&arrays);
    emp_record           copy = run;
    state                s = {{1, 2, 3, 4, 5}, {1, -2, INT32_MAX}, {1.0 / 3, INFINITY}};
    const emp_checkpoint checkpoint = checkpoint_of(&copy, &s);
    table                t = {{"a", "", "c", "d"}, {1, -1, INT64_MAX, 0}, {0.5, 0, 1, 3}};
    const emp_columns    columns = columns_of(&t);

    switch (kind) {
    case STORE_RECORD: return emp_record_save(path, &run, NULL) == EMP_OK;
    case STORE_CHECKPOINT: return emp_checkpoint_save(path, &checkpoint, NULL) == EMP_OK;
    case STORE_COLUMNS: return emp_columns_save(path, &columns, NULL) == EMP_OK;
    default: return save_weights(path);
    }
}

static emp_status load_record(const char *path, emp_error *err)
{
    emp_record   record;
    emp_op_names names;
    char        *machine;
    emp_error    more = {0};
    emp_status   st = emp_record_load(&record, path, err);

    emp_record_clear(&record);
    if (emp_record_load_names(&names, path, &more) != EMP_OK && st == EMP_OK)
        st = EMP_ERROR(more.status, "%s", more.msg);
    emp_op_names_clear(&names);
    more = (emp_error){0};
    if (emp_record_load_machine(&machine, path, &more) != EMP_OK && st == EMP_OK)
        st = EMP_ERROR(more.status, "%s", more.msg);
    emp_free(machine);
    return st;
}

static emp_status load_checkpoint(const char *path, emp_error *err)
{
    emp_record     record = run_as_it_begins();
    state          s;
    emp_checkpoint checkpoint = checkpoint_of(&record, &s);

    record.has_order = true;
    emp_status st = emp_checkpoint_load(&checkpoint, path, err);
    emp_record_clear(&record);
    return st;
}

static emp_status load_columns(const char *path, emp_error *err)
{
    table       t;
    emp_columns columns = columns_of(&t);

    return emp_columns_load(&columns, path, err);
}

static emp_status load_weights(const char *path, emp_error *err)
{
    emp_weights weights;
    emp_status  st = emp_weights_load(&weights, path, err);

    emp_weights_clear(&weights);
    return st;
}

emp_status store_sample_load(store_kind kind, const char *path, emp_error *err)
{
    switch (kind) {
    case STORE_RECORD: return load_record(path, err);
    case STORE_CHECKPOINT: return load_checkpoint(path, err);
    case STORE_COLUMNS: return load_columns(path, err);
    default: return load_weights(path, err);
    }
}

void store_seal_anew(unsigned char *file, size_t size)
{
    enum { BLOCK_BYTES = 4096 };
    uint64_t hash = EMP_HASH_SEED;
    char    *space = memchr(file, ' ', 64);

    for (size_t at = STORE_SEAL_BYTES; at < size; at += BLOCK_BYTES)
        hash = emp_hash_bytes(hash, file + at,
                              size - at < BLOCK_BYTES ? size - at : BLOCK_BYTES);
    if (space != NULL) snprintf(space + 1, 18, "%016" PRIx64 "\n", hash);
}
