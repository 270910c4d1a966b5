// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/speed/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/process.h"
#include "base/mem.h"

/* The first of them warms caches and allocators up. */
enum { RUNS = 2, LINE_BYTES = 4096 };

/* A program and its first argument; the file and the runs follow. */
static const char *const peers[][2] = {
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
        run, (const char *const[]){peers[kind][0], peers[kind][1], path, runs, NULL},
        err));

cleanup:
    if (w.file != NULL) fclose(w.file);
    emp_free(w.op);
    emp_free(w.tensor);
    return st;
}
