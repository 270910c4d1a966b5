// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/step_graph.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/traces/kineto.h"

static const int64_t BYTES_MAX = INT64_C(1000000000000);

bool emp_execution_is(const emp_json *root)
{
    return emp_json_string(emp_json_get(root, "schema")) != NULL &&
           emp_json_is(emp_json_get(root, "nodes"), EMP_JSON_ARRAY);
}

/* ---- tensors ---- */

bool emp_execution_tensor_parts(const emp_json *value, int64_t *part)
{
    const emp_json *v = emp_json_first(value);

    if (!emp_json_is(value, EMP_JSON_ARRAY) ||
        emp_json_count(value) <= EMP_EXECUTION_PARTS)
        return false;
    for (int32_t i = 0; i < EMP_EXECUTION_PARTS; i++, v = emp_json_next(v)) {
        if (!emp_json_is(v, EMP_JSON_INTEGER)) return false;
        part[i] = emp_json_integer(v);
    }
    return emp_json_is(v, EMP_JSON_STRING);
}

const emp_json *emp_execution_attribute(const emp_json *node, const char *key)
{
    const emp_json *own = emp_json_get(node, key);

    for (const emp_json *a = emp_json_first(emp_json_get(node, "attrs"));
         own == NULL && a != NULL; a = emp_json_next(a)) {
        const char *name = emp_json_string(emp_json_get(a, "name"));
        if (name != NULL && strcmp(name, key) == 0) own = emp_json_get(a, "value");
    }
    return own;
}

static emp_status add_tensor(emp_execution *trace, const int64_t *part, emp_error *err)
{
    if (part[3] < 0 || part[4] < 0 || (part[4] > 0 && part[3] > BYTES_MAX / part[4]))
        return EMP_ERROR(EMP_EFORMAT,
                         "tensor %" PRId64 " has %" PRId64 " elements of %" PRId64
                         " bytes, of at most %" PRId64 " bytes in all",
                         part[0], part[3], part[4], BYTES_MAX);
    EMP_CHECK(EMP_GROW(trace->tensor, trace->tensor_count + 1, trace->tensor_capacity));
    trace->tensor[trace->tensor_count++] =
        (emp_execution_tensor){part[1], part[3] * part[4]};
    return EMP_OK;
}

/* The tensors among values, and those in lists among them. */
static emp_status add_tensors(emp_execution *trace, const emp_json *values,
                              emp_error *err)
{
    int64_t part[EMP_EXECUTION_PARTS];

    for (const emp_json *v = emp_json_first(values); v != NULL; v = emp_json_next(v)) {
        if (emp_execution_tensor_parts(v, part)) {
            EMP_CHECK(add_tensor(trace, part, err));
            continue;
        }
        if (!emp_json_is(v, EMP_JSON_ARRAY)) continue;
        for (const emp_json *item = emp_json_first(v); item != NULL;
             item = emp_json_next(item))
            if (emp_execution_tensor_parts(item, part))
                EMP_CHECK(add_tensor(trace, part, err));
    }
    return EMP_OK;
}

/* ---- operators ---- */

/* "inputs" or "outputs" of either schema. */
static const emp_json *values_of(const emp_json *node, const char *key)
{
    const emp_json *list = emp_json_get(node, key);

    return emp_json_is(list, EMP_JSON_OBJECT) ? emp_json_get(list, "values") : list;
}

static emp_status read_node(emp_execution *trace, const emp_json *node, emp_error *err)
{
    emp_execution_op *op = &trace->op[trace->op_count];

    const emp_json *record = emp_execution_attribute(node, "rf_id");
    *op = (emp_execution_op){
        .record = emp_json_is(record, EMP_JSON_INTEGER) ? emp_json_integer(record) : -1,
        .first = trace->tensor_count};
    if (op->record < 0) return EMP_OK;
    EMP_CHECK(add_tensors(trace, values_of(node, "inputs"), err));
    op->input_count = trace->tensor_count - op->first;
    EMP_CHECK(add_tensors(trace, values_of(node, "outputs"), err));
    op->output_count = trace->tensor_count - op->first - op->input_count;
    trace->op_count++;
    return EMP_OK;
}

