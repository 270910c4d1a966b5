// SPDX-License-Identifier: GPL-3.0-or-later
/* Chakra's traces: do both forms give the same graph, with every time and dependency as stated? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/support/proto_writer.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(chakra, .init = scratch_create, .fini = scratch_remove);

static const char json[] =
    "{\"workload_graph\": [\n"
    " {\"Id\": 216, \"Name\": \"aten::copy_(0)\", \"NodeType\": 4, \"ctrlDeps\": [3],\n"
    "  \"data_deps\": [], \"runtime\": 318, \"is_cpu_op\": true},\n"
    " {\"Id\": 430, \"Name\": \"void at::copy<int>(int)\", \"NodeType\": 4,\n"
    "  \"data_deps\": [216], \"runtime\": 4, \"is_cpu_op\": false},\n"
    " {\"Id\": 435, \"Name\": \"ncclKernel_Broadcast(x*)\", \"NodeType\": 7,\n"
    "  \"data_deps\": [430, 216], \"is_cpu_op\": false, \"comm_size\": 4096}]}";

typedef struct {
    int64_t     id, deps[2], us, comm_bytes;
    const char *name;
    int         dep_count;
    bool        is_cpu;
} node;

static const node nodes[] = {
    {216, {0}, 318, -1, "aten::copy_(0)", 0, true},
    {430, {216}, 4, -1, "void at::copy<int>(int)", 1, false},
    {435, {430, 216}, -1, 4096, "ncclKernel_Broadcast(x*)", 2, false}};

static void put_attr(proto_writer *w, const char *name, int field, int64_t value)
{
    size_t attr = proto_begin(w, 10, "attr");

    proto_string(w, 1, "name", name);
    proto_int(w, field, "value", value);
    proto_end(w, attr);
}

/* A message behind its length. */
static void put_message(proto_writer *file, const proto_writer *message)
{
    proto_varint(file, message->size);
    proto_append(file, message->data, message->size);
}

static void put_trace(proto_writer *file)
{
    proto_writer metadata = {0};

    put_attr(&metadata, "pid", 9, 7);
    put_message(file, &metadata);
    proto_clear(&metadata);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        const node  *n = &nodes[i];
        proto_writer w = {0};
        proto_int(&w, 1, "id", n->id);
        proto_string(&w, 2, "name", n->name);
        proto_int(&w, 3, "type", 4);
        /* one alone is not packed, which readers must accept */
        if (n->dep_count == 1) proto_int(&w, 5, "data_deps", n->deps[0]);
        if (n->dep_count > 1) proto_ints(&w, 5, "data_deps", n->deps, n->dep_count);
        if (n->us >= 0) proto_int(&w, 7, "duration_micros", n->us);
        put_attr(&w, "is_cpu_op", 27, n->is_cpu);
        if (n->comm_bytes >= 0) put_attr(&w, "comm_size", 9, n->comm_bytes);
        put_message(file, &w);
        proto_clear(&w);
    }
}

static emp_status load(emp_graph **graph, emp_import_devices *devices, const void *bytes,
                       size_t size, emp_error *err)
{
    scratch_write("trace", bytes, size);
    return emp_source_load(graph, NULL, devices, scratch_path("trace"), err);
}

