// SPDX-License-Identifier: GPL-3.0-or-later
/* Graphs of torch.fx: names of ops, roles, views, ops in place, lists, work of exported steps, and what is wrong with a file. */
#include <unistd.h>

#include "graphs/import/pytorch/lower.h"
#include "tests/graphs/graphs.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(fx, .init = scratch_create, .fini = graph_tear_down);

#define SAMPLES "tests/graphs/import/pytorch/samples/"

static emp_import_devices devices;

static emp_graph *sample(const char *name)
{
    return graph_keep(graph_import(graph_source_path(name), NULL, &devices));
}

static emp_aten_op parse(const char *target)
{
    emp_aten_op op;

    cr_assert(emp_aten_parse(&op, target, strlen(target)), "%s", target);
    return op;
}

Test(aten, every_spelling_is_the_same_op)
{
    static const char *const spellings[] = {"aten.mm.default",
                                            "aten::mm",
                                            "aten::mm.default",
                                            "torch.ops.aten.mm.default",
                                            "mm",
                                            "torch._ops.aten.mm.default",
                                            "aten.mm"};

    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        emp_aten_op op = parse(spellings[i]);
        cr_expect_str_eq(op.name, "aten.mm", "%s", spellings[i]);
        cr_expect_eq(op.type, emp_op_type_find("aten.mm"), "%s", spellings[i]);
        cr_expect_not(op.is_view || op.is_in_place || op.is_list || op.is_out);
    }
    cr_expect_str_eq(parse("aten.add.Tensor").overload, "Tensor");
    cr_expect_str_eq(parse("aten::mm").overload, "");
}

Test(aten, a_name_says_what_an_op_writes)
{
    static const struct {
        const char *name;
        bool        is_in_place, is_list, is_out, is_view;
    } cases[] = {{"aten.add_.Tensor", true, false, false, false},
                 {"aten._fused_adam_.default", true, true, false, false},
                 {"aten._foreach_add.List", false, true, false, false},
                 {"aten.add.out", false, false, true, false},
                 {"aten.sum.IntList_out", false, false, true, false},
                 {"aten.add.Tensor", false, false, false, false},
                 {"aten.__and__.Tensor", false, false, false, false},
                 /* it changes how the tensor is seen */
                 {"aten.squeeze_.dim", false, false, false, true},
                 {"aten.permute.default", false, false, false, true},
                 {"aten.permute_copy.default", false, false, false, false}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_aten_op op = parse(cases[i].name);
        cr_expect(op.is_in_place == cases[i].is_in_place &&
                      op.is_list == cases[i].is_list && op.is_out == cases[i].is_out &&
                      op.is_view == cases[i].is_view,
                  "%s", cases[i].name);
    }
}

Test(aten, functions_of_python_and_unknown_names)
{
    cr_expect(parse("<built-in function getitem>").is_getitem);
    cr_expect(parse("_operator.getitem").is_getitem);
    cr_expect_not(parse("<built-in function mul>").is_getitem);
    cr_expect_eq(parse("<built-in function mul>").type->work, EMP_WORK_NOTHING);
    cr_expect_eq(parse("math.ceil").type->work, EMP_WORK_NOTHING);
    cr_expect_null(parse("mylib.fancy_op.default").type);
    cr_expect_str_eq(parse("mylib.fancy_op.default").name, "mylib.fancy_op");
    cr_expect_null(parse("aten.never_heard_of.default").type);
}

Test(aten, what_is_no_name_is_refused)
{
    static const char *const bad[] = {"",    ".",        "aten.", ".mm",
                                      "a b", "aten.m m", "::mm",  "<x>"};
    char                     longer[4 * EMP_ATEN_NAME_BYTES];
    emp_aten_op              op;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(emp_aten_parse(&op, bad[i], strlen(bad[i])), "\"%s\"", bad[i]);
    memset(longer, 'a', sizeof longer);
    cr_expect_not(emp_aten_parse(&op, longer, sizeof longer));
    cr_expect_eq(op.name[0], '\0');
}

Test(fx, new_values_tell_parameters_from_states_and_inputs)
{
    emp_graph *g = sample(SAMPLES "linear_momentum.json");
    emp_op_id  sub = graph_find(g, "sub");
    /* addmm and mm: 2 m n k each; all else as many as elements */
    double products = 2.0 * 2 * 3 * 4 + 2.0 * 3 * 4 * 2;
    double sums = 6 + 6, updates = 12 + 12 + 12 + 12 + 3 + 3;

    cr_expect_str_eq(graph_type(g, "arg0"), "torch.parameter");
    cr_expect_str_eq(graph_type(g, "arg1"), "torch.parameter");
    cr_expect_str_eq(graph_type(g, "arg2"), "torch.optimizer_state");
    cr_expect_str_eq(graph_type(g, "arg3"), "torch.input");
    cr_expect_eq(g->parameter_count, 3 * 4 + 3);
    cr_expect_eq(g->parameter_bytes, 60);
    cr_expect_eq(g->op[graph_find(g, "arg2")].persistent_bytes, 48);
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect_eq(g->flops, products + sums + updates, "%g", g->flops);
    cr_expect_not_null(strstr(devices.note, "all known"), "%s", devices.note);
    cr_expect_null(strstr(devices.note, "states 15"), "%s", devices.note);
    /* a new value is written where the old one is, when that has been read, and a state is where its parameter is */
    cr_expect(g->tensor[g->output_offset[sub]].is_ref);
    cr_expect_eq(g->tensor[g->output_offset[sub]].bytes, 0);
    cr_expect(g->is_target[sub] && g->is_target[graph_find(g, "loss")]);
    cr_expect(graph_is_bound(g, "sub", "arg0") && graph_is_bound(g, "add", "arg2"));
    cr_expect(graph_is_bound(g, "arg2", "arg0"));
    cr_expect_not(graph_is_bound(g, "arg1", "arg0"));
    cr_expect_not(graph_is_bound(g, "addmm", "arg0"));
    graph_expect_waits(g, "sub_1<addmm");
}

