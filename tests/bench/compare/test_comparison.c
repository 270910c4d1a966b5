// SPDX-License-Identifier: GPL-3.0-or-later
/* A comparison on small tasks: are runs shared, resumed and counted by the rules of
 * comparison.h, whatever the number of threads, and is what is printed what was found? */
#include <stdatomic.h>

#include "bench/compare/comparison.h"
#include "bench/compare/comparison_internal.h"
#include "bench/plots/gnuplot.h"
#include "run/methods.h"
#include "tests/bench/counted.h"
#include "tests/test.h"

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

static double                rescored_frac;
static emp_comparison_params p;
static emp_comparison       *c; /* made with them */

static void tear_down(void)
{
    emp_comparison_destroy(c);
    expect_all_freed();
    scratch_remove();
}

TestSuite(comparison, .init = counted_set_up, .fini = tear_down);

static void note_rescored(void *context, double done_frac)
{
    (void)context;
    rescored_frac = done_frac;
}

static void choose(const char *row_keys, const char *methods)
{
    p = emp_comparison_params_default();
    p.row = rows;
    p.row_count = ROWS;
    p.rows = row_keys;
    p.methods = methods;
    p.seed_count = SEEDS;
    p.draws = 3;
    p.budget[0] = (emp_comparison_budget){.evaluations = 8};
    p.budget[1] = (emp_comparison_budget){.evaluations = 20};
    p.jobs = counted_jobs(p.jobs.threads);
    p.on_rescored = note_rescored;
}

static void make(void)
{
    counted_runs = counted_reads = 0;
    emp_comparison_destroy(c);
    c = NULL;
    ASSERT_OK(emp_comparison_make(&c, &p, &err));
}

static void compare(const char *row_keys, const char *methods)
{
    choose(row_keys, methods);
    make();
}

typedef void filler(emp_sheet *sheet, const emp_comparison *c);

static emp_status print_sheet(FILE *out, filler *fill)
{
    SCOPED(emp_sheet, emp_sheet_clear) sheet;

    fill(&sheet, c);
    return emp_sheet_print(out, &sheet, EMP_SHEET_CSV, NULL);
}

static emp_status print_all(FILE *out, emp_error *err)
{
    EMP_CHECK(emp_comparison_print(out, c, EMP_SHEET_CSV, err));
    EMP_CHECK(emp_comparison_print(out, c, EMP_SHEET_JSON, err));
    EMP_CHECK(print_sheet(out, emp_comparison_rankings));
    EMP_CHECK(print_sheet(out, emp_comparison_curves));
    return print_sheet(out, emp_comparison_changes);
}

/* All that must repeat; people see CPU seconds beside it. */
static char *print(void)
{
    char *text = NULL;

    ASSERT_PRINTED(text, print_all(out, &err));
    return text;
}

static void expect_text(const char *part)
{
    char *text = NULL;

    ASSERT_PRINTED(text, emp_comparison_print(out, c, EMP_SHEET_TEXT, &err));
    cr_expect_not_null(strstr(text, part), "no \"%s\" in %s", part, text);
    free(text);
}

static const emp_comparison_cell *cell_of(int32_t b, int32_t r, int32_t e)
{
    return &c->cell[emp_comparison_cell_index(c, b, r, e)];
}

/* Without a runtime each task has the one that fits its graph. */
Test(comparison, tasks_have_the_runtimes_that_fit_them)
{
    const emp_compared_task two[] = {
        rows[0],
        {{"decode", "Decode",
          "transformer:layers=1,hidden=64,heads=4,vocab=100,seq=8,phase=decode", "k40x2",
          2, NULL},
         EMP_TASKS_FRESH}};

    choose(NULL, "gpu,cpu");
    p.row = two;
    p.row_count = 2;
    make();
    cr_expect_str_eq(emp_comparison_runtime_of(c, 0), "tf-r1.3");
    cr_expect_str_eq(emp_comparison_runtime_of(c, 1), "graph-launch");
    p.runtime = "ideal";
    make();
    for (int r = 0; r < 2; r++)
        cr_expect_str_eq(emp_comparison_runtime_of(c, r), "ideal");
}

