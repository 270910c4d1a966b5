// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/anchors/anchors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "base/text/units.h"
#include "bench/calibrate/micro.h"
#include "graphs/load.h"
#include "sim/graph/graph_builder.h"

enum { MAX_WORDS = 8, WORD_BYTES = 256, FLOAT_BYTES = 4 };

/* ---- devices ----------------------------------------------------------------------- */

typedef struct {
    int32_t clock_mhz, stream_gb, cores, host_mhz;
    bool    is_cpu;
} difference;

static const emp_option difference_options[] = {
    EMP_INTEGER_OPTION("clock", difference, clock_mhz, 0, 10000,
                       "MHz of the GPU; 0 = its own", 0),
    EMP_INTEGER_OPTION("stream", difference, stream_gb, 0, 100000,
                       "GB/s of the GPU's memory; 0 = its own", 0),
    EMP_INTEGER_OPTION("cores", difference, cores, 0, EMP_MAX_CORES,
                       "of the CPU; 0 = its own", 0),
    EMP_INTEGER_OPTION("host", difference, host_mhz, 0, 10000,
                       "highest MHz of the CPU; 0 = the runtime's", 0),
    EMP_BOOL_OPTION("cpu", difference, is_cpu, "the work is on the CPU", 0),
    EMP_NO_OPTION};

/* Where an anchor was measured. */
typedef struct {
    emp_machine  *machine;
    emp_runtime   runtime;
    emp_device_id device; /* where the work is */
} place;

static void set_clock(emp_device *gpu, double hz)
{
    double slower = gpu->clock_hz / hz;

    gpu->gemm_base_s *= slower;
    gpu->gemm_per_k_s *= slower;
    gpu->gemm_per_wave_s *= slower;
    gpu->peak_flops_per_s /= slower;
    gpu->clock_hz = hz;
}

static void set_host(emp_runtime_events *events, double slower)
{
    events->issue_s *= slower;
    events->issue_kernel_s *= slower;
    events->issue_kernelless_s *= slower;
    events->cpu_op_s *= slower;
    events->step_s *= slower;
}

static void apply(place *p, const difference *d)
{
    p->runtime.check_memory = false; /* a measured step did fit */
    for (int32_t i = 0; i < p->machine->device_count; i++) {
        emp_device *device = &p->machine->device[i];
        bool        is_gpu = device->kind == EMP_DEVICE_GPU;
        if (is_gpu && d->clock_mhz > 0) set_clock(device, d->clock_mhz * 1e6);
        if (is_gpu && d->stream_gb > 0) device->memory_bytes_per_s = d->stream_gb * 1e9;
        if (!is_gpu && d->cores > 0) device->cores = d->cores;
    }
    if (d->cores > 0) p->runtime.events.cpu_slots = d->cores;
    if (d->host_mhz > 0)
        set_host(&p->runtime.events, (double)EMP_ANCHOR_HOST_MHZ / d->host_mhz);
}

static emp_status find_place(place *p, const char *text, const emp_runtime *runtime,
                             emp_error *err)
{
    static const emp_option_table table = {"device", NULL, difference_options};
    difference                    d;
    char                          name[WORD_BYTES];
    size_t                        length = strcspn(text, ":");

    snprintf(name, sizeof name, "%.*s", (int)length, text);
    EMP_CHECK(emp_options_parse(&d, &table, NULL,
                                text[length] == ':' ? text + length + 1 : "", err));
    EMP_CHECK(emp_machine_load(&p->machine, name, err));
    p->runtime = *runtime;
    apply(p, &d);
    p->device = d.is_cpu ? 0 : emp_machine_find(p->machine, "gpu:0");
    if (p->device < 0) return EMP_ERROR(EMP_EINVAL, "machine %s has no GPU", name);
    return EMP_OK;
}

/* ---- words of a spec --------------------------------------------------------------- */

typedef struct {
    char    word[MAX_WORDS][WORD_BYTES];
    int32_t count;
} words;

static emp_status split(words *w, const char *text, emp_error *err)
{
    w->count = 0;
    for (const char *at = text + strspn(text, " "); *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (w->count == MAX_WORDS || length >= WORD_BYTES)
            return EMP_ERROR(EMP_EINVAL, "\"%s\" is too long for a spec", text);
        memcpy(w->word[w->count], at, length);
        w->word[w->count++][length] = '\0';
        at += length;
        at += strspn(at, " ");
    }
    return EMP_OK;
}

