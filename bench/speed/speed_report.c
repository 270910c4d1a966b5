// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/blas/openblas.h"
#include "base/text/units.h"
#include "bench/speed/speed.h"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("network", "network", EMP_SHEET_WORD),
    EMP_COLUMN("hidden", "hidden", EMP_SHEET_COUNT),
    EMP_COLUMN("samples", "samples", EMP_SHEET_COUNT),
    EMP_COLUMN("groups", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("ops", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("threads", "threads", EMP_SHEET_COUNT),
    EMP_COLUMN("rounds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("ours_s", NULL, EMP_SHEET_REAL, .low = "ours_s_q1", .high = "ours_s_q3"),
    EMP_COLUMN("torch_s", NULL, EMP_SHEET_REAL, .low = "torch_s_q1",
               .high = "torch_s_q3"),
    EMP_COLUMN(NULL, "ours, ms", EMP_SHEET_REAL, .form = "%.1f",
               .range = EMP_SHEET_BEHIND),
    EMP_COLUMN(NULL, "PyTorch, ms", EMP_SHEET_REAL, .form = "%.1f",
               .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("ratio", "x as long", EMP_SHEET_REAL, .form = "%.2f", .low = "ratio_q1",
               .high = "ratio_q3", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("flops", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("stream_bytes", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("limit_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN(NULL, "GFLOP/s", EMP_SHEET_REAL, .form = "%.1f"),
    EMP_COLUMN(NULL, "GB/s", EMP_SHEET_REAL, .form = "%.1f"),
    EMP_COLUMN(NULL, "limit, ms", EMP_SHEET_REAL, .form = "%.1f"),
    EMP_COLUMN(NULL, "of limit", EMP_SHEET_SHARE, .form = "%.0f %%"),
    EMP_COLUMN("disagreement", NULL, EMP_SHEET_REAL)};

static emp_value in_ms(emp_value s)
{
    s.real *= 1e3;
    s.low *= 1e3;
    s.high *= 1e3;
    return s;
}

static void add_row(emp_sheet *s, const emp_speed_row *row)
{
    double    median_s = row->ours_s.median;
    emp_value ours = emp_quartiles_value(&row->ours_s);
    emp_value torch = emp_quartiles_value(&row->torch_s);

    EMP_SHEET_ADD(s, EMP_V(emp_stand_name(row->network.kind)), EMP_V(row->network.hidden),
                  EMP_V(row->network.samples), EMP_V(row->network.groups),
                  EMP_V(row->network.ops), EMP_V(row->threads),
                  EMP_V((int64_t)row->ours_s.count), ours, torch, in_ms(ours),
                  in_ms(torch), emp_quartiles_value(&row->ratio), EMP_V(row->flops),
                  EMP_V(row->stream_bytes), EMP_V(row->limit_s),
                  EMP_V(1e-9 * row->flops / median_s),
                  EMP_V(1e-9 * row->stream_bytes / median_s), EMP_V(1e3 * row->limit_s),
                  EMP_V(row->limit_s / median_s), EMP_V(row->disagreement));
}

/* Float sums in another order differ by far less. */
static const double DISAGREEMENT = 1e-4;

void emp_speed_tabulate(emp_sheet *s, const emp_speed_report *report)
{
    const emp_speed_params *p = &report->params;

    EMP_SHEET_INIT(s, columns);
    emp_sheet_set_facts(s, json_pack("{s:i, s:i, s:i, s:i, s:i, s:s, s:b}", "groups",
                                     p->groups, "ops", p->ops, "nodes", p->nodes, "sets",
                                     p->sets, "steps", p->steps, "openblas_core",
                                     emp_openblas_core_name(), "torch_is_absent",
                                     report->torch_is_absent));
    for (int32_t i = 0; i < report->row_count; i++) add_row(s, &report->row[i]);
    emp_sheet_note(
        s,
        "One update of %d groups (placer), %d ops (grouper), %d nodes (go), %d sets "
        "(hsdag) or about %d nodes (placeto, doppler, giph); median [quartiles] "
        "of up to %d rounds; CPU time on one thread, else wall clock. OpenBLAS "
        "core %s.",
        p->groups, p->ops, p->nodes, p->sets, p->steps, p->repeats,
        emp_openblas_core_name());
    if (report->torch_is_absent)
        emp_sheet_note(s, "PyTorch is not there: install python3-torch");
    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_speed_row *row = &report->row[i];
        char                 text[EMP_UNITS_TEXT_BYTES];
        if (row->disagreement > DISAGREEMENT)
            emp_sheet_note(
                s, "%s, %d hidden, %d samples: losses differ by %s of PyTorch's.",
                emp_stand_name(row->network.kind), row->network.hidden,
                row->network.samples,
                emp_units_format_number(row->disagreement, 1, text, sizeof text));
    }
}