Test(fx, tuples_lists_and_ops_in_place_are_ops_with_an_order)
{
    emp_graph *g = sample(SAMPLES "in_place.json");
    emp_op_id  a = graph_find(g, "a"), norm = graph_find(g, "norm");
    emp_op_id  relu = graph_find(g, "relu_");

    /* a result that is taken out of a tuple of views is a view; other results of a tuple are outputs of one op */
    cr_expect_str_eq(graph_type(g, "a"), "aten.split");
    cr_expect(g->op[a].is_alias && g->op[a].cost->kernels == 0);
    cr_expect_eq(g->output_offset[norm + 1] - g->output_offset[norm], 2);
    cr_expect_eq(g->tensor[g->output_offset[norm] + 1].shape->dim[1], 1);
    graph_expect_reads(g, "a<x b<x layers.0.attn/mine<norm");
    /* an op in place waits until the old value has been read, and its readers for it */
    cr_expect(g->op[relu].is_alias && g->op[relu].cost->kernels == 1);
    graph_expect_waits(g, "relu_<read later<relu_ read<!relu_");
    cr_expect(graph_is_bound(g, "relu_", "x"));
    /* a list op is an op for each tensor */
    graph_expect_reads(g, "lists.0<gw lists.1<gv _foreach_sub_.1<lists.1 "
                          "_foreach_sub_.1<v _foreach_sub_.1<!lists.0");
    graph_expect_waits(g, "_foreach_sub_.0<read");
    cr_expect(graph_is_bound(g, "_foreach_sub_.0", "w"));
    cr_expect_not(graph_is_bound(g, "v", "w"));
    cr_expect(g->is_target[graph_find(g, "_foreach_sub_.0")]);
    cr_expect_eq(g->op[graph_find(g, "lists.1")].cost->flops, 20.0);
    /* an unknown op is counted and named */
    cr_expect_eq(g->unknown_op_count, 1);
    cr_expect_str_eq(graph_type(g, "layers.0.attn/mine"), "mylib.fancy");
    cr_expect_not_null(strstr(devices.note, "1 of unknown ops"), "%s", devices.note);
    cr_expect_not_null(strstr(devices.note, "mylib.fancy.default"), "%s", devices.note);
}

Test(fx, an_op_that_runs_a_graph_of_its_own_is_a_warning)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    scratch_write_json(
        "graph.json",
        "{'format': 'torch.fx 1', 'nodes': [{'name': 'x', 'op': 'placeholder', "
        "'role': 'input', 'outputs': [{'shape': [4, 8], 'dtype': 'float32'}]},"
        "{'name': 'c', 'op': 'call_function', 'target': 'torch.ops.higher_order.cond', "
        "'args': [{'node': 'x'}], 'outputs': [{'shape': [4, 8], 'dtype': 'float32'}]}]}");
    emp_graph_destroy(graph_import(scratch_path("graph.json"), &notes, &devices));
    cr_expect_eq(notes.warning_count, 1);
    cr_expect(graph_is_noted(&notes, "c (torch.ops.higher_order.cond)"));
}

#define HEAD "{\"format\":\"torch.fx graph\",\"nodes\":["
#define X                                                               \
    "{'name':'x','op':'placeholder','target':'x','outputs':[{'shape':[" \
    "2],'dtype':'float32'}]},"

#define MATRIX(name, shape)                                            \
    "{'name':'" name "','op':'placeholder','outputs':[{'shape':" shape \
    ",'dtype':'float32'}]},"
#define A  MATRIX("a", "[2,3]")
#define A2 MATRIX("b", "[2,3]")
#define B  MATRIX("b", "[3,4]")
#define MM(target, outputs)                              \
    "{'name':'m','op':'call_function','target':'" target \
    "','args':[{'node':'a'},{'node':'b'}],'outputs':" outputs "},"
#define END "{\"name\":\"o\",\"op\":\"output\",\"args\":[{\"node\":\"m\"}]}]}"

static const graph_fault wrong[] = {
    {"{'format':'torch.fx'}", "\"nodes\""},
    {HEAD "]}", "\"nodes\""},
    {"{'nodes': [], 'format': 'torch.fx graph'}", "\"nodes\""}, /* behind other keys */
    {HEAD "{'op':'output'}]}", "nodes[0]: the name is missing"},
    {HEAD "{'name':'a'}]}", "nodes[0] (a): the text \"op\" is missing"},
    {HEAD X "{'name':'x','op':'output'}]}", "the name \"x\" is taken"},
    {HEAD "{'name':'a','op':'call_module','target':'b'}]}",
     "trace the model with make_fx"},
    {HEAD "{'name':'a','op':'call_function'}]}", "the target is missing"},
    {HEAD X "{'name':'a','op':'call_function','target':'aten.relu','args':[{"
            "'node':'z'}]}]}",
     "reads \"z\""},
    {HEAD "{'name':'a','op':'placeholder','outputs':[{'shape':[-1],"
          "'dtype':'float32'}]}]}",
     "nodes[0] (a)"},
    {HEAD "{'name':'a','op':'placeholder','outputs':[{'shape':['s0'],"
          "'dtype':'float32'}]}]}",
     "nodes[0] (a)"},
    {HEAD "{'name':'a','op':'placeholder','outputs':[{'shape':[1],"
          "'dtype':'float31'}]}]}",
     "\"float31\""},
    {HEAD "{'name':'a','op':'placeholder','outputs':[{'dtype':'int8'}]}]}",
     "no list \"shape\""},
    {HEAD "{'name':'a','op':'placeholder','role':'king'}]}", "\"king\""},
    {HEAD X "{'name':'a','op':'call_function','target':'aten.mm.default','args':[{"
            "'node':'x'}],'outputs':[{'shape':[2],'dtype':'float32'}]}]}",
     "op \"a\" of type aten.mm has 1 inputs"},
    {HEAD X "{'name':'g','op':'call_function','target':'aten.sort','args':[{"
            "'node':'x'}]},{'name':'a','op':'call_function','target':'<built-in "
            "function getitem>','args':[{'node':'g'},4000]}]}",
     "result 4000 is taken"},
    {HEAD A B MM("aten.mm.default", "null") END,
     "\"m\": aten.mm.default has no \"outputs\""},
    {HEAD A B MM("aten.matmul", "[]") END, "\"m\": aten.matmul has no \"outputs\""},
    {HEAD A B MM("aten.convolution.default", "[]") END,
     "\"m\": aten.convolution.default has no"},
    {HEAD A A2 MM("aten.mm.default", "[{'shape':[2,3],'dtype':'float32'}]") END,
     "aten.mm.default multiplies [2,3] by [2,3]"},
    {HEAD "{'name':'o','op':'output'}]}", "the graph has no op"},
    {"{'format':'torch.fx',", "line 1: "},
};

