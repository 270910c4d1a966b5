// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/process.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text/options.h"
#include "base/work.h"
#include "bench/speed/speed.h"
#include "bench/speed/synthetic.h"
#include "search/order.h"
#include "sim/engine/sim.h"
#include "tests/support/plain/textbook.h"

/* ---- simulators that run as programs of their own ---- */

/* The first of them warms caches and allocators up. */
enum { RUNS = 2, LINE_BYTES = 4096 };

/* A program and its first argument; the file and the runs follow. */
static const char *const program_of[][2] = {
    [EMP_PEER_SIMGRID_FIFO] = {EMP_SIMGRID_ORACLE, "fifo"},
    [EMP_PEER_SIMGRID_DAG] = {EMP_SIMGRID_ORACLE, "dag"},
    [EMP_PEER_PYTHON] = {"python3", EMP_HEAPQ_ORACLE},
};

const char *emp_peer_absence(emp_peer_kind kind)
{
    if (kind != EMP_PEER_PYTHON) {
        return access(EMP_SIMGRID_ORACLE, X_OK) == 0
                   ? NULL
                   : "SimGrid was not there when this was built: install libsimgrid-dev "
                     "and "
                     "g++, and configure again (scripts/test --peers does)";
    }
    const char *const python[] = {"python3", "-c", "", NULL};
    if (!emp_program_succeeds(python)) return "there is no python3";
    return access(EMP_HEAPQ_ORACLE, R_OK) == 0 ? NULL : EMP_HEAPQ_ORACLE " is missing";
}

/* "0.001062912 6146581 0 150025216": seconds, step time, peaks if it knows them. */
static bool parse_line(emp_peer_run *run, const char *line)
{
    int used = 0;

    memset(run, 0, sizeof *run);
    if (sscanf(line, "%lf %" SCNd64 "%n", &run->cpu_s, &run->step_time_ns, &used) != 2)
        return false;
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) {
        int more = 0;
        if (sscanf(line + used, "%" SCNd64 "%n", &run->peak_bytes[d], &more) != 1) break;
        used += more;
    }
    return true;
}

static emp_status read_runs(emp_peer_run *run, const char *const *argument,
                            emp_error *err)
{
    emp_program program = emp_program_open(argument);
    const int   cause = errno;
    const bool  is_started = program.output != NULL;
    char        line[LINE_BYTES];
    int         line_count = 0;

    while (is_started && fgets(line, sizeof line, program.output) != NULL)
        line_count += parse_line(run, line);
    const bool has_succeeded = emp_program_close(&program);
    if (!is_started)
        return EMP_ERROR(EMP_EIO, "%s cannot be started: %s", argument[0],
                         strerror(cause));
    if (!has_succeeded || line_count != RUNS)
        return EMP_ERROR(EMP_EEXTERNAL, "this failed: %s %s", argument[0], argument[1]);
    return EMP_OK;
}

/* ---- the file, which README.md describes ---- */

/* A placed problem. Ops that are folded are not in the file; the others are numbered in topological
 * order. */
typedef struct {
    const emp_problem   *problem;
    const emp_graph     *g;
    const emp_device_id *device_of_op;
    int32_t *op, *tensor; /* numbers in the file by the graph's; -1 = folded */
    int32_t  op_count, tensor_count;
    FILE    *file;
} writer;

static emp_status number(writer *w, emp_error *err)
{
    const emp_graph *g = w->g;

    EMP_CHECK(EMP_ALLOC(w->op, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(w->tensor, (size_t)g->tensor_count));
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const bool      is_live = !g->op[op].is_folded;
        w->op[op] = is_live ? w->op_count++ : -1;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
            w->tensor[t] = is_live ? w->tensor_count++ : -1;
    }
    return EMP_OK;
}

