// SPDX-License-Identifier: GPL-3.0-or-later
/* The printed forms of a study: aligned text and CSV. */
#include <inttypes.h>
#include <math.h>

#include "bench/tables/ablation.h"
#include "bench/tables/table_internal.h"

static const char *format_share(double frac, char text[EMP_CELL_BYTES])
{
    if (isnan(frac)) return "-";
    snprintf(text, EMP_CELL_BYTES, "%.1f%%", 100.0 * frac);
    return text;
}

static void print_line(FILE *out, const emp_ablation_cell *c)
{
    char median[EMP_CELL_BYTES], best[EMP_CELL_BYTES], worst[EMP_CELL_BYTES],
        ratio[EMP_CELL_BYTES], share[EMP_CELL_BYTES];

    fprintf(out, "  %-20s %5d %8s %8s %8s %7s %12" PRId64 " %9s\n", c->arm->name,
            c->run_count, emp_table_number(c->step_s.median, median),
            emp_table_number(c->step_s.min, best), emp_table_number(c->step_s.max, worst),
            emp_table_number(c->ratio, ratio), c->evaluations,
            format_share(c->feasible_frac, share));
}

void emp_ablation_print_text(FILE *out, const emp_ablation_table *t)
{
    const emp_ablation *d = t->definition;

    fprintf(out,
            "%s, preset %s, one choice changed at a time: seconds per training step, "
            "simulated.\n\n",
            d->method, d->preset);
    for (int32_t i = 0; i < t->row_count * t->arm_count; i++) {
        const emp_ablation_cell *c = &t->cell[i];
        if (i % t->arm_count == 0)
            fprintf(out, "%s (%s on %s)\n  %-20s %5s %8s %8s %8s %7s %12s %9s\n",
                    c->row->title, c->row->spec, c->row->machine, "", "seeds", "median",
                    "best", "worst", "ratio", "evaluations", "fits");
        print_line(out, c);
        if ((i + 1) % t->arm_count == 0) fprintf(out, "\n");
    }
    fprintf(
        out,
        "  Median, best and worst over seeds of the best placement of a run of %" PRId64
        " evaluations.\n"
        "  Ratio: of the median to that of default. Fits: share of all placements\n"
        "  that were tried. OOM: none fits in memory. Runtime %s.\n"
        "  Made by emplace %s, commit %.12s%s.\n",
        t->budget, t->runtime, t->version, t->commit, t->is_dirty ? ", modified" : "");
}

void emp_ablation_print_csv(FILE *out, const emp_ablation_table *t)
{
    const emp_ablation *d = t->definition;

    fprintf(out, "study,arm,task,workload,machine,runtime,method,preset,options,budget,"
                 "seeds,oom_seeds,median_s,best_s,worst_s,ratio_to_default,evaluations,"
                 "feasible_frac,commit,dirty\n");
    for (int32_t i = 0; i < t->row_count * t->arm_count; i++) {
        const emp_ablation_cell *c = &t->cell[i];
        const char              *options = c->arm->options == NULL ? "" : c->arm->options;
        fprintf(out, "%s,%s,\"%s\",\"%s\",%s,%s,%s,%s,\"%s\",%" PRId64 ",%d,%d",
                c->arm->study, c->arm->name, c->row->title, c->row->spec, c->row->machine,
                t->runtime, d->method, emp_ablation_preset_of(d, c->arm), options,
                t->budget, c->run_count, c->oom_count);
        emp_table_csv_number(out, c->step_s.median);
        emp_table_csv_number(out, c->step_s.min);
        emp_table_csv_number(out, c->step_s.max);
        emp_table_csv_number(out, c->ratio);
        fprintf(out, ",%" PRId64, c->evaluations);
        emp_table_csv_number(out, c->feasible_frac);
        fprintf(out, ",%s,%d\n", t->commit, t->is_dirty);
    }
}