static int by_record(const void *a, const void *b)
{
    const emp_execution_op *x = (const emp_execution_op *)a;
    const emp_execution_op *y = (const emp_execution_op *)b;

    if (x->record != y->record) return x->record < y->record ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* O(size + n log n). \retval EMP_EFORMAT  A tensor of a negative size; the message names the node. */
static emp_status execution_read(emp_execution *out, const emp_json *root, emp_error *err)
{
    const emp_json *nodes = emp_json_get(root, "nodes");
    int32_t         i = 0;

    *out = (emp_execution){0};
    EMP_CHECK(EMP_ALLOC(out->op, (size_t)emp_json_count(nodes)));
    for (const emp_json *v = emp_json_first(nodes); v != NULL;
         v = emp_json_next(v), i++) {
        emp_error  reason = {0};
        emp_status st = read_node(out, v, &reason);
        if (st != EMP_OK) return EMP_ERROR(st, "nodes[%d]: %s", i, reason.msg);
    }
    qsort(out->op, (size_t)out->op_count, sizeof *out->op, by_record);
    return EMP_OK;
}

static void execution_clear(emp_execution *trace)
{
    emp_free(trace->op);
    emp_free(trace->tensor);
    *trace = (emp_execution){0};
}

/* The operator of that record; NULL = there is none. O(log n). */
static const emp_execution_op *execution_find(const emp_execution *trace, int64_t record)
{
    int32_t low;

    EMP_COUNT_FIRST(low, trace->op_count, i, trace->op[i].record < record);
    return low < trace->op_count && trace->op[low].record == record ? &trace->op[low]
                                                                    : NULL;
}

typedef struct {
    emp_step_tensors      *out;
    const emp_traced_step *step;
    const emp_kineto      *trace;
    const emp_execution   *execution;
    int64_t               *storage; /* distinct ones, sorted */
    int32_t                storage_count;
    int32_t               *writer; /* [storage] the last node that wrote it; -1 = none */
    int32_t               *last;   /* [event] of an operator: its last node; -1 = none */
    int32_t               *before; /* [event] its last node so far; -1 = none */
} joiner;

static emp_status index_storages(joiner *j, emp_error *err)
{
    size_t  count = (size_t)j->execution->tensor_count;
    int32_t kept = 0;

    EMP_CHECK(EMP_ALLOC(j->storage, count));
    EMP_CHECK(EMP_ALLOC(j->writer, count));
    for (size_t i = 0; i < count; i++) j->storage[i] = j->execution->tensor[i].storage;
    qsort(j->storage, count, sizeof *j->storage, emp_trace_by_value);
    for (size_t i = 0; i < count; i++) {
        j->writer[i] = -1;
        if (kept == 0 || j->storage[kept - 1] != j->storage[i])
            j->storage[kept++] = j->storage[i];
    }
    j->storage_count = kept;
    return EMP_OK;
}

static int32_t *writer_of(const joiner *j, int64_t storage)
{
    int64_t *found = bsearch(&storage, j->storage, (size_t)j->storage_count,
                             sizeof *j->storage, emp_trace_by_value);

    return &j->writer[found - j->storage];
}

static emp_status add_read(emp_step_tensors *out, int32_t from, int32_t to,
                           emp_error *err)
{
    EMP_CHECK(EMP_GROW(out->read, out->read_count + 1, out->read_capacity));
    out->read[out->read_count++] = (emp_traced_edge){from, to, false};
    return EMP_OK;
}

/* A kernel of an operator: it reads the operator's inputs and its earlier kernels' results; the last
 * one writes the outputs. */
static emp_status join(joiner *j, int32_t i, const emp_execution_op *op, emp_error *err)
{
    const emp_execution_tensor *t = &j->execution->tensor[op->first];
    int32_t                     event = j->step->node[i].op;

    j->out->is_joined[i] = true;
    j->out->joined_count++;
    for (int32_t k = 0; k < op->input_count; k++) {
        int32_t writer = *writer_of(j, t[k].storage);
        if (writer >= 0) EMP_CHECK(add_read(j->out, writer, i, err));
    }
    if (j->before[event] >= 0) EMP_CHECK(add_read(j->out, j->before[event], i, err));
    j->before[event] = i;
    if (j->last[event] != i) return EMP_OK;
    for (int32_t k = op->input_count; k < op->input_count + op->output_count; k++) {
        *writer_of(j, t[k].storage) = i;
        if (j->out->bytes[i] < BYTES_MAX) j->out->bytes[i] += t[k].bytes;
    }
    return EMP_OK;
}

static bool is_activity(const emp_traced_node *node)
{
    return node->kind == EMP_TRACED_GPU && node->op >= 0;
}

static emp_status join_all(joiner *j, emp_error *err)
{
    size_t events = (size_t)j->trace->event_count, nodes = (size_t)j->step->node_count;

    EMP_CHECK(EMP_ALLOC(j->out->is_joined, nodes));
    EMP_CHECK(EMP_ALLOC(j->out->bytes, nodes));
    EMP_CHECK(EMP_ALLOC(j->last, events));
    EMP_CHECK(EMP_ALLOC(j->before, events));
    for (size_t i = 0; i < events; i++) j->last[i] = j->before[i] = -1;
    for (int32_t i = 0; i < j->step->node_count; i++)
        if (is_activity(&j->step->node[i])) j->last[j->step->node[i].op] = i;
    for (int32_t i = 0; i < j->step->node_count; i++) {
        if (!is_activity(&j->step->node[i])) continue;
        int64_t                 record = j->trace->event[j->step->node[i].op].record;
        const emp_execution_op *op = execution_find(j->execution, record);
        if (op != NULL) EMP_CHECK(join(j, i, op, err));
    }
    return EMP_OK;
}

/* O(nodes log operators + tensors log tensors). */
static emp_status step_tensors_find(emp_step_tensors *out, const emp_traced_step *step,
                                    const emp_kineto    *trace,
                                    const emp_execution *execution, emp_error *err)
{
    emp_status st = EMP_OK;
    joiner     j = {.out = out, .step = step, .trace = trace, .execution = execution};

    *out = (emp_step_tensors){0};
    EMP_TRY(index_storages(&j, err));
    EMP_TRY(join_all(&j, err));

cleanup:
    emp_free(j.storage);
    emp_free(j.writer);
    emp_free(j.last);
    emp_free(j.before);
    return st;
}

static void step_tensors_clear(emp_step_tensors *tensors)
{
    emp_free(tensors->is_joined);
    emp_free(tensors->bytes);
    emp_free(tensors->read);
    *tensors = (emp_step_tensors){0};
}

/* Ten days: of half a million ops, ten times as long on a CPU, the sum fits in 64 bits. */
static const int64_t COST_NS_MAX = INT64_C(864000000000000);

/* ---- names ---- */

/* The bytes of a text that may stand in a name, others as '_'; what is too long is cut off. */
static void trace_put_text(char part[EMP_TRACE_PART_BYTES], const char *text,
                           size_t length)
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
    trace_put_text(part, name + start, end - start);
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
    trace_put_text(outer, trace->event[top].name, strlen(trace->event[top].name));
    trace_put_text(inner, trace->event[op].name, strlen(trace->event[op].name));
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
    case EMP_TRACED_HOST: trace_put_text(type, "Host", strlen("Host")); break;
    case EMP_TRACED_WAIT: trace_put_text(type, "Wait", strlen("Wait")); break;
    case EMP_TRACED_GPU:
        if (node->op >= 0)
            trace_put_text(type, trace->event[node->op].name,
                           strlen(trace->event[node->op].name));
        else
            emp_trace_put_kernel(type, trace->event[node->event].name,
                                 strlen(trace->event[node->event].name));
    }
}

