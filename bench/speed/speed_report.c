// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>

#include "bench/speed/speed.h"
#include "policy/nn/blas.h"
#include "run/manifest.h"

static void print_ms(FILE *stream, const emp_quartiles *q)
{
    char text[48] = "-";

    if (q->count > 0)
        snprintf(text, sizeof text, "%.1f [%.1f-%.1f]", 1e3 * q->median, 1e3 * q->low,
                 1e3 * q->high);
    fprintf(stream, " %-22s", text);
}

static void print_ratio(FILE *stream, const emp_quartiles *q)
{
    char text[48] = "-";

    if (q->count > 0)
        snprintf(text, sizeof text, "%.2f [%.2f-%.2f]", q->median, q->low, q->high);
    fprintf(stream, " %-18s", text);
}

static void print_row(FILE *stream, const emp_speed_row *row)
{
    double s = row->ours_s.median;

    fprintf(stream, "%-8s %-7d %-8d %-8d", emp_stand_name(row->network.kind),
            row->network.hidden, row->network.samples, row->threads);
    print_ms(stream, &row->ours_s);
    print_ms(stream, &row->torch_s);
    print_ratio(stream, &row->ratio);
    fprintf(stream, " %-8.1f %-7.1f %-9.1f %.0f %%\n", 1e-9 * row->flops / s,
            1e-9 * row->stream_bytes / s, 1e3 * row->limit_s, 100 * row->limit_s / s);
}

/* Float sums in another order differ by far less. */
static const double DISAGREEMENT = 1e-4;

void emp_speed_print_text(FILE *stream, const emp_speed_report *report)
{
    emp_manifest m = emp_manifest_get();

    fprintf(stream,
            "One update of %d groups (placer) or %d ops (grouper); median [quartiles] of "
            "up to %d rounds; CPU time on\none thread, else wall clock. OpenBLAS core "
            "%s. Commit %.12s%s\n\n",
            report->params.groups, report->params.ops, report->params.repeats,
            emp_blas_core_name(), m.commit, m.is_dirty ? ", modified" : "");
    fprintf(stream, "%-8s %-7s %-8s %-8s %-22s %-22s %-18s %-8s %-7s %-9s %s\n",
            "network", "hidden", "samples", "threads", "ours, ms", "PyTorch, ms",
            "x as long", "GFLOP/s", "GB/s", "limit, ms", "of limit");
    for (int32_t i = 0; i < report->row_count; i++) print_row(stream, &report->row[i]);
    if (report->torch_is_absent)
        fprintf(stream, "PyTorch is not there: install python3-torch\n");
    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_speed_row *row = &report->row[i];
        if (!(row->disagreement > DISAGREEMENT)) continue;
        fprintf(stream, "%s, %d hidden, %d samples: losses differ by %.1g of PyTorch's\n",
                emp_stand_name(row->network.kind), row->network.hidden,
                row->network.samples, row->disagreement);
    }
}

static void print_csv_quartiles(FILE *stream, const emp_quartiles *q)
{
    if (q->count > 0)
        fprintf(stream, ",%.6g,%.6g,%.6g", q->median, q->low, q->high);
    else
        fprintf(stream, ",,,");
}

void emp_speed_print_csv(FILE *stream, const emp_speed_report *report)
{
    emp_manifest m = emp_manifest_get();

    fprintf(stream, "network,hidden,samples,groups,ops,threads,rounds,ours_s,ours_s_q1,"
                    "ours_s_q3,torch_s,torch_s_q1,torch_s_q3,ratio,ratio_q1,ratio_q3,"
                    "flops,stream_bytes,limit_s,disagreement,commit\n");
    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_speed_row *row = &report->row[i];
        fprintf(stream, "%s,%d,%d,%d,%d,%d,%zu", emp_stand_name(row->network.kind),
                row->network.hidden, row->network.samples, row->network.groups,
                row->network.ops, row->threads, row->ours_s.count);
        print_csv_quartiles(stream, &row->ours_s);
        print_csv_quartiles(stream, &row->torch_s);
        print_csv_quartiles(stream, &row->ratio);
        fprintf(stream, ",%.6g,%.6g,%.6g,", row->flops, row->stream_bytes, row->limit_s);
        if (!isnan(row->disagreement)) fprintf(stream, "%.3g", row->disagreement);
        fprintf(stream, ",%s%s\n", m.commit, m.is_dirty ? "+" : "");
    }
}

static json_t *json_quartiles(const emp_quartiles *q)
{
    if (q->count == 0) return json_null();
    return json_pack("{s:f, s:f, s:f}", "median", q->median, "q1", q->low, "q3", q->high);
}

static json_t *json_row(const emp_speed_row *row)
{
    return json_pack(
        "{s:s, s:i, s:i, s:i, s:I, s:o, s:o, s:o, s:f, s:f, s:f, s:o}", "network",
        emp_stand_name(row->network.kind), "hidden", row->network.hidden, "samples",
        row->network.samples, "threads", row->threads, "rounds",
        (json_int_t)row->ours_s.count, "ours_s", json_quartiles(&row->ours_s), "torch_s",
        json_quartiles(&row->torch_s), "ratio", json_quartiles(&row->ratio), "flops",
        row->flops, "stream_bytes", row->stream_bytes, "limit_s", row->limit_s,
        "disagreement",
        isnan(row->disagreement) ? json_null() : json_real(row->disagreement));
}

json_t *emp_speed_json(const emp_speed_report *report)
{
    emp_manifest m = emp_manifest_get();
    json_t      *rows = json_array();

    for (int32_t i = 0; i < report->row_count; i++) {
        if (json_array_append_new(rows, json_row(&report->row[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:i, s:i, s:s, s:s, s:b, s:b, s:o}", "groups",
                     report->params.groups, "ops", report->params.ops, "openblas_core",
                     emp_blas_core_name(), "commit", m.commit, "modified", m.is_dirty,
                     "torch_is_absent", report->torch_is_absent, "rows", rows);
}