Test(fx, what_is_wrong_with_a_file_is_said)
{
    char text[8192] = HEAD;

    graph_expect_faults("graph.json", wrong, COUNT(wrong), EMP_EFORMAT);
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "{'name':'n%d'}%s", i,
                 i < 39 ? "," : "]}");
    /* all problems are reported at once, up to a length */
    const graph_fault many[] = {
        {text, "nodes[0] (n0)"}, {text, "nodes[1] (n1)"}, {text, "more problems"}};
    graph_expect_faults("graph.json", many, COUNT(many), EMP_EFORMAT);
}

Test(fx, options_of_onnx_models_are_refused)
{
    scratch_write_json("graph.json", HEAD "]}");
    graph_expect_refused(
        scratch_print("onnx:path=%s,train=adam", scratch_path("graph.json")), EMP_EINVAL,
        "scripts/export/export_torch.py");
}

/* For a tuple, getitem states the results; an op that writes an operand has its results there. A list of two tensors has no sixth
 * result, which is then the new value of a placeholder. */
Test(fx, results_may_be_elsewhere)
{
    static const struct {
        const char *text;
        int32_t     ops; /* 0: not counted */
    } right[] = {
        {HEAD A B MM("aten.linear", "[]") "{'name':'i','op':'call_function',"
                                          "'target':'_operator.getitem','args':[{"
                                          "'node':'m'},0],'outputs':[{'shape':["
                                          "2,4],'dtype':'float32'}]}," END,
         0},
        {HEAD A B MM("aten.mm.out", "[]") END, 0},
        {HEAD A B MM("aten.mm_", "null") END, 0},
        {HEAD X "{'name':'l','op':'call_function','target':'aten._foreach_mul.Scalar',"
                "'args':[[{'node':'x'},{'node':'x'}],2]},"
                "{'name':'i','op':'call_function','target':'_operator.getitem',"
                "'args':[{'node':'l'},5],'outputs':[{'shape':[2],'dtype':'float32'}]},"
                "{'name':'o','op':'output','args':[{'node':'i'},{'node':'i'}]}]}",
         3},
    };

    for (size_t i = 0; i < COUNT(right); i++) {
        scratch_write_json("graph.json", right[i].text);
        emp_graph *g = graph_import(scratch_path("graph.json"), NULL, &devices);
        if (right[i].ops > 0) cr_expect_eq(g->op_count, right[i].ops, "case %zu", i);
        emp_graph_destroy(g);
    }
}

/* One call of operands a, b, c ...; arguments are JSON. */
typedef struct {
    const char     *operands, *target, *arguments, *result;
    double          flops;
    emp_conv_window window;
} call_case;

#define AB               "{'node':'a'},{'node':'b'}"
#define ABC              AB ",{'node':'c'}"
#define ABCD             ABC ",{'node':'d'}"
#define QKV              "[2,16,4,8] [2,16,4,8] [2,16,4,8]"
#define PACK             "[64,4,8] [64,4,8] [64,4,8] [5]"
#define EINSUM(equation) "'" equation "',[" AB "]"
#define BACK             ABCD ",{'node':'a'},{'node':'e'},null,null,null"

