// SPDX-License-Identifier: GPL-3.0-or-later
/* A comparison on small tasks: are runs shared, resumed and counted by the rules of
 * comparison.h, whatever the number of threads, and is what is printed what was found? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/compare/comparison.h"
#include "bench/compare/comparison_internal.h"
#include "bench/plots/gnuplot.h"
#include "run/methods.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

enum { ROWS = 3, SEEDS = 2, SETS = 2 };

/* The last fits no GPU, and no list scheduler finds room for it. */
static const emp_compared_task rows[ROWS] = {
    {{"one", "One layer", "rnnlm:layers=1,steps=2,units=8,vocab=16,sampled=0", "k40x2", 2,
      NULL},
     EMP_TASKS_TUNED},
    {{"two", "Two layers", "rnnlm:layers=2,steps=2,units=64,vocab=16,sampled=0", "k40x2",
      2, NULL},
     EMP_TASKS_FRESH},
    {{"huge", "Huge", "rnnlm:layers=1,steps=2,units=1024,vocab=4000000,sampled=0",
      "k40x2", 2, NULL},
     EMP_TASKS_FRESH}};

static char folder[SCRATCH_PATH_BYTES];

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    snprintf(folder, sizeof folder, "%s", scratch_path("runs"));
}

TestSuite(comparison, .init = set_up, .fini = scratch_remove);

struct counts {
    int    runs, read;
    double rescored_frac;
};

static void count_run(void *context, const emp_job_event *event)
{
    struct counts *counts = (struct counts *)context;

    counts->runs++;
    counts->read += event->is_read;
}

static void note_rescored(void *context, double done_frac)
{
    ((struct counts *)context)->rescored_frac = done_frac;
}

static emp_comparison_params make_params(struct counts *counts, const char *row_keys,
                                         const char *methods)
{
    emp_comparison_params p = emp_comparison_params_default();

    p.row = rows;
    p.row_count = ROWS;
    p.rows = row_keys;
    p.methods = methods;
    p.seed_count = SEEDS;
    p.draws = 3;
    p.budget[0] = (emp_comparison_budget){.evaluations = 8};
    p.budget[1] = (emp_comparison_budget){.evaluations = 20};
    p.jobs.folder = folder;
    p.jobs.on_run = count_run;
    p.jobs.context = counts;
    p.on_rescored = note_rescored;
    return p;
}

static emp_comparison *make(const emp_comparison_params *params)
{
    emp_comparison *c = NULL;

    MUST(emp_comparison_make(&c, params, &why));
    return c;
}

typedef void filler(emp_sheet *sheet, const emp_comparison *c);

static emp_status print_sheet(FILE *out, const emp_comparison *c, filler *fill)
{
    emp_sheet sheet;

    fill(&sheet, c);
    const emp_status st = emp_sheet_print(out, &sheet, EMP_SHEET_CSV, NULL);
    emp_sheet_clear(&sheet);
    return st;
}

static emp_status print_all(FILE *out, const emp_comparison *c, emp_error *err)
{
    EMP_CHECK(emp_comparison_print(out, c, EMP_SHEET_CSV, err));
    EMP_CHECK(emp_comparison_print(out, c, EMP_SHEET_JSON, err));
    EMP_CHECK(print_sheet(out, c, emp_comparison_rankings));
    EMP_CHECK(print_sheet(out, c, emp_comparison_curves));
    return print_sheet(out, c, emp_comparison_changes);
}

/* All that must repeat; release with free(). People see CPU seconds beside it. */
static char *print(const emp_comparison *c)
{
    char *text = NULL;

    MUST_PRINT(text, print_all(out, c, &why));
    return text;
}

/* What people see; release with free(). */
static char *print_text(const emp_comparison *c)
{
    char *text = NULL;

    MUST_PRINT(text, emp_comparison_print(out, c, EMP_SHEET_TEXT, &why));
    return text;
}

