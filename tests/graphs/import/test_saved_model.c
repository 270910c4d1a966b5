// SPDX-License-Identifier: GPL-3.0-or-later
/* SavedModels of TensorFlow 2: is the step the signature, whatever saves and restores stand beside it? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(saved_model, .init = scratch_create, .fini = scratch_remove);

#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " }\n"
#define BODY(name, op, rest) "node_def { name: '" name "' op: '" op "' " rest " }\n"
#define IN(x)                "input: '" x "' "
#define TYPE(key, type)      "attr { key: '" key "' value { type: " type " } } "
#define CALLS(f)             "attr { key: 'f' value { func { name: '" f "' } } } "
#define DIMS(a, b)           "shape { dim { size: " a " } dim { size: " b " } } "
#define SHAPE(a, b)          "attr { key: 'shape' value { " DIMS(a, b) "} } "
#define SCALARS              "attr { key: '_output_shapes' value { list { shape { } } } } "
#define ARG(x)               "input_arg { name: '" x "' type: DT_FLOAT } "
#define OUT(x)               "output_arg { name: '" x "' type: DT_FLOAT } "
#define RET(x, from)         "ret { key: '" x "' value: '" from "' } "
#define VARIABLE(name, a, b) \
    NODE(name, "VarHandleOp", TYPE("dtype", "DT_FLOAT") SHAPE(a, b) SCALARS)
#define READ(name, from) BODY(name, "ReadVariableOp", IN(from) TYPE("dtype", "DT_FLOAT"))

/* A product with a variable, and a count of the calls, which nobody reads. */
#define PRODUCT                                                                         \
    "function { signature { name: 'product' " ARG("x") ARG("w") ARG("n")                \
        OUT("y") " }\n" READ("read", "w")                                               \
            BODY("product", "MatMul", IN("x") IN("read:value:0") TYPE("T", "DT_FLOAT")) \
                READ("now", "n") BODY("count", "AssignAddVariableOp",                   \
                                      IN("n") IN("now:value:0")                         \
                                          TYPE("dtype", "DT_FLOAT"))                    \
                    RET("y", "product:product:0") "control_ret { key: 'count' value: "  \
                                                  "'count' } }\n"
#define SQUARE                                                                      \
    "function { signature { name: 'square' " ARG("x")                               \
        OUT("y") " }\n" BODY("mul", "AddV2", IN("x") IN("x") TYPE("T", "DT_FLOAT")) \
            RET("y", "mul:z:0") "}\n"
#define SAVE                                                                            \
    "function { signature { name: 'save' " ARG("file") ARG("w") OUT("out") " }\n" READ( \
        "read", "w") BODY("save", "SaveV2", IN("file") IN("file") IN("read:value:0"))   \
        BODY("same", "Identity", IN("file") IN("^save") TYPE("T", "DT_STRING"))         \
            RET("out", "same:output:0") "control_ret { key: 'save' value: 'save' } "    \
                                        "}\n"
#define RESTORE                                                                          \
    "function { signature { name: 'restore' " ARG("file") ARG("w")                       \
        OUT("out") " }\n" BODY("restore", "RestoreV2", IN("file") IN("file") IN("file")) \
            BODY("set", "AssignVariableOp", IN("w") IN("restore:tensors:0"))             \
                BODY("same", "Identity", IN("file") IN("^set") TYPE("T", "DT_STRING"))   \
                    RET("out",                                                           \
                        "same:output:0") "control_ret { key: 'set' value: 'set' } }\n"

#define CALL(name, f, inputs) NODE(name, "StatefulPartitionedCall", inputs CALLS(f))
#define SAVER                                               \
    NODE("file", "Placeholder", TYPE("dtype", "DT_STRING")) \
    CALL("call_1", "save", IN("file") IN("w"))              \
    CALL("call_2", "restore", IN("file") IN("w"))
#define MODEL                                                                      \
    "graph_def {\n" VARIABLE("w", "8", "16") VARIABLE("n", "1", "1")               \
        NODE("x", "Placeholder", TYPE("dtype", "DT_FLOAT") SHAPE("4", "8"))        \
            CALL("call", "product", IN("x") IN("w") IN("n"))                       \
                CALL("call_3", "square", IN("x")) SAVER                            \
        "library { " PRODUCT SQUARE SAVE RESTORE "}\n}\n"                          \
        "saver_def { filename_tensor_name: 'file:0' save_tensor_name: 'call_1:0' " \
        "restore_op_name: 'call_2' }\n"