/* clang-format off */
static const call_case calls[] = {
    {"[8,16] [8,16]", "aten.linalg_vecdot.default", AB, "[8]", 2.0 * 8 * 16, 0},
    {"[8,16] [8,16]", "aten.linalg_vecdot.default", AB ",0", "[16]", 2.0 * 8 * 16, 0},
    {"[3,1,16] [5,16]", "aten.linalg_vecdot.default", AB, "[3,5]", 2.0 * 15 * 16, 0},
    /* shared dims, by letters and by "..."; without a result what both have is summed */
    {"[64,8,16] [64,16,32]", "aten.einsum.default", EINSUM("bij,bjk->bik"), "[64,8,32]", 2.0 * 64 * 8 * 16 * 32, 0},
    {"[64,8,16] [64,16,32]", "aten.einsum.default", EINSUM("...ij,...jk->...ik"), "[64,8,32]", 2.0 * 64 * 8 * 16 * 32, 0},
    {"[4,64,8,16] [64,16,32]", "aten.einsum.default", EINSUM("...ij,...jk->...ik"), "[4,64,8,32]", 2.0 * 4 * 64 * 8 * 16 * 32, 0},
    {"[4,1,8,16] [64,16,32]", "aten.einsum.default", EINSUM("... i j, ... j k"), "[4,64,8,32]", 2.0 * 4 * 64 * 8 * 16 * 32, 0},
    {"[64,8,16] [64,16,32]", "aten.einsum.default", EINSUM("bij,bjk"), "[8,32]", 2.0 * 64 * 8 * 16 * 32, 0},
    {"[64,8,16] [16,32]", "aten.einsum.default", EINSUM("...j,jk->...k"), "[64,8,32]", 2.0 * 64 * 8 * 16 * 32, 0},
    /* the window's steps, which leave the result as large as without padding and steps */
    {"[1,8,16,16] [8,8,3,3]", "aten.conv2d.default", AB ",null,[1,1],[1,1],[1,1]", "[1,8,16,16]", 2.0 * 256 * 8 * 72, EMP_CONV_WINOGRAD},
    {"[1,8,16,16] [8,8,3,3]", "aten.conv2d.default", AB ",null,[1,1],[2,2],[2,2]", "[1,8,16,16]", 2.0 * 256 * 8 * 72, EMP_CONV_WIDE},
    {"[1,8,16,16] [8,8,3,3]", "aten.conv2d.default", AB ",null,1,2,2", "[1,8,16,16]", 2.0 * 256 * 8 * 72, EMP_CONV_WIDE},
    {"[1,8,16,16] [8,8,3,3]", "aten.cudnn_convolution.default", AB ",[2,2],[1,1],[2,2],1,false,false,true", "[1,8,16,16]", 2.0 * 256 * 8 * 72, EMP_CONV_WIDE},
    {"[1,8,16,16] [1,8,16,16] [8,8,3,3]", "aten.convolution_backward.default", ABC ",[0],[1,1],[2,2],[2,2],false,[0,0],1,[true,false,false]", "[1,8,16,16]", 2.0 * 256 * 8 * 72, EMP_CONV_WIDE},
    /* one image without a batch */
    {"[3,224,224] [64,3,7,7]", "aten.conv2d.default", AB ",null,[2,2],[3,3],[1,1]", "[64,112,112]", 2.0 * 64 * 112 * 112 * 147, EMP_CONV_WIDE},
    {"[8,16,16] [8,8,3,3]", "aten.conv2d.default", AB ",null,[1,1],[1,1],[1,1]", "[8,16,16]", 2.0 * 256 * 8 * 72, EMP_CONV_WINOGRAD},
    /* the places of masks: 8 heads of 16 queries; a mask leaves half of 16 keys */
    {QKV, "flash_attn._flash_attn_forward.default", ABC ",0.0,0.5,false,-1,-1,0.0,null,true", "[2,16,4,8]", 2.0 * 8 * 16 * 16 * 16, 0},
    {QKV, "flash_attn._flash_attn_forward.default", ABC ",0.0,0.5,true,-1,-1,0.0,null,false", "[2,16,4,8]", 2.0 * 8 * 16 * 8 * 16, 0},
    {QKV " [2,16,4,8] [2,4,16]", "flash_attn._flash_attn_backward.default", BACK ",0.0,0.5,false,-1,-1,0.0,null,true", "[2,4,16]", 2.0 * 8 * 16 * 16 * 40, 0},
    {QKV " [2,16,4,8] [2,4,16]", "flash_attn._flash_attn_backward.default", BACK ",0.0,0.5,true,-1,-1,0.0,null,false", "[2,4,16]", 2.0 * 8 * 16 * 8 * 40, 0},
    {QKV " [2,16,4,8] [2,4,16]", "aten._efficient_attention_backward.default", ABCD ",null,{'node':'a'},null,null,16,16,{'node':'e'},0.0,null,null,0,true", "[2,16,4,8]", 2.0 * 8 * 16 * 16 * 40, 0},
    {QKV " [2,16,4,8] [2,4,16]", "aten._efficient_attention_backward.default", ABCD ",null,{'node':'a'},null,null,16,16,{'node':'e'},0.0,null,null,1,false", "[2,16,4,8]", 2.0 * 8 * 16 * 8 * 40, 0},
    /* 4 sequences of 16 tokens in one of 64 */
    {PACK, "aten._flash_attention_forward.default", ABC ",{'node':'d'},{'node':'d'},16,16,0.0,false,false", "[64,4,8]", 2.0 * 4 * 4 * 16 * 16 * 16, 0},
    {PACK, "aten._flash_attention_forward.default", ABC ",{'node':'d'},{'node':'d'},16,16,0.0,true,false", "[64,4,8]", 2.0 * 4 * 4 * 16 * 8 * 16, 0},
    {PACK, "flash_attn._flash_attn_varlen_forward.default", ABCD ",{'node':'d'},16,16,0.0,0.5,true", "[64,4,8]", 2.0 * 4 * 4 * 16 * 8 * 16, 0},
    {PACK, "aten._flash_attention_forward.default", ABC ",null,null,64,64,0.0,false,false", "[64,4,8]", 2.0 * 4 * 64 * 64 * 16, 0},
    /* the longest has 32 */
    {PACK, "aten._flash_attention_forward.default", ABC ",{'node':'d'},{'node':'d'},32,32,0.0,false,false", "[64,4,8]", 2.0 * 4 * 64 * 32 * 16, 0},
};
/* clang-format on */

static void write_call(const call_case *c)
{
    char text[4096] = HEAD, name = 'a';

    for (const char *at = c->operands; *at != '\0'; name++) {
        int length = (int)strcspn(at, " ");
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "{'name':'%c','op':'placeholder','outputs':[{'shape':%.*s,"
                 "'dtype':'float32'}]},",
                 name, length, at);
        at += length + (at[length] == ' ');
    }
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "{'name':'m','op':'call_function','target':'%s','args':[%s],'outputs':[{"
             "'shape':%s,'dtype':'float32'}]},{'name':'o','op':'output','args':[{"
             "'node':'m'}]}]}",
             c->target, c->arguments, c->result);
    scratch_write_json("graph.json", text);
}

Test(fx, arguments_say_what_shapes_do_not)
{
    for (size_t i = 0; i < COUNT(calls); i++) {
        write_call(&calls[i]);
        emp_graph         *g = graph_import(scratch_path("graph.json"), NULL, &devices);
        const emp_op_cost *cost = g->op[graph_find(g, "m")].cost;
        cr_expect_eq(cost->flops, calls[i].flops, "%s(%s): %g FLOP, want %g",
                     calls[i].target, calls[i].arguments, cost->flops, calls[i].flops);
        cr_expect_eq(cost->window, calls[i].window, "%s(%s)", calls[i].target,
                     calls[i].arguments);
        emp_graph_destroy(g);
    }
}

/* cuDNN is given the transposed input, so both orders are the same kernels (ATen/native/cudnn/RNN.cpp). A packed input, whose
 * place of batch_first says whether there are two directions, has no order. */