static const emp_comparison_cell *cell_of(const emp_comparison *c, int32_t b, int32_t r,
                                          int32_t e)
{
    return &c->cell[emp_comparison_cell_index(c, b, r, e)];
}

/* ---- entrants ---- */

/* Without a runtime each task has the one that fits its graph. */
Test(comparison, tasks_have_the_runtimes_that_fit_them)
{
    static const emp_compared_task decode = {
        {"decode", "Decode",
         "transformer:layers=1,hidden=64,heads=4,vocab=100,seq=8,phase=decode", "k40x2",
         2, NULL},
        EMP_TASKS_FRESH};
    const emp_compared_task two[] = {rows[0], decode};
    struct counts           counts = {0};
    emp_comparison_params   p = make_params(&counts, NULL, "gpu,cpu");

    p.row = two;
    p.row_count = 2;
    for (int is_named = 0; is_named < 2; is_named++) {
        p.runtime = is_named ? "ideal" : NULL;
        emp_comparison *c = make(&p);
        cr_expect_str_eq(emp_comparison_runtime_of(c, 0), is_named ? "ideal" : "tf-r1.3");
        cr_expect_str_eq(emp_comparison_runtime_of(c, 1),
                         is_named ? "ideal" : "graph-launch");
        emp_comparison_destroy(c);
    }
}

Test(comparison, every_method_but_the_portfolio_takes_part_with_each_of_its_presets)
{
    emp_entrant       entrant[EMP_COMPARISON_ENTRANTS];
    int32_t           count = emp_entrants_list(entrant), wanted = 0;
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        wanted += method->members == NULL;
        for (const char *p = method->presets; p != NULL && *p != '\0'; p++)
            wanted += *p == '|';
    }
    for (int32_t i = 0; i < count; i++) {
        cr_expect((entrant[i].preset[0] != '\0') == (entrant[i].method->presets != NULL));
        for (int32_t j = 0; j < i; j++) cr_expect_str_neq(entrant[i].key, entrant[j].key);
        if (strcmp(entrant[i].key, "hdp") == 0)
            cr_expect_str_eq(entrant[i].preset, "paper");
    }
    cr_expect_eq(count, wanted);
}

static void place(emp_record *record, const emp_problem *problem, const emp_entrant *e,
                  uint64_t seed)
{
    /* in any order of the ops the graph has too many splits for it */
    const char    *options = strcmp(e->key, "dp-contiguous") == 0 ? "order=one" : NULL;
    emp_run_params run = {.method = e->method,
                          .placer = {.seed = seed, .threads = 1, .options = options}};
    emp_error      err = {0};

    cr_assert_eq(emp_run(record, problem, &run, &err), EMP_OK, "%s: %s", e->key, err.msg);
}

Test(comparison, methods_that_draw_nothing_give_every_seed_the_same)
{
    emp_entrant     entrant[EMP_COMPARISON_ENTRANTS];
    int32_t         count = emp_entrants_list(entrant), undrawn = 0;
    emp_runtime     runtime;
    emp_loaded_task task = {0};
    emp_record      a = {0}, b = {0};

    MUST(emp_runtime_init(&runtime, "tf-r1.3", NULL));
    MUST(emp_tasks_load(&task, &rows[1].task, 1, &runtime, 1, NULL));
    for (int32_t i = 0; i < count; i++) {
        if (entrant[i].is_drawn) continue;
        undrawn++;
        cr_expect_not(entrant[i].is_budgeted, "%s", entrant[i].key);
        place(&a, task.problem, &entrant[i], 1);
        place(&b, task.problem, &entrant[i], 2);
        cr_expect_eq(a.evaluations, 1, "%s", entrant[i].key);
        cr_expect_eq(
            memcmp(a.decision.device_of_op, b.decision.device_of_op,
                   (size_t)a.decision.op_count * sizeof *a.decision.device_of_op),
            0, "%s", entrant[i].key);
        emp_record_clear(&a);
        emp_record_clear(&b);
    }
    cr_expect_eq(undrawn, 13);
    emp_tasks_clear(&task, 1);
}

