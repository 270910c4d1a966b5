// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/validate.h"

#include <string.h>

#include "base/mem.h"
#include "base/text/csv.h"
#include "run/store/checkpoint.h"

static const emp_sheet_column case_columns[] = {
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("backend", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("placement", "placement", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 20),
    EMP_COLUMN("hash", NULL, EMP_SHEET_HASH, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("device", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("predicted_feasible", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("feasible", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("shared", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("keeps_rates", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("predicted_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9),
    EMP_COLUMN("measured_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9,
               .low = "low_s", .high = "high_s"),
    EMP_COLUMN("roofline_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9),
    EMP_COLUMN("copies_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9),
    EMP_COLUMN(NULL, "predicted", EMP_SHEET_SECONDS, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "measured", EMP_SHEET_SECONDS, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "off", EMP_SHEET_CHANGE, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "predicted", EMP_SHEET_SECONDS),
    EMP_COLUMN(NULL, "busy", EMP_SHEET_SECONDS),
    EMP_COLUMN("predicted_busy_s", NULL, EMP_SHEET_REAL, .precision = 9),
    EMP_COLUMN("busy_s", NULL, EMP_SHEET_REAL, .precision = 9),
    EMP_COLUMN("predicted_peak_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("peak_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("scheduled_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_END, .is_optional = true)};

static const emp_sheet_column summary_columns[] = {
    EMP_COLUMN("workload", "workload", EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("backend", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("timed", "timed", EMP_SHEET_COUNT),
    EMP_COLUMN("shared", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("shared_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("least_s", "from", EMP_SHEET_SECONDS),
    EMP_COLUMN("most_s", "to", EMP_SHEET_SECONDS),
    EMP_COLUMN("unsteady", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("worst_spread", "worst spread", EMP_SHEET_SHARE),
    EMP_COLUMN("mean_abs_error", "model's error", EMP_SHEET_SHARE),
    EMP_COLUMN("bias", "bias", EMP_SHEET_CHANGE),
    EMP_COLUMN("scaled_error", "scaled", EMP_SHEET_SHARE),
    EMP_COLUMN("constant_error", "a constant's", EMP_SHEET_SHARE),
    EMP_COLUMN("roofline_error", "a roofline's", EMP_SHEET_SHARE),
    EMP_COLUMN("spearman", "Spearman", EMP_SHEET_REAL, .form = "%.3f"),
    EMP_COLUMN("roofline_spearman", "of the roofline", EMP_SHEET_REAL, .form = "%.3f"),
    EMP_COLUMN("copies_spearman", "of copies only", EMP_SHEET_REAL, .form = "%.3f"),
    EMP_COLUMN("scale", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("constant_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("worst_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("kendall", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("pairs_apart", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("pairs_apart_in_order", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("busy_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("peak_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("worst_peak_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("both_fit", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("both_oom", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("missed_oom", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("false_oom", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("kernel_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("schedule_error", NULL, EMP_SHEET_SHARE),
    EMP_COLUMN("schedule_bias", NULL, EMP_SHEET_CHANGE),
    EMP_COLUMN("repeat_error", NULL, EMP_SHEET_SHARE)};

/* ---- written ----------------------------------------------------------------------- */

void emp_validation_sheet_init(emp_sheet *sheet, const char *workload)
{
    EMP_SHEET_INIT(sheet, case_columns);
    emp_sheet_set_title(sheet, "%s", workload);
    sheet->rows = "placements";
    sheet->cells = "devices";
}

/* The text about a case beside its times. */
static const char *remark_on(const emp_validation_case *c)
{
    if (c->is_feasible && c->is_predicted_feasible) {
        if (emp_validation_spread(c) > EMP_VALIDATION_SPREAD) return "unsteady";
        return c->is_shared ? "on shared cores" : NULL;
    }
    if (c->is_predicted_feasible) return "predicted to fit, but does not";
    return c->is_feasible ? "predicted not to fit, but fits"
                          : "does not fit, as predicted";
}

void emp_validation_sheet_add(emp_sheet *sheet, const char *workload,
                              const emp_validation_origin *origin,
                              const emp_validation_case   *c)
{
    bool is_timed = c->is_feasible && c->is_predicted_feasible;
    char device[32];

    for (int32_t d = 0; d < c->device_count; d++) {
        snprintf(device, sizeof device, "device %d", d);
        EMP_SHEET_ADD(
            sheet, EMP_V(workload), EMP_V(origin->machine), EMP_V(origin->runtime),
            EMP_V(origin->backend), EMP_V(c->name), EMP_V(c->hash), EMP_V(device),
            EMP_V(d), EMP_V(c->is_predicted_feasible), EMP_V(c->is_feasible),
            EMP_V(c->is_shared), EMP_V(c->keeps_rates), EMP_V(c->predicted_s),
            emp_value_range(c->measured_s, c->low_s, c->high_s), EMP_V(c->roofline_s),
            EMP_V(c->copies_s), emp_value_if(is_timed, EMP_V(c->predicted_s)),
            emp_value_if(is_timed, EMP_V(c->measured_s)),
            emp_value_if(is_timed, EMP_V(c->predicted_s / c->measured_s - 1.0)),
            emp_value_if(is_timed, EMP_V(c->predicted_busy_s[d])),
            emp_value_if(is_timed, EMP_V(c->busy_s[d])), EMP_V(c->predicted_busy_s[d]),
            EMP_V(c->busy_s[d]), EMP_V(c->predicted_peak_bytes[d]),
            EMP_V(c->peak_bytes[d]),
            emp_value_if(c->scheduled_s > 0.0, EMP_V(c->scheduled_s)),
            EMP_V(remark_on(c)));
    }
}

void emp_validation_summary_init(emp_sheet *sheet)
{
    EMP_SHEET_INIT(sheet, summary_columns);
    sheet->rows = "workloads";
}

void emp_validation_summary_add(emp_sheet *sheet, const char *workload,
                                const emp_validation_origin  *origin,
                                const emp_validation_summary *s)
{
    EMP_SHEET_ADD(
        sheet, EMP_V(workload), EMP_V(origin->machine), EMP_V(origin->runtime),
        EMP_V(origin->backend), EMP_V(s->timed_count), EMP_V(s->shared_count),
        EMP_V(s->shared_error_frac), EMP_V(s->least_s), EMP_V(s->most_s),
        EMP_V(s->unsteady_count), EMP_V(s->worst_spread), EMP_V(s->mean_abs_error_frac),
        EMP_V(s->bias_frac), EMP_V(s->scaled_error_frac), EMP_V(s->constant_error_frac),
        EMP_V(s->roofline_error_frac), EMP_V(s->spearman), EMP_V(s->roofline_spearman),
        EMP_V(s->copies_spearman), EMP_V(s->scale), EMP_V(s->constant_s),
        EMP_V(s->worst_error_frac), EMP_V(s->kendall), EMP_V(s->apart_count),
        EMP_V(s->apart_in_order), EMP_V(s->busy_error_frac), EMP_V(s->peak_error_frac),
        EMP_V(s->worst_peak_error_frac), EMP_V(s->both_fit), EMP_V(s->both_oom),
        EMP_V(s->missed_oom), EMP_V(s->false_oom), EMP_V(s->kernel_error_frac),
        EMP_V(s->schedule_error_frac), EMP_V(s->schedule_bias_frac),
        EMP_V(s->repeat_error_frac));
}

/* ---- read -------------------------------------------------------------------------- */

/* Columns that hold what was measured. */
#define MEASURED_COLUMNS(X) \
    X(workload)             \
    X(placement)            \
    X(hash)                 \
    X(device)               \
    X(feasible)             \
    X(shared)               \
    X(keeps_rates)          \
    X(measured_s)           \
    X(low_s)                \
    X(high_s)               \
    X(copies_s)             \
    X(busy_s)               \
    X(peak_bytes)

struct columns {
#define X(name) int32_t name;
    MEASURED_COLUMNS(X)
#undef X
};

static emp_status find_columns(struct columns *at, const emp_csv *csv, emp_error *err)
{
#define X(name) EMP_CHECK(emp_csv_find(&at->name, csv, #name, err));
    MEASURED_COLUMNS(X)
#undef X
    return EMP_OK;
}

static emp_status read_flag(bool *flag, const emp_csv *csv, int32_t row, int32_t column,
                            emp_error *err)
{
    int64_t value;

    EMP_CHECK(emp_csv_count(&value, csv, row, column, err));
    *flag = value != 0;
    return EMP_OK;
}

/* The columns that all devices of a placement share. */
static emp_status read_case(emp_validation_measured *m, const emp_csv *csv, int32_t row,
                            const struct columns *at, emp_error *err)
{
    emp_validation_case *c = &m->c;

    *m = (emp_validation_measured){0};
    snprintf(m->workload, sizeof m->workload, "%s", emp_csv_text(csv, row, at->workload));
    snprintf(c->name, sizeof c->name, "%s", emp_csv_text(csv, row, at->placement));
    EMP_CHECK(emp_csv_hash(&c->hash, csv, row, at->hash, err));
    EMP_CHECK(read_flag(&c->is_feasible, csv, row, at->feasible, err));
    EMP_CHECK(read_flag(&c->is_shared, csv, row, at->shared, err));
    EMP_CHECK(read_flag(&c->keeps_rates, csv, row, at->keeps_rates, err));
    EMP_CHECK(emp_csv_real(&c->measured_s, csv, row, at->measured_s, err));
    EMP_CHECK(emp_csv_real(&c->low_s, csv, row, at->low_s, err));
    EMP_CHECK(emp_csv_real(&c->high_s, csv, row, at->high_s, err));
    return emp_csv_real(&c->copies_s, csv, row, at->copies_s, err);
}

/* The next device of the last placement. */
static emp_status read_device(emp_validation_case *c, const emp_csv *csv, int32_t row,
                              const struct columns *at, int64_t device, emp_error *err)
{
    if (device != c->device_count || device >= EMP_MAX_DEVICES)
        return EMP_ERROR(EMP_EFORMAT,
                         "row %d: device %lld of placement %s; %d is the next one, of "
                         "at most %d",
                         row + 1, (long long)device, c->name, c->device_count,
                         EMP_MAX_DEVICES);
    EMP_CHECK(emp_csv_real(&c->busy_s[device], csv, row, at->busy_s, err));
    EMP_CHECK(emp_csv_count(&c->peak_bytes[device], csv, row, at->peak_bytes, err));
    c->device_count++;
    return EMP_OK;
}

static emp_status read_rows(emp_validation_record *record, const emp_csv *csv,
                            emp_error *err)
{
    struct columns at;
    int64_t        device;

    EMP_CHECK(find_columns(&at, csv, err));
    EMP_CHECK(EMP_ALLOC(record->measured, (size_t)csv->row_count));
    for (int32_t row = 0; row < csv->row_count; row++) {
        EMP_CHECK(emp_csv_count(&device, csv, row, at.device, err));
        if (device == 0 || record->count == 0)
            EMP_CHECK(read_case(&record->measured[record->count++], csv, row, &at, err));
        EMP_CHECK(read_device(&record->measured[record->count - 1].c, csv, row, &at,
                              device, err));
    }
    return EMP_OK;
}

emp_status emp_validation_record_load(emp_validation_record *record, const char *path,
                                      emp_error *err)
{
    emp_csv    csv = {0};
    emp_status st = emp_csv_load(&csv, path, err);

    if (st == EMP_OK) st = read_rows(record, &csv, err);
    emp_csv_clear(&csv);
    return st;
}

void emp_validation_record_clear(emp_validation_record *record)
{
    emp_free(record->measured);
    *record = (emp_validation_record){0};
}

const emp_validation_case *emp_validation_record_find(const emp_validation_record *record,
                                                      const char *workload,
                                                      const char *name, uint64_t hash)
{
    for (int32_t i = 0; i < record->count; i++) {
        const emp_validation_measured *m = &record->measured[i];
        if (m->c.hash == hash && strcmp(m->c.name, name) == 0 &&
            strcmp(m->workload, workload) == 0)
            return &m->c;
    }
    return NULL;
}

/* ---- as a table in HDF5 ---- */

typedef char text_value[EMP_COLUMN_TEXT_BYTES];

enum range { VALUE, LOW, HIGH };

static bool is_real(const emp_sheet_column *c)
{
    return c->kind == EMP_SHEET_REAL || c->kind == EMP_SHEET_SECONDS ||
           c->kind == EMP_SHEET_SHARE || c->kind == EMP_SHEET_CHANGE;
}

static double real_of(const emp_value *v, enum range range)
{
    if (v->tag != EMP_VALUE_REAL) return NAN;
    if (range == VALUE) return v->real;
    if (!v->has_range) return NAN;
    return range == LOW ? v->low : v->high;
}

/* Line \a row of the column, which is of all sheets. */
static void put(emp_column *to, int64_t row, const emp_value *v, enum range range)
{
    if (to->type == EMP_COLUMN_DOUBLE)
        ((double *)to->values)[row] = real_of(v, range);
    else if (to->type == EMP_COLUMN_INT64)
        ((int64_t *)to->values)[row] = v->tag == EMP_VALUE_COUNT ? v->count : -1;
    else if (v->tag == EMP_VALUE_WORD)
        snprintf(((text_value *)to->values)[row], sizeof(text_value), "%.*s",
                 (int)sizeof(text_value) - 1, v->word);
}

static void add_column(emp_columns *table, emp_arrays *arrays, const char *name,
                       emp_column_type type)
{
    size_t size = type == EMP_COLUMN_TEXT ? sizeof(text_value) : sizeof(double);

    table->column[table->column_count++] =
        (emp_column){name, type, emp_arrays_add(arrays, (size_t)table->row_count, size)};
}

/* Column \a c of the sheets as one of the table, or as its ends. */
static void copy_column(emp_columns *table, emp_arrays *arrays, const emp_sheet *sheets,
                        int32_t c, enum range range)
{
    const emp_sheet_column *from = &sheets->column[c];
    const char *name[] = {[VALUE] = from->key, [LOW] = from->low, [HIGH] = from->high};
    emp_column_type type = is_real(from)                           ? EMP_COLUMN_DOUBLE
                           : c > 0 && from->kind == EMP_SHEET_WORD ? EMP_COLUMN_TEXT
                                                                   : EMP_COLUMN_INT64;
    int64_t         row = 0, number = 0;

    add_column(table, arrays, name[range], type);
    if (arrays->is_short) return;
    for (const emp_sheet *s = sheets; s != NULL; s = s->next, number++) {
        for (int32_t line = 0; line < s->line_count; line++) {
            emp_value is_first = emp_value_count(number);
            put(&table->column[table->column_count - 1], row++,
                c == 0 ? &is_first : emp_sheet_at(s, line, c), range);
        }
    }
}

static void add_text(emp_columns *table, const char *key, const char *value)
{
    emp_columns_text *text = &table->text[table->text_count++];

    snprintf(text->key, sizeof text->key, "%s", key);
    snprintf(text->value, sizeof text->value, "%s", value);
}

static void list_texts(emp_columns *table, const emp_sheet *sheets,
                       const emp_validation_origin *origin)
{
    char    key[EMP_RECORD_NAME_BYTES];
    int32_t number = 0;

    add_text(table, "machine", origin->machine);
    add_text(table, "runtime", origin->runtime);
    add_text(table, "backend", origin->backend);
    add_text(table, "version", sheets->version);
    add_text(table, "commit", sheets->commit);
    for (const emp_sheet *s = sheets; s != NULL; s = s->next) {
        snprintf(key, sizeof key, "%s %d", sheets->column[0].key, number++);
        add_text(table, key, s->title);
    }
}

emp_status emp_validation_save(const char *path, const emp_sheet *sheets,
                               const emp_validation_origin *origin, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_arrays   arrays = {0};
    int64_t      lines = 0;
    int32_t      count = 0;
    emp_columns *table = EMP_NEW(emp_columns);

    if (table == NULL) EMP_FAIL(EMP_ENOMEM, "a record");
    for (const emp_sheet *s = sheets; s != NULL; s = s->next, count++) {
        EMP_TRY(emp_sheet_check(s, err));
        lines += s->line_count;
    }
    if (count > EMP_VALIDATION_PARTS || lines == 0)
        EMP_FAIL(EMP_EINVAL,
                 "%s: %lld lines of %d workloads; a record has 1 line or more, of at "
                 "most %d",
                 path, (long long)lines, count, EMP_VALIDATION_PARTS);
    table->row_count = lines;
    list_texts(table, sheets, origin);
    for (int32_t c = 0; c < sheets->column_count; c++) {
        if (sheets->column[c].key == NULL || sheets->column[c].is_csv_only) continue;
        copy_column(table, &arrays, sheets, c, VALUE);
        if (sheets->column[c].low == NULL) continue;
        copy_column(table, &arrays, sheets, c, LOW);
        copy_column(table, &arrays, sheets, c, HIGH);
    }
    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "record of %lld lines", (long long)lines);
    EMP_TRY(emp_columns_save(path, table, err));

cleanup:
    emp_arrays_clear(&arrays);
    emp_free(table);
    return st;
}
