// SPDX-License-Identifier: GPL-3.0-or-later
/* PyTorch's execution traces by themselves: is the work done once, by the innermost operators, and is earlier
 * memory distinguished? */
#include "tests/graphs/graphs.h"
#include "tests/test.h"

TestSuite(execution, .init = scratch_create, .fini = graph_tear_down);

#define SEEDS "tests/graphs/import/pytorch/execution/seeds/"

enum { TEXT_BYTES = 1 << 16 };

/* Whether an op reads another one, perhaps through views. */
static bool reads(const emp_graph *g, const char *reader, const char *source)
{
    emp_op_id op = graph_find(g, reader);

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const char *from = g->name[g->tensor[g->input[i]].producer];
        if (strcmp(from, source) == 0) return true;
        if (strncmp(from, "view_", 5) == 0 && reads(g, from, source)) return true;
    }
    return false;
}

static emp_op_id the_op_of(const emp_graph *g, const char *type)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(emp_graph_op_type(g, op), type) == 0) return op;
    cr_assert_fail("no %s", type);
    return -1;
}

Test(execution, both_schemas_are_the_step_that_ran)
{
    static const char *const files[] = {SEEDS "linear_1.0.et.json",
                                        SEEDS "linear_1.1.et.json"};
    uint64_t                 hash = 0;

    for (int i = 0; i < 2; i++) {
        emp_import_devices devices;
        emp_graph         *g = graph_load(graph_source_path(files[i]), NULL, &devices);
        /* linear is a container, and empty is within an op that is taken; no update has the bias, which is an input */
        graph_expect_types(g, "aten.addmm=1 aten.linear=0 aten.empty=0 aten.resize_=0 "
                              "aten.mm=1 torch.parameter=1 torch.optimizer_state=1 "
                              "torch.input=2");
        cr_expect_eq(g->parameter_count, 512);
        double flops = g->op[emp_graph_find(g, "addmm_6")].cost->flops;
        cr_expect_float_eq(flops, 2.0 * 8 * 16 * 32, 1.0);
        cr_expect(reads(g, "mm_11", "relu_8"), "through a view");
        graph_expect_reads(g, "relu_8<addmm_6 add__15<mm_11 add__16<add__15");
        cr_expect_eq(g->op[emp_graph_find(g, "add__16")].colocation_class,
                     g->op[the_op_of(g, "torch.parameter")].colocation_class);
        cr_expect_not_null(strstr(devices.note, "all known"), "%s", devices.note);
        if (i == 0) hash = g->hash;
        cr_expect_eq(g->hash, hash);
    }
}

static char   text[TEXT_BYTES];
static size_t used;

static void put(const char *format, const char *word, int length)
{
    used += (size_t)snprintf(text + used, sizeof text - used, format, length, word);
}

/* A value: a tensor "3:4,8" of a storage with its sizes, a list of these in brackets, or a number. */
static const char *put_value(const char *word, bool is_shape)
{
    const char *colon = word + strcspn(word, ": ]");
    long        elements = 1;

    if (*word == '[') {
        put("%.*s[", "", 0);
        for (word++; *word != ']';) {
            word = put_value(word, is_shape);
            if (*word == ' ') put("%.*s,", "", 0), word++;
        }
        put("%.*s]", "", 0);
        return word + 1;
    }
    const char *end = colon + strcspn(colon, " ]");
    if (*colon != ':') {
        put(is_shape ? "[]%.*s" : "%.*s", word, is_shape ? 0 : (int)(end - word));
        return end;
    }
    if (is_shape) {
        put("[%.*s]", colon + 1, (int)(end - colon - 1));
        return end;
    }
    for (const char *at = colon; at < end; at += 1 + strcspn(at + 1, ", ]"))
        elements *= atol(at + 1);
    put("[1%.*s", word, (int)(colon - word));
    put(",%.*s,0,", word, (int)(colon - word));
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%ld,4,'cuda:0']", elements);
    return end;
}

static void put_values(const char *key, const char *words)
{
    for (int is_shape = 0; is_shape < 2; is_shape++) {
        put(is_shape ? "],'shapes':[%.*s" : "'%.*s':{'values':[", key,
            is_shape ? 0 : (int)strlen(key));
        for (const char *word = words; *word != '\0';) {
            word = put_value(word, is_shape);
            if (*word == ' ') put("%.*s,", "", 0), word++;
        }
    }
    put("%.*s]},", "", 0);
}