Test(comparison, every_method_but_the_portfolio_takes_part_with_each_of_its_presets)
{
    emp_entrant       entrant[EMP_COMPARISON_ENTRANTS];
    int32_t           count = emp_entrants_list(entrant), wanted = 0;
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        wanted += method->members == NULL;
        for (const char *at = method->presets; at != NULL && *at != '\0'; at++)
            wanted += *at == '|';
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

    ASSERT_OK(emp_run(record, problem, &run, &err));
    cr_expect_eq(record->evaluations, 1, "%s", e->key);
}

Test(comparison, methods_that_draw_nothing_give_every_seed_the_same)
{
    emp_entrant     entrant[EMP_COMPARISON_ENTRANTS];
    int32_t         count = emp_entrants_list(entrant), undrawn = 0;
    emp_runtime     runtime;
    emp_loaded_task task = {0};
    emp_record      a = {0}, b = {0};

    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    ASSERT_OK(emp_tasks_load(&task, &rows[1].task, 1, &runtime, 1, &err));
    for (int32_t i = 0; i < count; i++) {
        if (entrant[i].is_drawn) continue;
        undrawn++;
        cr_expect_not(entrant[i].is_budgeted, "%s", entrant[i].key);
        place(&a, task.problem, &entrant[i], 1);
        place(&b, task.problem, &entrant[i], 2);
        cr_expect_arr_eq(a.decision.device_of_op, b.decision.device_of_op,
                         (size_t)a.decision.op_count * sizeof *a.decision.device_of_op,
                         "%s", entrant[i].key);
        emp_record_clear(&a);
        emp_record_clear(&b);
    }
    cr_expect_eq(undrawn, 13);
    emp_tasks_clear(&task, 1);
}

Test(comparison, is_the_same_byte_for_byte_when_read_again_and_on_two_threads)
{
    /* rows x (expert + metis of each seed + anneal of each seed and budget) */
    const int runs = 2 * (1 + SEEDS + 2 * SEEDS);

    compare("one,two", "expert,metis,anneal");
    char *text = print();
    cr_expect(counted_runs == runs && counted_reads == 0, "%d runs", counted_runs);
    cr_expect_eq(rescored_frac, 1.0);
    for (int is_fresh = 0; is_fresh < 2; is_fresh++) {
        p.jobs.threads = 1 + is_fresh;
        p.jobs.is_fresh = is_fresh;
        make();
        char *same = print();
        cr_expect_eq(counted_reads, is_fresh ? 0 : runs);
        cr_expect_str_eq(same, text);
        free(same);
    }
    free(text);
}

static void expect_cells_of_budget(int32_t b)
{
    const emp_comparison_cell *cpu = cell_of(b, 0, 0), *expert = cell_of(b, 0, 1),
                              *anneal = cell_of(b, 0, 2);
    const double *step_s = &c->step_s[emp_comparison_cell_index(c, b, 0, 2) * SEEDS];

    cr_expect(cpu->run_count == 1 && anneal->run_count == SEEDS);
    cr_expect_float_eq(anneal->step_s.median, (step_s[0] + step_s[1]) / 2, 1e-15);
    cr_expect(anneal->best_s == fmin(step_s[0], step_s[1]) &&
              anneal->worst_s == fmax(step_s[0], step_s[1]));
    cr_expect_eq(anneal->evaluations, (double)p.budget[b].evaluations);
    cr_expect_eq(cpu->evaluations, 1.0);
    cr_expect(c->bound_s[0] > 0 && anneal->gap_frac >= 0);
    cr_expect_float_eq(anneal->gap_frac, anneal->step_s.median / c->bound_s[0] - 1,
                       1e-12);
    cr_expect(isnan(cpu->bound_gpu_kernels_s), "its kernels are on the CPU");
    cr_expect_geq(expert->bound_gpu_kernels_s, c->bound_s[0]);
    cr_expect_float_eq(expert->gap_gpu_kernels_frac,
                       expert->step_s.median / expert->bound_gpu_kernels_s - 1, 1e-12);
    cr_expect_eq(cpu->rank + expert->rank + anneal->rank, 6.0);
    cr_expect_eq(cpu->is_best + expert->is_best + anneal->is_best, 1);
    for (int32_t e = 0; e < 3; e++) {
        const emp_comparison_cell *cell = cell_of(b, 0, e);
        const int32_t fresh = emp_comparison_overall_index(c, b, EMP_TASKS_FRESH, e);
        cr_expect_eq(cell->is_best, cell->rank < 1.75, "the first of equals");
        cr_expect_gt(cell->cpu_s, 0.0);
        cr_expect_eq(c->overall[fresh].mean_rank, cell->rank, "of one row");
    }
}

