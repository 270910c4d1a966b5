// SPDX-License-Identifier: GPL-3.0-or-later
/* Chakra's traces: do both forms give the same graph, with every time and dependency as stated? */
#include "tests/graphs/graphs.h"
#include "tests/support/proto_writer.h"
#include "tests/test.h"

TestSuite(chakra, .init = scratch_create, .fini = graph_tear_down);

static const char json[] =
    "{'workload_graph':[{'Id':216,'Name':'aten::copy_(0)','NodeType':4,'ctrlDeps':[3],"
    "'data_deps':[],'runtime':318,'is_cpu_op':true},{'Id':430,'Name':'void "
    "at::copy<int>(int)','NodeType':4,'data_deps':[216],'runtime':4,'is_cpu_op':false},"
    "{'Id':435,'Name':'ncclKernel_Broadcast(x*)','NodeType':7,'data_deps':[430,216],"
    "'is_cpu_op':false,'comm_size':4096}]}";

/* Members that are -1 are left out. */
typedef struct {
    int64_t     id, type, us, is_cpu, comm_type, comm_bytes;
    const char *name;
    int         dep_count;
    int64_t     deps[2];
} node;

static const node nodes[] = {
    {216, 4, 318, true, -1, -1, "aten::copy_(0)", 0, {0}},
    {430, 4, 4, false, -1, -1, "void at::copy<int>(int)", 1, {216}},
    {435, 4, -1, false, -1, 4096, "ncclKernel_Broadcast(x*)", 2, {430, 216}}};

static void put_attr(proto_writer *w, const char *name, int field, int64_t value)
{
    size_t attr = proto_begin(w, 10, "attr");

    proto_string(w, 1, "name", name);
    proto_int(w, field, "value", value);
    proto_end(w, attr);
}

/* A message behind its length. */
static void put_message(proto_writer *file, proto_writer *message)
{
    proto_varint(file, message->size);
    proto_append(file, message->data, message->size);
    message->size = 0;
}

static bool has_version = true; /* else the metadata begin with an attribute */

static proto_writer make_trace(const node *n, size_t count)
{
    proto_writer file = {0}, w = {0};

    /* known only by this where the first node leaves its id out */
    if (has_version) {
        proto_string(&w, 1, "version", "0.0.4");
    } else {
        size_t attr = proto_begin(&w, 2, "attr");
        proto_string(&w, 1, "name", "schema");
        proto_end(&w, attr);
    }
    put_message(&file, &w);
    for (; count > 0; count--, n++) {
        if (n->id >= 0) proto_int(&w, 1, "id", n->id);
        proto_string(&w, 2, "name", n->name);
        proto_int(&w, 3, "type", n->type);
        /* one alone is not packed, which readers must accept */
        if (n->dep_count == 1) proto_int(&w, 5, "data_deps", n->deps[0]);
        if (n->dep_count > 1) proto_ints(&w, 5, "data_deps", n->deps, n->dep_count);
        if (n->us >= 0) proto_int(&w, 7, "duration_micros", n->us);
        if (n->is_cpu >= 0) put_attr(&w, "is_cpu_op", 27, n->is_cpu);
        if (n->comm_type >= 0) put_attr(&w, "comm_type", 9, n->comm_type);
        if (n->comm_bytes >= 0) put_attr(&w, "comm_size", 9, n->comm_bytes);
        put_message(&file, &w);
    }
    proto_clear(&w);
    return file;
}

static emp_graph *load(const node *n, size_t count, emp_import_devices *devices)
{
    SCOPED(proto_writer, proto_clear) file = make_trace(n, count);

    scratch_write("trace", file.data, file.size);
    return graph_load(scratch_path("trace"), NULL, devices);
}

static emp_graph *load_text(const char *text, emp_import_devices *devices)
{
    scratch_write_json("trace", text);
    return graph_load(scratch_path("trace"), NULL, devices);
}

