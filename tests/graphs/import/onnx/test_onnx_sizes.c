// SPDX-License-Identifier: GPL-3.0-or-later
/* Sizes that models leave open, and tensors that count as weights, also by the metadata of PyTorch's exporter. */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/test.h"

static onnx_writer w;

static void start(void) { onnx_clear(&w); }

TestSuite(onnx_sizes, .init = start, .fini = graph_tear_down);

/* A symbol that comes first in one input and last in another. */
#define ONE_SYMBOL                                              \
    "in x batch,8; in state 2,batch,8; in past batch,2,past,8;" \
    "in mask batch,1,past,1; y = Add state,x; z = Mul past,mask; out y; out z"
#define IMAGE "in x N,3,h,w; y = Relu x; out y"
#define SUMS                                                                        \
    "in x batch,past; in mask batch,past + 1; in both batch * 2 - 1,past+new;"      \
    "in now batch,new; all = Concat x,now axis=1; y = Relu mask; z = Sigmoid both;" \
    "out all; out y; out z"
#define SUMS_PARAMS                         \
    {                                       \
        .batch = 3, .dims = "past=10,new=4" \
    }
/* Scales that depend on data are those of an image: its batch and its channels stay. */
#define ENLARGED  "in x 1,3,8,8; in s 4; y = Resize x,,s; out y"
#define NO_SYMBOL "in x 2,?; y = Relu x; out y"

