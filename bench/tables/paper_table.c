// SPDX-License-Identifier: GPL-3.0-or-later
/* Makes a table of the paper. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/options.h"
#include "base/text/text.h"
#include "bench/tables/paper.h"
#include "bench/tables/table.h"
#include "run/methods.h"
#include "run/outside/outside.h"
#include "sim/bounds/bounds.h"

const emp_paper_table *emp_paper_table_find(const char *name)
{
    static const emp_paper_table *const tables[] = {&emp_paper_table1, &emp_paper_table2};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i]->name, name) == 0) return tables[i];
    }
    return NULL;
}

struct plan {
    const emp_paper_table   *definition;
    emp_paper_table          extended; /* with columns of the user's own methods */
    emp_paper_column         columns[EMP_PAPER_MAX_COLUMNS];
    const emp_trials_params *params;
    emp_table               *table;
    int32_t column_of[EMP_PAPER_MAX_COLUMNS]; /* of the definition, by ours */
    int32_t twin[EMP_PAPER_MAX_COLUMNS]; /* first column with the same runs, or itself */
    emp_trials_tasks tasks;
    emp_trials       trials; /* [row][column]; gains and twins have no runs */
    struct {
        bool             is_known, is_impossible;
        emp_paper_demand demand[EMP_PAPER_SINGLE_DEVICES];
    } published[EMP_PAPER_TASKS]; /* of the published size of a task */
};

static const emp_paper_column *definition_of(const struct plan *plan, int32_t column)
{
    return &plan->definition->column[plan->column_of[column]];
}

/* ---- methods of the user's own ---- */

/* The column whose budget and seeds others of a user get; NULL: the table compares something else. */
static const emp_paper_column *find_template(const emp_paper_table *d)
{
    for (int32_t i = 0; i < d->column_count; i++)
        if (strcmp(d->column[i].key, "refine") == 0) return &d->column[i];
    return NULL;
}

static emp_status add_own_column(struct plan *plan, const char *name, emp_error *err)
{
    const emp_method *method = NULL;

    if (plan->extended.column_count == EMP_PAPER_MAX_COLUMNS)
        return EMP_ERROR(EMP_EINVAL, "a table has %d columns at most",
                         EMP_PAPER_MAX_COLUMNS);
    EMP_CHECK(emp_method_find(&method, name, err));
    emp_paper_column *c = &plan->columns[plan->extended.column_count++];
    *c = *find_template(plan->definition);
    c->key = c->column.title = c->column.method = method->name; /* static storage */
    return EMP_OK;
}

