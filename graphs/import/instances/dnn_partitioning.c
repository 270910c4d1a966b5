// SPDX-License-Identifier: GPL-3.0-or-later
/* The JSON of msr-fiddle/dnn-partitioning (Tarnawski et al., NeurIPS 2020), where "FPGA" is
 * any accelerator, here a GPU, and times are in milliseconds:
 *
 *     {"maxFPGAs": 6, "maxCPUs": 1, "maxSizePerFPGA": 17185374208.0,
 *      "nodes": [{"id": 4, "supportedOnFpga": 1, "cpuLatency": 0.73, "fpgaLatency": 0.073,
 *                 "isBackwardNode": 0, "size": 132382720.0, "colorClass": 4}, ...],
 *      "edges": [{"sourceId": 4, "destId": 5, "cost": 0.0029, "size": 6291456.0}, ...]}
 *
 * A node is the op "node4", or "gradients/node4" of the backward pass. Its edges' cost, the
 * same for all, is the time of its result between a GPU and host memory; their size, which a
 * file may leave out, what a copy carries under other rules. Its own size is all the memory
 * that it takes. Nodes of one color class share a device. Other keys are skipped.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"

enum { PLACE_BYTES = 40, MAX_NODES = 1 << 19 };

/* Costs of the edges that leave one node differ by no more, as the publication has it. */
static const double SAME_MS = 1e-6;

/* The facts about a node that its edges state, found by its id. */
typedef struct {
    int64_t id;
    int32_t op;      /* its place among the nodes */
    double  copy_ms; /* -1: no edge leaves it */
    double  copy_bytes;
} result;

typedef struct {
    const emp_json *nodes, *edges;
    result         *result; /* [node], by id */
    size_t          node_count;
} reader;

/* ---- values ---- */

static emp_status get_number(double *value, const emp_json *object, const char *place,
                             const char *key, double maximum, emp_error *err)
{
    const emp_json *number = emp_json_get(object, key);

    *value = emp_json_number(number); /* 0 of what is none */
    if (number == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: the key %s is missing", place, key);
    bool is_number =
        emp_json_is(number, EMP_JSON_INTEGER) || emp_json_is(number, EMP_JSON_REAL);
    if (!is_number || !(*value >= 0.0 && *value <= maximum))
        return EMP_ERROR(EMP_EFORMAT, "%s: %s must be a number from 0 to %g", place, key,
                         maximum);
    return EMP_OK;
}

static emp_status get_integer(int64_t *value, const emp_json *object, const char *place,
                              const char *key, int64_t minimum, int64_t maximum,
                              emp_error *err)
{
    const emp_json *number = emp_json_get(object, key);

    *value = emp_json_integer(number);
    if (number == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: the key %s is missing", place, key);
    if (!emp_json_is(number, EMP_JSON_INTEGER) || *value < minimum || *value > maximum)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: %s must be a whole number from %" PRId64 " to %" PRId64,
                         place, key, minimum, maximum);
    return EMP_OK;
}

/* true, false, 0 or 1 */
static emp_status get_flag(bool *value, const emp_json *object, const char *place,
                           const char *key, emp_error *err)
{
    const emp_json *flag = emp_json_get(object, key);
    bool is_number = emp_json_is(flag, EMP_JSON_INTEGER) && emp_json_integer(flag) >= 0 &&
                     emp_json_integer(flag) <= 1;

    if (flag == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: the key %s is missing", place, key);
    *value = emp_json_is(flag, EMP_JSON_TRUE) || emp_json_integer(flag) == 1;
    if (!*value && !emp_json_is(flag, EMP_JSON_FALSE) && !is_number)
        return EMP_ERROR(EMP_EFORMAT, "%s: %s must be true, false, 0 or 1", place, key);
    return EMP_OK;
}

static emp_status get_list(const emp_json **list, const emp_json *root, const char *key,
                           emp_error *err)
{
    *list = emp_json_get(root, key);
    if (!emp_json_is(*list, EMP_JSON_ARRAY))
        return EMP_ERROR(
            EMP_EFORMAT,
            "JSON, but no dnn-partitioning instance: the list \"%s\" is missing", key);
    if (emp_json_count(*list) > MAX_NODES)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%d %s, at most %d can be read",
                         emp_json_count(*list), key, MAX_NODES);
    return EMP_OK;
}

static const char *name_place(char place[PLACE_BYTES], const char *list, size_t i)
{
    snprintf(place, PLACE_BYTES, "%s[%zu]", list, i);
    return place;
}

/* ---- devices ---- */

static emp_status read_devices(emp_import_devices *devices, const emp_json *root,
                               emp_error *err)
{
    int64_t gpus, cpus;
    double  bytes;

    EMP_CHECK(get_integer(&gpus, root, "the file", "maxFPGAs", 0, INT32_MAX, err));
    EMP_CHECK(get_integer(&cpus, root, "the file", "maxCPUs", 1, INT32_MAX, err));
    EMP_CHECK(get_number(&bytes, root, "the file", "maxSizePerFPGA",
                         EMP_INSTANCE_BYTES_MAX, err));
    *devices = (emp_import_devices){.cpu_count = (int32_t)cpus,
                                    .gpu_count = (int32_t)gpus,
                                    .gpu_memory_bytes = (int64_t)bytes,
                                    .runtime = "msr-latency"};
    return EMP_OK;
}

/* ---- ids, and what edges say ---- */

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const result *)a)->id, y = ((const result *)b)->id;

    return (x > y) - (x < y);
}