Test(fx, a_batch_that_comes_first_is_no_sequence)
{
#define LSTM \
    "[{'node':'b'},{'node':'b'}],[{'node':'c'},{'node':'d'}],false,1,0.0,false,false,"
    static const struct {
        call_case call;
        int64_t   steps, sequences;
    } layers[] = {
        {{"[7,3,6] [1,3,5] [20,6] [20,5]", "aten.lstm.input",
          "{'node':'a'}," LSTM "false", "[7,3,5]", 0, 0},
         7,
         3},
        {{"[3,7,6] [1,3,5] [20,6] [20,5]", "aten.lstm.input", "{'node':'a'}," LSTM "true",
          "[3,7,5]", 0, 0},
         7,
         3},
        {{"[3,7,6] [1,3,5] [20,6] [20,5]", "aten._cudnn_rnn.default",
          "{'node':'a'},[{'node':'c'},{'node':'d'}],4,null,{'node':'b'},{'node':'b'},2,5,"
          "0,1,true,0.0,false,false,[],null",
          "[3,7,5]", 0, 0},
         7,
         3},
        {{"[7,3,6] [1,3,5] [20,6] [20,5]", "aten.mkldnn_rnn_layer.default",
          "{'node':'a'},{'node':'c'},{'node':'d'},{'node':'c'},{'node':'d'},{'node':'b'},"
          "{'node':'b'},false,[],2,5,1,false,false,true,false",
          "[7,3,5]", 0, 0},
         7,
         3},
        {{"[21,6] [7] [20,6] [20,5]", "aten.lstm.data", "{'node':'a'}," LSTM "true",
          "[21,5]", 0, 0},
         1,
         21},
    };

    for (size_t i = 0; i < COUNT(layers); i++) {
        write_call(&layers[i].call);
        emp_graph         *g = graph_import(scratch_path("graph.json"), NULL, &devices);
        const emp_op_cost *cost = g->op[graph_find(g, "m")].cost;
        cr_expect_eq(cost->batch, layers[i].steps, "case %zu: %lld steps", i,
                     (long long)cost->batch);
        cr_expect_eq(cost->m, layers[i].sequences, "case %zu: %lld sequences", i,
                     (long long)cost->m);
        cr_expect_eq(cost->kernels, 2 * layers[i].steps, "case %zu", i);
        emp_graph_destroy(g);
    }
}

#define INPUT(name, shape, dtype)                                                     \
    "{'name':'" name "','op':'placeholder','role':'input','outputs':[{'shape':" shape \
    ",'dtype':'" dtype "'}]},"
#define CALL(name, target, arguments, shape, dtype)                                    \
    "{'name':'" name "','op':'call_function','target':'" target "','args':[" arguments \
    "],'outputs':[{'shape':" shape ",'dtype':'" dtype "'}]},"

static emp_graph *load_nodes(const char *nodes, const char *results)
{
    char text[4096];

    snprintf(text, sizeof text, HEAD "%s{'name':'o','op':'output','args':[%s]}]}", nodes,
             results);
    scratch_write_json("graph.json", text);
    return graph_keep(graph_import(scratch_path("graph.json"), NULL, &devices));
}

#define N_BYTES (1048576 * (int64_t)sizeof(float))
#define N       "[1048576]"

/* Three ops, each of which holds its operand and its result, and then an update whose first op could run at once, because it
 * reads nothing but a state. In the order of the program no more than two tensors and the state are there. */
Test(fx, ops_run_in_the_order_of_the_program)
{
    load_nodes("{'name':'m','op':'placeholder','role':'state','outputs':[{'shape':" N
               ",'dtype':'float32'}]}," INPUT("x", N, "float32")
                   CALL("a", "aten.exp.default", "{'node':'x'}", N, "float32")
                       CALL("b", "aten.exp.default", "{'node':'a'}", N, "float32") CALL(
                           "c", "aten.exp.default", "{'node':'b'}", N, "float32")
                           CALL("d", "aten.mul.Tensor", "{'node':'m'},0.9", N, "float32")
                               CALL("e", "aten.add.Tensor", "{'node':'d'},{'node':'c'}",
                                    N, "float32"),
               "{'node':'e'},{'node':'e'}");
    OWN_TASK t = {0};

    task_create(&t, scratch_path("graph.json"), "h200x8", "torch-eager");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = 1;
    emp_sim_result r = task_run(&t);
    cr_expect_eq(r.peak_bytes[1], 3 * N_BYTES, "%lld", (long long)r.peak_bytes[1]);
}

/* Sizes of a float4_e2m1fn_x2 count bytes, of which each holds two numbers: the product has 2 m n k FLOPs. */
Test(fx, a_product_of_packed_floats_has_all_its_terms)
{
    emp_graph *g = load_nodes(
        INPUT("a", "[128,32]", "float4_e2m1fn_x2") INPUT("b", "[32,256]",
                                                         "float4_e2m1fn_x2")
            INPUT("s", "[512]", "float8_e8m0fnu") INPUT("t", "[1024]", "float8_e8m0fnu")
                CALL("y", "aten._scaled_mm.default",
                     "{'node':'a'},{'node':'b'},{'node':'s'},{'node':'t'}", "[128,256]",
                     "bfloat16"),
        "{'node':'y'}");
    const emp_op_cost *cost = g->op[graph_find(g, "y")].cost;

    cr_expect_eq(cost->flops, 2.0 * 128 * 256 * 64);
    cr_expect_eq(cost->k, 64);
    cr_expect_eq(cost->bytes_read, 128 * 32 + 32 * 256 + 512 + 1024);
}

/* A product of complex numbers is four of real ones. */
Test(fx, a_complex_product_is_four)
{
    emp_graph *g =
        load_nodes(INPUT("a", "[128,32]", "complex64") INPUT("b", "[32,256]", "complex64")
                       CALL("y", "aten.mm.default", "{'node':'a'},{'node':'b'}",
                            "[128,256]", "complex64"),
                   "{'node':'y'}");

    cr_expect_eq(g->op[graph_find(g, "y")].cost->flops, 8.0 * 128 * 256 * 32);
}