static emp_status read_count(const char *word, int64_t *count, emp_error *err)
{
    char *end = NULL;

    *count = strtoll(word, &end, 10);
    if (end != word && *end == '\0' && *count >= 1 && *count <= INT32_MAX) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "\"%s\" is no whole number from 1 to 2^31 - 1", word);
}

/* "33.5MB", as "33.5 MB". */
static emp_status read_bytes(const char *word, int64_t *bytes, emp_error *err)
{
    double value = 0.0;

    EMP_CHECK(emp_units_parse(word, EMP_UNIT_BYTES, &value, err));
    if (!(value >= FLOAT_BYTES && value <= 1e12))
        return EMP_ERROR(EMP_EINVAL, "\"%s\" is not within 4 B and 1 TB", word);
    *bytes = (int64_t)value;
    return EMP_OK;
}

/* ---- single ops -------------------------------------------------------------------- */

/* An op of one type on placeholders, all of one shape unless it is a product. */
typedef struct {
    const char  *type;
    emp_op_attrs attrs;
    emp_shape    input[2];
    int32_t      input_count;
} single;

static emp_status build_single(emp_graph **out, const single *s, emp_op_id *op,
                               emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph_builder *b = NULL;
    emp_port           input[2];

    *out = NULL;
    EMP_TRY(emp_graph_builder_create(&b, err));
    for (int32_t i = 0; i < s->input_count; i++) {
        emp_op_attrs attrs = {
            .dtype = EMP_DTYPE_FLOAT, .shape = s->input[i], .has_shape = true};
        emp_op_id id;
        EMP_TRY(emp_graph_builder_add(b, i == 0 ? "a" : "b", "Placeholder", &attrs, NULL,
                                      0, NULL, 0, &id, err));
        input[i] = (emp_port){id, 0};
    }
    EMP_TRY(emp_graph_builder_add(b, "op", s->type, &s->attrs, input, s->input_count,
                                  NULL, 0, op, err));
    EMP_TRY(emp_graph_builder_finish(b, out, err));
    *op = emp_graph_find(*out, "op");

cleanup:
    emp_graph_builder_destroy(b);
    return st;
}

static emp_status time_op(double *seconds, const emp_graph *graph, emp_op_id op,
                          const place *p, emp_error *err)
{
    emp_cost_table *costs = NULL;

    EMP_CHECK(emp_cost_table_create(&costs, graph, p->machine, &p->runtime, err));
    emp_time_ns ns =
        p->device == 0 ? costs->cpu[op].compute_ns : costs->gpu[op].compute_ns;
    *seconds = (double)ns * 1e-9;
    emp_cost_table_destroy(costs);
    return EMP_OK;
}

static emp_status time_single(double *seconds, const single *s, const place *p,
                              emp_error *err)
{
    emp_graph *graph = NULL;
    emp_op_id  op;

    emp_status st = build_single(&graph, s, &op, err);
    if (st == EMP_OK) st = time_op(seconds, graph, op, p, err);
    emp_graph_destroy(graph);
    return st;
}

/* The prediction for a spec: a time, and the unit of the measured rate. */
typedef struct {
    double model_s, amount;
} prediction;

static emp_status predict_matmul(prediction *out, const words *w, const place *p,
                                 emp_error *err)
{
    int64_t m = 0, n = 0, k = 0;
    single  s = {.type = "MatMul", .input_count = 2};

    if (w->count < 4)
        return EMP_ERROR(EMP_EINVAL, "a product is matmul M N K, and tn or nt after it");
    EMP_CHECK(read_count(w->word[1], &m, err));
    EMP_CHECK(read_count(w->word[2], &n, err));
    EMP_CHECK(read_count(w->word[3], &k, err));
    s.attrs.transpose_a = w->count > 4 && strcmp(w->word[4], "tn") == 0;
    s.attrs.transpose_b = w->count > 4 && strcmp(w->word[4], "nt") == 0;
    s.input[0] = s.attrs.transpose_a ? EMP_SHAPE(k, m) : EMP_SHAPE(m, k);
    s.input[1] = s.attrs.transpose_b ? EMP_SHAPE(n, k) : EMP_SHAPE(k, n);
    out->amount = 2.0 * (double)m * (double)n * (double)k;
    return time_single(&out->model_s, &s, p, err);
}