/* A node; \a schema may be "triton", a kernel of its. */
static void node(int id, int parent, const char *name, const char *inputs,
                 const char *outputs, const char *schema)
{
    if (id == 1) {
        used = 0;
        put("{'schema':'1.0.1','nodes':[%.*s", "", 0);
    }
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "%s{'name':'%s','id':%d,'ctrl_deps':%d,", id > 1 ? "," : "",
                             name, id, parent);
    put_values("inputs", inputs);
    put_values("outputs", outputs);
    if (strcmp(schema, "triton") == 0)
        put("'attrs':[{'name':'kernel_backend','value':'%.*s'}]}", schema, 6);
    else
        put("'attrs':[{'name':'op_schema','value':'%.*s'}]}", schema,
            (int)strlen(schema));
}

static emp_graph *finish(emp_import_devices *devices)
{
    put("]}%.*s", "", 0);
    scratch_write_json("et.json", text);
    return graph_load(scratch_path("et.json"), NULL, devices);
}

#define ADD_        "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
#define UNARY(name) "aten::" name "(Tensor self) -> Tensor"

Test(execution, storage_that_is_used_again_is_not_what_it_was)
{
    node(1, 0, "aten::relu", "1:8", "2:8", UNARY("relu"));
    node(2, 0, "aten::exp", "2:8", "3:8", UNARY("exp"));
    node(3, 0, "aten::sigmoid", "1:8", "2:8", UNARY("sigmoid")); /* storage 2 was free */
    node(4, 0, "aten::tanh", "2:8", "4:8", UNARY("tanh"));
    emp_graph *g = finish(NULL);
    graph_expect_reads(g, "exp_2<relu_1 tanh_4<sigmoid_3 tanh_4<!relu_1");
    graph_expect_types(g, "torch.input=1");
}

Test(execution, helpers_are_part_of_what_they_help)
{
    emp_import_devices devices;

    node(1, 0, "aten::sum", "1:8", "2:8", UNARY("sum"));
    node(2, 1, "aten::zeros", "", "2:8", "aten::zeros(int[] size) -> Tensor");
    node(3, 2, "aten::fill_", "2:8", "2:8", UNARY("fill_"));
    node(4, 0, "aten::zeros", "", "3:8", "aten::zeros(int[] size) -> Tensor"); /* an op */
    node(5, 4, "aten::fill_", "3:8", "3:8", UNARY("fill_"));
    node(6, 0, "own::kernel", "2:8", "4:8", "own::f(Tensor x) -> Tensor");
    node(7, 6, "aten::empty", "", "4:8", "aten::empty(int[] size) -> Tensor");
    emp_graph *g = finish(&devices);
    graph_expect_types(g, "aten.sum=1 aten.zeros=1 aten.fill_=0");
    graph_expect_reads(g, "kernel_6<sum_1");
    cr_expect_not_null(strstr(devices.note, "1 of unknown ops"), "%s", devices.note);
}

/* Inductor's program of a product and two fused kernels. Its buffers come from an allocator that traces do not have,
 * so that a product's result is among its operands, too. */
Test(execution, kernels_of_triton_are_ops)
{
    emp_import_devices devices;

    node(1, 0, "CompiledFunction", "1:4,4 2:4,4 3:4", "", "");
    node(2, 1, "aten::mm", "1:4,4 2:4,4 4:4,4", "4:4,4",
         "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)");
    node(3, 1, "triton_poi_fused_add_cos_0", "4:4,4 3:4 5:4,4 6:4,4 16 99", "", "triton");
    node(4, 1, "triton_red_fused_sum_1", "5:4,4 7:4 16", "", "triton");
    /* in place, as it has its first operand twice; then one without anything new */
    node(5, 0, "triton_poi_fused_sgd_2", "3:4 7:4 3:4 4", "", "triton");
    node(6, 0, "my_kernel", "7:4 5:4,4", "", "triton");
    emp_graph *g = finish(&devices);
    /* inputs are what the program is given, and an update and another kernel have a parameter */
    graph_expect_types(g, "aten.mm=1 triton.fused=4 torch.input=2 torch.parameter=1");
    cr_expect_eq(g->parameter_count, 4);
    cr_expect_not_null(strstr(devices.note, "all known"), "%s", devices.note);
    graph_expect_reads(g, "triton_poi_fused_add_cos_0_3<mm_2 "
                          "triton_red_fused_sum_1_4<triton_poi_fused_add_cos_0_3 "
                          "triton_poi_fused_sgd_2_5<triton_red_fused_sum_1_4 "
                          "my_kernel_6<triton_red_fused_sum_1_4");
    emp_op_id fused = graph_find(g, "triton_poi_fused_add_cos_0_3");
    cr_expect_eq(g->op[fused].cost->bytes_read, 4 * (16 + 4));
    cr_expect_eq(g->op[fused].cost->bytes_written, 4 * (16 + 16));
}