static emp_status index_nodes(reader *r, emp_error *err)
{
    char place[PLACE_BYTES];

    const emp_json *node = emp_json_first(r->nodes);
    r->node_count = (size_t)emp_json_count(r->nodes);
    if (r->node_count == 0) return EMP_ERROR(EMP_EFORMAT, "the list \"nodes\" is empty");
    EMP_CHECK(EMP_ALLOC(r->result, r->node_count));
    for (size_t i = 0; i < r->node_count; i++, node = emp_json_next(node)) {
        r->result[i] = (result){.op = (int32_t)i, .copy_ms = -1.0};
        EMP_CHECK(get_integer(&r->result[i].id, node, name_place(place, "nodes", i), "id",
                              INT32_MIN, INT32_MAX, err));
    }
    qsort(r->result, r->node_count, sizeof *r->result, compare_ids);
    for (size_t i = 1; i < r->node_count; i++) {
        if (r->result[i].id == r->result[i - 1].id)
            return EMP_ERROR(EMP_EFORMAT, "the id %" PRId64 " has two nodes",
                             r->result[i].id);
    }
    return EMP_OK;
}

static emp_status find_end(result **end, const reader *r, const emp_json *edge,
                           const char *place, const char *key, emp_error *err)
{
    result wanted = {0};

    EMP_CHECK(get_integer(&wanted.id, edge, place, key, INT32_MIN, INT32_MAX, err));
    *end = bsearch(&wanted, r->result, r->node_count, sizeof *r->result, compare_ids);
    if (*end == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: %s: no node has the id %" PRId64, place, key,
                         wanted.id);
    return EMP_OK;
}

static emp_status read_edges(reader *r, emp_error *err)
{
    char   place[PLACE_BYTES];
    size_t i = 0;

    for (const emp_json *edge = emp_json_first(r->edges); edge != NULL;
         edge = emp_json_next(edge)) {
        result *from;
        double  ms, bytes = 0.0;
        name_place(place, "edges", i++);
        EMP_CHECK(find_end(&from, r, edge, place, "sourceId", err));
        EMP_CHECK(get_number(&ms, edge, place, "cost", EMP_INSTANCE_MS_MAX, err));
        if (emp_json_get(edge, "size") != NULL)
            EMP_CHECK(
                get_number(&bytes, edge, place, "size", EMP_INSTANCE_BYTES_MAX, err));
        if (from->copy_ms >= 0.0 && fabs(from->copy_ms - ms) > SAME_MS)
            return EMP_ERROR(EMP_EFORMAT,
                             "%s: cost is %g, but another edge of node %" PRId64
                             " costs %g; a result has one cost",
                             place, ms, from->id, from->copy_ms);
        if (from->copy_ms < 0.0) from->copy_ms = ms;
        from->copy_bytes = fmax(from->copy_bytes, bytes);
    }
    return EMP_OK;
}

/* ---- the graph ---- */