/* Curves end at what the cell says, never rise, and stop with the budget. */
static void expect_curve(int32_t b, int32_t e)
{
    static const int64_t points[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20};
    const int32_t        index = emp_comparison_cell_index(c, b, 0, e);
    double               last_s = INFINITY;

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        const emp_interval *at = &c->curve[(size_t)index * EMP_COMPARISON_POINTS + i];
        cr_expect_eq(c->point[EMP_BY_EVALUATIONS][i], (double)points[i]);
        cr_expect_eq(isnan(at->median) && last_s < INFINITY,
                     e == 2 && points[i] > p.budget[b].evaluations);
        if (isnan(at->median)) continue;
        cr_expect_leq(at->median, last_s);
        last_s = at->median;
    }
    cr_expect_eq(last_s, c->cell[index].step_s.median);
}

Test(comparison, cells_and_curves_are_what_the_runs_found)
{
    compare("two", "cpu,expert,anneal");
    cr_assert_eq(c->point_count[EMP_BY_EVALUATIONS], 13);
    cr_assert_eq(c->point_count[EMP_BY_CLOCK], 0);
    for (int32_t b = 0; b < 2; b++) {
        expect_cells_of_budget(b);
        for (int32_t e = 0; e < 3; e++) expect_curve(b, e);
    }
}

Test(comparison, what_finds_nothing_is_infinitely_slow)
{
    compare("huge", "cpu,gpu,dp-contiguous");
    const emp_comparison_cell *cpu = cell_of(1, 0, 0), *gpu = cell_of(1, 0, 1),
                              *split = cell_of(1, 0, 2);
    const int32_t overall = emp_comparison_overall_index(c, 1, EMP_TASKS_FRESH, 1);
    char         *text = print();
    cr_expect(isfinite(cpu->step_s.median) && cpu->is_best && cpu->rank == 1.0);
    cr_expect(gpu->step_s.median == INFINITY && gpu->failed_count == 1);
    cr_expect(split->step_s.median == INFINITY && split->failed_count == 1);
    cr_expect(gpu->rank == 2.5 && split->rank == 2.5);
    cr_expect_null(gpu->refusal);
    cr_assert_not_null(split->refusal);
    cr_expect_not_null(strstr(split->refusal, "gives up"), "%s", split->refusal);
    for (int k = 0; k < EMP_SCORED_KINDS; k++)
        cr_expect(gpu->rescored_s[k] == INFINITY && split->rescored_s[k] == INFINITY,
                  "nowhere is it credited");
    cr_expect(c->overall[overall].to_least.mean == INFINITY);
    cr_expect_eq(c->overall[overall].solved_count, 0);
    expect_text("none");
    cr_expect_not_null(strstr(text, ",OOM,OOM,OOM,OOM,OOM,1,"), "%s", text);
    make();
    char *same = print();
    cr_expect(counted_runs == 3 && counted_reads == 3, "the refusal, too");
    cr_expect_str_eq(same, text);
    free(text);
    free(same);
}

Test(comparison, where_nobody_finds_anything_nobody_is_best)
{
    FILE *out = tmpfile();

    compare("huge", "gpu,dp-contiguous");
    cr_expect_not(cell_of(0, 0, 0)->is_best || cell_of(0, 0, 1)->is_best);
    cr_expect_eq(cell_of(0, 0, 0)->rank, 1.5);
    EXPECT_REFUSED(emp_comparison_draw_figure(out, c, 0, false, &err), EMP_EINVAL,
                   "Huge");
    fclose(out);
}

/* Marks of an axis are texts of a blank and a number. From 0.9 to 3.6 ms there are only two of 1, 2 and 5
 * times a power of ten. */
