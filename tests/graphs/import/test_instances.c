// SPDX-License-Identifier: GPL-3.0-or-later
/* Benchmark instances: is every cost the file's, in both formats, and is every fault one sentence
 * that names the line, or the node or edge and its key? */
#include "sim/graph/graph_builder.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/read_memory.h"
#include "tests/test.h"

/* Nodes 7 -> 3 -> 12 of the forward pass, 7 -> 12; 3 and 12 have backward counterparts; 9 has no
 * kernel on a GPU and no class. */
static const char json[] =
    "{'maxSizePerFPGA':1000.0,'maxFPGAs':3,'maxCPUs':2,'nodes':["
    "{'id':7,'supportedOnFpga':1,'cpuLatency':10,'fpgaLatency':0.5,'isBackwardNode':0,"
    "'size':100.0,'colorClass':70,'layerId':4},"
    "{'id':3,'supportedOnFpga':true,'cpuLatency':2.5,'fpgaLatency':0.25,"
    "'isBackwardNode':false,'size':200.4,'colorClass':30},"
    "{'id':12,'supportedOnFpga':true,'cpuLatency':0,'fpgaLatency':0,"
    "'isBackwardNode':false,'size':0,'colorClass':12},"
    "{'id':9,'supportedOnFpga':0,'cpuLatency':1e-6,'fpgaLatency':7,"
    "'isBackwardNode':false,'size':1},"
    "{'id':13,'supportedOnFpga':true,'cpuLatency':3,'fpgaLatency':1.5,"
    "'isBackwardNode':true,'size':2,'colorClass':30,'name':'x'}],\n'edges':["
    "{'sourceId':7,'destId':3,'cost':0.125,'size':4096},"
    "{'sourceId':7,'destId':12,'cost':0.125},{'sourceId':3,'destId':12,'cost':0.0625},"
    "{'sourceId':12,'destId':13,'cost':0},{'sourceId':9,'destId':13,'cost':2}]}\n";

static const char profile[] =
    "node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, "
    "activation_size=0.0, parameter_size=0.000\n"
    "node4 -- Embedding(320, 10, padding_idx=0) -- forward_compute_time=0.073, "
    "backward_compute_time=6.949, activation_size=64.0, parameter_size=128.000\n"
    "node5 -- LSTM(10, 10) -- forward_compute_time=5.25, backward_compute_time=10.5, "
    "activation_size=[100.0; 20.0; 3.0], parameter_size=7 -- stage_id=1\r\n"
    "\n"
    "\tnode1 -- node4\n"
    "\tnode4 -- node5\n"
    "\tnode1 -- node5";

/* Nodes 0 and 1 are inputs; op 0 is read by ops 1 and 2, twice by the latter, and these by op 3. */
static const char doppler[] = "6\n"
                              "0, 1, \n"
                              "0, 0, 0, 1, 2, \n"
                              "1,2, 2, 3, 3, \r\n"
                              "1000000000000,4000000000000\n"
                              "15000,5000\n"
                              "4999,0,einsummable\n"
                              "100000000,400000000, squeezer\n";

/* a is read by b and c; c waits for b, which a GPU has to run. */
static const char ops[] =
    "{'format':'emplace-ops-1','ops':["
    "{'name':'a','type':'MatMul','gpu_s':0.001,'cpu_s':0.02,'output_bytes':4096,"
    "'persistent_bytes':128,'together':3},"
    "{'name':'b','gpu_s':0.002,'devices':'gpu','copy_s':0.0005,'output_bytes':64,"
    "'held_bytes':256},\n{'name':'c','devices':'any','together':3}],"
    "'edges':[['a','b'],['a','c']],'controls':[['b','c']]}\n";

TestSuite(instances, .init = scratch_create, .fini = graph_tear_down);

static emp_graph *load(const char *text, emp_import_devices *devices)
{
    scratch_write_json("instance", text);
    return graph_keep(graph_import(scratch_path("instance"), NULL, devices));
}

