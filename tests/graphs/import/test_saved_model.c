// SPDX-License-Identifier: GPL-3.0-or-later
/* SavedModels of TensorFlow 2: is the step the signature, whatever saves and restores stand beside it? */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/sample.h"
#include "tests/test.h"

TestSuite(saved_model, .init = scratch_create, .fini = graph_tear_down);

/* A product with a variable, and a count of the calls, which no op reads. */
#define PRODUCT                                                                 \
    "function product x,w,n y; read = ReadVariableOp w dtype=DT_FLOAT;"         \
    "product = MatMul x,read:value:0 T; now = ReadVariableOp n dtype=DT_FLOAT;" \
    "count = AssignAddVariableOp n,now:value:0 dtype=DT_FLOAT;"                 \
    "return y product:product:0; control count;"
#define SQUARE "function square x y; mul = AddV2 x,x T; return y mul:z:0;"
#define SAVER_FUNCTIONS                                                                  \
    "function save file,w out; read = ReadVariableOp w dtype=DT_FLOAT;"                  \
    "save = SaveV2 file,file,read:value:0; same = Identity file,^save T=DT_STRING;"      \
    "return out same:output:0; control save;"                                            \
    "function restore file,w out; restore = RestoreV2 file,file,file;"                   \
    "set = AssignVariableOp w,restore:tensors:0; same = Identity file,^set T=DT_STRING;" \
    "return out same:output:0; control set;"
/* A handle is a scalar to TensorFlow's _output_shapes. */
#define VARIABLE(name, sizes) \
    name " = VarHandleOp - dtype=DT_FLOAT shape=" sizes " _output_shapes={};"
#define INPUT                 "x = Placeholder - dtype=DT_FLOAT shape=[4,8];"
#define CALL(name, f, inputs) name " = StatefulPartitionedCall " inputs " f=@" f ";"
#define SAVER                                                                \
    "file = Placeholder - dtype=DT_STRING;" CALL("call_1", "save", "file,w") \
        CALL("call_2", "restore", "file,w")
#define MODEL                                                            \
    VARIABLE("w", "[8,16]")                                              \
    VARIABLE("n", "[1,1]")                                               \
    INPUT CALL("call", "product", "x,w,n") CALL("call_3", "square", "x") \
        SAVER PRODUCT SQUARE SAVER_FUNCTIONS
#define GRAPH(nodes) VARIABLE("w", "[8,16]") SAVER nodes SQUARE SAVER_FUNCTIONS

#define TENSOR(name) "name: '" name "' "
#define SIGNATURE(name, output)                                                  \
    "signature_def { key: '" name "' value { outputs { key: 'y' value { " output \
    "} } method_name: 'tensorflow/serving/predict' } }\n"

/* The spec of a file of this graph and these signatures. */
static const char *write_file(const char *graph, const char *signatures,
                              const char *options)
{
    const char *text = scratch_print(
        "saved_model_schema_version: 1\nmeta_graphs {\ngraph_def {\n%s}\n"
        "saver_def { filename_tensor_name: 'file:0' save_tensor_name: 'call_1:0' "
        "restore_op_name: 'call_2' }\n%s}\n",
        sample_text(graph), signatures);

    return scratch_print("tf:path=%s%s", scratch_file("saved_model.pbtxt", text),
                         options);
}

#define INIT SIGNATURE("__saved_model_init_op", "name: 'nothing'")
static const char one[] = INIT SIGNATURE("serving_default", TENSOR("call:0"));
static const char              two[] =
    INIT          SIGNATURE("b", TENSOR("call:0")) SIGNATURE("a", TENSOR("call_3:0"));
static const char composite[] = INIT SIGNATURE(
    "serving_default",
    "composite_tensor { components { name: 'call:0' } components { coo_sparse { "
    "values_tensor_name: 'call_3:0' indices_tensor_name: 'x:0' } } } ");