Test(comparison, axes_of_less_than_a_decade_have_marks)
{
    char *text = NULL;
    int   marks = 0;

    if (!emp_gnuplot_exists()) return;
    compare("one", "dp-contiguous,anneal");
    ASSERT_PRINTED(text, emp_comparison_draw_figure(out, c, 0, false, &err));
    for (const char *at = text; (at = strstr(at, "> 0")) != NULL; at++) marks++;
    cr_expect_geq(marks, 3, "%d of the step time", marks);
    free(text);
}

static int32_t count_lines(filler *fill)
{
    SCOPED(emp_sheet, emp_sheet_clear) sheet;

    fill(&sheet, c);
    return sheet.line_count;
}

static int count_words(const char *text, const char *word)
{
    int count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) count++;
    return count;
}

/* Sheets have a line a cell. Pages have budgets x (entrants + head) lines, those of sensitivity and of
 * rankings, a figure for each row but the huge one, where no method finds anything, and what its methods
 * say. Whoever reads must see which tasks flatter our own methods. */
Test(comparison, sheets_and_pages_have_all_cells_figures_and_reasons)
{
    const int rankings = 2 * SETS * (1 + 2);

    compare("one,huge", "dp-contiguous,anneal");
    cr_expect_eq(count_lines(emp_comparison_changes), 2 * 2 * EMP_SCORED_KINDS);
    cr_expect_eq(count_lines(emp_comparison_rankings), 2 * SETS * 2);
    cr_expect_eq(count_lines(emp_comparison_times), 2 * (2 * 2 - 2), "one refuses both");
    cr_expect_geq(count_lines(emp_comparison_curves), 2 * 2 * 2);
    expect_text("Ranking after 8 evaluations on 1 task of Table 1");
    expect_text("Ranking after 20 evaluations on 1 fresh task\n");
    for (int has_figures = 0; has_figures <= emp_gnuplot_exists(); has_figures++) {
        char *text = NULL;
        ASSERT_PRINTED(text, emp_comparison_write_page(out, c, has_figures, &err));
        cr_expect_eq(count_words(text, "<tr"), 2 * (1 + 2) + 2 + 2 * 2 + rankings);
        cr_expect_eq(count_words(text, "</tr>"), count_words(text, "<tr"));
        cr_expect_eq(count_words(text, "<svg class=\"plot\""), has_figures);
        cr_expect_eq(count_words(text, ">bound<"), has_figures);
        cr_expect_not_null(strstr(text, ">Huge, dp-contiguous: "));
        cr_expect_not_null(strstr(text, "</html>"));
        free(text);
    }
}

