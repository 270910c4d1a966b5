// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/micro/oracle.h"
#include "bench/micro/peer.h"

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static const emp_sheet_column columns[] = {
    EMP_COLUMN("graph", "graph", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("ops", "ops", EMP_SHEET_COUNT, EMP_SHEET_ROW),
    EMP_COLUMN("placement", "placement", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "steps/s", EMP_SHEET_REAL, EMP_SHEET_ROW, .digits = 4),
    EMP_COLUMN(NULL, "events/op", EMP_SHEET_REAL, EMP_SHEET_ROW, .form = "%.2f"),
    EMP_COLUMN("series", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("rounds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN(NULL, "ns/op", EMP_SHEET_REAL, .range = EMP_SHEET_BEHIND),
    EMP_COLUMN(NULL, "x ideal", EMP_SHEET_REAL, .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("ns_per_op", NULL, EMP_SHEET_REAL, .low = "ns_per_op_q1",
               .high = "ns_per_op_q3"),
    EMP_COLUMN("ratio", NULL, EMP_SHEET_REAL, .low = "ratio_q1", .high = "ratio_q3"),
    EMP_COLUMN("events_per_op", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("disagreements", NULL, EMP_SHEET_COUNT, EMP_SHEET_ROW),
    EMP_COLUMN("threads_speedup", "threads: faster", EMP_SHEET_REAL, EMP_SHEET_END,
               .range = EMP_SHEET_BEHIND, .is_optional = true),
    EMP_COLUMN("threads_cpu_ratio", "CPU time a run x", EMP_SHEET_REAL, EMP_SHEET_END,
               .range = EMP_SHEET_BEHIND, .is_optional = true)};

static const char *name_of(const emp_oracle_row *row)
{
    return row->source != NULL ? row->source : "synthetic";
}

static const char *order_of(const emp_oracle_params *params)
{
    if (!emp_oracle_has_levels(params)) return "none";
    return params->has_bottom_levels ? "bottom" : "random";
}

static void add_line(emp_sheet *s, const emp_oracle_report *report,
                     const emp_oracle_row *row, emp_series series)
{
    emp_series leading = emp_oracle_leading(&report->params);
    emp_value  time = emp_quartiles_value(&row->ns_per_op[series]);
    emp_value  ratio = emp_quartiles_value(&row->ratio[series]);
    bool is_time = series == EMP_SERIES_IDEAL || !emp_oracle_has_ideal(&report->params);
    /* Others have the rules of `ideal`. */
    bool is_tf = series == EMP_SERIES_TF || series == EMP_SERIES_TF_LEVELS ||
                 series == EMP_SERIES_TF_MODELS;
    bool has_events = is_tf == (leading == EMP_SERIES_TF);

    EMP_SHEET_ADD(s, EMP_V(name_of(row)), EMP_V(row->op_count),
                  EMP_V(emp_synthetic_kind_name(row->placement)),
                  EMP_V(1e9 / row->ns_per_op[leading].median / row->op_count),
                  EMP_V(row->events_per_op), EMP_V(emp_series_name(series)),
                  EMP_V((int64_t)row->ns_per_op[series].count),
                  emp_value_if(is_time, time), emp_value_if(!is_time, ratio), time, ratio,
                  emp_value_if(has_events, EMP_V(row->events_per_op)),
                  EMP_V(row->disagreements), emp_quartiles_value(&row->speedup),
                  emp_quartiles_value(&row->cpu_ratio));
}

/* Why a series has no figure for some of the graphs. */
static void note_limit(emp_sheet *s, const emp_oracle_report *report, emp_series series)
{
    for (int32_t i = 0; i < report->row_count; i++) {
        if (report->row[i].has_collectives) continue;
        if (report->row[i].op_count <= emp_oracle_most_ops(series)) continue;
        emp_sheet_note(s, "%s: up to %d ops, beyond it takes minutes.",
                       emp_series_name(series), emp_oracle_most_ops(series));
        return;
    }
}

static void note_graphs(emp_sheet *s, const emp_oracle_report *report)
{
    const uint32_t others = report->params.series >> EMP_SERIES_TEXTBOOK;

    for (int32_t i = 0; i < report->row_count; i++) {
        const emp_oracle_row *row = &report->row[i];
        bool                  is_first = i == 0 || row[-1].source != row->source;
        if (row->has_collectives && is_first && others != 0)
            emp_sheet_note(s, "%s: has collectives, which other simulators do not know.",
                           name_of(row));
        if (row->disagreements > 0)
            emp_sheet_note(s, "%s, %d ops, %s: %d step times were not the oracle's.",
                           name_of(row), row->op_count,
                           emp_synthetic_kind_name(row->placement), row->disagreements);
    }
}

static void add_notes(emp_sheet *s, const emp_oracle_report *report)
{
    const char *last = NULL;

    emp_sheet_note(s,
                   "CPU time of one thread, median [quartiles] of %d rounds%s. Steps and "
                   "events of %s. Compiler: %s.",
                   report->params.repeats,
                   emp_oracle_has_ideal(&report->params)
                       ? "; x: times the oracle's under ideal in the same round"
                       : "",
                   emp_series_name(emp_oracle_leading(&report->params)), COMPILER);
    if (emp_oracle_has_levels(&report->params))
        emp_sheet_note(s, "Order of ops: %s levels.", order_of(&report->params));
    for (int32_t i = EMP_SERIES_SIMGRID_FIFO; i < EMP_SERIES_COUNT; i++) {
        if (!(report->params.series >> i & 1u)) continue;
        const char *why = emp_peer_absence((emp_peer_kind)(i - EMP_SERIES_SIMGRID_FIFO));
        if (why != NULL && why != last) emp_sheet_note(s, "%s", why);
        if (why == NULL) note_limit(s, report, (emp_series)i);
        last = why;
    }
    note_graphs(s, report);
}

void emp_oracle_tabulate(emp_sheet *s, const emp_oracle_report *report)
{
    const emp_oracle_params *p = &report->params;

    EMP_SHEET_INIT(s, columns);
    emp_sheet_set_title(s, "The oracle's speed on %s", p->machine);
    s->cells = "series";
    s->is_keyed = true;
    emp_sheet_set_facts(
        s, json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "machine", p->machine, "levels",
                     order_of(p), "events_of", emp_series_name(emp_oracle_leading(p)),
                     "compiler", COMPILER, "repeats", p->repeats, "threads", p->threads));
    for (int32_t r = 0; r < report->row_count; r++) {
        for (int32_t i = 0; i < EMP_SERIES_COUNT; i++)
            if (report->row[r].ns_per_op[i].count > 0)
                add_line(s, report, &report->row[r], (emp_series)i);
    }
    add_notes(s, report);
}