/* A kernel of a program's own writes what torch.empty() gave it. */
Test(execution, a_kernel_writes_memory_that_was_only_allocated)
{
    node(1, 0, "aten::empty_like", "1:4,4", "2:4,4", UNARY("empty_like"));
    node(2, 0, "add_kernel", "1:4,4 2:4,4", "", "triton");
    node(3, 0, "aten::relu", "2:4,4", "3:4,4", UNARY("relu"));
    graph_expect_reads(finish(NULL), "relu_3<add_kernel_2 add_kernel_2<!empty_like_1");
}

/* aten::embedding gathers by aten::index_select, whose operand would be any tensor. */
Test(execution, a_table_of_an_embedding_is_a_parameter)
{
    node(1, 0, "aten::embedding", "1:40,8 2:2,4", "3:2,4,8",
         "aten::embedding(Tensor weight, Tensor indices) -> Tensor");
    node(2, 1, "aten::index_select", "1:40,8 0 2:8", "3:8,8",
         "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor");
    node(3, 0, "aten::embedding_dense_backward", "3:2,4,8 2:2,4", "4:40,8",
         "aten::embedding_dense_backward(Tensor grad_output, Tensor indices) -> Tensor");
    node(4, 0, "aten::add_", "1:40,8 4:40,8", "1:40,8", ADD_);
    emp_graph *g = finish(NULL);
    cr_expect_eq(g->parameter_count, 40 * 8);
    graph_expect_types(g, "aten.embedding=1 aten.index_select=0 torch.optimizer_state=0");
}

#define MUL_ "aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)"
#define MUL_OUT \
    "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"

/* AdamW on a CPU: the list of weights is decayed one by one, each by aten::mul with out=. Biases are only added, so that
 * nothing but the optimizer tells them from its states. */
Test(execution, what_an_optimizers_step_writes_and_others_read_is_a_parameter)
{
    node(1, 0, "aten::mm", "1:4,8 2:8,4", "3:4,4",
         "aten::mm(Tensor self, Tensor mat2) -> Tensor");
    node(2, 0, "aten::add_", "3:4,4 4:4", "3:4,4", ADD_);
    node(3, 0, "Optimizer.step#AdamW.step", "", "", "");
    node(4, 3, "aten::_foreach_mul_", "[2:8,4 4:4] 0.9", "",
         "aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()");
    node(5, 4, "aten::mul_", "2:8,4 0.9", "2:8,4", MUL_);
    node(6, 5, "aten::mul", "9:1 2:8,4 2:8,4", "2:8,4", MUL_OUT);
    node(7, 4, "aten::mul_", "4:4 0.9", "4:4", MUL_);
    node(8, 7, "aten::mul", "9:1 4:4 4:4", "4:4", MUL_OUT);
    node(9, 3, "aten::mul_", "5:8,4 0.9", "5:8,4", MUL_);
    node(10, 3, "aten::addcdiv_", "2:8,4 5:8,4 5:8,4", "2:8,4",
         "aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2) -> Tensor(a!)");
    emp_graph *g = finish(NULL);
    graph_expect_types(g, "aten.mul_=3 aten.mul=0 torch.parameter=2 "
                          "torch.optimizer_state=1 torch.input=1");
    cr_expect_eq(g->parameter_count, 8 * 4 + 4);
}

/* oneDNN's layer of an LSTM adds its two biases by an operator of its own. Its states are no weights. */
Test(execution, a_recurrent_layer_did_its_products)
{
    node(1, 0, "aten::mkldnn_rnn_layer",
         "1:7,4,16 2:128,16 3:128,32 4:128 5:128 6:4,32 7:4,32", "8:7,4,32",
         "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, "
         "Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_) -> Tensor");
    node(2, 1, "aten::add", "4:128 5:128", "9:128",
         "aten::add.Tensor(Tensor self, Tensor other) -> Tensor");
    emp_graph *g = finish(NULL);
    graph_expect_types(g, "aten.add=0");
    cr_expect_eq(g->op[the_op_of(g, "aten.mkldnn_rnn_layer")].cost->flops,
                 2.0 * 7 * 4 * (2048 + 4096));
}