/* A copy reads the source as it is, and nothing of what it overwrites. */
Test(fx, a_copy_reads_its_source_alone)
{
    const char *const wide = INPUT("d", "[100]", "bfloat16") INPUT("s", "[100]",
                                                                   "float32")
        CALL("m", "aten.copy_.default", "{'node':'d'},{'node':'s'}", "[100]", "bfloat16");
    const char *const broadcast = INPUT("d", "[100]", "bfloat16") INPUT("s", "[]",
                                                                        "float32")
        CALL("m", "aten.copy_.default", "{'node':'d'},{'node':'s'}", "[100]", "bfloat16");
    const char *const list =
        INPUT("d", "[100]", "bfloat16") INPUT("s", "[100]", "float32")
            CALL("m", "aten._foreach_copy_.default", "[{'node':'d'}],[{'node':'s'}]",
                 "[100]", "bfloat16");
    const char *const texts[] = {wide, broadcast, list};
    const int64_t     reads[] = {400, 4, 400};

    for (size_t i = 0; i < COUNT(texts); i++) {
        emp_graph         *g = load_nodes(texts[i], "{'node':'m'}");
        const emp_op_cost *cost = g->op[graph_find(g, "m")].cost;
        cr_expect_eq(cost->bytes_read, reads[i], "case %zu: %lld", i,
                     (long long)cost->bytes_read);
        cr_expect_eq(cost->bytes_written, 200, "case %zu", i);
    }
}

/* An "out" overload does not read what it writes: a buffer in its place, or memory that was only allocated. */
Test(fx, an_out_overload_writes_the_operand_called_out)
{
    emp_graph *g = load_nodes(
        INPUT(
            "x", "[4,8]",
            "float32") "{'name':'w','op':'placeholder','role':'buffer','outputs':[{'"
                       "shape':[4,8],"
                       "'dtype':'float32'}]}," CALL(
                           "early", "aten.exp.default", "{'node':'w'}", "[4,8]",
                           "float32") CALL("e", "aten.empty.memory_format", "[4,8]",
                                           "[4,8]", "float32")
                           CALL("a", "aten.neg.out",
                                "{'node':'x'}],'kwargs':{'out':{'node':'w'}},'more':[",
                                "[4,8]", "float32")
                               CALL(
                                   "b", "aten.neg.out",
                                   "{'node':'x'}],'kwargs':{'out':{'node':'e'}},'more':[",
                                   "[4,8]", "float32")
                                   CALL("y", "aten.add.Tensor",
                                        "{'node':'a'},{'node':'b'}", "[4,8]", "float32"),
        "{'node':'y'},{'node':'early'}");
    const emp_op_id a = graph_find(g, "a"), b = graph_find(g, "b");

    cr_expect_eq(g->op[a].cost->bytes_read, 4 * 8 * 4);
    cr_expect_eq(g->op[b].cost->bytes_read, 4 * 8 * 4);
    cr_expect_eq(g->tensor[g->output_offset[a]].bytes, 0, "in place");
    cr_expect_eq(g->tensor[g->output_offset[b]].bytes, 4 * 8 * 4);
    cr_expect(graph_is_bound(g, "a", "w"));
    cr_expect_not(graph_is_bound(g, "b", "w"));
    graph_expect_waits(g, "a<early a<w");
    graph_expect_reads(g, "y<a y<b a<!w b<!e");
}

/* A result never overwrites a placeholder that the file calls an input. */
Test(fx, results_of_a_forward_pass_are_no_new_values_of_its_inputs)
{
    emp_graph *g = load_nodes(
        INPUT("x", "[4,8]", "float32") INPUT("z", "[4,8]", "float32")
            CALL("a", "aten.neg.default", "{'node':'x'}", "[4,8]", "float32")
                CALL("b", "aten.neg.default", "{'node':'z'}", "[4,8]", "float32"),
        "{'node':'a'},{'node':'b'}");

    cr_expect_not(graph_is_bound(g, "a", "x") || graph_is_bound(g, "b", "z"));
    cr_expect_eq(g->tensor[g->output_offset[graph_find(g, "a")]].bytes, 4 * 8 * 4);
}

/* The statistics of a batch are summed first; statistics that are there are used in one pass. */
Test(fx, a_norm_of_batches_reads_its_input_once_outside_of_training)
{
#define NORM_OF(name, arguments)                                                    \
    {                                                                               \
        "[32,64,56,56] [64] [64] [64] [64]", name, ABCD ",{'node':'e'}," arguments, \
            "[32,64,56,56]", 0.0, 0                                                 \
    }
    static const struct {
        call_case call;
        int64_t   reads;
    } norms[] = {
        {NORM_OF("aten.batch_norm.default", "true,0.1,1e-5,true"), 2},
        {NORM_OF("aten.batch_norm.default", "false,0.1,1e-5,true"), 1},
        {NORM_OF("aten.cudnn_batch_norm.default", "false,0.1,1e-5"), 1},
        {NORM_OF("aten._native_batch_norm_legit.default", "true,0.1,1e-5"), 2},
        {NORM_OF("aten._native_batch_norm_legit_no_training.default", "0.1,1e-5"), 1},
        {NORM_OF("aten._batch_norm_no_update.default", "0.1,1e-5"), 1},
    };

    for (size_t i = 0; i < COUNT(norms); i++) {
        write_call(&norms[i].call);
        emp_graph         *g = graph_import(scratch_path("graph.json"), NULL, &devices);
        const emp_op_cost *cost = g->op[graph_find(g, "m")].cost;
        cr_expect_eq(cost->bytes_read, 4 * (norms[i].reads * 32 * 64 * 56 * 56 + 4 * 64),
                     "case %zu: %lld", i, (long long)cost->bytes_read);
        emp_graph_destroy(g);
    }
}

/* A call on x, and a call on its result, which NumPy does with or without a copy. */
typedef struct {
    const char *x, *first, *arguments, *between, *second, *others, *result;
    bool        is_copy;
} reshape_case;