static int64_t whole_granules(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/* Memory in which an op has a tensor that is its device's, or the host's. */
static int32_t memory_of(const writer *w, emp_op_id op, bool on_host)
{
    const emp_device_id device = w->device_of_op[op];

    return on_host ? w->problem->machine->device[device].host : device;
}

/* 0: a new buffer, 1: the first input's buffer, 2: nothing. */
static int kind_of_output(const writer *w, emp_op_id op)
{
    if (!w->g->op[op].is_alias) return 0;
    return w->tensor[w->g->input[w->g->input_offset[op]]] < 0 ? 2 : 1;
}

static void write_op(const writer *w, emp_op_id op)
{
    const emp_graph      *g = w->g;
    const emp_cost_table *costs = w->problem->costs;
    const emp_device_id   device = w->device_of_op[op];
    const bool    is_cpu = w->problem->machine->device[device].kind == EMP_DEVICE_CPU;
    const size_t  row = emp_cost_row(costs, device, op);
    const int32_t outputs = g->output_offset[op + 1] - g->output_offset[op];
    int32_t       inputs = 0, followers = 0;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        inputs += w->tensor[g->input[i]] >= 0;
    fprintf(w->file, "%d %" PRId64 " %" PRId64 " %" PRId64 " %d %d %d %d", device,
            is_cpu ? costs->cpu[row].compute_ns : costs->gpu[row].compute_ns,
            whole_granules(g->op[op].cost->workspace_bytes),
            whole_granules(g->op[op].persistent_bytes), kind_of_output(w, op),
            outputs > 0 ? w->tensor[g->output_offset[op]] : 0, outputs, inputs);
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const bool on_host = emp_op_reads_on_host(&g->op[op], i - g->input_offset[op]);
        if (w->tensor[g->input[i]] >= 0)
            fprintf(w->file, " %d %d", w->tensor[g->input[i]], memory_of(w, op, on_host));
    }
    for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1]; i++)
        followers += w->op[g->control_out[i]] >= 0;
    fprintf(w->file, " %d", followers);
    for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1]; i++)
        if (w->op[g->control_out[i]] >= 0)
            fprintf(w->file, " %d", w->op[g->control_out[i]]);
    fputc('\n', w->file);
}

/* An op that reads a tensor by two inputs is among its readers twice, in the order of inputs. */
static void write_tensor(const writer *w, emp_tensor_id t)
{
    const emp_graph  *g = w->g;
    const emp_tensor *tensor = &g->tensor[t];
    int32_t           readers = 0, input = 0;

    for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++)
        readers += w->op[g->consumer[i]] >= 0;
    fprintf(w->file, "%d %" PRId64 " %" PRId64 " %" PRId64 " %d",
            memory_of(w, tensor->producer, tensor->on_host),
            whole_granules(tensor->bytes), whole_granules(tensor->copy_bytes),
            tensor->copy_bytes, readers);
    for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++) {
        const emp_op_id op = g->consumer[i];
        const bool      is_again = i > g->consumer_offset[t] && op == g->consumer[i - 1];
        input = is_again ? input + 1 : 0;
        while (g->input[g->input_offset[op] + input] != t) input++;
        if (w->op[op] >= 0)
            fprintf(w->file, " %d %d", w->op[op],
                    memory_of(w, op, emp_op_reads_on_host(&g->op[op], input)));
    }
    fputc('\n', w->file);
}

static void write_machine(const writer *w)
{
    const emp_machine *m = w->problem->machine;

    fprintf(w->file, "%d %d %d %d\n", m->device_count, m->link_count, w->op_count,
            w->tensor_count);
    for (int32_t d = 0; d < m->device_count; d++)
        fprintf(w->file, "%d%c", m->device[d].host, d + 1 < m->device_count ? ' ' : '\n');
    for (int32_t i = 0; i < m->device_count * m->device_count; i++) {
        const int32_t    from = i / m->device_count, to = i % m->device_count;
        const emp_route *r = &m->route[from][to];
        if (from == to) {
            fputs("0 0 0\n", w->file);
            continue;
        }
        fprintf(w->file, "%" PRId64 " %.17g %d", emp_ns_of_seconds(r->latency_s),
                1e9 / r->bytes_per_s, r->link_count);
        for (int32_t k = 0; k < r->link_count; k++) fprintf(w->file, " %d", r->link[k]);
        fputc('\n', w->file);
    }
}

