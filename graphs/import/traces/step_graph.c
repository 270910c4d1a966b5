// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/step_graph.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"

/* Ten days: of half a million ops, ten times as long on a CPU, the sum fits in 64 bits. */
static const int64_t COST_NS_MAX = INT64_C(864000000000000);

/* ---- names ---- */

void emp_trace_put_text(char part[EMP_TRACE_PART_BYTES], const char *text, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used < EMP_TRACE_PART_BYTES - 1; i++) {
        unsigned char c = (unsigned char)text[i];
        part[used++] = (char)(isalnum(c) || (c != 0 && strchr(":.-#", c)) ? c : '_');
    }
    part[used] = '\0';
}

void emp_trace_put_kernel(char part[EMP_TRACE_PART_BYTES], const char *name,
                          size_t length)
{
    static const char word[] = "void ";
    size_t            start = 0, end = 0;

    while (end < length && name[end] != '<' && name[end] != '(') end++;
    if (end > sizeof word - 1 && memcmp(name, word, sizeof word - 1) == 0)
        start = sizeof word - 1;
    for (size_t i = start; memchr(name, '(', length) != NULL && i + 1 < end; i++)
        if (name[i] == ':' && name[i + 1] == ':') start = i + 2;
    while (end > start && name[end - 1] == ' ') end--;
    if (start >= end) {
        start = 0;
        end = length;
    }
    emp_trace_put_text(part, name + start, end - start);
}

static int32_t outermost(const emp_traced_step *step, int32_t op)
{
    while (op >= 0 && step->parent[op] >= 0) op = step->parent[op];
    return op;
}

/* "aten::linear/aten::addmm/", or less where there is less. */
static void put_scope(char *name, size_t size, const emp_traced_step *step,
                      const emp_kineto *trace, int32_t op)
{
    char    outer[EMP_TRACE_PART_BYTES], inner[EMP_TRACE_PART_BYTES];
    int32_t top = outermost(step, op);

    if (op < 0) return;
    emp_trace_put_text(outer, trace->event[top].name, strlen(trace->event[top].name));
    emp_trace_put_text(inner, trace->event[op].name, strlen(trace->event[op].name));
    size_t used = strlen(name);
    if (top == op)
        snprintf(name + used, size - used, "%s/", inner);
    else
        snprintf(name + used, size - used, "%s/%s/", outer, inner);
}

static void put_name(char name[EMP_TRACE_NAME_BYTES], const emp_traced_step *step,
                     const emp_kineto *trace, int32_t i)
{
    const emp_traced_node *node = &step->node[i];
    const emp_kineto_lane *lane = &trace->lane[node->lane];
    char                   last[EMP_TRACE_PART_BYTES] = "python";

    if (lane->is_stream)
        snprintf(name, EMP_TRACE_NAME_BYTES, "gpu%" PRId64 ".stream%" PRId64 "/",
                 lane->process, lane->number);
    else
        snprintf(name, EMP_TRACE_NAME_BYTES, "host.thread%d/", lane->index);
    put_scope(name, EMP_TRACE_NAME_BYTES, step, trace, node->op);
    if (node->event >= 0)
        emp_trace_put_kernel(last, trace->event[node->event].name,
                             strlen(trace->event[node->event].name));
    size_t used = strlen(name);
    snprintf(name + used, EMP_TRACE_NAME_BYTES - used, "%s%s.%d", last,
             node->kind == EMP_TRACED_WAIT ? ".wait" : "", i);
}

static void put_type(char type[EMP_TRACE_PART_BYTES], const emp_traced_step *step,
                     const emp_kineto *trace, int32_t i)
{
    const emp_traced_node *node = &step->node[i];

    switch (node->kind) {
    case EMP_TRACED_HOST: emp_trace_put_text(type, "Host", strlen("Host")); break;
    case EMP_TRACED_WAIT: emp_trace_put_text(type, "Wait", strlen("Wait")); break;
    case EMP_TRACED_GPU:
        if (node->op >= 0)
            emp_trace_put_text(type, trace->event[node->op].name,
                               strlen(trace->event[node->op].name));
        else
            emp_trace_put_kernel(type, trace->event[node->event].name,
                                 strlen(trace->event[node->event].name));
    }
}