/* ---- the graph ---- */

/* Says what ran on a GPU; \a args is room for the arguments that describe it. */
static emp_status describe_kernel(emp_graph_builder *builder, emp_op_id id,
                                  const emp_kineto *trace, const emp_traced_node *node,
                                  emp_json_document *args, emp_error *err)
{
    const emp_kineto_event *event = &trace->event[node->event];
    const emp_kineto_event *op = node->op < 0 ? NULL : &trace->event[node->op];
    const emp_kineto_event *by = emp_trace_described_by(event, op);
    const bool              has_args = by != NULL && by->args != NULL;

    if (has_args) EMP_CHECK(emp_json_parse_again(args, &trace->document, by->args, err));
    emp_traced_kernel kernel =
        emp_trace_describe(event, op, has_args ? args->root : NULL);
    return emp_graph_builder_describe_kernel(builder, id, &kernel, err);
}

static emp_status add_op(emp_graph_builder *builder, const emp_traced_step *step,
                         const emp_kineto *trace, const emp_step_tensors *tensors,
                         int32_t i, emp_json_document *args, emp_error *err)
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
    EMP_CHECK(emp_graph_builder_state(builder, name, type, &op, &id, err));
    if (node->kind != EMP_TRACED_GPU) return EMP_OK;
    return describe_kernel(builder, id, trace, node, args, err);
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

