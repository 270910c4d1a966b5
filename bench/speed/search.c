// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/options.h"
#include "base/work.h"
#include "bench/speed/speed.h"
#include "bench/speed/synthetic.h"
#include "bench/tables/paper.h"
#include "run/loop.h"
#include "run/methods.h"
#include "sim/engine/sim.h"

enum { RUN_OPS = 30000000, MOVES_MIN = 64, ROW_MOVES = 1000 };
enum { METHOD, ORACLE };

/* A search on a problem, and the oracle by itself. */
typedef struct {
    const emp_speed_params *params;
    const emp_problem      *problem;
    const emp_method       *method;
    emp_sim                *sim;
    int64_t                 moves; /* of a run */
    emp_record              record;
    /* When the first batch of the run ended, and the last. */
    int     batches;
    int64_t first, last; /* evaluations until then */
    double  first_s, last_s;
} stand;

static void note_batch(void *context, const emp_progress *progress)
{
    stand *s = (stand *)context;

    s->last = progress->evaluations;
    s->last_s = emp_clock_thread_s();
    if (s->batches++ > 0) return;
    s->first = s->last;
    s->first_s = s->last_s;
}

/* On one thread. Preparations, which end with the first batch, do not count. */
static emp_status run_search(stand *s, int32_t round, emp_error *err)
{
    const emp_run_params run = {
        .method = s->method,
        .placer = {.seed = s->params->seed + (uint64_t)round, .threads = 1},
        .budget_evaluations = s->moves,
        .progress = note_batch,
        .context = s};

    s->batches = 0;
    emp_record_clear(&s->record);
    EMP_CHECK(emp_run(&s->record, s->problem, &run, err));
    if (s->last > s->first) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s ended with its first batch on %d ops; there is nothing to time",
                     s->method->name, s->problem->graph->op_count);
}

static emp_status take(emp_speed_sample *sample, void *context, int32_t number,
                       int32_t round, emp_error *err)
{
    stand         *s = (stand *)context;
    emp_sim_result result;

    if (number == METHOD) {
        EMP_CHECK(run_search(s, round, err));
        sample->seconds = (s->last_s - s->first_s) / (double)(s->last - s->first);
        return EMP_OK;
    }
    const int64_t count = (s->last - s->first) / 4 + 1;
    const double  start_s = emp_clock_thread_s();
    for (int64_t i = 0; i < count; i++)
        EMP_CHECK(emp_sim_run(s->sim, s->record.decision.device_of_op, &result, err));
    sample->seconds = (emp_clock_thread_s() - start_s) / (double)count;
    return EMP_OK;
}

static emp_status measure_problem(emp_speed_table *table, const emp_speed_params *p,
                                  const char *name, const emp_problem *problem,
                                  int64_t moves, emp_error *err)
{
    static const emp_speed_way ways[] = {{"move", METHOD, 0},
                                         {"oracle alone", ORACLE, 0}};
    emp_status                 st = EMP_OK;
    stand                      s = {.params = p, .problem = problem, .moves = moves};
    const emp_method          *method[EMP_SPEED_MAX];
    int32_t                    count;

    EMP_TRY(emp_sim_create(&s.sim, problem, err));
    EMP_TRY(emp_methods_find(method, &count, EMP_SPEED_MAX, p->methods, err));
    for (int32_t i = 0; i < count; i++) {
        s.method = method[i];
        EMP_TRY(emp_speed_measure(table,
                                  &(emp_speed_task){name, s.method->name,
                                                    problem->graph->op_count, ways, 2,
                                                    p->repeats, take, &s},
                                  err));
    }

cleanup:
    emp_record_clear(&s.record);
    emp_sim_destroy(s.sim);
    return st;
}

static emp_status measure_size(emp_speed_table *table, const emp_speed_params *p,
                               const emp_machine *machine, const emp_runtime *runtime,
                               int32_t size, emp_error *err)
{
    const int64_t moves = p->moves > 0 ? p->moves : RUN_OPS / size;
    emp_status    st = EMP_OK;
    emp_graph    *graph = NULL;
    emp_problem  *problem = NULL;

    EMP_TRY(emp_synthetic_graph(&graph, size, p->seed, err));
    EMP_TRY(emp_problem_create(&problem, graph, machine, runtime, "synthetic", err));
    emp_synthetic_vary_costs(problem, p->seed);
    EMP_TRY(measure_problem(table, p, "synthetic", problem,
                            p->moves == 0 && moves < MOVES_MIN ? MOVES_MIN : moves, err));

cleanup:
    emp_problem_destroy(problem);
    emp_graph_destroy(graph);
    return st;
}

/* Each row is on its own machine. */
static emp_status measure_row(emp_speed_table *table, const emp_speed_params *p,
                              const emp_runtime *runtime, const emp_task *row,
                              emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_loaded_task loaded = {0};

    EMP_TRY(emp_tasks_load(&loaded, row, 1, runtime, 1, err));
    EMP_TRY(measure_problem(table, p, row->key, loaded.problem,
                            p->moves > 0 ? p->moves : ROW_MOVES, err));

cleanup:
    emp_tasks_clear(&loaded, 1);
    return st;
}

emp_status emp_speed_search(emp_speed_table *table, const emp_speed_params *p,
                            emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine = NULL;
    emp_runtime  runtime;
    const char  *rows[EMP_PAPER_TASKS + 2] = {[EMP_PAPER_TASKS] = "all"};

    emp_speed_table_init(table, "us", 1e6);
    EMP_TRY(emp_runtime_init(&runtime, p->runtime, err));
    EMP_TRY(emp_machine_load(&machine, p->machine, err));
    for (int32_t i = 0; p->rows == NULL && i < p->sizes.count; i++)
        EMP_TRY(measure_size(table, p, machine, &runtime, p->sizes.value[i], err));
    for (int i = 0; i < EMP_PAPER_TASKS; i++) rows[i] = emp_paper_task[i].key;
    EMP_TRY(emp_speed_check_words(p->rows, "Table 1 has no row", rows, err));
    for (int32_t i = 0; p->rows != NULL && i < EMP_PAPER_TASKS; i++) {
        const char *key = emp_paper_task[i].key;
        if (emp_word_list_has(p->rows, "all") || emp_word_list_has(p->rows, key))
            EMP_TRY(measure_row(table, p, &runtime, &emp_paper_task[i], err));
    }
    emp_sheet_note(&table->sheet,
                   "CPU time of a thread for a move that is made and scored, and for the "
                   "oracle alone on the best placement.");

cleanup:
    emp_machine_destroy(machine);
    return st;
}
