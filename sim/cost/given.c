// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/given.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/csv.h"

static const char   type_word[] = "type:";
static const double US_MAX = 1e12;

typedef struct {
    emp_cost_table    *table;
    const emp_graph   *graph;
    const emp_machine *machine;
    emp_csv            csv;
    int32_t            op_column, us_column;
    int32_t            model_column, beside_column; /* -1 = none */
    bool               adds_beside;                 /* to the table */
    double     *beside_us; /* [op] on a GPU beside another device; -1 = as by itself */
    emp_strmap  op_of_name;
    double     *us[EMP_DEVICE_KINDS]; /* [row of the table]; -1 = not given */
    emp_time_ns cpu_op_ns;
    const char *path;
    const emp_given_source   *source;  /* NULL = none */
    const emp_runtime_events *runtime; /* of predictions on the source */
} reader;

/* Columns of the table, a bit each. */
typedef struct {
    uint64_t of[EMP_DEVICE_KINDS];
} columns;

_Static_assert(EMP_MAX_DEVICES <= 64, "a bit for each column");

/* ---- lines ---- */

/* Whether a name, or the file behind a path without its ending, is that word. */
static bool is_model(const char *path, const char *word)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    size_t      length = strcspn(name, ".");

    return strlen(word) == length && memcmp(name, word, length) == 0;
}

static columns all_of(const reader *r, emp_device_kind kind)
{
    columns c = {{0}};

    for (int32_t i = 0; i < r->table->column_count[kind]; i++)
        c.of[kind] |= UINT64_C(1) << i;
    return c;
}

static void add_device(columns *c, const reader *r, emp_device_id device)
{
    c->of[r->machine->device[device].kind] |= UINT64_C(1)
                                              << r->table->column_of_device[device];
}

/* The columns that a line is for; none: the machine has no device of that model. */
static columns find_columns(const reader *r, int32_t row)
{
    const emp_machine *m = r->machine;
    columns            c = {{0}};
    const char        *word =
        r->model_column < 0 ? "" : emp_csv_text(&r->csv, row, r->model_column);

    if (*word == '\0' || strcmp(word, "gpu") == 0) return all_of(r, EMP_DEVICE_GPU);
    if (strcmp(word, "cpu") == 0) return all_of(r, EMP_DEVICE_CPU);
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (is_model(m->model[m->device[d].model].path, word)) add_device(&c, r, d);
    return c;
}

static bool is_empty(columns c)
{
    return (c.of[EMP_DEVICE_CPU] | c.of[EMP_DEVICE_GPU]) == 0;
}

static bool fits(const reader *r, emp_op_id op, const char *pattern)
{
    const size_t length = sizeof type_word - 1;

    if (strncmp(pattern, type_word, length) == 0)
        return strcmp(r->graph->type_name[r->graph->type[op]], pattern + length) == 0;
    return fnmatch(pattern, r->graph->name[op], 0) == 0;
}

static void give_op(const reader *r, columns c, emp_op_id op, double us)
{
    for (int k = 0; k < EMP_DEVICE_KINDS; k++)
        for (int32_t i = 0; i < r->table->column_count[k]; i++)
            if (c.of[k] >> i & 1u)
                r->us[k][(size_t)i * (size_t)r->table->op_count + (size_t)op] = us;
}

/* Gives all ops that a line is for their time; counts them. */
static int32_t give(const reader *r, columns c, const char *pattern, double us)
{
    int32_t count = 0;
    int32_t op = emp_strmap_get(&r->op_of_name, pattern, strlen(pattern));

    if (op >= 0) {
        give_op(r, c, op, us);
        return 1;
    }
    if (strncmp(pattern, type_word, sizeof type_word - 1) != 0 &&
        strpbrk(pattern, "*?[") == NULL)
        return 0;
    for (op = 0; op < r->graph->op_count; op++) {
        if (!fits(r, op, pattern)) continue;
        give_op(r, c, op, us);
        count++;
    }
    return count;
}

static emp_status check_time(const reader *r, const char *op, size_t length, double us,
                             emp_error *err)
{
    if (us >= 0.0 && us <= US_MAX) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: op \"%.*s\": %g is no time from 0 to %g us",
                     r->path, length < 80 ? (int)length : 80, op, us, US_MAX);
}