static void expect_op(const emp_graph *g, const char *name, int64_t gpu_ns,
                      int64_t cpu_ns, int64_t copy_ns, int64_t persistent_bytes,
                      int64_t held_bytes, int64_t copy_bytes)
{
    emp_op_id         op = graph_find(g, name);
    const emp_tensor *result = &g->tensor[g->output_offset[op]];

    cr_expect_eq(g->stated[op].gpu_ns, gpu_ns, "%s", name);
    cr_expect_eq(g->stated[op].cpu_ns, cpu_ns, "%s", name);
    cr_expect_eq(g->stated[op].copy_ns, copy_ns, "%s", name);
    cr_expect_eq(g->op[op].persistent_bytes, persistent_bytes, "%s", name);
    cr_expect_eq(result->bytes, held_bytes, "%s", name);
    cr_expect_eq(result->copy_bytes, copy_bytes, "%s", name);
    cr_expect_eq(g->output_offset[op + 1] - g->output_offset[op], 1);
    cr_expect_not(g->op[op].is_folded);
}

Test(instances, json_costs_are_the_files)
{
    emp_import_devices devices;
    emp_graph         *g = load(json, &devices);

    cr_expect_eq(devices.cpu_count, 2);
    cr_expect_eq(devices.gpu_count, 3);
    cr_expect_eq(devices.gpu_memory_bytes, 1000);
    cr_expect_eq(g->op_count, 5);
    cr_expect_eq(g->edge_count, 5);
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->unknown_shape_count, 0);
    expect_op(g, "node7", 500000, 10000000, 125000, 100, 0, 4096);
    expect_op(g, "node3", 250000, 2500000, 62500, 200, 0, 0);
    expect_op(g, "node12", 0, 0, 0, 0, 0, 0);
    expect_op(g, "node9", 7000000, 1, 2000000, 1, 0, 0);
    expect_op(g, "gradients/node13", 1500000, 3000000, 0, 2, 0, 0);
    cr_expect(graph_is_bound(g, "node3", "gradients/node13"));
    cr_expect_eq(g->class_count, 4);
    cr_expect_eq(g->op[emp_graph_find(g, "node9")].kinds, EMP_KIND_CPU);
    cr_expect_eq(g->op[emp_graph_find(g, "node7")].kinds, EMP_KIND_CPU | EMP_KIND_GPU);
    cr_expect(graph_reads(g, "node3", "node7"));
    cr_expect(graph_reads(g, "gradients/node13", "node9"));
    for (emp_op_id op = 0; op < 5; op++)
        cr_expect_eq(g->is_target[op], op == 4, "all ops lead to the last");
}

Test(instances, a_step_keeps_what_the_file_states)
{
    emp_import_devices devices;
    emp_graph         *whole = load(json, &devices), *step = NULL, *again = NULL;

    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    cr_expect_eq(step->op_count, 5);
    cr_expect_eq(step->hash, whole->hash);
    expect_op(step, "node7", 500000, 10000000, 125000, 100, 0, 4096);
    cr_expect(graph_is_bound(step, "node3", "gradients/node13"));
    again = load(graph_replace(json, "0.25", "0.26"), &devices);
    cr_expect_neq(again->hash, whole->hash, "a time is part of the hash");
    emp_graph_destroy(step);
}

Test(instances, ops_of_a_list_have_the_costs_that_it_gives)
{
    emp_import_devices devices = {0};
    emp_graph         *g = load(ops, &devices);

    cr_assert_eq(g->op_count, 3);
    cr_expect_eq(g->edge_count, 2);
    expect_op(g, "a", 1000000, 20000000, -1, 128, 4096, 4096);
    expect_op(g, "b", 2000000, 0, 500000, 0, 256, 64);
    expect_op(g, "c", 0, 0, -1, 0, 0, 0);
    cr_expect_eq(g->op[emp_graph_find(g, "b")].kinds, EMP_KIND_GPU);
    cr_expect_eq(g->op[emp_graph_find(g, "a")].colocation_class,
                 g->op[emp_graph_find(g, "c")].colocation_class);
    cr_expect_str_eq(emp_graph_op_type(g, emp_graph_find(g, "a")), "MatMul");
    cr_expect_str_eq(emp_graph_op_type(g, emp_graph_find(g, "b")), "Op");
    int32_t count;
    cr_expect_eq(*emp_graph_controls(g, emp_graph_find(g, "c"), &count),
                 emp_graph_find(g, "b"));
}