Test(saved_model, the_step_is_the_signature_without_savers)
{
    static const struct {
        const char *graph, *signatures, *options;
        const char *targets[3], *absent[3], *assumed;
    } cases[] = {
        {MODEL,
         one,
         "",
         {"call/product"},
         {"call_1/save", "call_2/restore", "call_3/mul"},
         NULL},
        {MODEL, two, ",signature=a", {"call_3/mul"}, {"call/product"}, NULL},
        {MODEL, two, ",signature=b", {"call/product"}, {"call_3/mul"}, NULL},
        {MODEL, two, "", {"call_3/mul"}, {"call/product"}, "signature a of b, a"},
        {MODEL,
         composite,
         "",
         {"call/product", "call_3/mul", "x"},
         {"call_1/save"},
         NULL},
        /* without a signature the calls that no op reads are the step, but never the saver's */
        {GRAPH(INPUT CALL("call", "square", "x")),
         "",
         "",
         {"call/mul"},
         {"call_1/save", "call_2/restore"},
         NULL}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        emp_graph *g =
            graph_load(write_file(cases[i].graph, cases[i].signatures, cases[i].options),
                       &notes, NULL);
        for (int t = 0; t < 3 && cases[i].targets[t] != NULL; t++)
            cr_expect(g->is_target[graph_find(g, cases[i].targets[t])], "case %zu: %s", i,
                      cases[i].targets[t]);
        for (int t = 0; t < 3 && cases[i].absent[t] != NULL; t++)
            cr_expect_eq(emp_graph_find(g, cases[i].absent[t]), -1, "case %zu: %s", i,
                         cases[i].absent[t]);
        if (cases[i].assumed != NULL)
            cr_expect(graph_is_noted(&notes, cases[i].assumed), "case %zu", i);
    }
}

Test(saved_model, a_call_does_all_that_it_does)
{
    emp_graph *g = graph_load(write_file(MODEL, one, ""), NULL, NULL);

    cr_expect_geq(graph_find(g, "call/count"), 0);
    cr_expect_eq(g->op[graph_find(g, "call/product")].cost->flops, 2.0 * 4 * 8 * 16);
    cr_expect_eq(g->parameter_count, 8 * 16 + 1);
    cr_expect_eq(g->op[graph_find(g, "w")].persistent_bytes, 4 * 8 * 16);
    cr_expect_eq(g->unknown_shape_count, 0);
}

Test(saved_model, faults_are_named)
{
    graph_expect_refused(write_file(MODEL, two, ",signature=c"), EMP_EINVAL,
                         "no signature \"c\", but b, a");
    graph_expect_refused(write_file(GRAPH(""), "", ""), EMP_OK, "no signature");
    graph_expect_refused(
        write_file(MODEL, SIGNATURE("serving_default", TENSOR("gone:0")), ""), EMP_OK,
        "\"gone:0\"");
    graph_expect_refused(scratch_print("tf:path=%s,signature=c",
                                       scratch_file("graph.pbtxt", sample_text(INPUT))),
                         EMP_OK, "signature= is for SavedModels");
}

/* Keras writes the second and third versions of what TensorFlow 1 had. */
Test(saved_model, types_of_tensorflow_2_are_known)
{
    const char *text = sample_text(VARIABLE("t", "[1000,16]") VARIABLE(
        "v",
        "[1,16]") "i = Placeholder - dtype=DT_INT32 shape=[4,2];rows = ResourceGather "
                  "t,i dtype=DT_FLOAT Tindices=DT_INT32;sum = AddV2 rows,rows T; "
                  "quotient = DivNoNan sum,rows T;same = EnsureShape quotient T;flip = "
                  "BatchMatMulV3 same,same Ta=DT_FLOAT Tb=DT_FLOAT adj_y=true;image = "
                  "Placeholder - dtype=DT_FLOAT shape=[2,8,8,16];scale = Placeholder - "
                  "dtype=DT_FLOAT shape=[16];norm = FusedBatchNormV3 "
                  "image,scale,scale,scale,scale T; end = Identity norm:5 T");

    emp_graph *g = graph_load(scratch_file("graph.pbtxt", text), NULL, NULL);
    emp_op_id  rows = graph_find(g, "rows"), norm = graph_find(g, "norm");
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->op[graph_find(g, "flip")].cost->flops, 4 * 2.0 * 2 * 2 * 16);
    cr_expect_eq(g->tensor[g->output_offset[rows]].bytes, 4 * 4 * 2 * 16);
    cr_expect_eq(g->output_offset[norm + 1] - g->output_offset[norm], 6);
}

Test(saved_model, survives_every_allocation_failure)
{
    graph_survives(write_file(MODEL, one, ",signature=serving_default"));
}