/* c10d's ops write what they are given. A gather writes a list of lists. */
Test(execution, collectives_have_the_ranks_of_their_group)
{
    node(1, 0, "c10d::allreduce_", "[1:64] 0", "[1:64]", "c10d::allreduce_(Tensor[] x)");
    node(2, 1, "record_param_comms", "[1:64] 33 0 1 4", "[1:64]", "");
    node(3, 0, "c10d::allgather_", "[[2:64 3:64 4:64]] [1:64]", "[[2:64 3:64 4:64]]",
         "c10d::allgather_(Tensor[][] outputs, Tensor[] inputs)");
    node(4, 3, "record_param_comms", "[1:64] 34 0 1 3", "[2:64]", "");
    node(5, 0, "c10d::_reduce_scatter_base_", "5:8 4:64", "5:8",
         "c10d::_reduce_scatter_base_(Tensor output, Tensor input)");
    const emp_graph          *g = finish(NULL);
    const emp_collective_part parts[] = {{EMP_COLLECTIVE_ALL_REDUCE, 4, 4 * 64, 0},
                                         {EMP_COLLECTIVE_ALL_GATHER, 3, 4 * 3 * 64, 0},
                                         {EMP_COLLECTIVE_REDUCE_SCATTER, 8, 4 * 64, 0}};
    const char *const         types[] = {"c10d.allreduce_", "c10d.allgather_",
                                         "c10d._reduce_scatter_base_"};

    cr_assert_not_null(g->collective);
    for (int i = 0; i < 3; i++) {
        const emp_collective_part *own = &g->collective[the_op_of(g, types[i])];
        cr_expect_eq(own->op, parts[i].op, "%s", types[i]);
        cr_expect_eq(own->ranks, parts[i].ranks, "%s: %d", types[i], own->ranks);
        cr_expect_eq(own->bytes, parts[i].bytes, "%s: %lld bytes", types[i],
                     (long long)own->bytes);
    }
}

Test(execution, faults_are_one_sentence)
{
    static const graph_fault faults[] = {
        {"{'schema':'1.0.1','nodes':[]}", "no operator did any work"},
        {"{'schema':'1.0.1','nodes':[{'id':1}]}", "nodes[0] has no name"},
        {"{'schema':'1.0.1','nodes':[{'name':'a'}]}", "nodes[0] has no id"},
        {"{'schema':'1.0.1','nodes':[{'name':'a','id':1},{'name':'b','id':1}]}",
         "two nodes have the id 1"},
        {"{\"schema\":\"1.0.1\",\"nodes\":[{\"name\":\"aten::relu\",\"id\":1,"
         "\"inputs\":[[1,2,0,8,4,'cuda:0']],\"outputs\":[]}]}",
         "node 1 (aten::relu): tensor 1 has no shape"},
        {"{\"schema\":\"1.0.1\",\"nodes\":[{\"name\":\"aten::relu\",\"id\":1,"
         "\"inputs\":[[1,2,0,-8,4,'cuda:0']],\"input_shapes\":[[8]],\"outputs\":[]}]}",
         "tensor 1 has a negative size"},
    };

    graph_expect_faults("et.json", faults, COUNT(faults), EMP_EFORMAT);
}

/* The middle one of three; the backward pass is on a thread that is in none of them. Parameters are from before. */
Test(execution, one_step_of_the_profiler_is_the_step)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"ProfilerStep#4", "ProfilerStep#5",
                                            "ProfilerStep#6"};
        node(4 * i + 1, 0, names[i], "", "", "");
        node(4 * i + 2, 4 * i + 1, "aten::mm", "1:4,8 2:8,4", "3:4,4",
             "aten::mm(Tensor self, Tensor mat2) -> Tensor");
        node(4 * i + 3, 0, "aten::exp", "3:4,4", "4:4,4", UNARY("exp"));
        node(4 * i + 4, 4 * i + 1, "aten::add_", "2:8,4 2:8,4", "2:8,4", ADD_);
    }
    put("]}%.*s", "", 0);
    scratch_write_json("et.json", text);
    emp_graph *g = graph_load(scratch_path("et.json"), &notes, NULL);
    graph_expect_types(g, "aten.mm=1 aten.exp=1 aten.add_=1 torch.parameter=1 "
                          "torch.input=1");
    graph_expect_reads(g, "exp_7<mm_6");
    cr_expect(
        graph_is_noted(&notes, "3 steps of the profiler the step is ProfilerStep#5"));
}

/* One of three steps of ResNet-50 with a batch of 32. */
Test(execution, a_real_trace_has_the_flops_and_parameters_of_its_model)
{
    const char *path = graph_source_path("../shared/graphs/pt_et_resnet_1.1.0.json.gz");
    emp_graph  *g = NULL;

    if (emp_source_load(&g, NULL, NULL, path, NULL) == EMP_EIO)
        cr_skip_test("there is no %s", path);
    cr_assert_not_null(g);
    cr_expect_eq(g->parameter_count, 25557032);
    cr_expect_float_eq(g->flops, 784e9, 0.01 * 784e9);
    emp_graph_destroy(g);
}

Test(execution, survives_every_allocation_failure)
{
    graph_survives(graph_source_path(SEEDS "linear_1.0.et.json"));
}
