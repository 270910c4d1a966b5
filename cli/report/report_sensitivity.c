// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report_sensitivity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/units.h"

static const double LEAST_CHANGE = 0.005;

/* How much longer the step is; infinite where it does not fit. */
static double change_of(const emp_sensitivity *s, const emp_sensitivity_row *row, int k)
{
    return row->winner_s[k] / s->winner_s - 1.0;
}

static double greatest_change(const emp_sensitivity *s, const emp_sensitivity_row *row)
{
    return fmax(fabs(change_of(s, row, 0)), fabs(change_of(s, row, 1)));
}

/* ---- JSON ---- */

static json_t *json_seconds(double seconds)
{
    return isfinite(seconds) ? json_real(seconds) : json_null();
}

json_t *cli_sensitivity_json(const emp_sensitivity *s)
{
    json_t *constants = json_array();

    for (int32_t i = 0; i < s->row_count; i++) {
        const emp_sensitivity_row *row = &s->row[i];
        for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++)
            json_array_append_new(
                constants,
                json_pack("{s:s, s:s, s:f, s:o, s:o, s:b}", "model", row->model,
                          "constant", row->constant, "factor", emp_sensitivity_factor[k],
                          "step_time_s", json_seconds(row->winner_s[k]),
                          "runner_up_step_time_s", json_seconds(row->other_s[k]), "turns",
                          row->turns[k]));
    }
    return json_pack("{s:s?, s:o, s:i, s:o}", "runner_up", s->other,
                     "runner_up_step_time_s", json_seconds(s->other_s), "turned",
                     s->turn_count, "constants", constants);
}

/* ---- text ---- */

/* A row by how much it changes the step. */
struct ranked {
    double  change;
    int32_t row;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->change != y->change) return x->change > y->change ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static const char *format_change(double change, char text[EMP_UNITS_TEXT_BYTES])
{
    if (!isfinite(change)) return "OOM";
    return emp_units_format_change(change, text, EMP_UNITS_TEXT_BYTES);
}

static void print_row(const emp_sensitivity *s, const emp_sensitivity_row *row)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf("  %-14s %-22s", row->model, row->constant);
    for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++)
        printf("  x %.1f %9s", emp_sensitivity_factor[k],
               format_change(change_of(s, row, k), text));
    for (int k = 0; k < EMP_SENSITIVITY_FACTORS; k++)
        if (row->turns[k])
            printf("; at %.1f times %s is %s", emp_sensitivity_factor[k], s->other,
                   s->other_s < s->winner_s ? "slower" : "faster");
    printf("\n");
}

static void print_verdict(const emp_sensitivity *s)
{
    char winner[32], other[32];

    if (s->other == NULL) {
        printf("no quick method finds another placement that fits\n");
        return;
    }
    printf("%-12s %s, %s a step beside %s; ",
           s->other_s < s->winner_s ? "faster" : "runner-up", s->other,
           emp_units_format_seconds(s->other_s, other, sizeof other),
           emp_units_format_seconds(s->winner_s, winner, sizeof winner));
    if (s->turn_count == 0)
        printf("no derived constant that is 20 %% off turns the ranking\n");
    else
        printf("%d of %d derived constants that are 20 %% off turn the ranking\n",
               s->turn_count, s->row_count);
}

void cli_sensitivity_print(const emp_sensitivity *s)
{
    struct ranked ranked[EMP_SENSITIVITY_ROWS];
    int32_t       shown = 0;

    for (int32_t i = 0; i < s->row_count; i++)
        ranked[i] = (struct ranked){greatest_change(s, &s->row[i]), i};
    qsort(ranked, (size_t)s->row_count, sizeof ranked[0], compare_ranked);
    printf("\nsensitivity; %d derived constants at 0.8 and 1.2 times, one at a time\n",
           s->row_count);
    print_verdict(s);
    for (int32_t i = 0; i < s->row_count; i++) {
        const emp_sensitivity_row *row = &s->row[ranked[i].row];
        if (!row->turns[0] && !row->turns[1] && ranked[i].change < LEAST_CHANGE) continue;
        print_row(s, row);
        shown++;
    }
    if (shown < s->row_count)
        printf("  %s: less than 0.5 %%\n", shown == 0 ? "all of them" : "all others");
}