/* Appends a column for each method from outside that the list of columns names. */
static emp_status add_own_columns(struct plan *plan, emp_error *err)
{
    const emp_paper_table *d = plan->definition;
    char                   name[EMP_RECORD_TEXT_BYTES];

    if (plan->params->arms == NULL || find_template(d) == NULL) return EMP_OK;
    plan->extended = *d;
    plan->extended.column = plan->columns;
    memcpy(plan->columns, d->column, (size_t)d->column_count * sizeof *d->column);
    for (const char *at = plan->params->arms; at != NULL;) {
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (emp_outside_is_name(name)) EMP_CHECK(add_own_column(plan, name, err));
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    plan->definition = &plan->extended;
    return EMP_OK;
}

/* ---- layout ---- */

static const char *column_key(const void *context, int32_t i)
{
    const emp_paper_table *d = (const emp_paper_table *)context;

    return i < d->column_count ? d->column[i].key : NULL;
}

static emp_status choose(struct plan *plan, emp_error *err)
{
    const emp_paper_table   *d = plan->definition;
    const emp_trials_params *p = plan->params;
    char                     what[64];

    if (p->seed_count < 0 || p->seed_count > EMP_TRIALS_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                         EMP_TRIALS_SEEDS);
    snprintf(what, sizeof what, "table %s has no row", d->name);
    EMP_CHECK(
        emp_trials_choose(&plan->tasks, d->row, d->row_count, p->rows, NULL, what, err));
    snprintf(what, sizeof what, "table %s has no method", d->name);
    return emp_word_list_check(p->arms, what, column_key, d, err);
}

static int32_t seed_count_of(const emp_paper_column *column, const emp_trials_params *p)
{
    if (column->column.seed_count <= 1) return 1;
    if (p->seed_count > 0) return p->seed_count;
    if (p->is_full) return column->column.seed_count;
    return column->first_seed_count > 0 ? column->first_seed_count : 1;
}

/* How many seeds all columns that draw have; 0 if they differ. */
static int32_t common_seed_count(const emp_paper_table *d, const emp_trials_params *p)
{
    int32_t common = 0;

    for (int32_t i = 0; i < d->column_count; i++) {
        int32_t seeds = seed_count_of(&d->column[i], p);
        if (d->column[i].column.seed_count <= 1) continue;
        if (common > 0 && seeds != common) return 0;
        common = seeds;
    }
    return common;
}

static void describe_command(const struct plan *plan, char *command, size_t size)
{
    const emp_trials_params *p = plan->params;
    emp_text                 text = {command, size, 0};
    int32_t                  seeds = common_seed_count(plan->definition, p);

    emp_text_add(&text, "scripts/emplace table %s%s", plan->definition->name,
                 p->is_full ? " --full" : "");
    if (seeds > 0) emp_text_add(&text, " --seeds %d", seeds);
    if (p->budget > 0) emp_text_add(&text, " --budget %" PRId64, p->budget);
    emp_text_add_option(&text, "rows", p->rows);
    emp_text_add_option(&text, "methods", p->arms);
    if (strcmp(p->runtime, "tf-r1.3") != 0)
        emp_text_add_option(&text, "runtime", p->runtime);
}

static void lay_out_column(struct plan *plan, int32_t c)
{
    const emp_trials_params *p = plan->params;
    const emp_paper_column  *from = definition_of(plan, c);
    emp_table_column        *column = &plan->table->column[c];

    *column = from->column;
    column->full_budget = from->column.budget;
    column->full_seed_count = from->column.seed_count;
    column->seed_count = seed_count_of(from, p);
    if (!p->is_full && from->first_budget > 0) column->budget = from->first_budget;
    if (p->budget > 0 && column->budget > 0 && !from->keeps_budget)
        column->budget = p->budget;
    plan->twin[c] = c;
    for (int32_t other = c - 1; other >= 0; other--) {
        if (emp_table_has_same_runs(column, &plan->table->column[other]))
            plan->twin[c] = other;
    }
}

static const char *key_of(const emp_paper_table *d, const char *title)
{
    int32_t c = 0;

    while (strcmp(d->column[c].column.title, title) != 0) c++;
    return d->column[c].key;
}

/* A gain without the columns that it compares has nothing to show. */
static void note_gains(struct plan *plan)
{
    const emp_paper_table *d = plan->definition;
    const char            *methods = plan->params->arms;
    emp_table             *t = plan->table;
    emp_text               note = {t->gain_note, sizeof t->gain_note, 0};

    for (int32_t c = 0; c < t->column_count; c++) {
        const emp_paper_column *gain = definition_of(plan, c);
        if (gain->column.shown != EMP_SHOWN_GAIN) continue;
        const char *of = key_of(d, gain->of), *over = key_of(d, gain->over);
        if (emp_word_list_has(methods, of) && emp_word_list_has(methods, over)) continue;
        emp_text_add(&note,
                     "%s compares the columns \"%s\" and \"%s\": --methods %s,%s,%s.",
                     gain->column.title, gain->of, gain->over, of, over, gain->key);
    }
}

/* Rows have keys of the paper's tasks. */
static int32_t task_of(const emp_task *row)
{
    int32_t task = emp_paper_find(row->key);

    assert(task >= 0);
    return task;
}

static emp_status lay_out(struct plan *plan, emp_error *err)
{
    const emp_trials_params *p = plan->params;
    const emp_paper_table   *d = plan->definition;
    int32_t                  column_count = 0;

    EMP_CHECK(choose(plan, err));
    for (int32_t i = 0; i < d->column_count; i++)
        if (emp_word_list_has(p->arms, d->column[i].key))
            plan->column_of[column_count++] = i;
    EMP_CHECK(emp_table_create(&plan->table, plan->tasks.count, column_count, err));
    emp_table *t = plan->table;
    t->title = d->title;
    t->source = d->source;
    t->note = d->note;
    describe_command(plan, t->command, sizeof t->command);
    for (int32_t c = 0; c < column_count; c++) lay_out_column(plan, c);
    note_gains(plan);
    for (int32_t r = 0; r < t->row_count; r++) {
        t->row[r] = plan->tasks.task[r];
        for (int32_t c = 0; c < column_count; c++)
            if (definition_of(plan, c)->paper != NULL)
                emp_table_at(t, r, c)->paper_s =
                    definition_of(plan, c)->paper(task_of(&t->row[r]));
    }
    return EMP_OK;
}

/* ---- tasks and runs ---- */

/* Constants were fitted to rows of the paper's sizes, which are the defaults. */
static bool has_paper_sizes(const emp_task *row)
{
    return strcmp(row->spec, emp_paper_task[task_of(row)].spec) == 0;
}

static bool is_one_impossible(const emp_paper_demand demand[EMP_PAPER_SINGLE_DEVICES])
{
    return emp_paper_is_impossible(&demand[0]) || emp_paper_is_impossible(&demand[1]);
}

/* Looks whether the reported times rule out the published size of a row's task. */
static emp_status look_at_published(struct plan *plan, int32_t row,
                                    const emp_runtime *runtime, emp_error *err)
{
    const int32_t   task = task_of(&plan->table->row[row]);
    emp_loaded_task loaded = {0};
    emp_problem    *problem = plan->tasks.loaded[row].problem;
    emp_status      st = EMP_OK;

    if (plan->published[task].is_known) return EMP_OK;
    if (!has_paper_sizes(&plan->table->row[row])) {
        EMP_TRY(emp_tasks_load(&loaded, &emp_paper_task[task], 1, runtime, 1, err));
        problem = loaded.problem;
    }
    emp_paper_demands(plan->published[task].demand, problem, task);
    plan->published[task].is_impossible = is_one_impossible(plan->published[task].demand);
    plan->published[task].is_known = true;

cleanup:
    emp_tasks_clear(&loaded, 1);
    return st;
}

/* The arithmetic of a size that reported times rule out. */
static void note_impossible(emp_table *t, const emp_task *row,
                            const emp_paper_demand demand[EMP_PAPER_SINGLE_DEVICES])
{
    const size_t used = strlen(t->impossible_note);
    emp_text     note = {t->impossible_note, sizeof t->impossible_note, used};
    const char  *before = "; ";

    emp_text_add(&note, "%s%s does %.2f TFLOP", used > 0 ? " " : "", row->spec,
                 demand[0].flops * 1e-12);
    for (int32_t i = 0; i < EMP_PAPER_SINGLE_DEVICES; i++) {
        const emp_paper_demand *d = &demand[i];
        if (!emp_paper_is_impossible(d)) continue;
        emp_text_add(&note,
                     "%sthe reported %.2f s ask for %.1f TFLOP/s of a %s whose peak is "
                     "%.2f",
                     before, d->paper_s, emp_paper_asked(d) * 1e-12, d->device,
                     d->peak_flops_per_s * 1e-12);
        before = ", and ";
    }
    emp_text_add(&note, ".");
}

/* Gives the cells of single devices their demands. Returns the origin that all cells of a row with a reported
 * figure share; EMP_ORIGIN_BARE: none. */
static emp_origin look_at_row(struct plan *plan, int32_t r)
{
    emp_table       *t = plan->table;
    const int32_t    task = task_of(&t->row[r]);
    emp_paper_demand demand[EMP_PAPER_SINGLE_DEVICES];

    emp_paper_demands(demand, plan->tasks.loaded[r].problem, task);
    for (int32_t i = 0; i < t->column_count * EMP_PAPER_SINGLE_DEVICES; i++) {
        const emp_paper_demand *d = &demand[i % EMP_PAPER_SINGLE_DEVICES];
        const int32_t           c = i / EMP_PAPER_SINGLE_DEVICES;
        if (strcmp(t->column[c].method, d->method) != 0) continue;
        emp_table_at(t, r, c)->asked_flops_per_s = emp_paper_asked(d);
        emp_table_at(t, r, c)->peak_flops_per_s = d->peak_flops_per_s;
    }
    if (is_one_impossible(demand)) {
        note_impossible(t, &t->row[r], demand);
        return EMP_ORIGIN_OTHER;
    }
    return plan->published[task].is_impossible ? EMP_ORIGIN_INFERRED : EMP_ORIGIN_BARE;
}

/* A cell is fitted if the constants of the row's machine were fitted to it; the model
 * files say so. All machines of the paper have the same models. */
static emp_origin cell_origin(const struct plan *plan, int32_t r, const char *method)
{
    const emp_task *row = &plan->table->row[r];
    char            name[EMP_FIT_NAME_BYTES];

    if (!has_paper_sizes(row)) return EMP_ORIGIN_BARE;
    snprintf(name, sizeof name, "%s:%s", row->key, method);
    if (emp_machine_is_fitted_to(plan->tasks.loaded[r].machine, name))
        return EMP_ORIGIN_FITTED;
    return emp_paper_is_inferred(name) ? EMP_ORIGIN_INFERRED : EMP_ORIGIN_BARE;
}

static void mark_chosen(struct plan *plan)
{
    emp_table *t = plan->table;

    for (int32_t r = 0; r < t->row_count; r++) {
        const emp_problem *problem = plan->tasks.loaded[r].problem;
        const emp_origin   shared = look_at_row(plan, r);
        t->fitted_constants =
            problem->machine->fitted_constants + problem->runtime.fitted_constants;
        for (int32_t c = 0; c < t->column_count; c++) {
            emp_table_cell *cell = emp_table_at(t, r, c);
            cell->origin = shared != EMP_ORIGIN_BARE && !isnan(cell->paper_s)
                               ? shared
                               : cell_origin(plan, r, t->column[c].method);
        }
    }
}

/* Rows of other sizes whose published size is not a row itself need its arithmetic. */
static void note_published(struct plan *plan)
{
    emp_table *t = plan->table;
    bool       is_row[EMP_PAPER_TASKS] = {false};

    for (int32_t r = 0; r < t->row_count; r++)
        if (has_paper_sizes(&t->row[r])) is_row[task_of(&t->row[r])] = true;
    for (int32_t task = 0; task < EMP_PAPER_TASKS; task++)
        if (plan->published[task].is_impossible && !is_row[task])
            note_impossible(t, &emp_paper_task[task], plan->published[task].demand);
}

static emp_status load_tasks(struct plan *plan, emp_error *err)
{
    emp_table  *t = plan->table;
    emp_runtime runtime;

    EMP_CHECK(emp_runtime_init(&runtime, plan->params->runtime, err));
    EMP_CHECK(emp_trials_load(&plan->tasks, plan->params->runtime,
                              plan->params->jobs.threads, err));
    snprintf(t->runtime, sizeof t->runtime, "%s", plan->tasks.runtime);
    for (int32_t r = 0; r < t->row_count; r++)
        EMP_CHECK(look_at_published(plan, r, &runtime, err));
    note_published(plan);
    mark_chosen(plan);
    return EMP_OK;
}

/* A gain is computed from other columns; twins share the runs of the first. */
static bool has_own_runs(const struct plan *plan, int32_t column)
{
    return plan->table->column[column].shown != EMP_SHOWN_GAIN &&
           plan->twin[column] == column;
}

static emp_status add_jobs(struct plan *plan, emp_error *err)
{
    const emp_table *t = plan->table;
    const int32_t    cells = t->row_count * t->column_count;
    int32_t          runs = 0;

    for (int32_t c = 0; c < t->column_count; c++)
        runs += has_own_runs(plan, c) ? t->column[c].seed_count : 0;
    EMP_CHECK(emp_trials_reserve(&plan->trials, cells, runs * t->row_count, err));
    for (int32_t i = 0; i < cells; i++) {
        const int32_t           c = i % t->column_count;
        const emp_table_column *column = &t->column[c];
        const emp_job_method    method = {.title = column->title,
                                          .method = column->method,
                                          .preset = column->preset,
                                          .options = column->options,
                                          .budget = column->budget};
        EMP_CHECK(emp_trials_add(&plan->trials, &plan->tasks, i / t->column_count,
                                 &method, has_own_runs(plan, c) ? column->seed_count : 0,
                                 err));
    }
    return EMP_OK;
}

/* ---- the table ---- */

static const emp_table_cell *find_cell(const struct plan *plan, int32_t row,
                                       const char *title)
{
    const emp_table *t = plan->table;

    for (int32_t c = 0; c < t->column_count; c++) {
        if (strcmp(t->column[c].title, title) == 0) return emp_table_at(t, row, c);
    }
    return NULL;
}

static void fill_gain(struct plan *plan, int32_t row, int32_t column)
{
    const emp_paper_column *d = definition_of(plan, column);
    const emp_table_cell   *of = find_cell(plan, row, d->of);
    const emp_table_cell   *over = find_cell(plan, row, d->over);

    if (of != NULL && over != NULL && isfinite(of->shown) && isfinite(over->shown))
        emp_table_at(plan->table, row, column)->shown = 1.0 - of->shown / over->shown;
}

/* True if the lower bound for placements with GPU kernels on GPUs holds for all runs of a cell. */
static bool keep_gpu_kernels(const emp_problem *problem, const emp_record *const *records,
                             int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (!emp_trials_keeps_gpu_kernels(problem, records[i])) return false;
    return count > 0;
}

/* Cells that share runs show them each in its own way; gains compare cells. */
static void fill_row(struct plan *plan, int32_t r)
{
    const emp_record *records[EMP_TRIALS_SEEDS];
    emp_table        *t = plan->table;

    for (int32_t c = 0; c < t->column_count; c++) {
        int32_t        count, ready = 0;
        const emp_job *job =
            emp_trials_cell(&plan->trials, r * t->column_count + plan->twin[c], &count);
        for (int32_t s = 0; s < count; s++)
            if (job[s].is_ready) records[ready++] = &job[s].record;
        if (ready > 0) emp_table_fill(t, r, c, records, ready);
        emp_table_at(t, r, c)->keeps_gpu_kernels =
            keep_gpu_kernels(plan->tasks.loaded[r].problem, records, ready);
    }
    for (int32_t c = 0; c < t->column_count; c++)
        if (t->column[c].shown == EMP_SHOWN_GAIN) fill_gain(plan, r, c);
}

static emp_status find_bound(void *context, int32_t row, emp_error *err)
{
    struct plan *plan = (struct plan *)context;
    emp_bounds   bounds;

    EMP_CHECK(emp_bounds_compute(&bounds, plan->tasks.loaded[row].problem,
                                 &(emp_bounds_options){.effort = EMP_BOUNDS_EFFORT},
                                 err));
    plan->table->bound[row] =
        (emp_table_bound){.any_s = (double)bounds.best_ns * 1e-9,
                          .gpu_kernels_s = (double)bounds.gpu_kernels_ns * 1e-9};
    return EMP_OK;
}

emp_status emp_paper_table_make(emp_table **out, const emp_paper_table *definition,
                                const emp_trials_params *params, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct plan plan = {.definition = definition, .params = params};

    *out = NULL;
    EMP_TRY(add_own_columns(&plan, err));
    EMP_TRY(lay_out(&plan, err));
    EMP_TRY(load_tasks(&plan, err));
    EMP_TRY(add_jobs(&plan, err));
    st = emp_trials_run(&plan.trials, &params->jobs, err);
    if (st != EMP_OK && st != EMP_EINTERRUPTED) goto cleanup;
    if (st == EMP_OK)
        EMP_TRY(emp_trials_each(plan.table->row_count, params->jobs.threads, find_bound,
                                &plan, err));
    plan.table->runs_made = emp_trials_ready(&plan.trials);
    plan.table->runs_planned = plan.trials.job_count;
    for (int32_t r = 0; r < plan.table->row_count; r++) fill_row(&plan, r);
    emp_table_trace_origins(plan.table);
    *out = plan.table;
    plan.table = NULL;

cleanup:
    emp_trials_clear(&plan.trials);
    emp_trials_tasks_clear(&plan.tasks);
    emp_table_destroy(plan.table);
    return st;
}