static void write_problem(const writer *w)
{
    write_machine(w);
    for (int32_t i = 0; i < w->g->op_count; i++)
        if (w->op[w->g->topo[i]] >= 0) write_op(w, w->g->topo[i]);
    for (int32_t i = 0; i < w->g->op_count; i++) {
        const emp_op_id op = w->g->topo[i];
        if (w->op[op] < 0) continue;
        for (int32_t t = w->g->output_offset[op]; t < w->g->output_offset[op + 1]; t++)
            write_tensor(w, t);
    }
}

emp_status emp_peer_measure(emp_peer_run *run, emp_peer_kind kind,
                            const emp_problem *problem, const emp_device_id *device_of_op,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    writer w = {.problem = problem, .g = problem->graph, .device_of_op = device_of_op};
    char   path[EMP_PROGRAM_PATH_BYTES], runs[16];

    EMP_TRY(number(&w, err));
    EMP_TRY(emp_program_create_input(&w.file, err));
    write_problem(&w);
    EMP_TRY(emp_program_finish_input(w.file, path, err));
    snprintf(runs, sizeof runs, "%d", RUNS);
    EMP_TRY(read_runs(
        run,
        (const char *const[]){program_of[kind][0], program_of[kind][1], path, runs, NULL},
        err));

cleanup:
    if (w.file != NULL) fclose(w.file);
    emp_free(w.op);
    emp_free(w.tensor);
    return st;
}

enum {
    /* Ops that a sample simulates at least. A search runs step after step, so the time of many
     * counts. */
    BATCH_OPS = 500000, /* scripts/instructions knows it */
    /* In different placements: too many for a branch predictor, and few enough to stay in the
     * second-level cache, where a search has just written the next one. */
    POOL_OPS = 1 << 18,
    STREAM_LEVELS = 16, /* of the seed, away from synthetic.c's */
    NO_PEER = -1
};