static void expect_refused(const char *part)
{
    emp_comparison *none = NULL;

    EXPECT_REFUSED(emp_comparison_make(&none, &p, &err), EMP_EINVAL, part);
    cr_expect_null(none);
    cr_expect_eq(counted_runs, 0, "refused before any run");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* tests/cli/test_refusals.c has the rest. */
Test(comparison, wrong_choices_are_refused)
{
    static const char *const options[][2] = {{"width=8", "\"width=8\""},
                                             {"go:width=wide", "go: "},
                                             {"cpu:width=8", "cpu"},
                                             {"go:width=8", "go has options twice"}};

    for (int i = 0; i < 4; i++) {
        choose("one", "cpu,go,anneal");
        p.options[0] = options[i][0];
        p.options[1] = "go:width=8";
        p.options_count = 2;
        expect_refused(options[i][1]);
    }
    choose(NULL, NULL);
    p.seed_count = 0;
    expect_refused("0 seeds");
    choose(NULL, NULL);
    p.budget[1].clock_s = 1;
    expect_refused("budget 2");
    p.budget[1] = p.budget[0];
    expect_refused("budgets 1 and 2");
}

Test(comparison, an_entrant_takes_its_options)
{
    static const char *const parts[] = {
        ",go-emplace,go,emplace,\"width=8,heads=2,hidden=8,samples=4\",2,0,",
        " --options go-emplace:width=8,"};

    choose("one", "random,go-emplace");
    p.budget_count = 1;
    p.options[p.options_count++] = "go-emplace:width=8,heads=2,hidden=8,samples=4";
    make();
    char *text = print();
    cr_expect_null(c->entrant[0].options);
    for (int i = 0; i < 2; i++) cr_expect_not_null(strstr(text, parts[i]), "%s", text);
    free(text);
    p.options[0] = "go-emplace:width=4,heads=2,hidden=8,samples=4";
    make();
    cr_expect_eq(counted_runs - counted_reads, SEEDS);
}

/* Two seeds have a range; tasks of files are ranked apart from fresh ones. */
Test(comparison, titles_say_which_tasks_and_what_spread)
{
    emp_compared_task both[2] = {rows[0], rows[1]};

    compare("one", "expert,random");
    expect_text("median of 2 seeds, range below");
    expect_text("Would other costs change the ranking?");
    char *text = print();
    cr_expect_null(strstr(text, "CPU s: unknown"), "%s", text);
    free(text);
    emp_method other = *c->entrant[0].method;
    other.is_outside = true;
    c->entrant[0].method = &other;
    expect_text("CPU s: unknown for methods that run outside this process, whose CPU");
    both[0] = (emp_compared_task){emp_fresh_task[0], EMP_TASKS_FRESH};
    both[1].set = EMP_TASKS_OWN;
    choose(NULL, "gpu");
    p.row = both;
    p.row_count = 2;
    p.draws = 0;
    make();
    expect_text("on 1 fresh task\n");
    expect_text("on 1 own task\n");
    p.row_count = 1;
    p.seed_count = EMP_INTERVAL_LEAST;
    make();
    expect_text("on 1 fresh task\n");
    expect_text("median of 6 seeds, 95 % interval below");
}

/* The bound of a task stands behind its title, however long the note is. */
Test(comparison, notes_have_the_bounds_of_all_tasks)
{
    char              title[3000] = "", text[EMP_SHEET_CELL_BYTES];
    emp_compared_task last = rows[0];

    memset(title, 'x', sizeof title - 1);
    last.task.title = title;
    choose(NULL, "gpu");
    p.row = &last;
    p.row_count = 1;
    p.draws = 0;
    make();
    cr_assert_gt(c->bound_s[0], 0.0);
    expect_text(emp_comparison_number(c->bound_s[0], text));
}

Test(comparison, one_that_is_stopped_says_what_was_run)
{
    choose("one", "expert,anneal");
    p.jobs = counted_jobs_stopped(2);
    cr_assert_eq(emp_comparison_make(&c, &p, NULL), EMP_EINTERRUPTED);
    expect_text("Partial: 2 of ");
    expect_text("median of at most 2 seeds");
}

static atomic_int stop_flag;

Test(comparison, stop_leaves_the_rest_blank)
{
    choose("one", "expert,anneal");
    stop_flag = 1;
    p.jobs.stop = &stop_flag;
    cr_assert_eq(emp_comparison_make(&c, &p, NULL), EMP_EINTERRUPTED);
    cr_assert_not_null(c);
    cr_expect(counted_runs == 0 && rescored_frac == 0);
    cr_expect(isnan(cell_of(0, 0, 0)->step_s.median));
    cr_expect(isnan(cell_of(0, 0, 0)->rank) && isnan(c->overall[0].mean_rank));
    free(print());
    expect_text("One layer");
}

/* Runs are on record, so that each trial is short. An allocation may fail where nothing is
 * lost by it, as in a record that is then made anew. */
Test(comparison, survives_allocation_failures)
{
    enum { ENOUGH = 20 };
    int succeeded = 0;

    choose("one", "expert,anneal");
    p.draws = 1;
    make();
    for (long allowed = 0; succeeded < ENOUGH; allowed++) {
        emp_comparison_destroy(c);
        cr_assert_eq(emp_mem_live_blocks(), 0, "leak after %ld allocations", allowed - 1);
        c = NULL;
        emp_mem_fail_after(allowed);
        emp_status st = emp_comparison_make(&c, &p, NULL);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld allocations: %s", allowed,
                  emp_status_str(st));
        cr_assert_eq(c != NULL, st == EMP_OK);
        succeeded = st == EMP_OK ? succeeded + 1 : 0;
    }
}