static void expect_graph(emp_graph *g, const emp_import_devices *devices)
{
    emp_op_id cpu = graph_find(g, "cpu/copy_.216"), gpu = graph_find(g, "gpu/copy.430");
    emp_op_id nccl = graph_find(g, "gpu/ncclKernel_Broadcast.435");

    cr_assert_eq(g->op_count, 3);
    cr_expect_eq(g->stated[cpu].cpu_ns, 318000);
    cr_expect_eq(g->op[cpu].kinds, EMP_KIND_CPU);
    cr_expect_eq(g->stated[gpu].gpu_ns, 4000);
    cr_expect_eq(g->stated[nccl].gpu_ns, 0, "the trace states none");
    cr_expect_eq(g->tensor[g->output_offset[nccl]].copy_bytes, 4096);
    cr_expect_eq(g->edge_count, 3);
    cr_expect_eq(g->tensor[g->input[g->input_offset[nccl]]].producer, gpu);
    cr_expect_not_null(strstr(devices->note, "1 node of the CPU, 2 of the GPU"), "%s",
                       devices->note);
    cr_expect_not_null(strstr(devices->note, "1 states no time"), "%s", devices->note);
}

Test(chakra, both_forms_are_the_same_graph)
{
    emp_import_devices devices;

    expect_graph(load_text(json, &devices), &devices);
    expect_graph(load(nodes, COUNT(nodes), &devices), &devices);
}

#define COLLECTIVE "'NodeType':7,'is_cpu_op':false,'comm_size':4096"

/* One of all GPUs where the trace states no time, in both forms. */
Test(chakra, collectives_without_times_are_the_machines)
{
    static const char text[] =
        "{'workload_graph':[{'Id':1,'Name':'sum','data_deps':[],'comm_type':7," COLLECTIVE
        "},{'Id':2,'Name':'timed','data_deps':[1],'comm_type':0,'runtime':3," COLLECTIVE
        "},{'Id':3,'Name':'cast','data_deps':[2],'comm_type':5," COLLECTIVE
        "},{'Id':4,'Name':'text','data_deps':[3],'comm_type':'0'," COLLECTIVE "}]}";
    static const node  gather[] = {{1, 7, -1, -1, 2, 512, "gather", 0, {0}}};
    emp_import_devices devices;
    emp_graph         *g = load_text(text, &devices);

    const emp_collective_part *part = &g->collective[graph_find(g, "gpu/sum.1")];
    cr_expect_eq(part->op, EMP_COLLECTIVE_REDUCE_SCATTER);
    cr_expect_eq(part->ranks, EMP_RANKS_ALL);
    cr_expect_eq(part->bytes, 4096);
    cr_expect(!emp_graph_is_collective(g, graph_find(g, "gpu/timed.2")));
    cr_expect(!emp_graph_is_collective(g, graph_find(g, "gpu/cast.3")));
    cr_expect(!emp_graph_is_collective(g, graph_find(g, "gpu/text.4")));
    cr_expect_not_null(strstr(devices.note, "1 collective states no time"), "%s",
                       devices.note);
    cr_expect_not_null(strstr(devices.note, "2 state no time"), "%s", devices.note);

    g = load(gather, 1, NULL);
    cr_expect_eq(g->collective[0].op, EMP_COLLECTIVE_ALL_GATHER);
    cr_expect_eq(g->collective[0].bytes, 512);
    /* the bytes that a rank brings, as ASTRA-sim reads them (system/collective/Ring.cc) */
    cr_expect_eq(g->collective[0].ranks, EMP_RANKS_ALL_GATHER);
}