/* ---- runs ---- */

Test(comparison, is_the_same_byte_for_byte_when_read_again_and_on_two_threads)
{
    struct counts         first = {0}, again = {0}, other = {0};
    emp_comparison_params p = make_params(&first, "one,two", "expert,metis,anneal");
    emp_comparison       *c = make(&p);
    char                 *text = print(c), *same;
    /* rows x (expert + metis of each seed + anneal of each seed and budget) */
    const int runs = 2 * (1 + SEEDS + 2 * SEEDS);

    cr_expect(first.runs == runs && first.read == 0, "%d runs", first.runs);
    cr_expect_eq(first.rescored_frac, 1.0);
    emp_comparison_destroy(c);
    p.jobs.context = &again;
    c = make(&p);
    same = print(c);
    cr_expect_eq(again.read, runs);
    cr_expect_str_eq(same, text);
    free(same);
    emp_comparison_destroy(c);
    p.jobs.context = &other;
    p.jobs.threads = 2;
    p.jobs.is_fresh = true;
    c = make(&p);
    same = print(c);
    cr_expect_eq(other.read, 0);
    cr_expect_str_eq(same, text);
    free(same);
    free(text);
    emp_comparison_destroy(c);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(comparison, cells_are_what_the_runs_found)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "two", "cpu,expert,anneal");
    emp_comparison       *c = make(&p);

    for (int32_t b = 0; b < 2; b++) {
        const emp_comparison_cell *cpu = cell_of(c, b, 0, 0),
                                  *anneal = cell_of(c, b, 0, 2);
        const double *step_s = &c->step_s[emp_comparison_cell_index(c, b, 0, 2) * SEEDS];
        cr_expect(cpu->run_count == 1 && anneal->run_count == SEEDS);
        cr_expect_float_eq(anneal->step_s.median, (step_s[0] + step_s[1]) / 2, 1e-15);
        cr_expect(anneal->best_s == fmin(step_s[0], step_s[1]) &&
                  anneal->worst_s == fmax(step_s[0], step_s[1]));
        cr_expect_eq(anneal->evaluations, (double)p.budget[b].evaluations);
        cr_expect_eq(cpu->evaluations, 1.0);
        cr_expect_gt(c->bound_s[0], 0.0);
        cr_expect_geq(anneal->gap_frac, 0.0);
        cr_expect_float_eq(anneal->gap_frac, anneal->step_s.median / c->bound_s[0] - 1,
                           1e-12);
        cr_expect_eq(cell_of(c, b, 0, 0)->rank + cell_of(c, b, 0, 1)->rank +
                         cell_of(c, b, 0, 2)->rank,
                     6.0);
        cr_expect_eq(cpu->is_best + cell_of(c, b, 0, 1)->is_best + anneal->is_best, 1);
        for (int32_t e = 0; e < 3; e++) {
            const emp_comparison_cell *cell = cell_of(c, b, 0, e);
            cr_expect_eq(cell->is_best, cell->rank < 1.75, "the first of equals");
            cr_expect_gt(cell->cpu_s, 0.0);
            int32_t fresh = emp_comparison_overall_index(c, b, EMP_TASKS_FRESH, e);
            cr_expect_eq(c->overall[fresh].mean_rank, cell->rank, "of one row");
        }
    }
    emp_comparison_destroy(c);
}

