// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/pictures.h"

#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "sim/explain/explain.h"
#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

static void on_ready(void *context, emp_op_id op, emp_device_id device, emp_time_ns at_ns)
{
    emp_op_moment *moment = context;

    (void)device;
    moment[op].ready_ns = at_ns;
}

/* The tasks of an op on a CPU overlap, and begin in the order of time. */
static void on_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                  emp_time_ns start_ns, emp_time_ns end_ns)
{
    emp_op_moment *m = (emp_op_moment *)context + op;

    (void)device;
    (void)lane;
    if (m->start_ns < 0 || start_ns < m->start_ns) m->start_ns = start_ns;
    if (end_ns > m->end_ns) {
        m->run_ns += end_ns - (start_ns > m->end_ns ? start_ns : m->end_ns);
        m->end_ns = end_ns;
    }
}

emp_status emp_op_moments(emp_op_moment *moment, emp_sim *sim, const emp_problem *problem,
                          const emp_decision *decision, emp_sim_result *result,
                          emp_error *err)
{
    const emp_sim_trace trace = {.context = moment, .op = on_op, .ready = on_ready};

    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        moment[op] = (emp_op_moment){-1, -1, -1, 0};
    return emp_sim_trace_decision(sim, decision, &trace, result, err);
}

emp_time_ns emp_op_wait_ns(const emp_op_moment *m)
{
    return m->ready_ns >= 0 && m->start_ns > m->ready_ns ? m->start_ns - m->ready_ns : 0;
}

/* ---- model_explorer.c ---- */

static const char *const data_name[EMP_MODEL_EXPLORER_DATA] = {"device", "seconds",
                                                               "wait"};
static const char *const path_colour[] = {"#d55e00", "#0072b2"};

emp_status emp_model_explorer_path(char        path[EMP_MODEL_EXPLORER_PATH_BYTES],
                                   const char *prefix, int32_t placement, int32_t data,
                                   emp_error *err)
{
    int length = placement < 0
                     ? snprintf(path, EMP_MODEL_EXPLORER_PATH_BYTES, "%s.json", prefix)
                     : snprintf(path, EMP_MODEL_EXPLORER_PATH_BYTES, "%s.%d.%s.json",
                                prefix, placement + 1, data_name[data]);

    if (length < 0 || length >= EMP_MODEL_EXPLORER_PATH_BYTES)
        return EMP_ERROR(EMP_EINVAL,
                         "%.100s... is too long for a path; take at most %d bytes",
                         prefix, EMP_MODEL_EXPLORER_PATH_BYTES - 32);
    return EMP_OK;
}

/* Text that is not UTF-8 becomes a question mark, as JSON has no other. */
static void write_string(FILE *file, const char *text)
{
    if (!emp_json_write_string(file, text)) fputs("\"?\"", file);
}

static void write_part(FILE *file, const char *text, int32_t length)
{
    char part[1024];

    snprintf(part, sizeof part, "%.*s", (int)length, text);
    write_string(file, part);
}

/* ---- the graph ---- */

static void write_edges_of(FILE *file, const emp_graph *g, emp_op_id op)
{
    const int32_t first = g->input_offset[op];
    const char   *comma = "";

    fputs(",\"incomingEdges\":[", file);
    for (int32_t i = first; i < g->input_offset[op + 1]; i++) {
        const emp_op_id producer = g->tensor[g->input[i]].producer;
        if (g->op[producer].is_folded) continue;
        fprintf(file,
                "%s{\"sourceNodeId\":\"%d\",\"sourceNodeOutputId\":\"%d\","
                "\"targetNodeInputId\":\"%d\"}",
                comma, producer, g->input[i] - g->output_offset[producer], i - first);
        comma = ",";
    }
    fputs("]", file);
}

static void write_attribute(FILE *file, const char *comma, const char *key, double value)
{
    fprintf(file, "%s{\"key\":\"%s\",\"value\":\"%.6g\"}", comma, key, value);
}

static void write_node(FILE *file, const emp_graph *g, emp_op_id op)
{
    const char *name = g->name[op], *leaf = strrchr(name, '/');

    fprintf(file, "{\"id\":\"%d\",\"label\":", op);
    write_string(file, g->type_name[g->type[op]]);
    fputs(",\"namespace\":", file);
    write_part(file, name, leaf == NULL ? 0 : (int32_t)(leaf - name));
    fputs(",\"attrs\":[{\"key\":\"name\",\"value\":", file);
    write_string(file, name);
    fputs("}", file);
    write_attribute(file, ",", "FLOPs", g->op[op].cost->flops);
    write_attribute(file, ",", "bytes of variables", (double)g->op[op].persistent_bytes);
    fputs("]", file);
    write_edges_of(file, g, op);
    fputs("}", file);
}

/* The edges of the critical path: from each op that it goes through to the next one. */
static void write_path(FILE *file, const emp_explanation *why)
{
    emp_op_id   last = -1;
    const char *comma = "";

    for (int32_t i = 0; i < why->segment_count; i++) {
        const emp_op_id op = why->segment[i].op;
        if (op < 0 || op == last) continue;
        if (last >= 0) {
            fprintf(file, "%s{\"sourceNodeId\":\"%d\",\"targetNodeId\":\"%d\"}", comma,
                    last, op);
            comma = ",";
        }
        last = op;
    }
}

