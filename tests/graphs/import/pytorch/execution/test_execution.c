// SPDX-License-Identifier: GPL-3.0-or-later
/* PyTorch's execution traces by themselves: is the work done once, by the innermost operators, and is what was there
 * before told apart? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/support/graphs.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(execution, .init = scratch_create, .fini = scratch_remove);

#define SEEDS        "tests/graphs/import/pytorch/execution/seeds/"

enum { TEXT_BYTES = 1 << 16 };

typedef struct {
    const char *type;
    int32_t     count;
} type_count;

static void expect_types(const emp_graph *g, const type_count *types)
{
    for (; types->type != NULL; types++)
        cr_expect_eq(graph_count_type(g, types->type), types->count, "%d of %s",
                     graph_count_type(g, types->type), types->type);
}

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
        expect_types(g, (type_count[]){{"aten.addmm", 1},
                                       {"aten.linear", 0}, /* a container */
                                       {"aten.empty", 0}, /* within an op that is taken */
                                       {"aten.resize_", 0},
                                       {"aten.mm", 1},
                                       {"torch.parameter", 1},
                                       {"torch.optimizer_state", 1},
                                       {"torch.input", 2}, /* and a bias without update */
                                       {0}});
        cr_expect_eq(g->parameter_count, 512);
        double flops = g->op[emp_graph_find(g, "addmm_6")].cost->flops;
        cr_expect_float_eq(flops, 2.0 * 8 * 16 * 32, 1.0);
        cr_expect(reads(g, "relu_8", "addmm_6"));
        cr_expect(reads(g, "mm_11", "relu_8"), "through a view");
        cr_expect(reads(g, "add__15", "mm_11"));
        cr_expect(reads(g, "add__16", "add__15"), "the new momentum");
        cr_expect_eq(g->op[emp_graph_find(g, "add__16")].colocation_class,
                     g->op[the_op_of(g, "torch.parameter")].colocation_class);
        cr_expect_not_null(strstr(devices.note, "all known"), "%s", devices.note);
        if (i == 0) hash = g->hash;
        cr_expect_eq(g->hash, hash);
        emp_graph_destroy(g);
    }
}

/* ---- traces by hand ---- */

static char text[TEXT_BYTES];

static void begin(void) { snprintf(text, sizeof text, "{'schema':'1.0.1','nodes':["); }

/* A node with one tensor of eight floats in, by its storage, and one out. */
static void add(int id, int parent, const char *name, int in, int out)
{
    char tensors[2][80] = {"", ""};
    int  storages[2] = {in, out};

    for (int i = 0; i < 2; i++)
        if (storages[i] > 0)
            snprintf(tensors[i], sizeof tensors[i], "[%d,%d,0,8,4,'cuda:0']",
                     100 + storages[i], storages[i]);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used,
             "%s{'name':'%s','id':%d,'parent':%d,'op_schema':'%s','inputs':[%s],"
             "'input_shapes':[[8]],'input_types':['Tensor(float)'],'outputs':[%s],"
             "'output_shapes':[[8]],'output_types':['Tensor(float)']}",
             used > 0 && text[used - 1] == '}' ? "," : "", name, id, parent,
             strstr(name, "own::") != NULL ? "own::f(Tensor x) -> Tensor" : "",
             tensors[0], tensors[1]);
}

static emp_graph *finish(emp_import_devices *devices)
{
    size_t used = strlen(text);

    snprintf(text + used, sizeof text - used, "]}");
    scratch_write_json("et.json", text);
    return graph_load(scratch_path("et.json"), NULL, devices);
}

Test(execution, storage_that_is_used_again_is_not_what_it_was)
{
    begin();
    add(1, 0, "aten::relu", 1, 2);
    add(2, 0, "aten::exp", 2, 3);
    add(3, 0, "aten::sigmoid", 1, 2); /* storage 2 was free */
    add(4, 0, "aten::tanh", 2, 4);
    emp_graph *g = finish(NULL);
    cr_expect(reads(g, "exp_2", "relu_1"));
    cr_expect(reads(g, "tanh_4", "sigmoid_3"));
    cr_expect_not(reads(g, "tanh_4", "relu_1"));
    cr_expect_eq(graph_count_type(g, "torch.input"), 1);
    emp_graph_destroy(g);
}