static emp_status add_node(emp_graph_builder *builder, const emp_json *node,
                           const char *place, const result *said, emp_error *err)
{
    emp_stated_op stated = {.cost.colocation = -1, .kinds = EMP_KIND_CPU};
    double        gpu_ms, cpu_ms, bytes;
    bool          has_gpu, is_backward;
    int64_t       color;
    char          name[32];
    emp_op_id     op;

    EMP_CHECK(get_flag(&has_gpu, node, place, "supportedOnFpga", err));
    EMP_CHECK(get_flag(&is_backward, node, place, "isBackwardNode", err));
    EMP_CHECK(get_number(&gpu_ms, node, place, "fpgaLatency", EMP_INSTANCE_MS_MAX, err));
    EMP_CHECK(get_number(&cpu_ms, node, place, "cpuLatency", EMP_INSTANCE_MS_MAX, err));
    EMP_CHECK(get_number(&bytes, node, place, "size", EMP_INSTANCE_BYTES_MAX, err));
    if (emp_json_get(node, "colorClass") != NULL) {
        EMP_CHECK(get_integer(&color, node, place, "colorClass", 0, INT32_MAX, err));
        stated.cost.colocation = (int32_t)color;
    }
    if (has_gpu) stated.kinds |= EMP_KIND_GPU;
    stated.cost.gpu_ns = emp_instance_ns(gpu_ms);
    stated.cost.cpu_ns = emp_instance_ns(cpu_ms);
    stated.cost.copy_ns = emp_instance_ns(fmax(said->copy_ms, 0.0));
    stated.persistent_bytes = emp_instance_bytes(bytes);
    stated.copy_bytes = emp_instance_bytes(said->copy_bytes);
    snprintf(name, sizeof name, "node%" PRId64, said->id);
    return emp_instance_add(builder, name, is_backward,
                            is_backward ? "Backward" : "Forward", &stated, &op, err);
}

static emp_status add_nodes(emp_graph_builder *builder, const reader *r, emp_error *err)
{
    emp_status     st = EMP_OK;
    char           place[PLACE_BYTES];
    const result **of_op = EMP_NEW_ARRAY(const result *, r->node_count);

    const emp_json *node = emp_json_first(r->nodes);

    if (of_op == NULL) EMP_FAIL(EMP_ENOMEM, "%zu nodes", r->node_count);
    for (size_t i = 0; i < r->node_count; i++) of_op[r->result[i].op] = &r->result[i];
    for (size_t i = 0; i < r->node_count; i++, node = emp_json_next(node)) {
        EMP_TRY(add_node(builder, node, name_place(place, "nodes", i), of_op[i], err));
    }

cleanup:
    emp_free((void *)of_op);
    return st;
}

static emp_status connect(emp_graph_builder *builder, const reader *r, emp_error *err)
{
    char   place[PLACE_BYTES];
    size_t i = 0;

    for (const emp_json *edge = emp_json_first(r->edges); edge != NULL;
         edge = emp_json_next(edge)) {
        result *from, *to;
        name_place(place, "edges", i++);
        EMP_CHECK(find_end(&from, r, edge, place, "sourceId", err));
        EMP_CHECK(find_end(&to, r, edge, place, "destId", err));
        EMP_CHECK(
            emp_graph_builder_connect(builder, (emp_port){from->op, 0}, to->op, err));
    }
    return EMP_OK;
}

bool emp_dnn_partitioning_is(const emp_json *root)
{
    int lists = emp_json_is(emp_json_get(root, "nodes"), EMP_JSON_ARRAY) +
                emp_json_is(emp_json_get(root, "edges"), EMP_JSON_ARRAY);

    return lists == 2 || (lists == 1 && emp_json_get(root, "format") == NULL);
}

emp_status emp_dnn_partitioning_read(emp_graph_builder *builder, emp_reading *reading,
                                     emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {0};

    EMP_TRY(get_list(&r.nodes, reading->json, "nodes", err));
    EMP_TRY(get_list(&r.edges, reading->json, "edges", err));
    EMP_TRY(read_devices(reading->devices, reading->json, err));
    EMP_TRY(index_nodes(&r, err));
    EMP_TRY(read_edges(&r, err));
    EMP_TRY(add_nodes(builder, &r, err));
    EMP_TRY(connect(builder, &r, err));

cleanup:
    emp_free(r.result);
    return st;
}
