// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/given.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "base/text/csv.h"

static const char   type_word[] = "type:";
static const double US_MAX = 1e12;

typedef struct {
    emp_cost_table    *table;
    const emp_graph   *graph;
    const emp_machine *machine;
    emp_csv            csv;
    int32_t            op_column, us_column, model_column; /* the last -1 = none */
    emp_strmap         op_of_name;
    double            *us[EMP_DEVICE_KINDS]; /* [op]; -1 = not given */
    emp_time_ns        cpu_op_ns;
    const char        *path;
} reader;

/* ---- lines ---- */

/* Whether a name, or the file behind a path without its ending, is that word. */
static bool is_model(const char *path, const char *word)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    size_t      length = strcspn(name, ".");

    return strlen(word) == length && memcmp(name, word, length) == 0;
}

/* The kind of the devices that a line is for; false: the machine has none of that model. */
static bool find_kind(emp_device_kind *kind, const reader *r, int32_t row)
{
    const char *word =
        r->model_column < 0 ? "" : emp_csv_text(&r->csv, row, r->model_column);

    *kind = EMP_DEVICE_GPU;
    if (*word == '\0' || strcmp(word, "gpu") == 0) return true;
    *kind = EMP_DEVICE_CPU;
    if (strcmp(word, "cpu") == 0) return true;
    for (int k = 0; k < EMP_DEVICE_KINDS; k++) {
        *kind = (emp_device_kind)k;
        const emp_machine_model *model =
            emp_machine_first_model(r->machine, (emp_device_kind)k);
        if (model != NULL && is_model(model->path, word)) return true;
    }
    return false;
}

static bool fits(const reader *r, emp_op_id op, const char *pattern)
{
    const size_t length = sizeof type_word - 1;

    if (strncmp(pattern, type_word, length) == 0)
        return strcmp(r->graph->type_name[r->graph->type[op]], pattern + length) == 0;
    return fnmatch(pattern, r->graph->name[op], 0) == 0;
}

/* Gives all ops that a line is for their time; counts them. */
static int32_t give(const reader *r, double *us_of_op, const char *pattern, double us)
{
    int32_t count = 0;
    int32_t op = emp_strmap_get(&r->op_of_name, pattern, strlen(pattern));

    if (op >= 0) {
        us_of_op[op] = us;
        return 1;
    }
    if (strncmp(pattern, type_word, sizeof type_word - 1) != 0 &&
        strpbrk(pattern, "*?[") == NULL)
        return 0;
    for (op = 0; op < r->graph->op_count; op++) {
        if (!fits(r, op, pattern)) continue;
        us_of_op[op] = us;
        count++;
    }
    return count;
}

static emp_status read_row(reader *r, emp_given_costs *out, int32_t row, emp_error *err)
{
    const char     *pattern = emp_csv_text(&r->csv, row, r->op_column);
    emp_device_kind kind;
    double          us;

    EMP_CHECK(emp_csv_real(&us, &r->csv, row, r->us_column, err));
    if (!(us >= 0.0 && us <= US_MAX))
        return EMP_ERROR(EMP_EFORMAT, "%s: op \"%.80s\": %g is no time from 0 to %g us",
                         r->path, pattern, us, US_MAX);
    if (!find_kind(&kind, r, row)) {
        out->skipped_count++;
        return EMP_OK;
    }
    out->line_count++;
    if (give(r, r->us[kind], pattern, us) > 0) return EMP_OK;
    return EMP_ERROR(
        EMP_EINVAL, "%s: no op of the graph has the name%s \"%.80s\"", r->path,
        strncmp(pattern, type_word, sizeof type_word - 1) == 0 ? " or type" : "",
        pattern);
}

/* ---- the table ---- */

static emp_time_ns *time_of(emp_cost_table *t, emp_op_id op, emp_device_kind kind)
{
    return kind == EMP_DEVICE_GPU ? &t->gpu[op].compute_ns : &t->cpu[op].compute_ns;
}

/* A time on a CPU is that of one core. */
static void set_time(reader *r, emp_op_id op, emp_device_kind kind, double us)
{
    emp_cost_table *t = r->table;
    emp_time_ns     ns = emp_ns_of_seconds(us * 1e-6);

    if (kind == EMP_DEVICE_CPU) {
        t->cpu[op].lanes = 1;
        t->task_ns[t->cpu_offset[op]] = ns + r->cpu_op_ns;
        ns += r->cpu_op_ns;
    } else if (t->gpu_beside_ns != NULL) {
        t->gpu_beside_ns[op] = ns;
    }
    *time_of(t, op, kind) = ns;
}