Test(onnx_sizes, open_sizes_go_by_symbol_and_place)
{
    static const struct {
        const char     *model;
        emp_onnx_params params;
        const char     *type, *shape;
    } cases[] = {
        {ONE_SYMBOL, {0}, "Add", "[2,32,8]"},
        {ONE_SYMBOL, {.batch = 4}, "Add", "[2,4,8]"},
        {ONE_SYMBOL, {.dims = "batch=5"}, "Add", "[2,5,8]"},
        {ONE_SYMBOL, {.dims = "past=9"}, "Mul", "[32,2,9,8]"},
        {ONE_SYMBOL, {0}, "Mul", "[32,2,128,8]"},
        {IMAGE, {0}, "Relu", "[32,3,224,224]"},
        {"in x steps,batch,8; y = Relu x; out y", {.batch = 4}, "Relu", "[128,4,8]"},
        {SUMS, SUMS_PARAMS, "Relu", "[3,11]"},
        {SUMS, SUMS_PARAMS, "Sigmoid", "[5,14]"},
        {SUMS, SUMS_PARAMS, "ConcatV2", "[3,14]"},
        {ENLARGED, {0}, "Resize", "[1,3,128,128]"},
        {ENLARGED, {.dims = "y.2=16,y.3=24"}, "Resize", "[1,3,16,24]"},
        {NO_SYMBOL, {0}, "Relu", "[2,128]"},
        {NO_SYMBOL, {.dims = "x.1=6"}, "Relu", "[2,6]"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        start();
        onnx_text(&w, cases[i].model);
        emp_graph *g = onnx_load(&w, 13, &cases[i].params, NULL);
        cr_expect_str_eq(onnx_shape_of(g, cases[i].type), cases[i].shape, "%s: %s",
                         cases[i].model, onnx_shape_of(g, cases[i].type));
    }
}

Test(onnx_sizes, a_refusal_names_the_sizes_that_were_assumed)
{
    static const char *const cases[][2] = {
        {"in a 2; in b batch; y = Add a,b; out y", "--batch N"},
        {"in a 2,3; in b 2,seq; y = Add a,b; out y", "--dim seq=N"},
        {"in a 2,3; in b 2,7; in c 2,seq; y = Add a,b; out y", "[2,7] do not broadcast"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        start();
        onnx_text(&w, cases[i][0]);
        onnx_expect_refused(&w, 13, NULL, cases[i][1]);
        (void)emp_onnx_build(&g, onnx_model(&w, 13), &(emp_onnx_params){0}, &notes, &err);
        cr_expect_eq(strstr(err.msg, "assumed") != NULL, i < 2, "%s", err.msg);
    }
}

Test(onnx_sizes, survive_every_allocation_failure)
{
    onnx_text(&w, ONE_SYMBOL);
    onnx_survive(&w, 13, NULL);
}

static void expect_parameters(const char *model, int64_t parameters, int32_t buffers,
                              int32_t assumptions)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
    emp_graph *g = onnx_load(&w, 18, NULL, &notes);

    cr_expect_eq(g->parameter_count, parameters, "%s: %lld", model,
                 (long long)g->parameter_count);
    cr_expect_eq(graph_count_type(g, "Buffer"), buffers, "%s", model);
    cr_expect_eq(notes.assumption_count, assumptions, "%s: %d notes", model,
                 notes.assumption_count);
}

Test(onnx_sizes, weights_are_what_layers_read_as_such)
{
    static const struct {
        const char *model;
        int64_t     parameters;
        int32_t     buffers, assumptions;
    } cases[] = {
        /* A group norm as PyTorch exports it: the scale and the offset have the shape [C,1,1], and those of
         * InstanceNormalization are constants. */
        {"in x 2,8,4,4; weight s 8,1,1; weight b 8,1,1; ints count 2; ints rows 2,2,64;"
         "ints image 2,8,4,4; ones = ConstantOfShape count; zeros = ConstantOfShape "
         "count;"
         "r = Reshape x,rows; n = InstanceNormalization r,ones,zeros;"
         "i = Reshape n,image; m = Mul i,s; y = Add m,b; out y",
         16, 0, 0},
        /* activations */
        {"in q 2,5,16; in k 2,16,7; in v 2,7,16; s = MatMul q,k; p = Softmax s axis=2;"
         "y = MatMul p,v; out y",
         0, 0, 0},
        /* constants are weights where a file has no others */
        {"in x 3,8; ints shape 8,4; m = ConstantOfShape shape; y = MatMul x,m; out y", 32,
         0, 1},
        /* models whose weights were taken out have nodes that make tensors of their shapes */
        {"in x 2,4,8,8; weight b 6; ints shape 6,4,3,3; f = ConstantOfShape shape;"
         "y = Conv x,f,b; out y",
         6 * 4 * 3 * 3 + 6, 0, 1},
        /* PyTorch calls the weights that it computes "onnx::Conv_497": the layer tells them */
        {"in x 2,4,8,8; in onnx::Conv_1 6,4,3,3; y = Conv x,onnx::Conv_1; out y",
         6 * 4 * 3 * 3, 0, 1},
        /* A model that was exported without its weights has them as inputs. */
        {"in x 128,128; in fc.weight 128,64; in mask 128,64; a = MatMul x,fc.weight;"
         "y = Add a,mask; out y",
         128 * 64, 1, 1}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        start();
        onnx_text(&w, cases[i].model);
        expect_parameters(cases[i].model, cases[i].parameters, cases[i].buffers,
                          cases[i].assumptions);
    }
}

#define SIGNATURE "pkg.torch.export.ExportedProgram.graph_signature"
#define FOLDED    "pkg.onnxscript.optimizer.folded_from"

enum { PRODUCT = 128 * 64, BIAS = 64 };

/* A product with a transposed weight, a mask that is added, and a bias that was merged with another. */
static void write_exported(const char *signature, const char *folded_mask)
{
    start();
    onnx_text(&w,
              "in x 128,128; weight val_1 128,64; weight le 128,64; weight fc.bias 64;"
              "a = MatMul x,val_1; b = Add a,le; c = Add b,fc.bias;"
              "y = Add c,fc.bias; out y");
    if (signature == NULL) return;
    onnx_metadata(&w, SIGNATURE, signature);
    onnx_info(&w, "val_1", 1, "128,64", FOLDED, "['fc.weight']");
    onnx_info(&w, "le", 1, "128,64", FOLDED, folded_mask);
}

static const char signature[] = "\n# inputs\np_fc_weight: PARAMETER target='fc.weight'\n"
                                "p_fc_bias: PARAMETER target='fc.bias'\n"
                                "p_up_bias: PARAMETER target='up.bias'\n"
                                "b_freq: BUFFER target='freq' persistent=False\n";

Test(onnx_sizes, metadata_decide_what_is_a_parameter)
{
    static const struct {
        const char *signature, *folded_mask;
        int64_t     parameters;
        int32_t     buffers, assumptions;
    } cases[] = {
        {NULL, NULL, 2 * PRODUCT + BIAS, 0, 0}, /* uses and names decide */
        /* up.bias is not in the file, which is said */
        {signature, "['fc.bias', 'freq']", PRODUCT + BIAS, 1, 1},
        {signature, "['up.bias']", 2 * PRODUCT + BIAS, 0, 0},
        /* the gates of an LSTM, whose biases the exporter puts side by side */
        {signature, "['fc.weight', 'up.bias', 'val_7']", 2 * PRODUCT + BIAS, 0, 0},
        {signature, "['freq']", PRODUCT + BIAS, 1, 1}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        write_exported(cases[i].signature, cases[i].folded_mask);
        expect_parameters(cases[i].folded_mask, cases[i].parameters, cases[i].buffers,
                          cases[i].assumptions);
    }
    write_exported(signature, "['fc.bias', 'freq']");
    onnx_survive(&w, 18, NULL);
}

Test(onnx_sizes, metadata_that_are_cut_off_are_survived)
{
    static const char *const values[] = {"[",
                                         "['",
                                         "['a",
                                         "['a'",
                                         "['a', '",
                                         "",
                                         ": PARAMETER target='",
                                         ": BUFFER target=''"};

    for (size_t i = 0; i < COUNT(values); i++) {
        write_exported(values[i], values[i]);
        (void)onnx_load(&w, 18, NULL, NULL);
    }
}
