// SPDX-License-Identifier: GPL-3.0-or-later
/* Graphs of torch.fx: roles, views, ops in place, lists, and what is wrong with a file. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graphs/load.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(fx, .init = scratch_create, .fini = scratch_remove);

static emp_import_devices devices;

static const char *source(void)
{
    const char *folder = getenv("EMP_SOURCE_DIR");

    return folder != NULL ? folder : ".";
}

static emp_status load(emp_graph **graph, const char *path, emp_error *err)
{
    emp_import_params params = emp_import_params_default();

    return emp_import_load(graph, &devices, path, &params, err);
}

static emp_graph *sample(const char *name)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};
    char       path[512];

    snprintf(path, sizeof path, "%s/tests/graphs/import/pytorch/samples/%s", source(),
             name);
    cr_assert_eq(load(&graph, path, &err), EMP_OK, "%s", err.msg);
    return graph;
}

static emp_status load_text(emp_graph **graph, const char *text, emp_error *err)
{
    char path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "graph.json", text);
    return load(graph, path, err);
}

static emp_op_id find(const emp_graph *g, const char *name)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(g->name[op], name) == 0) return op;
    cr_assert_fail("no op \"%s\"", name);
    return -1;
}

static const char *type(const emp_graph *g, const char *name)
{
    return g->type_name[g->type[find(g, name)]];
}

static bool reads(const emp_graph *g, const char *consumer, const char *producer)
{
    emp_op_id op = find(g, consumer), from = find(g, producer);

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        if (g->tensor[g->input[i]].producer == from) return true;
    return false;
}

static bool waits(const emp_graph *g, const char *op_name, const char *name)
{
    emp_op_id op = find(g, op_name), from = find(g, name);

    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (g->control[i] == from) return true;
    return false;
}

static bool share_device(const emp_graph *g, const char *a, const char *b)
{
    return g->op[find(g, a)].colocation_class == g->op[find(g, b)].colocation_class;
}

/* ---- what a step gives back ---- */

Test(fx, new_values_tell_parameters_from_states_and_inputs)
{
    emp_graph *g = sample("linear_momentum.json");

    cr_expect_str_eq(type(g, "arg0"), "torch.parameter");
    cr_expect_str_eq(type(g, "arg1"), "torch.parameter");
    cr_expect_str_eq(type(g, "arg2"), "torch.optimizer_state");
    cr_expect_str_eq(type(g, "arg3"), "torch.input");
    cr_expect_eq(g->parameter_count, 3 * 4 + 3);
    cr_expect_eq(g->parameter_bytes, 60);
    cr_expect_eq(g->op[find(g, "arg2")].persistent_bytes, 48);
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect(strstr(devices.note, "all known") != NULL, "%s", devices.note);
    cr_expect(strstr(devices.note, "states 15") == NULL, "%s", devices.note);
    emp_graph_destroy(g);
}

/* addmm and mm: 2 m n k each; all else as many as elements. */
Test(fx, flops_are_those_of_the_products)
{
    emp_graph *g = sample("linear_momentum.json");
    double     products = 2.0 * 2 * 3 * 4 + 2.0 * 3 * 4 * 2;
    double     sums = 6 + 6, updates = 12 + 12 + 12 + 12 + 3 + 3;

    cr_expect_eq(g->flops, products + sums + updates, "%g", g->flops);
    emp_graph_destroy(g);
}

Test(fx, a_new_value_is_written_where_the_old_one_is)
{
    emp_graph *g = sample("linear_momentum.json");
    emp_op_id  sub = find(g, "sub");

    cr_expect(g->tensor[g->output_offset[sub]].is_ref);
    cr_expect_eq(g->tensor[g->output_offset[sub]].bytes, 0);
    cr_expect(g->is_target[sub] && g->is_target[find(g, "loss")]);
    cr_expect(share_device(g, "sub", "arg0") && share_device(g, "add", "arg2"));
    cr_expect(share_device(g, "arg2", "arg0"), "a state is where its parameter is");
    cr_expect_not(share_device(g, "arg1", "arg0"));
    cr_expect_not(share_device(g, "addmm", "arg0"));
    cr_expect(waits(g, "sub_1", "addmm"), "the bias is read before it is written");
    emp_graph_destroy(g);
}

/* ---- views, lists, in place ---- */

Test(fx, what_is_taken_out_of_a_tuple_of_views_is_a_view)
{
    emp_graph *g = sample("in_place.json");

    cr_expect_str_eq(type(g, "a"), "aten.split");
    cr_expect(g->op[find(g, "a")].is_alias && g->op[find(g, "a")].cost->kernels == 0);
    cr_expect(reads(g, "a", "x") && reads(g, "b", "x"));
    emp_graph_destroy(g);
}