Test(execution, helpers_are_part_of_what_they_help)
{
    emp_import_devices devices;

    begin();
    add(1, 0, "aten::sum", 1, 2);
    add(2, 1, "aten::zeros", 0, 2);
    add(3, 2, "aten::fill_", 2, 2);
    add(4, 0, "aten::zeros", 0, 3); /* by itself it is an op */
    add(5, 4, "aten::fill_", 3, 3);
    add(6, 0, "own::kernel", 2, 4);
    add(7, 6, "aten::empty", 0, 4);
    emp_graph *g = finish(&devices);
    expect_types(
        g, (type_count[]){{"aten.sum", 1}, {"aten.zeros", 1}, {"aten.fill_", 0}, {0}});
    cr_expect(reads(g, "kernel_6", "sum_1"));
    cr_expect_not_null(strstr(devices.note, "1 of unknown ops"), "%s", devices.note);
    emp_graph_destroy(g);
}

/* A node whose inputs and outputs are texts of JSON. */
static void add_node(int id, int parent, const char *name, const char *more,
                     const char *inputs, const char *shapes, const char *outputs,
                     const char *out_shapes)
{
    size_t used = strlen(text);

    snprintf(text + used, sizeof text - used,
             "%s{'name':'%s','id':%d,'ctrl_deps':%d,'inputs':{'values':[%s],'shapes':["
             "%s],'types':[]},'outputs':{'values':[%s],'shapes':[%s],'types':[]},"
             "'attrs':[%s]}",
             used > 0 && text[used - 1] == '}' ? "," : "", name, id, parent, inputs,
             shapes, outputs, out_shapes, more);
}

#define T(id, storage, count) "[" #id "," #storage ",0," #count ",4,'cuda:0']"
#define SCHEMA(text)          "{'name':'op_schema','value':'" text "'}"
#define TRITON                "{'name':'kernel_backend','value':'triton'}"

/* Inductor's program of a product and two fused kernels. Its buffers come from an allocator that traces do not have,
 * so that a product's result is among its operands, too. */
Test(execution, kernels_of_triton_are_ops)
{
    emp_import_devices devices;

    begin();
    add_node(1, 0, "CompiledFunction", "", T(11, 1, 16) "," T(12, 2, 16) "," T(13, 3, 4),
             "[4,4],[4,4],[4]", "", "");
    add_node(2, 1, "aten::mm",
             SCHEMA("aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> "
                    "Tensor(a!)"),
             T(11, 1, 16) "," T(12, 2, 16) "," T(14, 4, 16), "[4,4],[4,4],[4,4]",
             T(14, 4, 16), "[4,4]");
    add_node(3, 1, "triton_poi_fused_add_cos_0", TRITON,
             T(14, 4, 16) "," T(13, 3, 4) "," T(15, 5, 16) "," T(16, 6, 16) ",16,99",
             "[4,4],[4],[4,4],[4,4],[],[]", "", "");
    add_node(4, 1, "triton_red_fused_sum_1", TRITON, T(15, 5, 16) "," T(17, 7, 4) ",16",
             "[4,4],[4],[]", "", "");
    /* in place, as it has its first operand twice; then one without anything new */
    add_node(5, 0, "triton_poi_fused_sgd_2", TRITON,
             T(13, 3, 4) "," T(17, 7, 4) "," T(13, 3, 4) ",4", "[4],[4],[4],[]", "", "");
    add_node(6, 0, "my_kernel", TRITON, T(17, 7, 4) "," T(15, 5, 16), "[4],[4,4]", "",
             "");
    emp_graph *g = finish(&devices);
    expect_types(
        g, (type_count[]){{"aten.mm", 1},
                          {"triton.fused", 4},
                          {"torch.input", 2} /* what the program is given */,
                          {"torch.parameter", 1} /* an update, and another kernel */,
                          {0}});
    cr_expect_eq(g->parameter_count, 4);
    cr_expect_not_null(strstr(devices.note, "all known"), "%s", devices.note);
    cr_expect(reads(g, "triton_poi_fused_add_cos_0_3", "mm_2"));
    cr_expect(reads(g, "triton_red_fused_sum_1_4", "triton_poi_fused_add_cos_0_3"));
    cr_expect(reads(g, "triton_poi_fused_sgd_2_5", "triton_red_fused_sum_1_4"));
    cr_expect(reads(g, "my_kernel_6", "triton_red_fused_sum_1_4"));
    emp_op_id fused = emp_graph_find(g, "triton_poi_fused_add_cos_0_3");
    cr_expect_eq(g->op[fused].cost->bytes_read, 4 * (16 + 4));
    cr_expect_eq(g->op[fused].cost->bytes_written, 4 * (16 + 16));
    emp_graph_destroy(g);
}

