// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>

#include "bench/micro/oracle.h"
#include "bench/micro/peer.h"
#include "run/manifest.h"

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* For three digits or more in all. */
static int digits_after_point(double value)
{
    return value < 10 ? 2 : value < 100 ? 1 : 0;
}

static void print_cell(FILE *stream, int width, const emp_quartiles *q)
{
    char text[48] = "-";
    int  digits = digits_after_point(q->median);

    if (q->count > 0) {
        snprintf(text, sizeof text, "%.*f [%.*f-%.*f]", digits, q->median, digits, q->low,
                 digits, q->high);
    }
    fprintf(stream, " %-*s", width, text);
}

enum { CELL = 18 };

/* "ideal, ns/op", and "x textbook": how many times as long. */
static void print_title(FILE *stream, const emp_oracle_report *report, int32_t series)
{
    static const char *const names[] = {"ideal",        "tf-r1.3",     "textbook",
                                        "SimGrid FIFO", "SimGrid DAG", "Python"};
    bool is_time = series == EMP_SERIES_IDEAL || !emp_oracle_has_ideal(&report->params);
    char text[32];

    snprintf(text, sizeof text, "%s%s%s", is_time ? "" : "x ", names[series],
             is_time ? ", ns/op" : "");
    fprintf(stream, " %-*s", CELL, text);
}

static void print_head(FILE *stream, const emp_oracle_report *report)
{
    fprintf(stream, "%-8s %-9s %-9s %-9s", "ops", "placement", "steps/s", "events/op");
    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        if (report->params.series >> i & 1u) print_title(stream, report, i);
    }
    if (report->params.threads > 1) {
        fprintf(stream, " %-*s", CELL, "threads: faster");
        fprintf(stream, " %-*s", CELL, "CPU time a run x");
    }
    fputc('\n', stream);
}

static void print_row(FILE *stream, const emp_oracle_report *report,
                      const emp_oracle_row *row)
{
    double ns_per_op = row->ns_per_op[emp_oracle_leading(&report->params)].median;

    fprintf(stream, "%-8d %-9s %-9.4g %-9.2f", row->op_count,
            emp_synthetic_kind_name(row->placement), 1e9 / ns_per_op / row->op_count,
            row->events_per_op);
    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        bool is_time = i == EMP_SERIES_IDEAL || !emp_oracle_has_ideal(&report->params);
        if (report->params.series >> i & 1u)
            print_cell(stream, CELL, is_time ? &row->ns_per_op[i] : &row->ratio[i]);
    }
    if (report->params.threads > 1) {
        print_cell(stream, CELL, &row->speedup);
        print_cell(stream, CELL, &row->cpu_ratio);
    }
    fputc('\n', stream);
}

/* Why a series has no figure for some of the sizes. */
static void print_limit(FILE *stream, const emp_oracle_report *report, emp_series series)
{
    for (int32_t i = 0; i < report->params.size_count; i++) {
        if (report->params.size[i] <= emp_oracle_most_ops(series)) continue;
        fprintf(stream, "%s: up to %d ops, beyond it takes minutes\n",
                emp_series_name(series), emp_oracle_most_ops(series));
        return;
    }
}

static void print_notes(FILE *stream, const emp_oracle_report *report)
{
    const char *last = NULL;

    for (int32_t i = EMP_SERIES_SIMGRID_FIFO; i < EMP_SERIES_COUNT; i++) {
        if (!(report->params.series >> i & 1u)) continue;
        const char *why = emp_peer_absence((emp_peer_kind)(i - EMP_SERIES_SIMGRID_FIFO));
        if (why != NULL && why != last) fprintf(stream, "%s\n", why);
        if (why == NULL) print_limit(stream, report, (emp_series)i);
        last = why;
    }
    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_oracle_row *row = &report->row[i];
        if (row->disagreements == 0) continue;
        fprintf(stream, "%d ops, %s: %d step times were not the oracle's\n",
                row->op_count, emp_synthetic_kind_name(row->placement),
                row->disagreements);
    }
}