Test(fx, results_of_a_tuple_are_outputs_of_one_op)
{
    emp_graph *g = sample("in_place.json");
    emp_op_id  norm = find(g, "norm");

    cr_expect_eq(g->output_offset[norm + 1] - g->output_offset[norm], 2);
    cr_expect(reads(g, "layers.0.attn/mine", "norm"));
    cr_expect_eq(g->tensor[g->output_offset[norm] + 1].shape->dim[1], 1);
    emp_graph_destroy(g);
}

Test(fx, an_op_in_place_keeps_the_order_of_its_buffers_readers)
{
    emp_graph *g = sample("in_place.json");

    cr_expect(g->op[find(g, "relu_")].is_alias &&
              g->op[find(g, "relu_")].cost->kernels == 1);
    cr_expect(waits(g, "relu_", "read"), "what has read the old value is done");
    cr_expect(waits(g, "later", "relu_"), "what follows reads the new value");
    cr_expect_not(waits(g, "read", "relu_"));
    cr_expect(share_device(g, "relu_", "x"));
    emp_graph_destroy(g);
}

Test(fx, a_list_op_is_an_op_for_each_tensor)
{
    emp_graph *g = sample("in_place.json");

    cr_expect(reads(g, "lists.0", "gw") && reads(g, "lists.1", "gv"));
    cr_expect(reads(g, "_foreach_sub_.1", "lists.1") && reads(g, "_foreach_sub_.1", "v"));
    cr_expect_not(reads(g, "_foreach_sub_.1", "lists.0"));
    cr_expect(share_device(g, "_foreach_sub_.0", "w"));
    cr_expect_not(share_device(g, "v", "w"));
    cr_expect(g->is_target[find(g, "_foreach_sub_.0")]);
    cr_expect(waits(g, "_foreach_sub_.0", "read"));
    cr_expect_eq(g->op[find(g, "lists.1")].cost->flops, 20.0);
    emp_graph_destroy(g);
}