/* clang-format off */
static const reshape_case reshapes[] = {
    /* heads joined behind a transposition; dimensions that stay runs */
    {"[2,4,16,8]", "transpose", ",1,2", "[2,16,4,8]", "reshape", ",[2,16,32]", "[2,16,32]", true},
    {"[2,4,16,8]", "transpose", ",1,2", "[2,16,4,8]", "reshape", ",[32,4,8]", "[32,4,8]", true},
    {"[2,4,16,8]", "transpose", ",1,2", "[2,16,4,8]", "reshape", ",[2,16,4,2,4]", "[2,16,4,2,4]", false},
    {"[2,4,1,8]", "transpose", ",1,2", "[2,1,4,8]", "reshape", ",[2,1,32]", "[2,1,32]", false},
    {"[2,4,16,8]", "permute", ",[0,1,3,2]", "[2,4,8,16]", "flatten", ",0,1", "[8,8,16]", false},
    {"[2,4,16,8]", "permute", ",[0,1,3,2]", "[2,4,8,16]", "flatten", ",2,3", "[2,4,128]", true},
    {"[2,4,16,8]", "relu", "", "[2,4,16,8]", "reshape", ",[8,128]", "[8,128]", false},
    /* keys repeated for a group of queries, or not at all */
    {"[2,4,1,16,8]", "expand", ",[2,4,3,16,8]", "[2,4,3,16,8]", "reshape", ",[2,12,16,8]", "[2,12,16,8]", true},
    {"[2,4,1,16,8]", "expand", ",[2,4,1,16,8]", "[2,4,1,16,8]", "reshape", ",[2,4,16,8]", "[2,4,16,8]", false},
    {"[16,8]", "expand", ",[4,16,8]", "[4,16,8]", "reshape", ",[4,128]", "[4,128]", false},
    {"[16,8]", "expand", ",[4,16,8]", "[4,16,8]", "reshape", ",[64,8]", "[64,8]", true},
    /* parts */
    {"[4,6,8]", "slice", ",1,0,3", "[4,3,8]", "reshape", ",[4,24]", "[4,24]", false},
    {"[4,6,8]", "slice", ",1,0,3", "[4,3,8]", "reshape", ",[12,8]", "[12,8]", true},
    {"[4,6,8]", "slice", ",2,0,8,2", "[4,6,4]", "reshape", ",[24,4]", "[24,4]", false},
    {"[4,6,8]", "slice", ",1,0,6,2", "[4,3,8]", "reshape", ",[4,24]", "[4,24]", true},
    {"[4,6,8]", "select", ",0,1", "[6,8]", "reshape", ",[48]", "[48]", false},
    {"[4,6,8]", "select", ",1,1", "[4,8]", "reshape", ",[32]", "[32]", true},
    {"[4,6,8]", "select", ",2,1", "[4,6]", "reshape", ",[24]", "[24]", false},
    {"[4,6]", "unsqueeze", ",1", "[4,1,6]", "reshape", ",[24]", "[24]", false},
    /* memory of an order of its own is kept by element-wise calls */
    {"[6,4]", "t", "", "[4,6]", "contiguous", "", "[4,6]", true},
    {"[6,4]", "relu", "", "[6,4]", "contiguous", "", "[6,4]", false},
};
/* clang-format on */

Test(fx, a_reshape_copies_where_strides_allow_no_view)
{
    for (size_t i = 0; i < COUNT(reshapes); i++) {
        const reshape_case *c = &reshapes[i];
        scratch_write_json(
            "graph.json",
            scratch_print(
                HEAD "{'name':'x','op':'placeholder','outputs':[{'shape':%s,"
                     "'dtype':'float32'}]},{'name':'a','op':'call_function','target':"
                     "'aten.%s.default','args':[{'node':'x'}%s],'outputs':[{'shape':%s,"
                     "'dtype':'float32'}]},{'name':'m','op':'call_function','target':"
                     "'aten.%s.default','args':[{'node':'a'}%s],'outputs':[{'shape':%s,"
                     "'dtype':'float32'}]},{'name':'o','op':'output','args':[{"
                     "'node':'m'}]}]}",
                c->x, c->first, c->arguments, c->between, c->second, c->others,
                c->result));
        emp_graph *g = graph_import(scratch_path("graph.json"), NULL, &devices);
        emp_op_id  op = graph_find(g, "m");
        cr_expect_eq(g->op[op].cost->kernels, c->is_copy, "case %zu: %s%s, %s%s", i,
                     c->first, c->arguments, c->second, c->others);
        cr_expect_eq(g->op[op].is_alias, !c->is_copy, "case %zu", i);
        emp_graph_destroy(g);
    }
}

Test(fx, survives_every_allocation_failure)
{
    static const char *const names[] = {SAMPLES "linear_momentum.json",
                                        SAMPLES "in_place.json"};

    for (size_t i = 0; i < COUNT(names); i++) graph_survives(graph_source_path(names[i]));
}

static const struct {
    const char *name;
    int64_t     parameters;
    double
        products; /* forward, gradient of the weights, gradient of what a layer reads */
    int32_t kept; /* parameters, states and buffers */
} samples[] = {
    /* 32 rows, 64-128-10; nothing asks for the gradient of the first layer's input */
    {"mlp", 64 * 128 + 128 + 128 * 10 + 10, 2.0 * 32 * (2 * 64 * 128 + 3 * 128 * 10),
     3 * 4},
    /* 8 images: 3x3 of 3 channels at 32 by 32, 1x1 of 16 at 16 by 16, 32-10. The depthwise one is no product. */
    {"conv", 16 * 27 + 32 + 16 * 9 + 16 + 32 * 16 + 32 + 330,
     2.0 * 8 * (2 * 1024 * 16 * 27 + 3 * 256 * 32 * 16 + 3 * 32 * 10), 3 * 9 + 3},
    /* 2 images: 4x4 with stride 2 to 8 by 8 and 8 channels, and back */
    {"deconv", 8 * 48 + 8 + 16 + 8 * 48 + 3, 2.0 * 2 * 64 * 8 * 48 * (2 + 3), 6},
    /* 4 sequences of 16 tokens, 64 wide, 4 heads of 16; products with weights and with each other */
    {"transformer",
     4 * 64 + (64 + 1) * 192 + (64 + 1) * 64 + (64 + 1) * 256 + (256 + 1) * 64 + 10250,
     3 * 2.0 *
         (64 * 64 * (192 + 64 + 2 * 256) + 2 * 4 * 4 * 16 * 16 * 16 + 4 * 1024 * 10),
     3 * 14},
    /* 4 sequences of 6 steps, 32 inputs, 64 units with 4 gates; no gradient of the inputs and of the state
     * that the first step finds; 64-10 */
    {"lstm", 256 * (32 + 64 + 2) + 650,
     2.0 * 4 * (6 * 2 * 256 * (32 + 64) + 5 * 256 * 64 + 3 * 640), 6},
    /* 8 rows of two tables, 32-2 */
    {"tables", 1500 * 16 + 66, 2.0 * 8 * 3 * 64, 3 * 4},
};