static emp_time_ns scaled(emp_time_ns ns, double factor)
{
    return emp_ns_of_seconds((double)ns * 1e-9 * factor);
}

static void scale(emp_cost_table *t, emp_op_id op, emp_device_kind kind, double factor)
{
    *time_of(t, op, kind) = scaled(*time_of(t, op, kind), factor);
    if (kind == EMP_DEVICE_CPU) {
        for (int32_t i = t->cpu_offset[op]; i < t->cpu_offset[op + 1]; i++)
            t->task_ns[i] = scaled(t->task_ns[i], factor);
    } else if (t->gpu_beside_ns != NULL) {
        t->gpu_beside_ns[op] = scaled(t->gpu_beside_ns[op], factor);
    }
}

/* Given over predicted times. */
static double find_factor(const reader *r, emp_device_kind kind)
{
    double  sum = 0.0;
    int32_t count = 0;

    if (r->graph->stated != NULL) return 1.0;
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        emp_time_ns ns = *time_of(r->table, op, kind);
        if (r->us[kind][op] <= 0.0 || ns <= 0 || r->graph->op[op].is_folded) continue;
        sum += log(r->us[kind][op] * 1e3 / (double)ns);
        count++;
    }
    return count == 0 ? 1.0 : exp(sum / count);
}

static void apply(reader *r, emp_given_costs *out, emp_device_kind kind)
{
    out->factor[kind] = find_factor(r, kind);
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        if (r->graph->op[op].is_folded) continue;
        if (r->us[kind][op] >= 0.0) {
            set_time(r, op, kind, r->us[kind][op]);
            out->given[kind]++;
        } else if (out->factor[kind] != 1.0) {
            scale(r->table, op, kind, out->factor[kind]);
        }
    }
}

static emp_status open_table(reader *r, emp_error *err)
{
    EMP_CHECK(emp_csv_load(&r->csv, r->path, err));
    EMP_CHECK(emp_csv_find(&r->op_column, &r->csv, "op", err));
    EMP_CHECK(emp_csv_find(&r->us_column, &r->csv, "us", err));
    if (emp_csv_find(&r->model_column, &r->csv, "model", NULL) != EMP_OK)
        r->model_column = -1;
    for (int k = 0; k < EMP_DEVICE_KINDS; k++) {
        EMP_CHECK(EMP_ALLOC(r->us[k], (size_t)r->graph->op_count));
        for (emp_op_id op = 0; op < r->graph->op_count; op++) r->us[k][op] = -1.0;
    }
    for (emp_op_id op = 0; op < r->graph->op_count; op++)
        EMP_CHECK(emp_strmap_set(&r->op_of_name, r->graph->name[op],
                                 strlen(r->graph->name[op]), op, err));
    return EMP_OK;
}

emp_status emp_given_costs_apply(emp_given_costs *out, emp_cost_table *table,
                                 const emp_graph *graph, const emp_machine *machine,
                                 const emp_runtime *runtime, const char *path,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.table = table, .graph = graph, .machine = machine, .path = path};

    *out = (emp_given_costs){0};
    if (emp_cost_is_unlike(table))
        EMP_FAIL(
            EMP_EUNSUPPORTED,
            "machine %s has devices of several models; given times (%s) need one CPU "
            "model and one GPU model",
            machine->name, path);
    r.cpu_op_ns = emp_ns_of_seconds(emp_runtime_events_of(runtime)->cpu_op_s);
    EMP_TRY(open_table(&r, err));
    for (int32_t row = 0; row < r.csv.row_count; row++)
        EMP_TRY(read_row(&r, out, row, err));
    if (out->line_count == 0)
        EMP_FAIL(EMP_EINVAL, "%s has no line for a device model of machine %s", path,
                 machine->name);
    for (int k = 0; k < EMP_DEVICE_KINDS; k++) apply(&r, out, (emp_device_kind)k);

cleanup:
    emp_strmap_clear(&r.op_of_name);
    for (int k = 0; k < EMP_DEVICE_KINDS; k++) emp_free(r.us[k]);
    emp_csv_clear(&r.csv);
    return st;
}