Test(fx, an_op_that_runs_a_graph_of_its_own_is_a_warning)
{
    char              path[SCRATCH_PATH_BYTES];
    emp_import_notes  notes = {0};
    emp_import_params params = emp_import_params_default();
    emp_graph        *g = NULL;
    emp_error         err = {0};

    scratch_write_text(
        path, sizeof path, "graph.json",
        "{\"format\": \"torch.fx 1\", \"nodes\": ["
        "{\"name\": \"x\", \"op\": \"placeholder\", \"role\": \"input\", \"outputs\": "
        "[{\"shape\": [4, 8], \"dtype\": \"float32\"}]},"
        "{\"name\": \"c\", \"op\": \"call_function\", \"target\": "
        "\"torch.ops.higher_order.cond\", \"args\": [{\"node\": \"x\"}], \"outputs\": "
        "[{\"shape\": [4, 8], \"dtype\": \"float32\"}]}]}");
    params.notes = &notes;
    cr_assert_eq(emp_import_load(&g, &devices, path, &params, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(notes.warning_count, 1);
    cr_expect_not_null(
        strstr(notes.warning[0], "c (torch.ops.higher_order.cond) runs a graph"), "%s",
        notes.warning[0]);
    emp_graph_destroy(g);
    emp_import_notes_clear(&notes);
}

Test(fx, an_unknown_op_is_counted_and_named)
{
    emp_graph *g = sample("in_place.json");

    cr_expect_eq(g->unknown_op_count, 1);
    cr_expect_str_eq(type(g, "layers.0.attn/mine"), "mylib.fancy");
    cr_expect(strstr(devices.note, "1 of unknown ops") != NULL, "%s", devices.note);
    cr_expect(strstr(devices.note, "mylib.fancy.default") != NULL, "%s", devices.note);
    emp_graph_destroy(g);
}

/* ---- files that are wrong ---- */

#define HEAD "{\"format\":\"torch.fx graph\",\"nodes\":["
#define X                                                                               \
    "{\"name\":\"x\",\"op\":\"placeholder\",\"target\":\"x\",\"outputs\":[{\"shape\":[" \
    "2],\"dtype\":\"float32\"}]},"

#define MATRIX(name, shape)                                                        \
    "{\"name\":\"" name "\",\"op\":\"placeholder\",\"outputs\":[{\"shape\":" shape \
    ",\"dtype\":\"float32\"}]},"
#define A  MATRIX("a", "[2,3]")
#define A2 MATRIX("b", "[2,3]")
#define B  MATRIX("b", "[3,4]")
#define MM(target, outputs)                                         \
    "{\"name\":\"m\",\"op\":\"call_function\",\"target\":\"" target \
    "\",\"args\":[{\"node\":\"a\"},{\"node\":\"b\"}],\"outputs\":" outputs "},"
#define END "{\"name\":\"o\",\"op\":\"output\",\"args\":[{\"node\":\"m\"}]}]}"

static const struct {
    const char *text, *message;
} wrong[] = {
    {"{\"format\":\"torch.fx\"}", "without the list \"nodes\""},
    {HEAD "]}", "without the list \"nodes\""},
    {HEAD "{\"op\":\"output\"}]}", "nodes[0]: the name is missing"},
    {HEAD "{\"name\":\"a\"}]}", "nodes[0] (a): the text \"op\" is missing"},
    {HEAD X "{\"name\":\"x\",\"op\":\"output\"}]}", "the name \"x\" is taken"},
    {HEAD "{\"name\":\"a\",\"op\":\"call_module\",\"target\":\"b\"}]}",
     "trace the model with make_fx"},
    {HEAD "{\"name\":\"a\",\"op\":\"call_function\"}]}", "the target is missing"},
    {HEAD X "{\"name\":\"a\",\"op\":\"call_function\",\"target\":\"aten.relu\",\"args\":["
            "{\"node\":\"z\"}]}]}",
     "reads \"z\", which no node before it makes"},
    {HEAD "{\"name\":\"a\",\"op\":\"placeholder\",\"outputs\":[{\"shape\":[-1],\"dtype\":"
          "\"float32\"}]}]}",
     "no whole number from 0"},
    {HEAD "{\"name\":\"a\",\"op\":\"placeholder\",\"outputs\":[{\"shape\":[\"s0\"],"
          "\"dtype\":\"float32\"}]}]}",
     "no whole number from 0"},
    {HEAD "{\"name\":\"a\",\"op\":\"placeholder\",\"outputs\":[{\"shape\":[1],\"dtype\":"
          "\"float31\"}]}]}",
     "the dtype \"float31\" is not known"},
    {HEAD "{\"name\":\"a\",\"op\":\"placeholder\",\"outputs\":[{\"dtype\":\"int8\"}]}]}",
     "no list \"shape\""},
    {HEAD "{\"name\":\"a\",\"op\":\"placeholder\",\"role\":\"king\"}]}",
     "the role is \"king\""},
    {HEAD X "{\"name\":\"a\",\"op\":\"call_function\",\"target\":\"aten.mm.default\","
            "\"args\":[{\"node\":\"x\"}],"
            "\"outputs\":[{\"shape\":[2],\"dtype\":\"float32\"}]}]}",
     "op \"a\" of type aten.mm has 1 inputs, needs 2"},
    {HEAD X "{\"name\":\"g\",\"op\":\"call_function\",\"target\":\"aten.sort\",\"args\":["
            "{\"node\":\"x\"}]},"
            "{\"name\":\"a\",\"op\":\"call_function\",\"target\":\"<built-in function "
            "getitem>\","
            "\"args\":[{\"node\":\"g\"},4000]}]}",
     "result 4000 is taken"},
    {HEAD A B MM("aten.mm.default", "null") END,
     "\"m\": aten.mm.default has no \"outputs\", which its FLOPs need; state each, as "
     "{\"shape\": [32, 10], \"dtype\": \"float32\"}"},
    {HEAD A B MM("aten.matmul", "[]") END, "\"m\": aten.matmul has no \"outputs\""},
    {HEAD A B MM("aten.convolution.default", "[]") END,
     "\"m\": aten.convolution.default has no"},
    {HEAD A A2 MM("aten.mm.default", "[{\"shape\":[2,3],\"dtype\":\"float32\"}]") END,
     "\"m\": aten.mm.default multiplies [2,3] by [2,3], whose inner sizes differ"},
    {HEAD "{\"name\":\"o\",\"op\":\"output\"}]}", "the graph has no op"},
    {"{\"format\":\"torch.fx\",", "line 1: "},
};

Test(fx, what_is_wrong_with_a_file_is_said)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        cr_expect_eq(load_text(&g, wrong[i].text, &err), EMP_EFORMAT, "%s",
                     wrong[i].text);
        cr_expect(strstr(err.msg, wrong[i].message) != NULL, "\"%s\" has no \"%s\"",
                  err.msg, wrong[i].message);
        cr_expect_null(g);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

/* Of a tuple, getitem states the results; what writes an operand has them there. */
Test(fx, a_product_may_have_its_results_elsewhere)
{
    static const char *const right[] = {
        HEAD A B MM("aten.linear", "[]") "{\"name\":\"i\",\"op\":\"call_function\","
                                         "\"target\":\"_operator.getitem\",\"args\":[{"
                                         "\"node\":\"m\"},0],\"outputs\":[{\"shape\":["
                                         "2,4],\"dtype\":\"float32\"}]}," END,
        HEAD A B MM("aten.mm.out", "[]") END,
        HEAD A B MM("aten.mm_", "null") END,
    };

    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        cr_expect_eq(load_text(&g, right[i], &err), EMP_OK, "%s", err.msg);
        emp_graph_destroy(g);
    }
}

Test(fx, options_of_onnx_models_are_refused)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    char       path[SCRATCH_PATH_BYTES], spec[SCRATCH_PATH_BYTES + 64];

    scratch_write_text(path, sizeof path, "graph.json", HEAD "]}");
    snprintf(spec, sizeof spec, "onnx:path=%s,train=adam", path);
    cr_expect_eq(emp_graph_load(&g, spec, &err), EMP_EINVAL);
    cr_expect(strstr(err.msg, ": --batch, --dim, --train and --lenient are for ONNX "
                              "models, and this is a torch.fx graph; "
                              "scripts/export/export_torch.py exports the training step "
                              "of a PyTorch model") != NULL,
              "%s", err.msg);
    cr_expect_null(g);
}