static void expect_graph(const void *bytes, size_t size)
{
    emp_graph         *g = NULL;
    emp_import_devices devices;
    emp_error          err = {0};

    cr_assert_eq(load(&g, &devices, bytes, size, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(g->op_count, 3);
    emp_op_id cpu = emp_graph_find(g, "cpu/copy_.216");
    emp_op_id gpu = emp_graph_find(g, "gpu/copy.430");
    emp_op_id nccl = emp_graph_find(g, "gpu/ncclKernel_Broadcast.435");
    cr_assert(cpu >= 0 && gpu >= 0 && nccl >= 0);
    cr_expect_eq(g->stated[cpu].cpu_ns, 318000);
    cr_expect_eq(g->op[cpu].kinds, EMP_KIND_CPU);
    cr_expect_eq(g->stated[gpu].gpu_ns, 4000);
    cr_expect_eq(g->stated[nccl].gpu_ns, 0, "the trace states none");
    cr_expect_eq(g->tensor[g->output_offset[nccl]].copy_bytes, 4096);
    cr_expect_eq(g->edge_count, 3);
    cr_expect_eq(g->tensor[g->input[g->input_offset[nccl]]].producer, gpu);
    cr_expect_not_null(strstr(devices.note, "1 node of the CPU, 2 of the GPU"), "%s",
                       devices.note);
    cr_expect_not_null(strstr(devices.note, "1 states no time"), "%s", devices.note);
    emp_graph_destroy(g);
}

Test(chakra, both_forms_are_the_same_graph)
{
    proto_writer file = {0};

    put_trace(&file);
    expect_graph(json, strlen(json));
    expect_graph(file.data, file.size);
    proto_clear(&file);
}

/* One of all GPUs where the trace states no time, in both forms. */
Test(chakra, collectives_without_times_are_the_machines)
{
    static const char text[] =
        "{\"workload_graph\": [\n"
        " {\"Id\": 1, \"Name\": \"sum\", \"NodeType\": 7, \"data_deps\": [],\n"
        "  \"is_cpu_op\": false, \"comm_size\": 4096, \"comm_type\": 7},\n"
        " {\"Id\": 2, \"Name\": \"timed\", \"NodeType\": 7, \"data_deps\": [1], "
        "\"runtime\": 3,\n"
        "  \"is_cpu_op\": false, \"comm_size\": 4096, \"comm_type\": 0},\n"
        " {\"Id\": 3, \"Name\": \"cast\", \"NodeType\": 7, \"data_deps\": [2],\n"
        "  \"is_cpu_op\": false, \"comm_size\": 4096, \"comm_type\": 5},\n"
        " {\"Id\": 4, \"Name\": \"text\", \"NodeType\": 7, \"data_deps\": [3],\n"
        "  \"is_cpu_op\": false, \"comm_size\": 4096, \"comm_type\": \"0\"}]}";
    proto_writer       file = {0}, w = {0};
    emp_graph         *g = NULL;
    emp_import_devices devices;
    emp_error          err = {0};

    cr_assert_eq(load(&g, &devices, text, strlen(text), &err), EMP_OK, "%s", err.msg);
    const emp_collective_part *part = &g->collective[emp_graph_find(g, "gpu/sum.1")];
    cr_expect_eq(part->op, EMP_COLLECTIVE_REDUCE_SCATTER);
    cr_expect_eq(part->ranks, EMP_RANKS_ALL);
    cr_expect_eq(part->bytes, 4096);
    cr_expect(!emp_graph_is_collective(g, emp_graph_find(g, "gpu/timed.2")));
    cr_expect(!emp_graph_is_collective(g, emp_graph_find(g, "gpu/cast.3")));
    cr_expect(!emp_graph_is_collective(g, emp_graph_find(g, "gpu/text.4")));
    cr_expect_not_null(strstr(devices.note, "1 collective states no time and takes that"),
                       "%s", devices.note);
    cr_expect_not_null(strstr(devices.note, "2 state no time and take none"), "%s",
                       devices.note);
    emp_graph_destroy(g);

    put_attr(&w, "pid", 9, 7);
    put_message(&file, &w);
    proto_clear(&w);
    proto_int(&w, 1, "id", 1);
    proto_string(&w, 2, "name", "gather");
    proto_int(&w, 3, "type", 7);
    put_attr(&w, "comm_type", 9, 2);
    put_attr(&w, "comm_size", 9, 512);
    put_message(&file, &w);
    proto_clear(&w);
    cr_assert_eq(load(&g, &devices, file.data, file.size, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(g->collective[0].op, EMP_COLLECTIVE_ALL_GATHER);
    cr_expect_eq(g->collective[0].bytes, 512);
    emp_graph_destroy(g);
    proto_clear(&file);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* proto3 writes no number that is 0: ASTRA-sim's traces begin with a node of id 0, which others read. */
Test(chakra, an_id_of_zero_is_left_out)
{
    proto_writer file = {0}, w = {0};
    emp_graph   *g = NULL;
    emp_error    err = {0};

    proto_string(&w, 1, "version", "0.0.4");
    put_message(&file, &w);
    proto_clear(&w);
    proto_string(&w, 2, "name", "sum_of_gradients");
    proto_int(&w, 3, "type", 7);
    put_attr(&w, "is_cpu_op", 27, 0);
    put_attr(&w, "comm_type", 9, 0);
    put_attr(&w, "comm_size", 9, 1 << 20);
    put_message(&file, &w);
    proto_clear(&w);
    proto_int(&w, 1, "id", 1);
    proto_string(&w, 2, "name", "update");
    proto_int(&w, 3, "type", 4);
    proto_ints(&w, 5, "data_deps", (int64_t[]){0}, 1);
    proto_int(&w, 7, "duration_micros", 5);
    put_message(&file, &w);
    proto_clear(&w);
    cr_assert_eq(load(&g, NULL, file.data, file.size, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(g->op_count, 2);
    cr_expect_eq(g->edge_count, 1);
    cr_expect_eq(g->collective[emp_graph_find(g, "gpu/sum_of_gradients.0")].bytes,
                 1 << 20);
    emp_graph_destroy(g);
    proto_clear(&file);
}

/* The machine knows how long it takes, so that a step of nothing else computes something. */
Test(chakra, a_collective_alone_is_a_step)
{
    static const char text[] = "{\"workload_graph\": [{\"Id\": 1, \"Name\": \"sum\", "
                               "\"NodeType\": 7, \"data_deps\": [], \"is_cpu_op\": "
                               "false, \"comm_size\": 4096, \"comm_type\": 0}]}";
    emp_import_notes  notes = {0};
    emp_graph        *g = NULL;

    scratch_write("trace", text, strlen(text));
    cr_assert_eq(
        emp_source_load_noted(&g, NULL, NULL, &notes, scratch_path("trace"), NULL),
        EMP_OK);
    cr_expect_eq(notes.warning_count, 0, "%s",
                 notes.warning_count > 0 ? notes.warning[0] : "");
    emp_graph_destroy(g);
    emp_import_notes_clear(&notes);
}

Test(chakra, faults_are_one_sentence)
{
    static const struct {
        const char *from, *to, *wants;
    } faults[] = {
        {"\"Id\": 430", "\"Id\": 216", "two nodes have the id 216"},
        {"\"Id\": 430,", "", "node 1, counted from 0, has no id"},
        {"\"Name\": \"aten::copy_(0)\",", "", "node 0, counted from 0, has no name"},
        {"\"runtime\": 318", "\"runtime\": 1e15", "more than ten days"},
        {"\"runtime\": 318", "\"runtime\": Infinity",
         "node 216: runtime must be a finite number"},
        {"\"data_deps\": [216]", "\"data_deps\": [\"x\"]", "node 430: data_deps are ids"},
        {"\"data_deps\": []", "\"data_deps\": [435]", "cycle"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char        text[1024];
        emp_graph  *g = NULL;
        emp_error   err = {0};
        const char *place = strstr(json, faults[i].from);
        cr_assert_not_null(place, "%s", faults[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - json), json, faults[i].to,
                 place + strlen(faults[i].from));
        cr_expect_neq(load(&g, NULL, text, strlen(text), &err), EMP_OK, "%s",
                      faults[i].wants);
        cr_expect_not_null(strstr(err.msg, faults[i].wants), "%s, not %s", err.msg,
                           faults[i].wants);
    }
}

Test(chakra, every_truncation_is_an_error_or_a_shorter_trace)
{
    proto_writer file = {0};
    int          refused = 0;

    put_trace(&file);
    for (size_t size = 1; size < file.size; size++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        refused += load(&g, NULL, file.data, size, &err) != EMP_OK;
        emp_graph_destroy(g);
    }
    cr_expect_gt(refused, (int)file.size * 9 / 10);
    proto_clear(&file);
}

Test(chakra, a_dependency_on_a_node_that_is_not_there_is_told)
{
    char               text[1024];
    emp_graph         *g = NULL;
    emp_import_devices devices;
    const char        *place = strstr(json, "[216]");

    snprintf(text, sizeof text, "%.*s[9]%s", (int)(place - json), json, place + 5);
    cr_assert_eq(load(&g, &devices, text, strlen(text), NULL), EMP_OK);
    cr_expect_eq(g->edge_count, 2);
    cr_expect_not_null(strstr(devices.note, "not there: 1"), "%s", devices.note);
    emp_graph_destroy(g);
}

Test(chakra, survives_every_allocation_failure)
{
    emp_graph   *g = NULL;
    proto_writer file = {0};

    put_trace(&file);
    SURVIVES_EVERY_ALLOCATION_FAILURE(load(&g, NULL, file.data, file.size, NULL),
                                      emp_graph_destroy(g));
    emp_graph_destroy(g);
    proto_clear(&file);
}