Test(instances, profile_becomes_a_training_step)
{
    emp_import_devices devices;
    emp_graph         *g = load(profile, &devices);

    cr_expect_eq(devices.cpu_count, 0, "it states no devices");
    cr_expect_eq(g->op_count, 6);
    cr_expect_eq(g->edge_count, 2 * 3 + 3);
    expect_op(g, "node1", 0, 0, -1, 0, 0, 0);
    expect_op(g, "node4", 73000, 730000, -1, 128, 64, 64);
    expect_op(g, "node5", 5250000, 52500000, -1, 7, 123, 123);
    expect_op(g, "gradients/node5", 10500000, 105000000, -1, 7, 64, 64);
    expect_op(g, "gradients/node4", 6949000, 69490000, -1, 128, 0, 0);
    cr_expect_str_eq(graph_type(g, "node4"), "Embedding");
    cr_expect_str_eq(graph_type(g, "gradients/node5"), "LSTMGrad");
    cr_expect(graph_is_bound(g, "node5", "gradients/node5"));
    cr_expect_eq(g->class_count, 3);
    cr_expect(graph_reads(g, "node5", "node1"));
    cr_expect(graph_reads(g, "gradients/node1", "gradients/node5"));
    cr_expect(graph_reads(g, "gradients/node5", "node5"));
}

Test(instances, doppler_costs_are_the_files)
{
    emp_import_devices devices;
    emp_graph         *g = load(doppler, &devices);

    cr_expect_eq(devices.cpu_count + devices.gpu_count, 4);
    cr_expect_str_eq(devices.runtime, "edges");
    cr_expect_eq(g->op_count, 4);
    cr_expect_eq(g->edge_count, 5);
    expect_op(g, "node0", 100000000, 100000000, 400000000, 0, 0, 0);
    expect_op(g, "node1", 2, 2, 1, 0, 0, 0); /* 1.5 and 0.5 ns */
    expect_op(g, "node2", 0, 0, 0, 0, 0, 0);
    expect_op(g, "node3", 10000, 10000, 40000, 0, 0, 0);
    cr_expect_str_eq(graph_type(g, "node0"), "Op");
    cr_expect_str_eq(graph_type(g, "node2"), "einsummable");
    cr_expect_str_eq(graph_type(g, "node3"), "squeezer");
    cr_expect_eq(g->class_count, 4);
    cr_expect(graph_reads(g, "node2", "node0"));
    cr_expect(graph_reads(g, "node3", "node2"));
    cr_expect_eq(g->op[0].kinds, EMP_KIND_CPU | EMP_KIND_GPU);
}

struct fault {
    const char *text, *from, *to; /* the first place of `from` becomes `to` */
    const char *part;             /* of the message */
};