/* All that can be timed. A way is an oracle under a runtime profile unless it is a peer. */
static const struct {
    const char *name, *runtime, *list; /* an option's list that names it */
    bool        has_levels;
    bool        has_models;    /* as if each device were of a model of its own */
    bool        is_comparable; /* its step time is to equal the one of `ideal` */
    int32_t     peer, most_ops;
    double      tolerance;
} ways[] = {
    {"ideal", "ideal", NULL, false, false, true, NO_PEER, INT32_MAX, 0},
    {"tf-r1.3", "tf-r1.3", NULL, false, false, false, NO_PEER, INT32_MAX, 0},
    {"ideal-levels", "ideal", NULL, true, false, false, NO_PEER, INT32_MAX, 0},
    {"tf-r1.3-levels", "tf-r1.3", NULL, true, false, false, NO_PEER, INT32_MAX, 0},
    {"ideal-models", "ideal", NULL, false, true, true, NO_PEER, INT32_MAX, 0},
    {"tf-r1.3-models", "tf-r1.3", NULL, false, true, false, NO_PEER, INT32_MAX, 0},
    {"textbook", NULL, "textbook", false, false, true, NO_PEER, INT32_MAX, 0},
    {"simgrid-fifo", NULL, "simgrid", false, false, true, EMP_PEER_SIMGRID_FIFO, 100000,
     1e-3},
    {"simgrid-dag", NULL, "simgrid", false, false, false, EMP_PEER_SIMGRID_DAG, 10000, 0},
    {"python", NULL, "python", false, false, true, EMP_PEER_PYTHON, 10000, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

/* One graph, its simulators, and the placements that all of them run. */
typedef struct {
    const emp_speed_params *params;
    const emp_machine      *machine;
    const char             *source; /* NULL: synthetic */
    emp_graph              *graph;
    int32_t                 op_count; /* that are not folded */
    emp_machine            *unlike;   /* as the machine, with a model for each device */
    emp_problem            *ideal, *problem[WAYS];
    emp_sim                *sim[WAYS];
    struct textbook        *book;
    emp_device_id          *pool; /* [pool_count * graph->op_count] */
    int32_t                 pool_count;
    uint8_t                *level; /* [graph->op_count] */
    emp_speed_way           way[WAYS];
    int32_t                 way_count;
} stand;

static void tear_down(stand *s)
{
    for (int i = 0; i < WAYS; i++) {
        emp_sim_destroy(s->sim[i]);
        emp_problem_destroy(s->problem[i]);
    }
    textbook_destroy(s->book);
    emp_problem_destroy(s->ideal);
    emp_machine_destroy(s->unlike);
    emp_free(s->pool);
    emp_free(s->level);
    emp_graph_destroy(s->graph);
}

static emp_status create_problem(emp_problem **problem, const stand *s,
                                 const emp_machine *machine, const char *profile,
                                 emp_error *err)
{
    const char *name = s->source != NULL ? s->source : "synthetic";
    emp_runtime runtime;

    EMP_CHECK(emp_runtime_init(&runtime, profile, err));
    EMP_CHECK(emp_problem_create(problem, s->graph, machine, &runtime, name, err));
    if (s->source == NULL) emp_synthetic_vary_costs(*problem, s->params->seed);
    return EMP_OK;
}

static bool is_asked(const emp_speed_params *p, int way)
{
    if (ways[way].list != NULL) return emp_word_list_has(p->peers, ways[way].list);
    return emp_word_list_has(p->profiles, ways[way].name);
}

/* Whether the way is asked for and can run on the graph. */
static bool can_run(const stand *s, int way)
{
    const int32_t peer = ways[way].peer;

    if (!is_asked(s->params, way) || s->op_count > ways[way].most_ops) return false;
    return peer == NO_PEER || (s->graph->collective == NULL &&
                               emp_peer_absence((emp_peer_kind)peer) == NULL);
}

static emp_status add_ways(stand *s, emp_error *err)
{
    for (int i = 0; i < WAYS; i++) {
        if (!can_run(s, i)) continue;
        s->way[s->way_count++] = (emp_speed_way){ways[i].name, i, ways[i].tolerance};
        if (ways[i].runtime == NULL) continue;
        EMP_CHECK(create_problem(&s->problem[i], s,
                                 ways[i].has_models ? s->unlike : s->machine,
                                 ways[i].runtime, err));
        EMP_CHECK(emp_sim_create(&s->sim[i], s->problem[i], err));
    }
    if (s->way_count == 0)
        return EMP_ERROR(EMP_EINVAL, "nothing that was asked for can simulate %d ops",
                         s->op_count);
    return EMP_OK;
}

/* Its devices have the same costs, in columns of their own. */
static emp_status create_unlike(stand *s, emp_error *err)
{
    s->unlike = emp_machine_copy(s->machine);
    if (s->unlike == NULL) return EMP_ERROR(EMP_ENOMEM, "machine of unlike devices");
    for (int32_t d = 0; d < s->unlike->device_count; d++) s->unlike->device[d].model = d;
    return EMP_OK;
}

/* Runs in a sample. */
static int32_t count_runs(int32_t op_count) { return 1 + (BATCH_OPS - 1) / op_count; }

/* Different placements. The run that warms up follows the last one of a sample, and must not be its
 * first. */
static int32_t count_placements(int32_t op_count)
{
    int32_t enough = POOL_OPS / op_count, count = enough > 2 ? enough : 2;

    return count_runs(op_count) % count == 0 ? count + 1 : count;
}

/* \a op_count: of a synthetic graph. */
static emp_status set_up(stand *s, int32_t op_count, emp_error *err)
{
    if (s->source != NULL)
        EMP_CHECK(emp_graph_load(&s->graph, s->source, err));
    else
        EMP_CHECK(emp_synthetic_graph(&s->graph, op_count, s->params->seed, err));
    const size_t ops = (size_t)s->graph->op_count;
    for (size_t op = 0; op < ops; op++) s->op_count += !s->graph->op[op].is_folded;
    if (s->op_count == 0)
        return EMP_ERROR(EMP_EINVAL, "%s has no op that a step runs", s->source);
    EMP_CHECK(create_unlike(s, err));
    EMP_CHECK(create_problem(&s->ideal, s, s->machine, "ideal", err));
    EMP_CHECK(add_ways(s, err));
    s->pool_count = count_placements(s->op_count);
    EMP_CHECK(EMP_ALLOC(s->pool, (size_t)s->pool_count * ops));
    return EMP_ALLOC(s->level, ops);
}

static const emp_device_id *placement(const stand *s, int32_t number)
{
    return s->pool + (size_t)(number % s->pool_count) * (size_t)s->graph->op_count;
}

/* Placements first .. first + count - 1 by a simulator of this process. \a last_ns is the step time of the
 * last one. */
static emp_status run_here(stand *s, int32_t way, int32_t first, int32_t count,
                           emp_time_ns *last_ns, emp_error *err)
{
    for (int32_t i = first; i < first + count; i++) {
        emp_sim_result result;
        emp_decision   decision = {.device_of_op = placement(s, i),
                                   .level_of_op = ways[way].has_levels ? s->level : NULL};
        if (s->sim[way] != NULL)
            EMP_CHECK(emp_sim_run_decision(s->sim[way], &decision, &result, err));
        else
            textbook_step(s->book, &decision, &result);
        *last_ns = result.step_time_ns;
    }
    return EMP_OK;
}

/* Peers run only the last placement of the batch. Each way runs once before its clock starts, because the
 * one before has filled the caches. */
static emp_status take(emp_speed_sample *sample, void *context, int32_t way,
                       int32_t round, emp_error *err)
{
    stand        *s = (stand *)context;
    const int32_t count = count_runs(s->op_count);
    const int32_t first = (int32_t)((int64_t)round * count % s->pool_count);
    emp_time_ns   last_ns = 0;

    if (ways[way].peer != NO_PEER) {
        emp_peer_run run;
        EMP_CHECK(emp_peer_measure(&run, (emp_peer_kind)ways[way].peer, s->ideal,
                                   placement(s, first + count - 1), err));
        sample->seconds = run.cpu_s / s->op_count;
        last_ns = run.step_time_ns;
    } else {
        if (s->sim[way] == NULL && s->book == NULL) s->book = textbook_create(s->ideal);
        EMP_CHECK(run_here(s, way, first + count, 1, &last_ns, err));
        const double start_s = emp_clock_thread_s();
        EMP_CHECK(run_here(s, way, first, count, &last_ns, err));
        sample->seconds = (emp_clock_thread_s() - start_s) / count / s->op_count;
    }
    /* SimGrid orders simultaneous events in its own way; they are rare on synthetic graphs. */
    if (ways[way].is_comparable &&
        (ways[way].peer != EMP_PEER_SIMGRID_FIFO || s->source == NULL))
        sample->answer = (double)last_ns;
    return EMP_OK;
}

static void draw_placements(stand *s, emp_synthetic_kind kind)
{
    const int32_t n = s->graph->op_count;

    for (int32_t i = 0; i < s->pool_count; i++) {
        emp_device_id *device_of_op = s->pool + (size_t)i * (size_t)n;
        emp_synthetic_place(device_of_op, n, s->machine, kind, s->params->seed,
                            (uint32_t)i);
        if (s->source != NULL) emp_problem_legalize(s->ideal, device_of_op);
    }
}

/* The same levels for all placements: bottom levels follow the first. */
static emp_status order_ops(stand *s, emp_error *err)
{
    emp_rng rng;

    if (s->params->has_bottom_levels)
        return emp_order_of_bottom_levels(s->level, s->ideal, placement(s, 0), err);
    emp_rng_init(&rng, s->params->seed, STREAM_LEVELS, 0);
    for (emp_op_id op = 0; op < s->graph->op_count; op++)
        s->level[op] = (uint8_t)emp_rng_below(&rng, EMP_LEVELS);
    return EMP_OK;
}

/* A source, or, if it is NULL, a synthetic graph of \a op_count ops. */
static emp_status measure_graph(emp_speed_table *table, const emp_speed_params *p,
                                const emp_machine *machine, const char *source,
                                int32_t op_count, emp_error *err)
{
    emp_status st = EMP_OK;
    stand      s = {.params = p, .machine = machine, .source = source};

    EMP_TRY(set_up(&s, op_count, err));
    for (int kind = 0; kind < EMP_PLACE_COUNT; kind++) {
        const char *name = emp_synthetic_kind_name((emp_synthetic_kind)kind);
        if (!emp_word_list_has(p->patterns, name)) continue;
        draw_placements(&s, (emp_synthetic_kind)kind);
        EMP_TRY(order_ops(&s, err));
        EMP_TRY(emp_speed_measure(table,
                                  &(emp_speed_task){source != NULL ? source : "synthetic",
                                                    name, s.op_count, s.way, s.way_count,
                                                    p->repeats, take, &s},
                                  err));
    }

cleanup:
    tear_down(&s);
    return st;
}

static emp_status check_words(const emp_speed_params *p, emp_error *err)
{
    static const char *const peers[] = {"none", "textbook", "simgrid", "python", NULL};
    const char              *names[WAYS + 1] = {NULL};

    EMP_CHECK(emp_speed_check_words(p->peers, "there is no peer", peers, err));
    for (int i = 0; i < EMP_PLACE_COUNT; i++)
        names[i] = emp_synthetic_kind_name((emp_synthetic_kind)i);
    EMP_CHECK(emp_speed_check_words(p->patterns, "there is no pattern", names, err));
    for (int i = 0; ways[i].list == NULL; i++) names[i] = ways[i].name;
    return emp_speed_check_words(p->profiles, "there is no profile", names, err);
}

static void note_absent(emp_speed_table *table, const emp_speed_params *p)
{
    const char *last = NULL;

    for (int i = 0; i < WAYS; i++) {
        if (ways[i].peer == NO_PEER || !is_asked(p, i)) continue;
        const char *why = emp_peer_absence((emp_peer_kind)ways[i].peer);
        if (why != NULL && why != last) emp_sheet_note(&table->sheet, "%s.", why);
        last = why;
    }
}

emp_status emp_speed_oracle(emp_speed_table *table, const emp_speed_params *p,
                            emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine = NULL;

    emp_speed_table_init(table, "ns/op", 1e9);
    EMP_TRY(check_words(p, err));
    EMP_TRY(emp_machine_load(&machine, p->machine, err));
    if (emp_machine_count(machine, EMP_DEVICE_GPU) == 0)
        EMP_FAIL(EMP_EUNSUPPORTED, "machine %s has no GPU", machine->name);
    for (int32_t i = 0; i < p->sizes.count; i++)
        EMP_TRY(measure_graph(table, p, machine, NULL, p->sizes.value[i], err));
    for (int32_t i = 0; i < p->source_count; i++)
        EMP_TRY(measure_graph(table, p, machine, p->source[i], 0, err));
    emp_sheet_note(&table->sheet,
                   "CPU time of a thread, median [quartiles] of rounds; x: "
                   "times that of the first way in the same round.");
    note_absent(table, p);

cleanup:
    emp_machine_destroy(machine);
    return st;
}
