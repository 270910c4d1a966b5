// SPDX-License-Identifier: GPL-3.0-or-later
/* A comparison for programs: a line a cell, a point of a curve, or a change. */
#include <inttypes.h>
#include <math.h>

#include "bench/compare/comparison.h"
#include "bench/tables/table.h"

/* Specs hold commas, sentences quotation marks, too. */
static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* What a line is of: task,workload,machine,runtime,budget,budget_s */
static void print_row(FILE *out, const emp_comparison *c, int32_t b, int32_t r)
{
    const emp_task *row = &c->row[r];

    fprintf(out, "%s,\"%s\",%s,%s,", row->key, row->spec, row->machine, c->runtime);
    if (c->budget[b].evaluations > 0) fprintf(out, "%" PRId64, c->budget[b].evaluations);
    fputc(',', out);
    if (c->budget[b].seconds > 0) fprintf(out, "%g", c->budget[b].seconds);
}

static void print_entrant(FILE *out, const emp_entrant *e)
{
    fprintf(out, ",%s,%s,%s", e->key, e->method->name, e->preset);
}

static void print_cell(FILE *out, const emp_comparison *c, int32_t b, int32_t r,
                       int32_t e)
{
    const emp_comparison_cell    *cell = &c->cell[emp_comparison_cell_index(c, b, r, e)];
    const emp_comparison_overall *overall = &c->overall[b * c->entrant_count + e];
    const double                  numbers[] = {
                         cell->step_s.median, cell->step_s.low,  cell->step_s.high, cell->best_s,
                         cell->worst_s,       cell->evaluations, c->bound_s[r],     cell->gap_frac,
                         cell->rank,          cell->p,           cell->p_holm,      overall->mean_rank,
                         overall->ratio,      overall->p,        overall->p_holm};

    print_row(out, c, b, r);
    print_entrant(out, &c->entrant[e]);
    fprintf(out, ",%d,%d,%d", cell->run_count, cell->failed_count, cell->late_count);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        emp_table_csv_number(out, numbers[i]);
    for (int k = 0; k < EMP_SCORED_KINDS; k++)
        emp_table_csv_number(out, cell->rescored_s[k]);
    fputc(',', out);
    if (cell->refusal != NULL) print_quoted(out, cell->refusal);
    fprintf(out, ",%016" PRIx64 ",%016" PRIx64 ",%016" PRIx64 ",", c->graph_hash[r],
            c->machine_hash[r], c->runtime_hash);
    print_quoted(out, c->command);
    fprintf(out, ",%s,%d\n", c->commit, c->is_dirty);
}

void emp_comparison_print_csv(FILE *out, const emp_comparison *c)
{
    fprintf(out,
            "task,workload,machine,runtime,budget,budget_s,entrant,method,preset,runs,"
            "failed_runs,late_runs,median_s,low_s,high_s,best_s,worst_s,evaluations,"
            "bound_s,gap_frac,rank,p,p_holm,mean_rank,ratio,overall_p,"
            "overall_p_holm");
    for (int k = 0; k < EMP_SCORED_KINDS; k++)
        fprintf(out, ",%s_s", emp_scored_name((emp_scored)k));
    fprintf(out, ",refusal,graph_hash,machine_hash,runtime_hash,command,commit,dirty\n");
    for (int32_t b = 0; b < c->budget_count; b++) {
        for (int32_t r = 0; r < c->row_count; r++)
            for (int32_t e = 0; e < c->entrant_count; e++) print_cell(out, c, b, r, e);
    }
}

void emp_comparison_print_curves(FILE *out, const emp_comparison *c)
{
    int32_t per_budget = c->row_count * c->entrant_count;

    fprintf(out, "task,workload,machine,runtime,budget,budget_s,entrant,method,preset,"
                 "evaluations,median_s,low_s,high_s,commit,dirty\n");
    for (int32_t i = 0; i < c->budget_count * per_budget; i++) {
        for (int32_t p = 0; p < c->point_count; p++) {
            const emp_interval *at = &c->curve[i * c->point_count + p];
            if (isnan(at->median)) continue;
            print_row(out, c, i / per_budget, i % per_budget / c->entrant_count);
            print_entrant(out, &c->entrant[i % c->entrant_count]);
            fprintf(out, ",%" PRId64, c->point[p]);
            emp_table_csv_number(out, at->median);
            emp_table_csv_number(out, at->low);
            emp_table_csv_number(out, at->high);
            fprintf(out, ",%s,%d\n", c->commit, c->is_dirty);
        }
    }
}

void emp_comparison_print_changes(FILE *out, const emp_comparison *c)
{
    fprintf(out, "task,workload,machine,runtime,budget,budget_s,rescored,draws,tau,"
                 "least_tau,kept_frac,commit,dirty\n");
    for (int32_t i = 0; i < c->budget_count * c->row_count; i++) {
        for (int k = 0; k < EMP_SCORED_KINDS; k++) {
            const emp_comparison_change *change = &c->change[i * EMP_SCORED_KINDS + k];
            print_row(out, c, i / c->row_count, i % c->row_count);
            fprintf(out, ",%s,%d", emp_scored_name((emp_scored)k),
                    k == EMP_SCORED_NOISE ? c->draws : 1);
            emp_table_csv_number(out, change->tau);
            emp_table_csv_number(out, change->least_tau);
            emp_table_csv_number(out, change->kept_frac);
            fprintf(out, ",%s,%d\n", c->commit, c->is_dirty);
        }
    }
}