static const struct fault faults[] = {
    {json, "]}\n", "]", "line 2: not JSON"},
    {ops, "'ops'", "'pos'", "the list \"ops\" is missing or empty"},
    {ops, "{'name':'c'", "{'nom':'c'", "ops[2] is no object with a name"},
    {ops, "'gpu_s':0.001", "'gpu_s':-1",
     "op \"a\": gpu_s must be a number from 0 to 1000"},
    {ops, "'gpu_s':0.001", "'gpu':0.001", "op \"a\" has the key \"gpu\"; keys are name"},
    {ops, "'MatMul'", "7", "op \"a\": type must be a text"},
    {ops, "'devices':'gpu'", "'devices':'tpu'", "op \"b\": devices is \"tpu\""},
    {ops, "'together':3}]", "'together':-3}]", "op \"c\": together"},
    {ops, "['a','b']", "['a','z']", "edges[0]: there is no op \"z\""},
    {ops, "['b','c']", "['b']", "controls[0] is no pair"},
    {ops, "'edges':[", "'edges':7,'more':[", "edges is no list"},
    {ops, "'name':'c'", "'name':'a'", "\"a\""},
    {ops, "['b','c']", "['c','c']", "cycle"},
    {json, "'maxFPGAs':3", "'maxFPGAs':3,'maxFPGAs':3",
     "line 2: not JSON: an object has the key \"maxFPGAs\" twice"},
    {json, "'nodes'", "'knots'",
     "JSON, but no dnn-partitioning instance: the list \"nodes\""},
    {json, "'edges'", "'ages'", "the list \"edges\""},
    {json, "'maxCPUs'", "'cpus'", "the file: the key maxCPUs"},
    {json, "'maxCPUs':2", "'maxCPUs':0", "the file: maxCPUs"},
    {json, "'maxFPGAs':3", "'maxFPGAs':2.5", "maxFPGAs"},
    {json, "1000.0", "-1", "the file: maxSizePerFPGA"},
    {json, "'id':3", "'id':7", "the id 7 has two nodes"},
    {json, "'id':3,", "", "nodes[1]: the key id"},
    {json, "'id':3", "'id':'3'", "nodes[1]: id"},
    {json, "'supportedOnFpga':true", "'supportedOnFpga':2", "nodes[1]: supportedOnFpga"},
    {json, "'supportedOnFpga':0,", "", "nodes[3]: the key supportedOnFpga"},
    {json, "'isBackwardNode':true", "'isBackwardNode':null", "nodes[4]: isBackwardNode"},
    {json, "'cpuLatency':2.5", "'cpuLatency':-2.5", "nodes[1]: cpuLatency"},
    {json, "'cpuLatency':2.5", "'cpuLatency':1e300", "nodes[1]: cpuLatency"},
    {json, "'fpgaLatency':0.5", "'fpgaLatency':'fast'", "nodes[0]: fpgaLatency"},
    {json, "'size':200.4,", "", "nodes[1]: the key size"},
    {json, "'colorClass':30", "'colorClass':-30", "nodes[1]: colorClass"},
    {json, "'sourceId':7", "'sourceId':8", "edges[0]: sourceId: no node has the id 8"},
    {json, "'destId':13", "'destId':14", "edges[3]: destId: no node has the id 14"},
    {json, "'destId':3,", "", "edges[0]: the key destId"},
    {json, "'cost':0.0625", "'price':1", "edges[2]: the key cost"},
    {json, "'cost':0.125", "'cost':0.5", "edges[1]: cost is 0.125"},
    {json, "'size':4096", "'size':-1", "edges[0]: size"},
    {json, "'sourceId':12,'destId':13", "'sourceId':12,'destId':7", "cycle"},
    {json, "[{'id':7", "[[],{'id':7", "nodes[0]: the key id"},
    {profile, "node5 -- LSTM", "node4 -- LSTM", "line 3: the layer node4"},
    {profile, "Embedding(320, 10, padding_idx=0) -- ", "",
     "line 2: a layer is \"NAME -- DESCRIPTION"},
    {profile, "node5 -- LSTM", " -- LSTM", "line 3: a layer is"},
    {profile, "-- stage_id=1", "-- colour=1", "line 3: \"colour=1\""},
    {profile, "forward_compute_time=5.25, ", "", "line 3: the key forward_compute_time"},
    {profile, ", parameter_size=7", "", "line 3: the key parameter_size"},
    {profile, "forward_compute_time=5.25", "forward_compute_time=fast",
     "line 3: forward_compute_time is \"fast\""},
    {profile, "=10.5", "=-10.5", "line 3: backward_compute_time is \"-10.5\""},
    {profile, "=10.5", "=1e9", "line 3: backward_compute_time is \"1e9\""},
    {profile, "=10.5", "=nan", "line 3: backward_compute_time is \"nan\""},
    {profile, "[100.0; 20.0", "[100.0; ", "line 3: activation_size is"},
    {profile, "; 3.0]", "; 3.0", "line 3: activation_size is"},
    {profile, "\tnode4 -- node5", "\tnode4 -- node6",
     "line 6: there is no layer \"node6\""},
    {profile, "\tnode4 -- node5", "\tnode4 node5", "line 6: an edge is \"NAME -- NAME\""},
    {profile, "\tnode4 -- node5", "node4 -- node5", "line 6: a layer is"},
    {profile, "\tnode4 -- node5", "\tnode5 -- node4\n\tnode4 -- node5", "cycle"},
    {doppler, "6\n", "0\n", "line 1: the number of nodes"},
    {doppler, "6\n", "600000\n", "line 1: the number of nodes"},
    {doppler, "0, 1, \n", "0, 6, \n", "line 2: \"6, \""},
    {doppler, "0, 1, \n", "0 1, \n", "line 2: \"1, \""},
    {doppler, "0, 1, \n", "0, 1, 2, 3, 4, 5\n", "line 2: all 6 nodes are inputs"},
    {doppler, "0, 0, 0, 1", "0, 0, x, 1", "line 3: \"x, 1, 2, \""},
    {doppler, "1,2, 2, 3, 3", "1,2, 2, 3, 4", "line 4: \"4, \""},
    {doppler, "1,2, 2, 3, 3", "1,2, 2, 3", "line 4: 4 edges end here"},
    {doppler, "15000,5000", "15000", "line 6: op 1 of 4 is \"15000\""},
    {doppler, "15000,5000", "15000,-5", "line 6: op 1 of 4 is \"15000,-5\""},
    {doppler, "15000,5000", "15000,5e3", "line 6: op 1 of 4"},
    {doppler, "15000,5000", "15000,99999999999999999999", "line 6: op 1 of 4"},
    {doppler, ",einsummable", ",ein sum", "line 7: op 2 of 4"},
    {doppler, "100000000,400000000, squeezer\n", "", "line 8: op 3 of 4 is \"\""},
    {doppler, "squeezer\n", "squeezer\n\n7,7\n", "line 10: \"7,7\""},
    {doppler, "0, 0, 0, 1, 2", "0, 0, 3, 1, 2", "cycle"},
};