/* Types that read and write so many tensors of one size. */
static emp_status predict_pass(prediction *out, const words *w, const place *p,
                               emp_error *err)
{
    static const char *const types[] = {"Relu", "Add"}; /* by reads */
    int64_t                  reads = 0, writes = 0, bytes = 0;
    single                   s = {0};

    if (w->count != 4) return EMP_ERROR(EMP_EINVAL, "a pass is pass READS WRITES BYTES");
    EMP_CHECK(read_count(w->word[1], &reads, err));
    EMP_CHECK(read_count(w->word[2], &writes, err));
    EMP_CHECK(read_bytes(w->word[3], &bytes, err));
    if (reads > 2 || writes != 1)
        return EMP_ERROR(EMP_EINVAL, "a pass reads one or two tensors and writes one");
    s.type = types[reads - 1];
    s.input_count = (int32_t)reads;
    s.input[0] = s.input[1] = EMP_SHAPE(bytes / FLOAT_BYTES);
    out->amount = (double)(reads + writes) * (double)bytes;
    return time_single(&out->model_s, &s, p, err);
}

static emp_status predict_kernel(prediction *out, const words *w, const place *p,
                                 emp_error *err)
{
    single s = {.type = "Relu", .input = {EMP_SHAPE(1)}, .input_count = 1};

    if (w->count != 1) return EMP_ERROR(EMP_EINVAL, "a kernel has no sizes");
    out->amount = 1.0;
    return time_single(&out->model_s, &s, p, err);
}

/* ---- convolutions ------------------------------------------------------------------ */

static emp_status read_convolution(emp_net_convolution *layer, const char **type,
                                   const words *w, emp_error *err)
{
    static const char *const types[] = {"Conv2D", "Conv2DBackpropInput",
                                        "Conv2DBackpropFilter"};
    int64_t                  count[5];
    int32_t                  of = -1, padding = -1;

    if (w->count == 8) {
        for (int32_t i = 0; i < 5; i++)
            EMP_CHECK(read_count(w->word[1 + i], &count[i], err));
        padding = emp_words_find("valid|same", w->word[6], strlen(w->word[6]));
        of = emp_words_find("output|input|filter", w->word[7], strlen(w->word[7]));
    }
    if (of < 0 || padding < 0)
        return EMP_ERROR(EMP_EINVAL,
                         "a convolution is conv BATCH SIZE CHANNELS FILTERS WINDOW, then "
                         "valid or same, then output, input or filter");
    *layer =
        (emp_net_convolution){(int32_t)count[0], (int32_t)count[1], (int32_t)count[2],
                              (int32_t)count[3], (int32_t)count[4], padding == 1};
    *type = types[of];
    return EMP_OK;
}

static emp_op_id find_type(const emp_graph *graph, const char *type)
{
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (strcmp(graph->type_name[graph->type[op]], type) == 0) return op;
    return -1;
}

static emp_status predict_conv(prediction *out, const words *w, const place *p,
                               emp_error *err)
{
    emp_net_convolution layer;
    emp_graph          *graph = NULL;
    const char         *type = NULL;

    EMP_CHECK(read_convolution(&layer, &type, w, err));
    EMP_CHECK(emp_net_build_convolution(&graph, &layer, err));
    emp_op_id op = find_type(graph, type);
    out->amount = graph->op[op].cost->flops;
    emp_status st = time_op(&out->model_s, graph, op, p, err);
    emp_graph_destroy(graph);
    return st;
}

/* ---- copies ------------------------------------------------------------------------ */

static emp_status predict_copy(prediction *out, const words *w, const place *p,
                               emp_error *err)
{
    emp_device_id end[2];
    int64_t       bytes = 0;

    if (w->count != 4) return EMP_ERROR(EMP_EINVAL, "a copy is copy FROM TO BYTES");
    for (int32_t i = 0; i < 2; i++) {
        end[i] = emp_machine_find(p->machine, w->word[1 + i]);
        if (end[i] < 0)
            return EMP_ERROR(EMP_EINVAL, "machine %s has no device \"%s\"",
                             p->machine->name, w->word[1 + i]);
    }
    EMP_CHECK(read_bytes(w->word[3], &bytes, err));
    const emp_route *route = &p->machine->route[end[0]][end[1]];
    if (route->link_count == 0)
        return EMP_ERROR(EMP_EINVAL, "no link leads from %s to %s", w->word[1],
                         w->word[2]);
    out->amount = (double)bytes;
    out->model_s = route->latency_s + (double)bytes / route->bytes_per_s;
    return EMP_OK;
}

/* ---- graphs ------------------------------------------------------------------------ */