/* Times on the source over predicted ones are the same on the GPUs of other models, which are predicted, too. */
static void give_scaled(reader *r, emp_given_costs *out, const char *pattern, double us)
{
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        if (strcmp(r->graph->name[op], pattern) != 0 && !fits(r, op, pattern)) continue;
        emp_gpu_cost at = emp_cost_on_gpu(r->graph->op[op].cost, r->graph, op,
                                          r->source->device, r->runtime);
        for (int32_t i = 0; i < r->table->column_count[EMP_DEVICE_GPU]; i++) {
            size_t row = (size_t)i * (size_t)r->table->op_count + (size_t)op;
            double ratio = at.compute_ns > 0 ? (double)r->table->gpu[row].compute_ns /
                                                   (double)at.compute_ns
                                             : 1.0;
            r->us[EMP_DEVICE_GPU][row] = us * ratio;
            out->scaled_count++;
        }
    }
}

static emp_status read_scaled(reader *r, emp_given_costs *out, emp_error *err)
{
    double us;

    if (r->source == NULL || r->model_column < 0) return EMP_OK;
    if (r->graph->stated != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "%s: times of %s cannot be scaled, because the graph states "
                         "the costs of its ops and nothing predicts them",
                         r->path, r->source->model);
    for (int32_t row = 0; row < r->csv.row_count; row++) {
        const char *pattern = emp_csv_text(&r->csv, row, r->op_column);
        const char *model = emp_csv_text(&r->csv, row, r->model_column);
        if (!is_model(r->source->model, model)) continue;
        EMP_CHECK(emp_csv_real(&us, &r->csv, row, r->us_column, err));
        EMP_CHECK(check_time(r, pattern, strlen(pattern), us, err));
        give_scaled(r, out, pattern, us);
    }
    return EMP_OK;
}

/* The time beside another device, which is for the ops of one name. */
static emp_status read_beside(reader *r, columns c, const char *op, int32_t row,
                              emp_error *err)
{
    int32_t number = emp_strmap_get(&r->op_of_name, op, strlen(op));
    double  us;

    if (r->beside_column < 0 || c.of[EMP_DEVICE_GPU] == 0 || number < 0) return EMP_OK;
    if (emp_csv_text(&r->csv, row, r->beside_column)[0] == '\0') return EMP_OK;
    EMP_CHECK(emp_csv_real(&us, &r->csv, row, r->beside_column, err));
    EMP_CHECK(check_time(r, op, strlen(op), us, err));
    r->beside_us[number] = us;
    return EMP_OK;
}

static emp_status read_row(reader *r, emp_given_costs *out, int32_t row, emp_error *err)
{
    const char *pattern = emp_csv_text(&r->csv, row, r->op_column);
    double      us;

    EMP_CHECK(emp_csv_real(&us, &r->csv, row, r->us_column, err));
    EMP_CHECK(check_time(r, pattern, strlen(pattern), us, err));
    columns c = find_columns(r, row);
    if (is_empty(c)) {
        out->skipped_count++;
        return EMP_OK;
    }
    out->line_count++;
    EMP_CHECK(read_beside(r, c, pattern, row, err));
    if (give(r, c, pattern, us) > 0) return EMP_OK;
    return EMP_ERROR(
        EMP_EINVAL, "%s: no op of the graph has the name%s \"%.80s\"", r->path,
        strncmp(pattern, type_word, sizeof type_word - 1) == 0 ? " or type" : "",
        pattern);
}

/* ---- the table ---- */

static emp_time_ns *time_of(emp_cost_table *t, size_t row, emp_device_kind kind)
{
    return kind == EMP_DEVICE_GPU ? &t->gpu[row].compute_ns : &t->cpu[row].compute_ns;
}

/* Only a machine with one GPU model has times beside others, so that its rows are ops. Work beside others is no
 * faster than by itself. */
static emp_time_ns *time_beside(emp_cost_table *t, size_t row, emp_device_kind kind)
{
    return kind == EMP_DEVICE_GPU && t->gpu_beside_ns != NULL ? &t->gpu_beside_ns[row]
                                                              : NULL;
}

/* A time on a CPU is one core's. */
static void set_time(reader *r, size_t row, emp_device_kind kind, double us)
{
    emp_cost_table *t = r->table;
    emp_time_ns     ns = emp_ns_of_seconds(us * 1e-6), beside_ns = ns;
    emp_time_ns    *beside = time_beside(t, row, kind);

    if (kind == EMP_DEVICE_CPU) {
        t->cpu[row].lanes = 1;
        t->task_ns[t->cpu_offset[row]] = ns + r->cpu_op_ns;
        ns += r->cpu_op_ns;
    }
    if (beside != NULL && r->beside_us != NULL && r->beside_us[row] >= 0.0)
        beside_ns = emp_ns_of_seconds(fmax(us, r->beside_us[row]) * 1e-6);
    if (beside != NULL) *beside = beside_ns;
    *time_of(t, row, kind) = ns;
}