Test(instances, every_fault_is_one_sentence)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        graph_expect_faults(
            "instance",
            &(graph_fault){graph_replace(faults[i].text, faults[i].from, faults[i].to),
                           faults[i].part},
            1, strcmp(faults[i].part, "cycle") == 0 ? EMP_ECYCLE : EMP_EFORMAT);
}

Test(instances, survive_every_allocation_failure)
{
    const char *const texts[] = {json, profile, doppler, ops};

    for (size_t i = 0; i < COUNT(texts); i++) {
        scratch_write_json("instance", texts[i]);
        graph_survives(scratch_path("instance"));
    }
}

static read_memory_fn *reader;

static emp_status read_bytes(emp_graph **graph, const void *bytes, size_t size,
                             emp_error *err)
{
    return read_memory(graph, bytes, size, NULL, reader, err);
}

Test(instances, damage_is_an_error_or_a_graph)
{
    const char *const     texts[] = {json, profile, doppler};
    read_memory_fn *const readers[] = {emp_dnn_partitioning_read, emp_pipedream_read,
                                       emp_doppler_read, emp_ops_read};

    for (size_t i = 0; i < COUNT(texts); i++) {
        reader = readers[i];
        read_memory_damaged(scratch_json(texts[i]), strlen(texts[i]), read_bytes);
    }
}