Test(samples, products_have_the_flops_of_their_closed_forms)
{
    for (size_t i = 0; i < COUNT(samples); i++) {
        int32_t kept = 0;

        emp_graph *g = sample(scratch_print(SAMPLES "%s.json.gz", samples[i].name));
        double     flops =
            graph_class_flops(g, EMP_OP_GEMM) + graph_class_flops(g, EMP_OP_CONV);

        cr_expect_eq(g->unknown_op_count, 0, "%s", samples[i].name);
        cr_expect_eq(g->unknown_shape_count, 0, "%s", samples[i].name);
        cr_expect_eq(g->parameter_count, samples[i].parameters, "%s: %lld parameters",
                     samples[i].name, (long long)g->parameter_count);
        cr_expect_eq(flops, samples[i].products, "%s: %g FLOP in products, want %g",
                     samples[i].name, flops, samples[i].products);
        cr_expect_geq(g->flops, flops);
        for (emp_op_id op = 0; op < g->op_count; op++)
            kept += g->op[op].persistent_bytes > 0;
        cr_expect_eq(kept, samples[i].kept, "%s keeps %d tensors", samples[i].name, kept);
        cr_expect_null(strstr(devices.note, "assumed"), "%s", devices.note);
    }
}

/* The depthwise filter has 9 elements a channel: forward, both gradients. */
Test(samples, a_depthwise_convolution_is_no_product)
{
    emp_graph *g = sample(SAMPLES "conv.json.gz");
    double     flops = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].cost->op_class == EMP_OP_POOL &&
            g->op[op].cost->work == EMP_WORK_CONVOLUTION)
            flops += g->op[op].cost->flops;
    cr_expect_eq(flops, 3 * 2.0 * 8 * 256 * 16 * 9, "%g", flops);
}

/* A frozen layer, a trained one, and one that the loss does not depend on, with Adam. */
Test(samples, only_what_is_trained_is_updated)
{
    emp_graph *g =
        graph_load(graph_source_path(SAMPLES "partly.json.gz"), NULL, &devices);

    graph_expect_types(g, "torch.parameter=4 torch.optimizer_state=4 aten.sub=2 "
                          "aten.addmm=2 aten.mm=1");
    cr_expect_eq(g->parameter_count, (8 + 1) * 16 + (16 + 1) * 10);
}

/* A module's parameters, their states, and what it computes forward. */
Test(samples, a_module_is_on_one_device)
{
    emp_graph *g = sample(SAMPLES "transformer.json.gz");
    int32_t    first = -1, count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (strncmp(g->name[op], "0.qkv/", 6) != 0) continue;
        if (first < 0) first = g->op[op].colocation_class;
        cr_expect_eq(g->op[op].colocation_class, first, "%s", g->name[op]);
        count++;
    }
    cr_expect_geq(count, 7, "weight, bias, four states and a product: %d", count);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strncmp(g->name[op], "0.up/", 5) == 0)
            cr_expect_neq(g->op[op].colocation_class, first, "%s", g->name[op]);
}

static const struct {
    const char *name;
    int64_t     parameters;
    double      flops, tolerance; /* a closed form of the products */
} steps[] = {
    /* 6 (12 (2304 + 768 + 2 3072) 768 + 50257 768) tokens + 12 layers of attention, forward and twice
     * backward: 3 2 2 B T T C; 12 FLOP a parameter of the update */
    {"gpt2_small_b4_t256", 162447360,
     6.0 * (12.0 * (2304 + 768 + 2 * 3072) * 768 + 50257.0 * 768) * 1024 +
         12 * 3 * 2.0 * 2 * 4 * 256 * 256 * 768 + 12.0 * 162447360,
     0.01},
    /* 3 4.089 GMAC, less the gradient of the image; 12 FLOP a parameter */
    {"resnet50_b32", 25557032, 2.0 * 32 * (3 * 4.089e9 - 0.118e9) + 12.0 * 25557032,
     0.015},
    /* 6 products of 13-512-256-64 and 415-1024-512-256-1, less the gradient of the dense features;
     * 27 by 27 dots of 64; 12 FLOP a parameter */
    {"dlrm_b512", 167637313,
     512.0 * (6.0 * (13 * 512 + 512 * 256 + 256 * 64 + 415 * 1024 + 1024 * 512 +
                     512 * 256 + 256) -
              2.0 * 13 * 512 + 6.0 * 27 * 27 * 64) +
         12.0 * 167637313,
     0.02},
};

Test(fx, real_steps_have_the_work_that_their_layers_say)
{
    for (size_t i = 0; i < COUNT(steps); i++) {
        const char *path =
            scratch_print("../shared/graphs/torchgen_%s_train_fx.json.gz", steps[i].name);
        if (access(graph_source_path(path), F_OK) != 0)
            cr_skip_test("%s is not there", path);
        emp_graph *g = sample(path);
        cr_expect_eq(g->parameter_count, steps[i].parameters, "%s", steps[i].name);
        cr_expect_eq(g->unknown_op_count, 0, "%s", steps[i].name);
        cr_expect_eq(g->unknown_shape_count, 0, "%s", steps[i].name);
        cr_expect_float_eq(g->flops, steps[i].flops, steps[i].tolerance * steps[i].flops,
                           "%s: %g FLOP, want %g", steps[i].name, g->flops,
                           steps[i].flops);
    }
}