/* The time but for \a fixed_ns of it, times the factor. */
static emp_time_ns scaled(emp_time_ns ns, emp_time_ns fixed_ns, double factor)
{
    if (fixed_ns > ns) fixed_ns = ns;
    return fixed_ns + emp_ns_of_seconds((double)(ns - fixed_ns) * 1e-9 * factor);
}

/* On a CPU the runtime's time for an op, which its tasks share, stays. */
static void scale(const reader *r, size_t row, emp_device_kind kind, double factor)
{
    emp_cost_table *t = r->table;
    emp_time_ns    *beside = time_beside(t, row, kind);

    if (beside != NULL) *beside = scaled(*beside, 0, factor);
    if (kind == EMP_DEVICE_GPU) {
        t->gpu[row].compute_ns = scaled(t->gpu[row].compute_ns, 0, factor);
        return;
    }
    const emp_time_ns task_op_ns = r->cpu_op_ns / emp_cost_rounds(t->cpu[row].lanes);
    for (int32_t i = t->cpu_offset[row]; i < t->cpu_offset[row + 1]; i++)
        t->task_ns[i] = scaled(t->task_ns[i], task_op_ns, factor);
    t->cpu[row].compute_ns = scaled(t->cpu[row].compute_ns, r->cpu_op_ns, factor);
}

static bool has_kernel(const reader *r, emp_op_id op)
{
    return !r->graph->op[op].is_folded && r->graph->op[op].cost->kernels > 0;
}

/* The predicted time of the kernel alone: on a CPU that of one core, without the runtime's time. */
static emp_time_ns predicted_ns(const reader *r, size_t row, emp_device_kind kind)
{
    const emp_cost_table *t = r->table;

    if (kind == EMP_DEVICE_GPU) return t->gpu[row].compute_ns;
    return t->task_ns[t->cpu_offset[row]] * emp_cost_rounds(t->cpu[row].lanes) -
           r->cpu_op_ns;
}

/* Given over predicted times of a column that begins at that row. */
static double find_factor(const reader *r, emp_device_kind kind, size_t first)
{
    double  sum = 0.0;
    int32_t count = 0;

    if (r->graph->stated != NULL) return 1.0;
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        size_t      row = first + (size_t)op;
        emp_time_ns ns = predicted_ns(r, row, kind);
        if (r->us[kind][row] <= 0.0 || ns <= 0 || !has_kernel(r, op)) continue;
        sum += log(r->us[kind][row] * 1e3 / (double)ns);
        count++;
    }
    return count == 0 ? 1.0 : exp(sum / count);
}

static void apply_column(reader *r, emp_given_column *column, emp_device_kind kind,
                         size_t first)
{
    double given_ns = 0.0, all_ns = 0.0;

    column->factor = find_factor(r, kind, first);
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        size_t row = first + (size_t)op;
        bool   is_given = r->us[kind][row] >= 0.0;
        if (r->graph->op[op].is_folded) continue;
        if (is_given) {
            set_time(r, row, kind, r->us[kind][row]);
            column->given++;
        } else if (column->factor != 1.0 && has_kernel(r, op)) {
            scale(r, row, kind, column->factor);
        }
        if (!has_kernel(r, op)) continue;
        all_ns += (double)*time_of(r->table, row, kind);
        if (is_given) given_ns += (double)*time_of(r->table, row, kind);
    }
    column->given_frac = all_ns > 0.0 ? given_ns / all_ns : 0.0;
}

static void apply(reader *r, emp_given_costs *out)
{
    const emp_machine *m = r->machine;

    for (int k = 0; k < EMP_DEVICE_KINDS; k++) {
        out->column_count[k] = r->table->column_count[k];
        for (int32_t i = 0; i < out->column_count[k]; i++)
            out->column[k][i].model = k == EMP_DEVICE_CPU ? "cpu" : "gpu";
    }
    for (emp_device_id d = 0; d < m->device_count; d++)
        out->column[m->device[d].kind][r->table->column_of_device[d]].model =
            m->model[m->device[d].model].name;
    for (int k = 0; k < EMP_DEVICE_KINDS; k++)
        for (int32_t i = 0; i < out->column_count[k]; i++)
            apply_column(r, &out->column[k][i], (emp_device_kind)k,
                         (size_t)i * (size_t)r->table->op_count);
}

/* ---- files and times ---- */

static emp_status open_reader(reader *r, const emp_runtime *runtime, emp_error *err)
{
    r->cpu_op_ns = emp_ns_of_seconds(emp_runtime_events_of(runtime)->cpu_op_s);
    for (int k = 0; k < EMP_DEVICE_KINDS; k++) {
        int32_t rows = emp_cost_row_count(r->table, (emp_device_kind)k);
        EMP_CHECK(EMP_ALLOC(r->us[k], (size_t)rows));
        for (int32_t row = 0; row < rows; row++) r->us[k][row] = -1.0;
    }
    for (emp_op_id op = 0; op < r->graph->op_count; op++)
        EMP_CHECK(emp_strmap_set(&r->op_of_name, r->graph->name[op],
                                 strlen(r->graph->name[op]), op, err));
    return EMP_OK;
}