void emp_oracle_print_text(FILE *stream, const emp_oracle_report *report)
{
    emp_manifest m = emp_manifest_get();

    fprintf(stream,
            "Oracle on %s, CPU time of one thread, median [quartiles] of %d rounds%s.\n"
            "Steps and events of %s. Commit %.12s%s, %s\n\n",
            report->params.machine, report->params.repeats,
            emp_oracle_has_ideal(&report->params)
                ? "; x: times the oracle's\nunder ideal in the same round"
                : "",
            emp_series_name(emp_oracle_leading(&report->params)), m.commit,
            m.is_dirty ? ", modified" : "", COMPILER);
    print_head(stream, report);
    for (int32_t i = 0; i < report->row_count; i++)
        print_row(stream, report, &report->row[i]);
    print_notes(stream, report);
}

static void print_csv_quartiles(FILE *stream, const emp_quartiles *q)
{
    if (q->count > 0)
        fprintf(stream, ",%.6g,%.6g,%.6g", q->median, q->low, q->high);
    else
        fprintf(stream, ",,,");
}

/* Others have the rules of `ideal`. */
static void print_csv_events(FILE *stream, const emp_oracle_report *report,
                             const emp_oracle_row *row, int32_t series)
{
    bool is_of_tf = emp_oracle_leading(&report->params) == EMP_SERIES_TF;

    if ((series == EMP_SERIES_TF) == is_of_tf)
        fprintf(stream, ",%.6g", row->events_per_op);
    else
        fprintf(stream, ",");
}

void emp_oracle_print_csv(FILE *stream, const emp_oracle_report *report)
{
    emp_manifest m = emp_manifest_get();

    fprintf(stream, "ops,placement,series,rounds,ns_per_op,ns_per_op_q1,ns_per_op_q3,"
                    "ratio,ratio_q1,ratio_q3,events_per_op,commit\n");
    for (int32_t r = 0; r < report->row_count; r++) {
        const emp_oracle_row *row = &report->row[r];
        for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
            if (row->ns_per_op[i].count == 0) continue;
            fprintf(stream, "%d,%s,%s,%zu", row->op_count,
                    emp_synthetic_kind_name(row->placement),
                    emp_series_name((emp_series)i), row->ns_per_op[i].count);
            print_csv_quartiles(stream, &row->ns_per_op[i]);
            print_csv_quartiles(stream, &row->ratio[i]);
            print_csv_events(stream, report, row, i);
            fprintf(stream, ",%s%s\n", m.commit, m.is_dirty ? "+" : "");
        }
    }
}

static json_t *json_quartiles(const emp_quartiles *q)
{
    if (q->count == 0) return json_null();
    return json_pack("{s:f, s:f, s:f}", "median", q->median, "q1", q->low, "q3", q->high);
}

static json_t *json_series(const emp_oracle_row *row)
{
    json_t *series = json_object();

    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        if (row->ns_per_op[i].count == 0) continue;
        json_t *one = json_pack(
            "{s:I, s:o, s:o}", "rounds", (json_int_t)row->ns_per_op[i].count, "ns_per_op",
            json_quartiles(&row->ns_per_op[i]), "ratio", json_quartiles(&row->ratio[i]));
        if (json_object_set_new(series, emp_series_name((emp_series)i), one) != 0) {
            json_decref(series);
            return NULL;
        }
    }
    return series;
}

static json_t *json_row(const emp_oracle_row *row)
{
    return json_pack("{s:i, s:s, s:f, s:i, s:o, s:o, s:o}", "ops", row->op_count,
                     "placement", emp_synthetic_kind_name(row->placement),
                     "events_per_op", row->events_per_op, "disagreements",
                     row->disagreements, "series", json_series(row), "threads_speedup",
                     json_quartiles(&row->speedup), "threads_cpu_ratio",
                     json_quartiles(&row->cpu_ratio));
}

json_t *emp_oracle_json(const emp_oracle_report *report)
{
    emp_manifest m = emp_manifest_get();
    json_t      *rows = json_array();

    for (int32_t i = 0; i < report->row_count; i++) {
        if (json_array_append_new(rows, json_row(&report->row[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:i, s:i, s:o}", "machine",
                     report->params.machine, "events_of",
                     emp_series_name(emp_oracle_leading(&report->params)), "version",
                     m.version, "commit", m.commit, "is_modified", m.is_dirty, "compiler",
                     COMPILER, "repeats", report->params.repeats, "threads",
                     report->params.threads, "rows", rows);
}