/* ---- the graph ---- */

static emp_status add_op(emp_graph_builder *builder, const emp_traced_step *step,
                         const emp_kineto *trace, const emp_step_tensors *tensors,
                         int32_t i, emp_error *err)
{
    const emp_traced_node *node = &step->node[i];
    bool                   is_host = node->kind == EMP_TRACED_HOST;
    emp_stated_op          op = {.cost = {.copy_ns = -1, .colocation = -1}};
    char                   name[EMP_TRACE_NAME_BYTES], type[EMP_TRACE_PART_BYTES];
    emp_op_id              id;

    put_name(name, step, trace, i);
    put_type(type, step, trace, i);
    if (node->cost_ns > COST_NS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "\"%.80s\" takes more than ten days", name);
    op.kinds = is_host ? EMP_KIND_CPU : EMP_KIND_CPU | EMP_KIND_GPU;
    op.cost.gpu_ns = node->cost_ns;
    op.cost.cpu_ns = is_host ? node->cost_ns : node->cost_ns * EMP_TRACE_CPU;
    if (tensors != NULL) op.held_bytes = op.copy_bytes = tensors->bytes[i];
    return emp_graph_builder_state(builder, name, type, &op, &id, err);
}

/* Streams of one GPU share its memory: nothing is copied from one to the other. */
static emp_status connect(emp_graph_builder *builder, const emp_traced_step *step,
                          const emp_kineto *trace, const emp_traced_edge *read,
                          emp_error *err)
{
    int32_t a = step->node[read->from].lane, b = step->node[read->to].lane;

    if (a != b && trace->lane[a].process == trace->lane[b].process)
        return emp_graph_builder_add_control(builder, read->from, read->to, err);
    return emp_graph_builder_connect(builder, (emp_port){read->from, 0}, read->to, err);
}

emp_status emp_step_build(emp_graph_builder *builder, const emp_traced_step *step,
                          const emp_kineto *trace, const emp_step_tensors *tensors,
                          emp_error *err)
{
    for (int32_t i = 0; i < step->node_count; i++)
        EMP_CHECK(add_op(builder, step, trace, tensors, i, err));
    for (int32_t i = 0; i < step->edge_count; i++) {
        const emp_traced_edge *e = &step->edge[i];
        if (tensors != NULL && e->is_stream_order && tensors->is_joined[e->from] &&
            tensors->is_joined[e->to])
            continue;
        EMP_CHECK(emp_graph_builder_add_control(builder, e->from, e->to, err));
    }
    for (int32_t i = 0; tensors != NULL && i < tensors->read_count; i++)
        EMP_CHECK(connect(builder, step, trace, &tensors->read[i], err));
    return EMP_OK;
}

/* ---- where ops ran ---- */

static const char thread_word[] = "host.thread", gpu_word[] = "gpu";

bool emp_trace_is_graph(const emp_graph *graph)
{
    if (graph->stated == NULL) return false;
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (strncmp(graph->name[op], thread_word, sizeof thread_word - 1) == 0)
            return true;
    return false;
}

static emp_status find_stream(int32_t *stream, emp_strmap *streams, const char *name,
                              emp_error *err)
{
    size_t length = strcspn(name, "/");

    *stream = emp_strmap_get(streams, name, length);
    if (*stream >= 0) return EMP_OK;
    *stream = (int32_t)streams->count;
    return emp_strmap_set(streams, name, length, *stream, err);
}

emp_status emp_trace_where(int32_t *gpu_of_op, const emp_graph *graph, bool is_by_stream,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap streams = {0};

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        const char *name = graph->name[op];
        gpu_of_op[op] = -1;
        if (strncmp(name, gpu_word, sizeof gpu_word - 1) != 0) continue;
        if (is_by_stream)
            EMP_TRY(find_stream(&gpu_of_op[op], &streams, name, err));
        else
            gpu_of_op[op] = (int32_t)strtol(name + sizeof gpu_word - 1, NULL, 10);
    }

cleanup:
    emp_strmap_clear(&streams);
    return st;
}