static void close_reader(reader *r)
{
    emp_strmap_clear(&r->op_of_name);
    for (int k = 0; k < EMP_DEVICE_KINDS; k++) emp_free(r->us[k]);
    emp_free(r->beside_us);
    emp_csv_clear(&r->csv);
}

/* One GPU model has times beside others: its own, or the file's. */
static bool may_have_beside(const reader *r)
{
    return r->table->gpu_beside_ns != NULL ||
           (r->table->column_count[EMP_DEVICE_GPU] == 1 && r->graph->stated == NULL);
}

/* A model that does not distinguish the two takes as long beside others as by itself, except for times of the file. */
static emp_status add_beside(reader *r, emp_error *err)
{
    emp_cost_table *t = r->table;

    EMP_CHECK(EMP_ALLOC(r->beside_us, (size_t)r->graph->op_count));
    for (emp_op_id op = 0; op < r->graph->op_count; op++) r->beside_us[op] = -1.0;
    if (t->gpu_beside_ns != NULL) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(t->gpu_beside_ns, (size_t)r->graph->op_count));
    r->adds_beside = true;
    for (emp_op_id op = 0; op < r->graph->op_count; op++)
        t->gpu_beside_ns[op] = t->gpu[op].compute_ns;
    return EMP_OK;
}

static emp_status read_table(reader *r, emp_given_costs *out, emp_error *err)
{
    EMP_CHECK(emp_csv_load(&r->csv, r->path, err));
    EMP_CHECK(emp_csv_find(&r->op_column, &r->csv, "op", err));
    EMP_CHECK(emp_csv_find(&r->us_column, &r->csv, "us", err));
    if (emp_csv_find(&r->model_column, &r->csv, "model", NULL) != EMP_OK)
        r->model_column = -1;
    if (!may_have_beside(r) ||
        emp_csv_find(&r->beside_column, &r->csv, "beside_us", NULL) != EMP_OK)
        r->beside_column = -1;
    if (r->beside_column >= 0) EMP_CHECK(add_beside(r, err));
    EMP_CHECK(read_scaled(r, out, err));
    for (int32_t row = 0; row < r->csv.row_count; row++)
        EMP_CHECK(read_row(r, out, row, err));
    if (out->line_count > 0 || out->scaled_count > 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s has no line for a device model of machine %s",
                     r->path, r->machine->name);
}

static emp_status take_times(reader *r, emp_given_costs *out, const emp_given_time *time,
                             int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        const emp_given_time *t = &time[i];
        emp_op_id             op = emp_strmap_get(&r->op_of_name, t->op, t->length);
        columns               c = {{0}};
        EMP_CHECK(check_time(r, t->op, t->length, t->us, err));
        if (op < 0 || t->device < 0) {
            out->skipped_count++;
            continue;
        }
        add_device(&c, r, t->device);
        give_op(r, c, op, t->us);
        out->line_count++;
    }
    if (out->line_count > 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s has %d times, and none is of an op of the graph on a device of "
                     "machine %s",
                     r->path, count, r->machine->name);
}

emp_status emp_given_costs_apply(emp_given_costs *out, emp_cost_table *table,
                                 const emp_graph *graph, const emp_machine *machine,
                                 const emp_runtime *runtime, const char *path,
                                 const emp_given_source *source, emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.table = table,
                    .graph = graph,
                    .machine = machine,
                    .path = path,
                    .source = source,
                    .runtime = emp_runtime_events_of(runtime)};

    *out = (emp_given_costs){0};
    EMP_TRY(open_reader(&r, runtime, err));
    EMP_TRY(read_table(&r, out, err));
    apply(&r, out);
    r.adds_beside = false;

cleanup:
    if (r.adds_beside) emp_free(table->gpu_beside_ns);
    if (r.adds_beside) table->gpu_beside_ns = NULL;
    close_reader(&r);
    return st;
}

emp_status emp_given_times_apply(emp_given_costs *out, emp_cost_table *table,
                                 const emp_graph *graph, const emp_machine *machine,
                                 const emp_runtime *runtime, const emp_given_time *time,
                                 int32_t time_count, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.table = table, .graph = graph, .machine = machine, .path = path};

    *out = (emp_given_costs){0};
    EMP_TRY(open_reader(&r, runtime, err));
    EMP_TRY(take_times(&r, out, time, time_count, err));
    apply(&r, out);

cleanup:
    close_reader(&r);
    return st;
}