/* A kernel of a program's own writes what torch.empty() gave it. */
Test(execution, a_kernel_writes_memory_that_was_only_allocated)
{
    begin();
    add_node(1, 0, "aten::empty_like", SCHEMA("aten::empty_like(Tensor self) -> Tensor"),
             T(11, 1, 16), "[4,4]", T(12, 2, 16), "[4,4]");
    add_node(2, 0, "add_kernel", TRITON, T(11, 1, 16) "," T(12, 2, 16), "[4,4],[4,4]", "",
             "");
    add_node(3, 0, "aten::relu", SCHEMA("aten::relu(Tensor self) -> Tensor"),
             T(12, 2, 16), "[4,4]", T(13, 3, 16), "[4,4]");
    emp_graph *g = finish(NULL);
    cr_expect(reads(g, "relu_3", "add_kernel_2"));
    cr_expect_not(reads(g, "add_kernel_2", "empty_like_1"));
    emp_graph_destroy(g);
}

/* aten::embedding gathers by aten::index_select, whose operand would be any tensor. */
Test(execution, a_table_of_an_embedding_is_a_parameter)
{
    begin();
    add_node(1, 0, "aten::embedding",
             SCHEMA("aten::embedding(Tensor weight, Tensor indices) -> Tensor"),
             T(11, 1, 320) "," T(12, 2, 8), "[40,8],[2,4]", T(13, 3, 64), "[2,4,8]");
    add_node(2, 1, "aten::index_select",
             SCHEMA("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor"),
             T(11, 1, 320) ",0," T(12, 2, 8), "[40,8],[],[8]", T(14, 3, 64), "[8,8]");
    add_node(3, 0, "aten::embedding_dense_backward",
             SCHEMA("aten::embedding_dense_backward(Tensor grad_output, Tensor indices) "
                    "-> Tensor"),
             T(13, 3, 64) "," T(12, 2, 8), "[2,4,8],[2,4]", T(15, 4, 320), "[40,8]");
    add_node(4, 0, "aten::add_",
             SCHEMA("aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"),
             T(11, 1, 320) "," T(15, 4, 320), "[40,8],[40,8]", T(11, 1, 320), "[40,8]");
    emp_graph *g = finish(NULL);
    cr_expect_eq(g->parameter_count, 40 * 8);
    expect_types(g, (type_count[]){{"aten.embedding", 1},
                                   {"aten.index_select", 0},
                                   {"torch.optimizer_state", 0},
                                   {0}});
    emp_graph_destroy(g);
}

#define MUL_ SCHEMA("aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)")
#define MUL_OUT \
    SCHEMA("aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)")

/* AdamW on a CPU: the list of weights is decayed one by one, each by aten::mul with out=. Biases are only added, so that
 * nothing but the optimizer tells them from its states. */