/* Curves end at what the cell says, never rise, and stop with the budget. */
Test(comparison, curves_lead_to_the_medians)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "two", "cpu,anneal");
    emp_comparison       *c = make(&p);
    static const int64_t  points[] = {1, 2, 5, 8, 10, 20};

    cr_assert_eq(c->point_count[EMP_BY_EVALUATIONS], 6);
    cr_assert_eq(c->point_count[EMP_BY_CLOCK], 0);
    for (int32_t i = 0; i < 6; i++)
        cr_expect_eq(c->point[EMP_BY_EVALUATIONS][i], (double)points[i]);
    for (int32_t b = 0; b < 2; b++) {
        for (int32_t e = 0; e < 2; e++) {
            int32_t index = emp_comparison_cell_index(c, b, 0, e);
            double  last_s = INFINITY;
            for (int32_t i = 0; i < 6; i++) {
                const emp_interval *at = &c->curve[index * EMP_COMPARISON_POINTS + i];
                cr_expect_eq(isnan(at->median) && last_s < INFINITY,
                             e == 1 && points[i] > p.budget[b].evaluations);
                if (isnan(at->median)) continue;
                cr_expect_leq(at->median, last_s);
                last_s = at->median;
            }
            cr_expect_eq(last_s, c->cell[index].step_s.median);
        }
    }
    emp_comparison_destroy(c);
}

/* ---- what does not fit ---- */

Test(comparison, what_finds_nothing_is_infinitely_slow)
{
    struct counts              first = {0}, again = {0};
    emp_comparison_params      p = make_params(&first, "huge", "cpu,gpu,dp-contiguous");
    emp_comparison            *c = make(&p);
    const emp_comparison_cell *cpu = cell_of(c, 1, 0, 0), *gpu = cell_of(c, 1, 0, 1),
                              *split = cell_of(c, 1, 0, 2);

    cr_expect(isfinite(cpu->step_s.median) && cpu->is_best && cpu->rank == 1.0);
    cr_expect(gpu->step_s.median == INFINITY && gpu->failed_count == 1);
    cr_expect(split->step_s.median == INFINITY && split->failed_count == 1);
    cr_expect(gpu->rank == 2.5 && split->rank == 2.5);
    cr_expect_null(gpu->refusal);
    cr_assert_not_null(split->refusal);
    cr_expect_not_null(strstr(split->refusal, "gives up"), "%s", split->refusal);
    for (int k = 0; k < EMP_SCORED_KINDS; k++) {
        cr_expect_eq(gpu->rescored_s[k], INFINITY, "nowhere is it credited");
        cr_expect_eq(split->rescored_s[k], INFINITY);
    }
    int32_t gpu_overall = emp_comparison_overall_index(c, 1, EMP_TASKS_FRESH, 1);
    cr_expect(c->overall[gpu_overall].to_least.mean == INFINITY);
    cr_expect_eq(c->overall[gpu_overall].solved_count, 0);
    char *read = print_text(c), *text = print(c);
    cr_expect_not_null(strstr(read, "none"));
    free(read);
    cr_expect_not_null(strstr(text, ",OOM,OOM,OOM,OOM,OOM,1,"), "%s", text);
    p.jobs.context = &again;
    emp_comparison *d = make(&p);
    char           *same = print(d);
    cr_expect(first.runs == 3 && first.read == 0 && again.read == 3, "the refusal, too");
    cr_expect_str_eq(same, text);
    free(text);
    free(same);
    emp_comparison_destroy(c);
    emp_comparison_destroy(d);
}

Test(comparison, where_nobody_finds_anything_nobody_is_best)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "huge", "gpu,dp-contiguous");
    emp_comparison       *c = make(&p);
    FILE                 *out = tmpfile();

    cr_expect_not(cell_of(c, 0, 0, 0)->is_best || cell_of(c, 0, 0, 1)->is_best);
    cr_expect_eq(cell_of(c, 0, 0, 0)->rank, 1.5);
    MUST_FAIL(EMP_EINVAL, "Huge", emp_comparison_draw_figure(out, c, 0, false, &why));
    fclose(out);
    emp_comparison_destroy(c);
}

/* ---- what is printed ---- */