#define SIGNATURE(name, output)                                                  \
    "signature_def { key: '" name "' value { outputs { key: 'y' value { " output \
    "} } method_name: 'tensorflow/serving/predict' } }\n"
#define INIT SIGNATURE("__saved_model_init_op", "name: 'nothing'")
#define FILE_OF(parts) \
    "saved_model_schema_version: 1\nmeta_graphs {\n" MODEL INIT parts "}\n"

static emp_status load(emp_graph **step, emp_import_notes *notes, const char *text,
                       const char *options, emp_error *err)
{
    char spec[512];

    scratch_write("saved_model.pbtxt", text, strlen(text));
    snprintf(spec, sizeof spec, "tf:path=%s%s", scratch_path("saved_model.pbtxt"),
             options);
    return emp_source_load_noted(step, NULL, NULL, notes, spec, err);
}

static emp_graph *load_good(const char *text, const char *options)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    cr_assert_eq(load(&step, NULL, text, options, &err), EMP_OK, "%s", err.msg);
    return step;
}

static void expect_refused(const char *text, const char *options, const char *words)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    cr_expect_neq(load(&step, NULL, text, options, &err), EMP_OK);
    cr_expect(strstr(err.msg, words) != NULL, "\"%s\" has no \"%s\"", err.msg, words);
}

static const char one[] = FILE_OF(SIGNATURE("serving_default", "name: 'call:0'"));
static const char two[] =
    FILE_OF(SIGNATURE("b", "name: 'call:0'") SIGNATURE("a", "name: 'call_3:0'"));

Test(saved_model, the_step_is_the_signature)
{
    emp_graph *g = load_good(one, "");

    cr_expect(g->is_target[emp_graph_find(g, "call/product")]);
    cr_expect_eq(emp_graph_find(g, "call_1/save"), -1);
    cr_expect_eq(emp_graph_find(g, "call_2/restore"), -1);
    cr_expect_eq(emp_graph_find(g, "call_3/mul"), -1);
    cr_expect_geq(emp_graph_find(g, "call/count"), 0, "a call does all that it does");
    cr_expect_eq(g->op[emp_graph_find(g, "call/product")].cost->flops, 2.0 * 4 * 8 * 16);
    emp_graph_destroy(g);
}

/* A handle is a scalar to TensorFlow's _output_shapes. */
Test(saved_model, a_variable_has_the_size_of_its_shape)
{
    emp_graph *g = load_good(one, "");

    cr_expect_eq(g->parameter_count, 8 * 16 + 1);
    cr_expect_eq(g->op[emp_graph_find(g, "w")].persistent_bytes, 4 * 8 * 16);
    cr_expect_eq(g->unknown_shape_count, 0);
    emp_graph_destroy(g);
}

Test(saved_model, an_option_takes_another_signature)
{
    emp_graph *g = load_good(two, ",signature=a");

    cr_expect(g->is_target[emp_graph_find(g, "call_3/mul")]);
    cr_expect_eq(emp_graph_find(g, "call/product"), -1);
    emp_graph_destroy(g);
    g = load_good(two, ",signature=b");
    cr_expect(g->is_target[emp_graph_find(g, "call/product")]);
    emp_graph_destroy(g);
    expect_refused(two, ",signature=c", "it has no signature \"c\", but b, a");
    expect_refused(NODE("x", "Placeholder", SHAPE("4", "8")), ",signature=c",
                   "signature= is for SavedModels");
}

Test(saved_model, without_serving_default_the_first_by_name_is_assumed)
{
    emp_import_notes notes = {0};
    emp_graph       *g = NULL;
    emp_error        err = {0};

    cr_assert_eq(load(&g, &notes, two, "", &err), EMP_OK, "%s", err.msg);
    cr_expect(g->is_target[emp_graph_find(g, "call_3/mul")]);
    cr_assert_eq(notes.assumption_count, 1);
    cr_expect(strstr(notes.assumption[0], "the step is the signature a of b, a") != NULL,
              "%s", notes.assumption[0]);
    emp_graph_destroy(g);
    emp_import_notes_clear(&notes);
}