/* Adds an op for each node, in the order of their numbers, and the edges. With tensors (NULL
 * is allowed) ops read each other's results, and two that are joined with operators do not wait for
 * each other only because of their stream. O(nodes + edges).
 * \retval EMP_EUNSUPPORTED  Longer times than a simulation can add up. */
static emp_status step_build(emp_graph_builder *builder, const emp_traced_step *step,
                             const emp_kineto *trace, const emp_step_tensors *tensors,
                             emp_error *err)
{
    emp_json_document args = {0};
    emp_status        st = EMP_OK;

    for (int32_t i = 0; st == EMP_OK && i < step->node_count; i++)
        st = add_op(builder, step, trace, tensors, i, &args, err);
    emp_json_clear(&args);
    if (st != EMP_OK) return st;
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

/* A step of a trace of PyTorch's profiler: "trace:kineto=FILE,et=FILE,step=103". */

/* For a GPU whose size no trace states: enough for everything. */
static const int64_t MEMORY_BYTES = INT64_C(1) << 40;

/* Streams that the step uses, and threads. */
static void count_lanes(emp_import_devices *devices, const emp_traced_step *step,
                        const emp_kineto *trace)
{
    for (int32_t lane = 0; lane < trace->lane_count; lane++) {
        bool is_used = false;
        for (int32_t i = 0; i < step->node_count && !is_used; i++)
            is_used = step->node[i].lane == lane;
        if (!is_used) continue;
        if (trace->lane[lane].is_stream)
            devices->gpu_count++;
        else
            devices->core_count++;
    }
}

static bool has_gpu_work(const emp_traced_step *step)
{
    return step->kernel_count + step->copy_count + step->set_count > 0;
}

/* A profiler that did not record GPUs leaves a trace of only the host, which looks like a step. */
static void warn_without_kernels(emp_import_notes *notes, const emp_traced_step *step,
                                 const emp_kineto *trace)
{
    bool    has_any = false;
    int32_t left_out = 0;

    if (has_gpu_work(step)) return;
    for (int32_t i = 0; i < trace->lane_count; i++) has_any |= trace->lane[i].is_stream;
    for (int32_t i = 0; i < trace->event_count; i++) {
        const emp_kineto_event *e = &trace->event[i];
        left_out += trace->lane[e->lane].is_stream && e->begin_ns >= step->begin_ns &&
                    e->begin_ns < step->end_ns;
    }
    if (left_out > 0) {
        emp_import_notes_warn(
            notes,
            "%d kernel%s of this step of the trace %s left out, because "
            "no call in it has started them: its times are those of "
            "CPU ops",
            left_out, emp_units_plural(left_out), left_out == 1 ? "is" : "are");
        return;
    }
    if (trace->other_count > 0)
        emp_import_notes_warn(
            notes,
            "%lld event%s of MTIA or HPU devices in the trace %s left out, whose kernels "
            "are not read: its times are those of CPU ops",
            (long long)trace->other_count, emp_units_plural(trace->other_count),
            trace->other_count == 1 ? "is" : "are");
    else
        emp_import_notes_warn(
            notes, "there are no GPU kernels in %s: its times are those of CPU ops%s",
            has_any ? "this step of the trace" : "the trace",
            has_any ? "" : "; profile with ProfilerActivity.CUDA to record GPUs");
}

static void describe(emp_import_devices *devices, const emp_traced_step *step,
                     const emp_kineto *trace)
{
    emp_text    note = {devices->note, sizeof devices->note, 0};
    char        measured[32], host[32], gpu[32], waits[32];
    const char *gpu_name = trace->gpu_name != NULL ? trace->gpu_name : "an unnamed GPU";

    emp_units_format_seconds((double)step->measured_ns * 1e-9, measured, sizeof measured);
    emp_units_format_seconds((double)(step->end_ns - step->begin_ns) * 1e-9, host,
                             sizeof host);
    emp_text_add(&note, "%.40s", step->name);
    if (step->step_count > 1)
        emp_text_add(&note, " of the %d steps of the trace", step->step_count);
    if (has_gpu_work(step))
        emp_text_add(
            &note,
            " took %s on %.60s, %s on the host and %s from the first to the last of "
            "%d kernel%s, %d cop%s and %d memset%s.",
            measured, gpu_name, host,
            emp_units_format_seconds((double)step->gpu_span_ns * 1e-9, gpu, sizeof gpu),
            step->kernel_count, emp_units_plural(step->kernel_count), step->copy_count,
            step->copy_count == 1 ? "y" : "ies", step->set_count,
            emp_units_plural(step->set_count));
    else
        emp_text_add(&note, " took %s, %s on the host.", measured, host);
    if (step->unexplained_ns > 0)
        emp_text_add(&note, " Waits of %s in all have no cause that the trace names.",
                     emp_units_format_seconds((double)step->unexplained_ns * 1e-9, waits,
                                              sizeof waits));
}

/* The tensors that the kernels of a step pass to each other. */
static emp_status join_tensors(emp_step_tensors *tensors, emp_import_devices *devices,
                               const emp_traced_step *step, const emp_kineto *trace,
                               const emp_json *root, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_execution execution = {0};
    emp_text      note = {devices->note, sizeof devices->note, strlen(devices->note)};

    if (!emp_execution_is(root))
        EMP_FAIL(EMP_EFORMAT, "the file named by et= is no PyTorch execution trace");
    EMP_TRY(execution_read(&execution, root, err));
    EMP_TRY(step_tensors_find(tensors, step, trace, &execution, err));
    emp_text_add(&note, " %d of these are joined with operators of the execution trace.",
                 tensors->joined_count);

cleanup:
    execution_clear(&execution);
    return st;
}

/* The values of a spec, and its text behind the path: the execution trace of the same run. */
typedef struct {
    int32_t step;
} trace_values;
enum { EXECUTION = 1 };

const emp_option emp_trace_options[] = {
    EMP_INTEGER_OPTION(
        "step", trace_values, step, -1, INT32_MAX,
        "the number of a step of the profiler; -1 = one of the usual length", -1),
    EMP_NO_OPTION};

/* Reads the execution trace, whose tensors become edges. */
static emp_status join_file(emp_step_tensors *tensors, emp_import_devices *devices,
                            const emp_traced_step *step, const emp_kineto *trace,
                            const char *path, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    char             *bytes = NULL;
    size_t            size;
    emp_error         reason = {0};

    EMP_TRY(emp_file_load(path, &bytes, &size, &reason));
    EMP_TRY(emp_json_parse_taken(&d, &bytes, size, &reason));
    EMP_TRY(join_tensors(tensors, devices, step, trace, d.root, &reason));

cleanup:
    emp_json_clear(&d);
    emp_free(bytes);
    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st, "its execution trace %s: %s", path, reason.msg);
}

emp_status emp_trace_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_status       st = EMP_OK;
    const char      *execution = r->spec->text[EXECUTION];
    emp_kineto      *trace = r->trace;
    emp_traced_step  step = {0};
    emp_step_tensors tensors = {0};

    *r->devices = (emp_import_devices){
        .cpu_count = 1, .gpu_memory_bytes = MEMORY_BYTES, .runtime = "traced"};
    EMP_TRY(emp_kineto_finish(trace, err));
    EMP_TRY(emp_step_read(&step, trace, ((const trace_values *)r->values)->step, err));
    if (trace->gpu_name != NULL)
        snprintf(r->devices->gpu_name, sizeof r->devices->gpu_name, "%s",
                 trace->gpu_name);
    count_lanes(r->devices, &step, trace);
    describe(r->devices, &step, trace);
    warn_without_kernels(r->notes, &step, trace);
    if (execution[0] != '\0')
        EMP_TRY(join_file(&tensors, r->devices, &step, trace, execution, err));
    EMP_TRY(
        step_build(builder, &step, trace, execution[0] == '\0' ? NULL : &tensors, err));

cleanup:
    step_tensors_clear(&tensors);
    emp_step_clear(&step);
    return st;
}