static int32_t count_lines(const emp_comparison *c, filler *fill)
{
    emp_sheet sheet;

    fill(&sheet, c);
    const int32_t lines = sheet.line_count;
    emp_sheet_clear(&sheet);
    return lines;
}

/* How often \a word stands in \a text. */
static int count_words(const char *text, const char *word)
{
    int count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) count++;
    return count;
}

/* Sheets have a line a cell. Pages have budgets x (entrants + head) lines, those of sensitivity and of
 * rankings, a figure for each row but the huge one, where nobody finds anything, and what its methods
 * say. */
Test(comparison, sheets_and_pages_have_all_cells_figures_and_reasons)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "one,huge", "dp-contiguous,anneal");
    emp_comparison       *c = make(&p);
    const int             rankings = 2 * SETS * (1 + 2);

    cr_expect_eq(count_lines(c, emp_comparison_changes), 2 * 2 * EMP_SCORED_KINDS);
    cr_expect_eq(count_lines(c, emp_comparison_rankings), 2 * SETS * 2);
    cr_expect_eq(count_lines(c, emp_comparison_times), 2 * (2 * 2 - 2),
                 "one refuses both");
    cr_expect_geq(count_lines(c, emp_comparison_curves), 2 * 2 * 2);
    for (int has_figures = 0; has_figures <= emp_gnuplot_exists(); has_figures++) {
        char *text = NULL;
        MUST_PRINT(text, emp_comparison_write_page(out, c, has_figures, &why));
        cr_expect_eq(count_words(text, "<tr"), 2 * (1 + 2) + 2 + 2 * 2 + rankings);
        cr_expect_eq(count_words(text, "</tr>"), count_words(text, "<tr"));
        cr_expect_eq(count_words(text, "<svg class=\"plot\""), has_figures);
        cr_expect_eq(count_words(text, ">bound<"), has_figures);
        cr_expect_not_null(strstr(text, ">Huge, dp-contiguous: "));
        cr_expect_not_null(strstr(text, "</html>"));
        free(text);
    }
    emp_comparison_destroy(c);
}

/* Whoever reads must see which tasks flatter our own methods. */
Test(comparison, text_ranks_tuned_and_fresh_tasks_apart)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "one,two", "cpu,anneal");
    emp_comparison       *c = make(&p);
    char                 *text = print_text(c);

    cr_expect_eq(count_words(text, "Ranking after 8 evaluations on 1 task of Table 1"),
                 1);
    cr_expect_eq(count_words(text, "Ranking after 20 evaluations on 1 fresh task\n"), 1);
    cr_expect_eq(count_words(text, "there: One layer."), 1);
    cr_expect_eq(count_words(text, "Too few tasks for p: 1"), 4);
    free(text);
    emp_comparison_destroy(c);
}

/* ---- what goes wrong ---- */

static emp_comparison_params good_params(void)
{
    emp_comparison_params p = make_params(NULL, "one", "cpu,go,anneal");

    p.jobs.on_run = NULL;
    p.options_count = 1;
    return p;
}