/* proto3 writes no number that is 0: ASTRA-sim's traces begin with a node of id 0, which others read. */
Test(chakra, an_id_of_zero_is_left_out)
{
    static const node sum[] = {{-1, 7, -1, 0, 0, 1 << 20, "sum_of_gradients", 0, {0}},
                               {1, 4, 5, -1, -1, -1, "update", 1, {0}}};

    for (int i = 0; i < 2; i++) {
        has_version = i == 0;
        emp_graph *g = load(sum, 2, NULL);
        cr_expect_eq(g->op_count, 2);
        cr_expect_eq(g->edge_count, 1);
        cr_expect_eq(g->collective[graph_find(g, "gpu/sum_of_gradients.0")].bytes,
                     1 << 20);
    }
}

/* ETFeederNode of Chakra starts with is_cpu_op_ = 0, and ASTRA-sim reads is_cpu_op<bool>(false). */
Test(chakra, a_node_that_does_not_say_where_it_is_is_the_gpus)
{
    static const node silent[] = {{1, 4, 5, -1, -1, -1, "load", 0, {0}},
                                  {2, 4, 5, true, -1, -1, "add", 1, {1}},
                                  {3, 5, -1, -1, -1, 8, "send", 1, {2}}};
    static const char text[] = "{'workload_graph':[{'Id':1,'Name':'load','NodeType':4}]}";
    emp_graph        *g = load(silent, COUNT(silent), NULL);

    cr_expect_eq(g->op[graph_find(g, "gpu/load.1")].kinds, EMP_KIND_CPU | EMP_KIND_GPU);
    cr_expect_eq(g->op[graph_find(g, "cpu/add.2")].kinds, EMP_KIND_CPU);
    cr_expect_geq(graph_find(g, "gpu/send.3"), 0);
    cr_expect_geq(graph_find(load_text(text, NULL), "gpu/load.1"), 0);
}

Test(chakra, a_collective_alone_is_a_step)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    scratch_write_json("trace", "{'workload_graph':[{'Id':1,'Name':'sum','data_deps':[],"
                                "'comm_type':0," COLLECTIVE "}]}");
    (void)graph_load(scratch_path("trace"), &notes, NULL);
    cr_expect_eq(notes.warning_count, 0, "%s", notes.warning[0]);
}

Test(chakra, faults_are_named)
{
    static const struct {
        const char *from, *to, *part;
    } faults[] = {
        {"'Id':430", "'Id':216", "two nodes have the id 216"},
        {"'Id':430,", "", "node 1, counted from 0, has no id"},
        {"'Name':'aten::copy_(0)',", "", "node 0, counted from 0, has no name"},
        {"'runtime':318", "'runtime':1e15", "more than ten days"},
        {"'runtime':318", "'runtime':Infinity", "node 216: runtime"},
        {"'data_deps':[216]", "'data_deps':['x']", "node 430: data_deps"},
        {"'data_deps':[]", "'data_deps':[435]", "cycle"},
    };

    for (size_t i = 0; i < COUNT(faults); i++)
        graph_expect_faults(
            "trace",
            &(graph_fault){graph_replace(json, faults[i].from, faults[i].to),
                           faults[i].part},
            1, EMP_OK);
}

Test(chakra, every_truncation_is_an_error_or_a_shorter_trace)
{
    SCOPED(proto_writer, proto_clear) file = make_trace(nodes, COUNT(nodes));
    int refused = 0;

    for (size_t size = 1; size < file.size; size++) {
        emp_graph *g = NULL;
        scratch_write("trace", file.data, size);
        refused += emp_source_load(&g, NULL, NULL, scratch_path("trace"), NULL) != EMP_OK;
        emp_graph_destroy(g);
    }
    cr_expect_gt(refused, (int)file.size * 9 / 10);
}

Test(chakra, a_dependency_on_a_node_that_is_not_there_is_told)
{
    emp_import_devices devices;
    cr_expect_eq(load_text(graph_replace(json, "[216]", "[9]"), &devices)->edge_count, 2);
    cr_expect_not_null(strstr(devices.note, "not there: 1"), "%s", devices.note);
}

Test(chakra, survives_every_allocation_failure)
{
    (void)load(nodes, COUNT(nodes), NULL);
    graph_survives(scratch_path("trace"));
}