Test(execution, what_an_optimizers_step_writes_and_others_read_is_a_parameter)
{
    begin();
    add_node(1, 0, "aten::mm", SCHEMA("aten::mm(Tensor self, Tensor mat2) -> Tensor"),
             T(11, 1, 32) "," T(12, 2, 32), "[4,8],[8,4]", T(13, 3, 16), "[4,4]");
    add_node(2, 0, "aten::add_",
             SCHEMA("aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"),
             T(13, 3, 16) "," T(14, 4, 4), "[4,4],[4]", T(13, 3, 16), "[4,4]");
    add_node(3, 0, "Optimizer.step#AdamW.step", "", "", "", "", "");
    add_node(4, 3, "aten::_foreach_mul_",
             SCHEMA("aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"),
             "[" T(12, 2, 32) "," T(14, 4, 4) "],0.9", "[[8,4],[4]],[]", "", "");
    for (int i = 0; i < 2; i++) {
        add_node(5 + 2 * i, 4, "aten::mul_", MUL_,
                 i == 0 ? T(12, 2, 32) ",0.9" : T(14, 4, 4) ",0.9",
                 i == 0 ? "[8,4],[]" : "[4],[]", i == 0 ? T(12, 2, 32) : T(14, 4, 4),
                 i == 0 ? "[8,4]" : "[4]");
        add_node(6 + 2 * i, 5 + 2 * i, "aten::mul", MUL_OUT,
                 i == 0 ? T(20, 9, 1) "," T(12, 2, 32) "," T(12, 2, 32)
                        : T(20, 9, 1) "," T(14, 4, 4) "," T(14, 4, 4),
                 i == 0 ? "[],[8,4],[8,4]" : "[],[4],[4]",
                 i == 0 ? T(12, 2, 32) : T(14, 4, 4), i == 0 ? "[8,4]" : "[4]");
    }
    add_node(9, 3, "aten::mul_", MUL_, T(15, 5, 32) ",0.9", "[8,4],[]", T(15, 5, 32),
             "[8,4]");
    add_node(10, 3, "aten::addcdiv_",
             SCHEMA("aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2) -> "
                    "Tensor(a!)"),
             T(12, 2, 32) "," T(15, 5, 32) "," T(15, 5, 32), "[8,4],[8,4],[8,4]",
             T(12, 2, 32), "[8,4]");
    emp_graph *g = finish(NULL);
    expect_types(g, (type_count[]){{"aten.mul_", 3},
                                   {"aten.mul", 0},
                                   {"torch.parameter", 2},
                                   {"torch.optimizer_state", 1},
                                   {"torch.input", 1},
                                   {0}});
    cr_expect_eq(g->parameter_count, 8 * 4 + 4);
    emp_graph_destroy(g);
}

/* oneDNN's layer of an LSTM adds its two biases by an operator of its own. Its states are no weights. */
Test(execution, a_recurrent_layer_did_its_products)
{
    begin();
    add_node(
        1, 0, "aten::mkldnn_rnn_layer",
        SCHEMA("aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, "
               "Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_) -> Tensor"),
        T(11, 1, 448) "," T(12, 2, 2048) "," T(13, 3, 4096) "," T(14, 4, 128) "," T(
            15, 5, 128) "," T(16, 6, 128) "," T(17, 7, 128),
        "[7,4,16],[128,16],[128,32],[128],[128],[4,32],[4,32]", T(18, 8, 896),
        "[7,4,32]");
    add_node(2, 1, "aten::add",
             SCHEMA("aten::add.Tensor(Tensor self, Tensor other) -> Tensor"),
             T(14, 4, 128) "," T(15, 5, 128), "[128],[128]", T(19, 9, 128), "[128]");
    emp_graph *g = finish(NULL);
    cr_expect_eq(graph_count_type(g, "aten.add"), 0);
    cr_expect_eq(g->op[the_op_of(g, "aten.mkldnn_rnn_layer")].cost->flops,
                 2.0 * 7 * 4 * (2048 + 4096));
    emp_graph_destroy(g);
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

/* Three steps of ResNet-50 with a batch of 32, of which another tool made one step. */
Test(execution, a_real_trace_has_the_flops_and_parameters_of_its_model)
{
    const char *path = graph_source_path("../shared/graphs/pt_et_resnet_1.1.0.json.gz");
    emp_graph  *g = NULL;

    if (emp_source_load(&g, NULL, NULL, path, NULL) == EMP_EIO)
        cr_skip_test("there is no %s", path);
    cr_assert_not_null(g);
    cr_expect_eq(g->parameter_count, 25557032);
    cr_expect_float_eq(g->flops, 3 * 784e9, 0.01 * 3 * 784e9);
    emp_graph_destroy(g);
}

Test(execution, survives_every_allocation_failure)
{
    emp_graph *g = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_source_load(&g, NULL, NULL, graph_source_path(SEEDS "linear_1.0.et.json"),
                        NULL),
        emp_graph_destroy(g));
    emp_graph_destroy(g);
}
