// SPDX-License-Identifier: GPL-3.0-or-later
/* A comparison as one JSON object: what was compared, then for each budget its rows, entrants
 * and cells. */
#include <inttypes.h>
#include <math.h>

#include "bench/compare/comparison.h"

enum { HASH_BYTES = 17 };

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* \a list with \a item, or NULL when memory is out: then nothing that holds it is made. */
static json_t *append(json_t *list, json_t *item)
{
    if (json_array_append_new(list, item) == 0) return list;
    json_decref(list);
    return NULL;
}

static const char *hex(uint64_t hash, char text[HASH_BYTES])
{
    snprintf(text, HASH_BYTES, "%016" PRIx64, hash);
    return text;
}

static json_t *json_row(const emp_comparison *c, int32_t r)
{
    char graph[HASH_BYTES], machine[HASH_BYTES];

    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s}", "row", c->row[r].key, "title",
                     c->row[r].title, "workload", c->row[r].spec, "machine",
                     c->row[r].machine, "bound_s",
                     c->bound_s[r] > 0 ? json_real(c->bound_s[r]) : json_null(),
                     "graph_hash", hex(c->graph_hash[r], graph), "machine_hash",
                     hex(c->machine_hash[r], machine));
}

static json_t *json_cell(const emp_comparison *c, int32_t b, int32_t r, int32_t e)
{
    const emp_comparison_cell *cell = &c->cell[emp_comparison_cell_index(c, b, r, e)];
    json_t                    *rescored = json_object();

    for (int k = 0; k < EMP_SCORED_KINDS; k++)
        json_object_set_new(rescored, emp_scored_name((emp_scored)k),
                            number(cell->rescored_s[k]));
    return json_pack(
        "{s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, "
        "s:o, "
        "s:s?}",
        "row", c->row[r].key, "runs", cell->run_count, "failed_runs", cell->failed_count,
        "late_runs", cell->late_count, "median_s", number(cell->step_s.median), "low_s",
        number(cell->step_s.low), "high_s", number(cell->step_s.high), "best_s",
        number(cell->best_s), "worst_s", number(cell->worst_s), "evaluations",
        number(cell->evaluations), "gap_frac", number(cell->gap_frac), "rank",
        number(cell->rank), "is_best", cell->is_best, "p", number(cell->p), "p_holm",
        number(cell->p_holm), "rescored_s", rescored, "refusal", cell->refusal);
}

static json_t *json_entrant(const emp_comparison *c, int32_t b, int32_t e)
{
    const emp_entrant            *entrant = &c->entrant[e];
    const emp_comparison_overall *overall = &c->overall[b * c->entrant_count + e];
    json_t                       *cells = json_array();

    for (int32_t r = 0; r < c->row_count; r++)
        cells = append(cells, json_cell(c, b, r, e));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o}", "entrant",
                     entrant->key, "method", entrant->method->name, "preset",
                     entrant->preset, "mean_rank", number(overall->mean_rank), "ratio",
                     number(overall->ratio), "p", number(overall->p), "p_holm",
                     number(overall->p_holm), "is_best", overall->is_best, "cells",
                     cells);
}

static json_t *json_change(const emp_comparison *c, int32_t b, int32_t r, int k)
{
    const emp_comparison_change *change =
        &c->change[(b * c->row_count + r) * EMP_SCORED_KINDS + k];

    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "row", c->row[r].key, "rescored",
                     emp_scored_name((emp_scored)k), "draws",
                     k == EMP_SCORED_NOISE ? c->draws : 1, "tau", number(change->tau),
                     "least_tau", number(change->least_tau), "kept_frac",
                     number(change->kept_frac));
}

static json_t *json_budget(const emp_comparison *c, int32_t b)
{
    const emp_comparison_budget *budget = &c->budget[b];
    json_t                      *entrants = json_array(), *changes = json_array();

    for (int32_t e = 0; e < c->entrant_count; e++)
        entrants = append(entrants, json_entrant(c, b, e));
    for (int32_t i = 0; c->draws > 0 && i < c->row_count * EMP_SCORED_KINDS; i++)
        changes = append(changes,
                         json_change(c, b, i / EMP_SCORED_KINDS, i % EMP_SCORED_KINDS));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o}", "evaluations",
        budget->evaluations > 0 ? json_integer(budget->evaluations) : json_null(),
        "seconds", budget->seconds > 0 ? json_real(budget->seconds) : json_null(),
        "friedman", number(c->friedman[b].statistic), "friedman_p",
        number(c->friedman[b].p), "entrants", entrants, "sensitivity", changes);
}

json_t *emp_comparison_json(const emp_comparison *c)
{
    json_t *rows = json_array(), *budgets = json_array();
    char    runtime[HASH_BYTES];

    for (int32_t r = 0; r < c->row_count; r++) rows = append(rows, json_row(c, r));
    for (int32_t b = 0; b < c->budget_count; b++)
        budgets = append(budgets, json_budget(c, b));
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:b, s:o, s:o}", "runtime",
                     c->runtime, "runtime_hash", hex(c->runtime_hash, runtime), "seeds",
                     c->seed_count, "command", c->command, "version", c->version,
                     "commit", c->commit, "dirty", c->is_dirty, "rows", rows, "budgets",
                     budgets);
}