static void write_overlays(FILE *file, const emp_labelled_decision *placement,
                           emp_explanation *const *why, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        fprintf(file, "%s{\"type\":\"edge_overlays\",\"name\":", i > 0 ? "," : "");
        write_string(file, placement[i].label);
        fprintf(
            file,
            ",\"overlays\":[{\"name\":\"critical path\",\"edgeColor\":\"%s\",\"edges\":[",
            path_colour[i % 2]);
        write_path(file, why[i]);
        fputs("]}]}", file);
    }
}

static emp_status write_graph(const char *path, const emp_problem *problem,
                              const emp_labelled_decision *placement,
                              emp_explanation *const *why, int32_t count, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    emp_atomic_file  file = {0};
    const char      *comma = "";

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    fputs("{\"label\":", file.stream);
    write_string(file.stream, problem->workload);
    fputs(",\"graphs\":[{\"id\":\"step\",\"nodes\":[", file.stream);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        fprintf(file.stream, "%s\n", comma);
        write_node(file.stream, g, op);
        comma = ",";
    }
    fputs("\n],\"tasksData\":{\"edgeOverlaysDataListLeftPane\":[", file.stream);
    write_overlays(file.stream, placement, why, count);
    fputs("],\"edgeOverlaysDataListRightPane\":[", file.stream);
    write_overlays(file.stream, placement, why, count);
    fputs("]}}]}\n", file.stream);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* ---- node data ---- */

static void write_value(FILE *file, const emp_problem *problem, int32_t data,
                        emp_device_id device, const emp_op_moment *moment)
{
    const emp_machine *m = problem->machine;

    if (data == 0) {
        write_string(file, m->device[device].name);
        fprintf(file, ",\"bgColor\":\"%s\",\"textColor\":\"%s\"",
                emp_device_colour(m, device),
                emp_device_is_dark(m, device) ? "white" : "black");
    } else {
        fprintf(file, "%.9f",
                (double)(data == 1 ? moment->run_ns : emp_op_wait_ns(moment)) * 1e-9);
    }
}

static emp_status write_data(const char *path, const emp_problem *problem,
                             const emp_labelled_decision *placement, int32_t data,
                             const emp_op_moment *moment, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    emp_atomic_file  file = {0};
    const char      *comma = "";
    char             name[256];

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    snprintf(name, sizeof name, "%s: %s", placement->label, data_name[data]);
    fputs("{\"step\":{\"name\":", file.stream);
    write_string(file.stream, name);
    if (data > 0)
        fputs(",\"gradient\":[{\"stop\":0,\"bgColor\":\"#ffffff\"},{\"stop\":1,"
              "\"bgColor\":\"#d55e00\"}]",
              file.stream);
    fputs(",\"results\":{", file.stream);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        fprintf(file.stream, "%s\n\"%d\":{\"value\":", comma, op);
        write_value(file.stream, problem, data, placement->decision.device_of_op[op],
                    &moment[op]);
        fputs("}", file.stream);
        comma = ",";
    }
    fputs("\n}}}\n", file.stream);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

static emp_status write_placement(const char *prefix, emp_sim *sim,
                                  const emp_problem           *problem,
                                  const emp_labelled_decision *placement, int32_t number,
                                  emp_op_moment *moment, emp_error *err)
{
    char           path[EMP_MODEL_EXPLORER_PATH_BYTES];
    emp_sim_result result;

    EMP_CHECK(emp_op_moments(moment, sim, problem, &placement->decision, &result, err));
    for (int32_t data = 0; data < EMP_MODEL_EXPLORER_DATA; data++) {
        EMP_CHECK(emp_model_explorer_path(path, prefix, number, data, err));
        EMP_CHECK(write_data(path, problem, placement, data, moment, err));
    }
    return EMP_OK;
}

emp_status emp_model_explorer_write(const char *prefix, const emp_problem *problem,
                                    const emp_labelled_decision *placement, int32_t count,
                                    emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_explanation **why = NULL;
    emp_op_moment    *moment = NULL;
    emp_sim          *sim = NULL;
    char              path[EMP_MODEL_EXPLORER_PATH_BYTES];

    EMP_TRY(EMP_ALLOC(why, (size_t)count));
    EMP_TRY(EMP_ALLOC(moment, (size_t)problem->graph->op_count));
    EMP_TRY(emp_model_explorer_path(path, prefix, -1, 0, err));
    for (int32_t i = 0; i < count; i++)
        EMP_TRY(emp_explain_create(&why[i], problem, &placement[i].decision, err));
    EMP_TRY(write_graph(path, problem, placement, why, count, err));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    for (int32_t i = 0; i < count; i++)
        EMP_TRY(write_placement(prefix, sim, problem, &placement[i], i, moment, err));

cleanup:
    emp_sim_destroy(sim);
    for (int32_t i = 0; why != NULL && i < count; i++) emp_explain_destroy(why[i]);
    emp_free(why);
    emp_free(moment);
    return st;
}