/* Other writers have the key where they like. */
Test(fx, the_format_may_stand_behind_other_keys)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    char       path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "graph.json",
                       "{\"nodes\": [], \"format\": \"torch.fx graph\"}");
    cr_expect_eq(emp_graph_load(&g, path, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, ": a torch.fx graph without the list \"nodes\""),
                       "%s", err.msg);
}

/* A list of two tensors whose sixth result is the new value of a placeholder. */
Test(fx, a_result_beyond_a_list_is_no_tensor_of_it)
{
    emp_graph *g = NULL;
    emp_error  err = {0};

    cr_expect_eq(
        load_text(
            &g,
            HEAD X
            "{\"name\":\"l\",\"op\":\"call_function\",\"target\":\"aten._foreach_mul."
            "Scalar\","
            "\"args\":[[{\"node\":\"x\"},{\"node\":\"x\"}],2]},"
            "{\"name\":\"i\",\"op\":\"call_function\",\"target\":\"_operator.getitem\","
            "\"args\":[{\"node\":\"l\"},5],\"outputs\":[{\"shape\":[2],\"dtype\":"
            "\"float32\"}]},"
            "{\"name\":\"o\",\"op\":\"output\",\"args\":[{\"node\":\"i\"},{\"node\":"
            "\"i\"}]}]}",
            &err),
        EMP_OK, "%s", err.msg);
    cr_expect_eq(g->op_count, 3);
    emp_graph_destroy(g);
}

Test(fx, all_problems_of_a_file_are_told_at_once)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    char       text[8192] = HEAD;

    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "{\"name\":\"n%d\"}%s",
                 i, i < 39 ? "," : "]}");
    cr_expect_eq(load_text(&g, text, &err), EMP_EFORMAT);
    cr_expect(strstr(err.msg, "nodes[0] (n0)") != NULL &&
                  strstr(err.msg, "nodes[1] (n1)") != NULL,
              "%s", err.msg);
    cr_expect(strstr(err.msg, "more problems") != NULL, "%s", err.msg);
}

Test(fx, survives_every_allocation_failure)
{
    static const char *const names[] = {"linear_momentum.json", "in_place.json"};

    for (int i = 0; i < 2; i++) {
        emp_graph *graph = NULL;
        char       path[512];
        snprintf(path, sizeof path, "%s/tests/graphs/import/pytorch/samples/%s", source(),
                 names[i]);
        SURVIVES_EVERY_ALLOCATION_FAILURE(load(&graph, path, NULL), (void)0);
        emp_graph_destroy(graph);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

/* ---- real steps, where they are beside the repository ---- */

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
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        char       path[512];
        snprintf(path, sizeof path, "%s/../shared/graphs/torchgen_%s_train_fx.json.gz",
                 source(), steps[i].name);
        if (access(path, F_OK) != 0) cr_skip_test("%s is not there", path);
        cr_assert_eq(load(&g, path, &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(g->parameter_count, steps[i].parameters, "%s", steps[i].name);
        cr_expect_eq(g->unknown_op_count, 0, "%s", steps[i].name);
        cr_expect_eq(g->unknown_shape_count, 0, "%s", steps[i].name);
        cr_expect_float_eq(g->flops, steps[i].flops, steps[i].tolerance * steps[i].flops,
                           "%s: %g FLOP, want %g", steps[i].name, g->flops,
                           steps[i].flops);
        printf("%s: %d ops, %g FLOP, closed form %g\n", steps[i].name, g->op_count,
               g->flops, steps[i].flops);
        emp_graph_destroy(g);
    }
}