static emp_status load_graph(emp_graph **graph, const words *w, emp_error *err)
{
    bool is_nchw = w->count > 2 && strcmp(w->word[2], "nchw") == 0;

    *graph = NULL;
    if (w->count < 2 || w->count > 3 || (w->count == 3 && !is_nchw))
        return EMP_ERROR(EMP_EINVAL, "%s takes a graph, and nchw after it", w->word[0]);
    EMP_CHECK(emp_net_is_spec(w->word[1])
                  ? emp_net_build(graph, w->word[1], err)
                  : emp_source_load(graph, NULL, NULL, w->word[1], err));
    return is_nchw ? emp_net_set_nchw(*graph, err) : EMP_OK;
}

static emp_status predict_host(prediction *out, const words *w, const place *p,
                               emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_graph      *graph = NULL;
    emp_cost_table *costs = NULL;
    emp_time_ns     sum = 0;

    EMP_TRY(load_graph(&graph, w, err));
    EMP_TRY(emp_cost_table_create(&costs, graph, p->machine, &p->runtime, err));
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (!graph->op[op].is_folded) sum += costs->gpu[op].issue_ns;
    out->amount = 1.0;
    out->model_s = (double)sum * 1e-9 + p->runtime.events.step_s;

cleanup:
    emp_cost_table_destroy(costs);
    emp_graph_destroy(graph);
    return st;
}

static emp_status predict_step(prediction *out, const words *w, const place *p,
                               emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_graph     *graph = NULL;
    emp_problem   *problem = NULL;
    emp_device_id *device_of_op = NULL;
    emp_sim_result result;

    EMP_TRY(load_graph(&graph, w, err));
    EMP_TRY(EMP_ALLOC(device_of_op, (size_t)graph->op_count));
    for (emp_op_id op = 0; op < graph->op_count; op++) device_of_op[op] = p->device;
    EMP_TRY(
        emp_problem_create(&problem, graph, p->machine, &p->runtime, w->word[1], err));
    emp_problem_legalize(problem, device_of_op);
    EMP_TRY(emp_step_predict(&result, graph, device_of_op, p->machine, &p->runtime,
                             w->word[1], err));
    out->amount = 1.0;
    out->model_s = (double)result.step_time_ns * 1e-9;

cleanup:
    emp_problem_destroy(problem);
    emp_free(device_of_op);
    emp_graph_destroy(graph);
    return st;
}

/* ---- all together ------------------------------------------------------------------ */

typedef struct {
    const char *verb;
    emp_unit    rate; /* of which a measured rate is; seconds = there is none */
    emp_status (*predict)(prediction *out, const words *w, const place *p,
                          emp_error *err);
} verb;

static const verb verbs[] = {{"matmul", EMP_UNIT_FLOPS_PER_S, predict_matmul},
                             {"conv", EMP_UNIT_FLOPS_PER_S, predict_conv},
                             {"pass", EMP_UNIT_BYTES_PER_S, predict_pass},
                             {"kernel", EMP_UNIT_SECONDS, predict_kernel},
                             {"copy", EMP_UNIT_BYTES_PER_S, predict_copy},
                             {"host", EMP_UNIT_SECONDS, predict_host},
                             {"step", EMP_UNIT_SECONDS, predict_step}};

static const verb *find_verb(const char *word)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].verb, word) == 0) return &verbs[i];
    return NULL;
}

static emp_status predict(emp_anchor_times *times, const emp_anchor *a,
                          const emp_runtime *runtime, emp_error *err)
{
    place      p = {0};
    prediction out = {0};
    words      w = {0};

    EMP_CHECK(split(&w, a->spec, err));
    const verb *v = find_verb(w.word[0]);
    if (v == NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "\"%s\" is no spec; it begins with matmul, conv, pass, "
                         "kernel, copy, host or step",
                         a->spec);
    if (a->unit != EMP_UNIT_SECONDS && a->unit != v->rate)
        return EMP_ERROR(EMP_EINVAL, "what is measured of \"%s\" is no such rate",
                         v->verb);
    emp_status st = find_place(&p, a->device, runtime, err);
    if (st == EMP_OK) st = v->predict(&out, &w, &p, err);
    emp_machine_destroy(p.machine);
    EMP_CHECK(st);
    times->model_s = out.model_s;
    times->measured_s =
        a->unit == EMP_UNIT_SECONDS ? a->measured : out.amount / a->measured;
    return EMP_OK;
}

emp_status emp_anchor_predict(emp_anchor_times *times, const emp_anchor *anchor,
                              const emp_runtime *runtime, emp_error *err)
{
    emp_error  inner = {0};
    emp_status st = predict(times, anchor, runtime, &inner);

    if (st != EMP_OK) return EMP_ERROR(st, "anchor %s: %s", anchor->name, inner.msg);
    return EMP_OK;
}