static void expect_refused(const emp_comparison_params *params, const char *part)
{
    emp_comparison *c = NULL;

    MUST_FAIL(EMP_EINVAL, part, emp_comparison_make(&c, params, &why));
    cr_expect_null(c);
    cr_expect_null(scratch_find("runs/*"), "refused before any run");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(comparison, wrong_choices_are_refused)
{
    static const struct {
        size_t      at; /* of a number or of a word */
        const char *word, *part;
    } cases[] = {{offsetof(emp_comparison_params, rows), "three", "\"three\""},
                 {offsetof(emp_comparison_params, methods), "hdp-paper", "\"hdp-paper\""},
                 {offsetof(emp_comparison_params, options), "width=8", "\"width=8\""},
                 {offsetof(emp_comparison_params, options), "hdp:groups=4", "\"hdp\""},
                 {offsetof(emp_comparison_params, options), "go:width=wide", "go: "},
                 {offsetof(emp_comparison_params, options), "cpu:width=8", "cpu"},
                 {offsetof(emp_comparison_params, seed_count), NULL, "0 seeds"},
                 {offsetof(emp_comparison_params, row_count), NULL, "0 tasks"},
                 {offsetof(emp_comparison_params, budget_count), NULL, "0 budgets"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_comparison_params p = good_params();
        void                 *field = (char *)&p + cases[i].at;
        p.options[0] = "go:width=8";
        if (cases[i].word != NULL)
            *(const char **)field = cases[i].word;
        else
            *(int32_t *)field = 0;
        expect_refused(&p, cases[i].part);
    }
    emp_comparison_params p = good_params();
    p.options[0] = p.options[p.options_count++] = "go:width=8";
    expect_refused(&p, "go has options twice");
    p = make_params(NULL, NULL, NULL);
    p.budget[1].clock_s = 1;
    expect_refused(&p, "budget 2");
    p.budget[1] = p.budget[0];
    expect_refused(&p, "budgets 1 and 2");
}

/* ---- options ---- */

Test(comparison, an_entrant_takes_its_options)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "one", "random,go-emplace");
    emp_comparison       *c;
    char                 *text;

    p.budget_count = 1;
    p.options[p.options_count++] = "go-emplace:width=8,heads=2,hidden=8,samples=4";
    c = make(&p);
    text = print(c);
    cr_expect_eq(c->entrant[0].options, NULL);
    cr_expect_not_null(
        strstr(text,
               ",go-emplace,go,emplace,\"width=8,heads=2,hidden=8,samples=4\",2,0,"),
        "%s", text);
    cr_expect_not_null(strstr(text, " --options go-emplace:width=8,"), "%s", text);
    free(text);
    emp_comparison_destroy(c);

    /* with others its runs are others */
    const int before = counts.runs - counts.read;
    p.options[0] = "go-emplace:width=4,heads=2,hidden=8,samples=4";
    emp_comparison_destroy(make(&p));
    cr_expect_eq(counts.runs - counts.read - before, SEEDS);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static atomic_int stop_flag;

Test(comparison, stop_leaves_the_rest_blank)
{
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "one", "expert,anneal");
    emp_comparison       *c = NULL;

    stop_flag = 1;
    p.jobs.stop = &stop_flag;
    cr_assert_eq(emp_comparison_make(&c, &p, NULL), EMP_EINTERRUPTED);
    cr_assert_not_null(c);
    cr_expect(counts.runs == 0 && counts.rescored_frac == 0);
    cr_expect(isnan(cell_of(c, 0, 0, 0)->step_s.median));
    cr_expect(isnan(cell_of(c, 0, 0, 0)->rank) && isnan(c->overall[0].mean_rank));
    free(print(c));
    free(print_text(c));
    emp_comparison_destroy(c);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Runs are on record, so that each trial is short. An allocation may fail where nothing is
 * lost by it, as in a record that is then made anew. */
Test(comparison, survives_allocation_failures)
{
    enum { ENOUGH = 20 };
    struct counts         counts = {0};
    emp_comparison_params p = make_params(&counts, "one", "expert,anneal");
    int                   succeeded = 0;

    p.draws = 1;
    emp_comparison_destroy(make(&p));
    for (long allowed = 0; succeeded < ENOUGH; allowed++) {
        emp_comparison *c = NULL;
        emp_mem_fail_after(allowed);
        emp_status st = emp_comparison_make(&c, &p, NULL);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld allocations: %s", allowed,
                  emp_status_str(st));
        cr_assert_eq(c != NULL, st == EMP_OK);
        succeeded = st == EMP_OK ? succeeded + 1 : 0;
        emp_comparison_destroy(c);
        cr_assert_eq(emp_mem_live_blocks(), 0, "leak after %ld allocations", allowed);
    }
}