Test(saved_model, sparse_and_composite_outputs_are_several_tensors)
{
    static const char text[] = FILE_OF(SIGNATURE(
        "serving_default",
        "composite_tensor { components { name: 'call:0' } components { coo_sparse { "
        "values_tensor_name: 'call_3:0' indices_tensor_name: 'x:0' } } } "));
    emp_graph        *g = load_good(text, "");

    cr_expect(g->is_target[emp_graph_find(g, "call/product")]);
    cr_expect(g->is_target[emp_graph_find(g, "call_3/mul")]);
    cr_expect(g->is_target[emp_graph_find(g, "x")]);
    emp_graph_destroy(g);
}

#define GRAPH(nodes)                                                        \
    "saved_model_schema_version: 1\nmeta_graphs {\ngraph_def {\n" VARIABLE( \
        "w", "8", "16") SAVER nodes "library { " SQUARE SAVE RESTORE "}\n}\n}\n"

/* Without a signature the calls that nobody reads are the step, but never the saver's. */
Test(saved_model, savers_are_no_step)
{
    emp_graph *g = load_good(
        GRAPH(NODE("x", "Placeholder", TYPE("dtype", "DT_FLOAT") SHAPE("4", "8"))
                  CALL("call", "square", IN("x"))),
        "");

    cr_expect(g->is_target[emp_graph_find(g, "call/mul")]);
    cr_expect_eq(emp_graph_find(g, "call_1/save"), -1);
    cr_expect_eq(emp_graph_find(g, "call_2/restore"), -1);
    emp_graph_destroy(g);
    expect_refused(GRAPH(""), "", "no signature, and nothing in the graph but variables");
}

/* Keras writes the second and third versions of what TensorFlow 1 had. */
Test(saved_model, types_of_tensorflow_2_are_known)
{
    static const char text[] = VARIABLE("t", "1000", "16") VARIABLE("v", "1", "16")
        NODE("i", "Placeholder", TYPE("dtype", "DT_INT32") SHAPE("4", "2")) NODE(
            "rows", "ResourceGather",
            IN("t") IN("i") TYPE("dtype", "DT_FLOAT") TYPE("Tindices", "DT_INT32"))
            NODE("sum", "AddV2", IN("rows") IN("rows") TYPE("T", "DT_FLOAT")) NODE(
                "quotient", "DivNoNan", IN("sum") IN("rows") TYPE("T", "DT_FLOAT"))
                NODE("same", "EnsureShape", IN("quotient") TYPE("T", "DT_FLOAT"))
                    NODE("flip", "BatchMatMulV3",
                         IN("same") IN("same") TYPE("Ta", "DT_FLOAT") TYPE(
                             "Tb", "DT_FLOAT") "attr { key: 'adj_y' value { b: true } } ")
                        NODE("image", "Placeholder",
                             TYPE("dtype", "DT_FLOAT") "attr { key: 'shape' value { "
                                                       "shape { dim { size: 2 } dim { "
                                                       "size: 8 } dim { size: 8 } dim { "
                                                       "size: 16 } } } } ")
                            NODE("scale", "Placeholder",
                                 TYPE("dtype", "DT_FLOAT") "attr { key: 'shape' value "
                                                           "{ shape { dim { size: 16 } "
                                                           "} } } ")
                                NODE("norm", "FusedBatchNormV3",
                                     IN("image") IN("scale") IN("scale") IN("scale")
                                         IN("scale") TYPE("T", "DT_FLOAT"))
                                    NODE("end", "Identity",
                                         IN("norm:5") TYPE("T", "DT_FLOAT"));
    emp_graph *g = load_good(text, "");
    emp_op_id  flip = emp_graph_find(g, "flip");

    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->op[flip].cost->flops, 4 * 2.0 * 2 * 2 * 16);
    cr_expect_eq(g->tensor[g->output_offset[emp_graph_find(g, "rows")]].bytes,
                 4 * 4 * 2 * 16);
    cr_expect_eq(g->output_offset[emp_graph_find(g, "norm") + 1] -
                     g->output_offset[emp_graph_find(g, "norm")],
                 6);
    emp_graph_destroy(g);
}

Test(saved_model, an_output_that_is_not_there_is_named)
{
    expect_refused(FILE_OF(SIGNATURE("serving_default", "name: 'gone:0'")), "",
                   "an output of the signature, \"gone:0\": no node has that name");
}

Test(saved_model, survives_every_allocation_failure)
{
    emp_graph *g = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load(&g, NULL, one, ",signature=serving_default", NULL), emp_graph_destroy(g));
    emp_graph_destroy(g);
}
