// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/onnx/lower.h"

#include <string.h>

/* The use of an input by a node. */
enum {
    ROLE_WEIGHT = 1,    /* multiplies by it */
    ROLE_STATISTIC = 2, /* of a batch norm */
    ROLE_AFFINE = 4,    /* adds it or scales by it, element by element */
    ROLE_TABLE = 8,     /* looks rows up */
    ROLE_SETTING = 16,  /* bounds, scales, sizes */

    STATED_PARAMETER = 32, /* by the file itself */
    STATED_CONSTANT = 64,
    STATED_BUFFER = 512, /* and STATED_CONSTANT */

    ROLE_FILTER = 128, /* of a convolution or a Gemm */
    ROLE_LAYER = 256,  /* a weight by the nature of the op, whoever makes it */
    ROLE_CONV = ROLE_WEIGHT | ROLE_FILTER | ROLE_LAYER,
    ROLE_NORM = ROLE_WEIGHT | ROLE_LAYER
};

enum { LARGE = 4096 };

/* Roles of inputs 0, 1, ... of a type; the last one stands for all further ones. */
static const struct {
    const char *type;
    uint16_t    role[8];
} roles[] = {
    {"Add", {ROLE_AFFINE, ROLE_AFFINE}},
    {"Attention", {0, ROLE_WEIGHT, ROLE_WEIGHT}},
    {"BatchNormalization",
     {0, ROLE_NORM, ROLE_NORM, ROLE_STATISTIC | ROLE_LAYER, ROLE_STATISTIC | ROLE_LAYER}},
    {"BiasAdd", {0, ROLE_AFFINE}},
    {"BiasGelu", {0, ROLE_AFFINE}},
    {"Clip", {0, ROLE_SETTING, ROLE_SETTING}},
    {"Conv", {0, ROLE_CONV, ROLE_NORM}},
    {"ConvInteger", {0, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING}},
    {"ConvTranspose", {0, ROLE_CONV, ROLE_NORM}},
    {"DeformConv", {0, ROLE_WEIGHT, 0, ROLE_WEIGHT}},
    {"DequantizeLinear", {0, ROLE_SETTING, ROLE_SETTING}},
    {"Div", {ROLE_AFFINE, ROLE_AFFINE}},
    {"DynamicQuantizeMatMul", {0, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING, ROLE_WEIGHT}},
    {"EmbedLayerNormalization",
     {0, 0, ROLE_TABLE, ROLE_TABLE, ROLE_TABLE, ROLE_WEIGHT, ROLE_WEIGHT}},
    {"FastGelu", {0, ROLE_AFFINE}},
    {"FusedConv", {0, ROLE_CONV, ROLE_NORM}},
    {"FusedGemm", {0, ROLE_WEIGHT, ROLE_WEIGHT}},
    {"FusedMatMul", {0, ROLE_WEIGHT}},
    {"GRU", {0, ROLE_NORM, ROLE_NORM, ROLE_NORM}},
    {"Gather", {ROLE_TABLE}},
    {"Gemm", {0, ROLE_WEIGHT | ROLE_FILTER, ROLE_WEIGHT}},
    {"GroupNorm", {0, ROLE_NORM, ROLE_NORM}},
    {"GroupNormalization", {0, ROLE_NORM, ROLE_NORM}},
    {"InstanceNormalization", {0, ROLE_NORM, ROLE_NORM}},
    {"LSTM", {0, ROLE_NORM, ROLE_NORM, ROLE_NORM, 0, 0, 0, ROLE_NORM}},
    {"LayerNormalization", {0, ROLE_NORM, ROLE_NORM}},
    {"MatMul", {0, ROLE_WEIGHT}},
    {"MatMulInteger", {0, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING}},
    {"MatMulIntegerToFloat",
     {0, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING, ROLE_SETTING, ROLE_SETTING,
      ROLE_WEIGHT}},
    {"MatMulNBits",
     {0, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING, ROLE_SETTING, ROLE_WEIGHT}},
    {"Mul", {ROLE_AFFINE, ROLE_AFFINE}},
    {"MultiHeadAttention", {0, 0, 0, ROLE_WEIGHT}},
    {"NhwcConv", {0, ROLE_CONV, ROLE_NORM}},
    {"NhwcFusedConv", {0, ROLE_CONV, ROLE_NORM}},
    {"PRelu", {0, ROLE_WEIGHT}},
    {"Pad", {0, ROLE_SETTING, ROLE_SETTING, ROLE_SETTING}},
    {"QGemm",
     {0, ROLE_SETTING, ROLE_SETTING, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING, ROLE_WEIGHT,
      ROLE_SETTING}},
    {"QLinearConv",
     {0, ROLE_SETTING, ROLE_SETTING, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING,
      ROLE_SETTING, ROLE_SETTING}},
    {"QLinearMatMul",
     {0, ROLE_SETTING, ROLE_SETTING, ROLE_WEIGHT, ROLE_SETTING, ROLE_SETTING,
      ROLE_SETTING, ROLE_SETTING}},
    {"QuantizeLinear", {0, ROLE_SETTING, ROLE_SETTING}},
    {"RMSNormalization", {0, ROLE_NORM}},
    {"RNN", {0, ROLE_NORM, ROLE_NORM, ROLE_NORM}},
    {"Resize", {0, ROLE_SETTING, ROLE_SETTING, ROLE_SETTING}},
    {"SimplifiedLayerNormalization", {0, ROLE_WEIGHT}},
    {"SkipGroupNorm", {0, ROLE_WEIGHT, ROLE_WEIGHT, 0, ROLE_WEIGHT}},
    {"SkipLayerNormalization", {0, 0, ROLE_WEIGHT, ROLE_WEIGHT, ROLE_WEIGHT}},
    {"SkipSimplifiedLayerNormalization", {0, 0, ROLE_WEIGHT, ROLE_WEIGHT}},
    {"Sub", {ROLE_AFFINE, ROLE_AFFINE}},
    {"Upsample", {0, ROLE_SETTING}},
};

/* Types that hand input 0 on as it is, or nearly so. */
static const char *const passes[] = {"Cast",      "DequantizeLinear", "Flatten",
                                     "Identity",  "Reshape",          "Squeeze",
                                     "Transpose", "Unsqueeze"};

static int32_t role_of(const emp_onnx *o, emp_slice name)
{
    int32_t role = emp_strmap_get(&o->role_of_name, name.data, name.size);

    return role < 0 ? 0 : role;
}

static emp_status add_role(emp_onnx *o, emp_slice name, int32_t role, emp_error *err)
{
    int32_t before = role_of(o, name);

    if (name.size == 0 || (before | role) == before) return EMP_OK;
    return emp_strmap_set(&o->role_of_name, name.data, name.size, before | role, err);
}

static emp_status add_roles(emp_onnx *o, const emp_onnx_node *node, emp_error *err)
{
    for (size_t t = 0; t < sizeof roles / sizeof roles[0]; t++) {
        if (!emp_slice_is(node->type, roles[t].type)) continue;
        for (int32_t i = 0; i < node->input_count && i < 8; i++)
            EMP_CHECK(add_role(o, node->input[i], roles[t].role[i], err));
    }
    for (size_t t = 0; t < sizeof passes / sizeof passes[0]; t++) {
        if (!emp_slice_is(node->type, passes[t]) || node->input_count < 1 ||
            node->output_count < 1)
            continue;
        EMP_CHECK(add_role(o, node->input[0], role_of(o, node->output[0]), err));
    }
    return EMP_OK;
}

/* Finds the weights in the graphs of a node's attributes. */
static emp_status find_inner(emp_onnx *o, const emp_onnx_node *node, int32_t depth,
                             emp_error *err)
{
    static const char *const bodies[] = {"then_branch", "else_branch", "body"};

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        emp_onnx_attr  attr;
        emp_onnx_graph inner;
        if (depth >= EMP_ONNX_MAX_DEPTH || !emp_onnx_attr_find(node, bodies[i], &attr) ||
            attr.graph.data == NULL)
            continue;
        EMP_CHECK(emp_onnx_graph_read(&inner, attr.graph, &o->arena, err));
        EMP_CHECK(emp_onnx_find_roles(o, &inner, depth + 1, err));
    }
    return EMP_OK;
}

/* Whether a file has weights of its own; some exporters leave them out. */
static bool has_weights(const emp_onnx_graph *graph)
{
    for (int32_t i = 0; i < emp_onnx_initializer_count(graph); i++) {
        emp_onnx_tensor tensor;
        if (emp_onnx_initializer_read(&tensor, graph, i, NULL) == EMP_OK &&
            tensor.dtype != EMP_DTYPE_INT64 && emp_shape_elements(&tensor.shape) > 1)
            return true;
    }
    return false;
}

/* Backwards, so that what a Transpose makes has its role before its operand is looked at. */
emp_status emp_onnx_find_roles(emp_onnx *o, const emp_onnx_graph *graph, int32_t depth,
                               emp_error *err)
{
    o->has_weights = o->has_weights || has_weights(graph);
    for (int32_t i = graph->nodes.count - 1; i >= 0; i--) {
        emp_onnx_node node;
        EMP_CHECK(emp_onnx_node_read(&node, graph->nodes.item[i], &o->arena, err));
        EMP_CHECK(find_inner(o, &node, depth, err));
        bool is_constant = emp_slice_is(node.type, "Constant") ||
                           emp_slice_is(node.type, "ConstantOfShape");
        if (is_constant && node.output_count > 0 &&
            (role_of(o, node.output[0]) & ROLE_FILTER) != 0)
            o->has_constant_filters = true;
        EMP_CHECK(add_roles(o, &node, err));
    }
    return EMP_OK;
}

/* ---- what PyTorch's exporter states (PyTorch 2.11, dynamo=True) ---- */

typedef enum {
    IS_UNTOLD,
    IS_PARAMETER,
    IS_BUFFER,
    IS_CONSTANT /* computed by the exporter; also what stated() says of a buffer */
} statement;

static emp_status state(emp_onnx *o, emp_slice name, statement what, emp_error *err)
{
    return add_role(o, name,
                    what == IS_PARAMETER  ? STATED_PARAMETER
                    : what == IS_BUFFER   ? STATED_CONSTANT | STATED_BUFFER
                    : what == IS_CONSTANT ? STATED_CONSTANT
                                          : 0,
                    err);
}

static statement stated(const emp_onnx *o, emp_slice name)
{
    int32_t role = role_of(o, name);

    if (role & STATED_PARAMETER) return IS_PARAMETER;
    return role & STATED_CONSTANT ? IS_CONSTANT : IS_UNTOLD;
}

static const char signature_key[] = "pkg.torch.export.ExportedProgram.graph_signature";
static const char folded_key[] = "pkg.onnxscript.optimizer.folded_from";

/* Moves *text behind the next place of word; false if there is none. */
static bool skip_to(emp_slice *text, const char *word)
{
    emp_slice before;

    return emp_slice_cut(&before, text, word);
}

/* Up to the next quote, which *text is moved to. */
static emp_slice quoted(emp_slice *text)
{
    const char *end = memchr(text->data, '\'', text->size);
    emp_slice   name = {text->data, end == NULL ? 0 : (size_t)(end - text->data)};

    text->data += name.size;
    text->size -= name.size;
    return name;
}

/* "p_fc_weight: PARAMETER target='fc.weight'", "b_mask: BUFFER target='mask' persistent=True": a line each. */
static emp_status read_signature(emp_onnx *o, emp_slice text, const char *kind,
                                 statement what, int32_t *count, emp_error *err)
{
    for (*count = 0; skip_to(&text, kind); ++*count)
        EMP_CHECK(state(o, quoted(&text), what, err));
    return EMP_OK;
}

/* "['fc.weight']" is that parameter in another form, "['wq', 'wk', 'val_1']" the parts of both side by side, cut at
 * a size that was folded, too. All else was computed from buffers or sizes. */
static statement what_is_folded(const emp_onnx *o, emp_slice text)
{
    statement what = IS_CONSTANT;

    while (skip_to(&text, "'")) {
        emp_slice name = quoted(&text);
        (void)skip_to(&text, "'");
        if ((role_of(o, name) & STATED_BUFFER) != 0) return IS_CONSTANT;
        if (stated(o, name) == IS_PARAMETER) what = IS_PARAMETER;
    }
    return what;
}

static emp_status read_folded(emp_onnx *o, const emp_onnx_graph *graph, emp_error *err)
{
    for (int32_t i = 0; i < graph->infos.count; i++) {
        emp_onnx_info info;
        emp_slice     from = emp_onnx_info_metadata(graph->infos.item[i], folded_key);
        if (from.size == 0) continue;
        EMP_CHECK(emp_onnx_info_read(&info, graph->infos.item[i], err));
        EMP_CHECK(state(o, info.name, what_is_folded(o, from), err));
    }
    return EMP_OK;
}

/* Equal tensors become one, norms go into what is before them: the sum of elements is then not the model's. */
static void say_what_is_missing(const emp_onnx *o, const emp_onnx_graph *graph,
                                int32_t of_model)
{
    int32_t found = 0;

    for (int32_t i = 0; i < emp_onnx_initializer_count(graph); i++) {
        emp_onnx_tensor tensor;
        found += emp_onnx_initializer_read(&tensor, graph, i, NULL) == EMP_OK &&
                 stated(o, tensor.name) == IS_PARAMETER;
    }
    if (found < of_model)
        emp_import_notes_assume(
            o->notes,
            "%d of the model's %d parameters are not in the file: the "
            "exporter has merged them with equal ones or folded them",
            of_model - found, of_model);
}

emp_status emp_onnx_read_stated(emp_onnx *o, const emp_onnx_graph *graph, emp_error *err)
{
    emp_slice signature = emp_onnx_graph_metadata(o->model->graph, signature_key);
    int32_t   parameters, buffers;

    EMP_CHECK(read_signature(o, signature, ": PARAMETER target='", IS_PARAMETER,
                             &parameters, err));
    EMP_CHECK(
        read_signature(o, signature, ": BUFFER target='", IS_BUFFER, &buffers, err));
    EMP_CHECK(read_folded(o, graph, err));
    say_what_is_missing(o, graph, parameters);
    return EMP_OK;
}

/* ---- what is guessed ---- */

bool emp_onnx_is_table(const emp_onnx *o, emp_slice name)
{
    return (role_of(o, name) & ROLE_TABLE) != 0;
}

static bool contains(emp_slice name, const char *const *words)
{
    while (*words != NULL && !emp_slice_has(name, *words)) words++;
    return *words != NULL;
}

/* A path of modules: "encoder.layer.0.scale", but not "input.1". */
static bool is_path(emp_slice name)
{
    size_t dot = name.size;

    while (dot > 0 && name.data[dot - 1] != '.') dot--;
    return dot > 0 && dot < name.size &&
           !(name.data[dot] >= '0' && name.data[dot] <= '9');
}

/* Names that frameworks give to what they train, and to what they do not. */
static bool is_named_as_parameter(emp_slice name)
{
    static const char *const words[] = {"weight", "bias",  "gamma",    "beta",
                                        "kernel", "embed", "Embed",    "token",
                                        "param",  "alpha", "Variable", NULL};
    return is_path(name) || contains(name, words);
}

static bool is_named_as_buffer(emp_slice name)
{
    static const char *const words[] = {"mask",
                                        "running_",
                                        "num_batches",
                                        "inv_freq",
                                        "position_ids",
                                        "moving_",
                                        "relative_position_index",
                                        NULL};
    return contains(name, words);
}

static void mark(emp_onnx_value *value, bool is_weight, bool is_trainable)
{
    value->is_weight = is_weight;
    value->is_trainable = is_weight && is_trainable && emp_dtype_is_float(value->dtype);
}

/* True if all elements lie along one axis, whatever the rank: [C], [C,1,1]. */
static bool is_vector(const emp_shape *shape)
{
    int32_t axes = 0;

    for (int32_t d = 0; d < shape->rank; d++) axes += shape->dim[d] != 1;
    return axes == 1;
}

static void guess_weight(const emp_onnx *o, emp_onnx_value *value)
{
    int32_t role = role_of(o, value->name);
    int64_t elements = emp_shape_elements(&value->shape);
    bool    is_buffer = is_named_as_buffer(value->name) || (role & ROLE_STATISTIC) != 0;
    bool    is_trained = (role & ROLE_WEIGHT) != 0 ||
                      ((role & ROLE_TABLE) != 0 && value->shape.rank == 2) ||
                      is_named_as_parameter(value->name) ||
                      ((role & ROLE_AFFINE) != 0 && is_vector(&value->shape));

    if (elements < 2 && !((role & ROLE_WEIGHT) != 0 && value->shape.rank > 0)) return;
    if ((role & ROLE_SETTING) != 0 && !emp_dtype_is_float(value->dtype)) return;
    if ((role & ROLE_SETTING) != 0 && elements < LARGE && !(role & ROLE_WEIGHT)) return;
    if (!emp_dtype_is_float(
            value->dtype)) /* quantised weights, and long lists of numbers */
        mark(value, elements >= LARGE || (role & ROLE_WEIGHT) != 0, false);
    else
        mark(value, is_trained || is_buffer || elements >= LARGE,
             is_trained && !is_buffer);
    value->is_buffer = value->is_weight && (is_buffer || value->dtype == EMP_DTYPE_BOOL);
}

void emp_onnx_mark_weight(emp_onnx *o, emp_onnx_value *value)
{
    mark(value, false, false);
    value->is_buffer = false;
    switch (stated(o, value->name)) {
    case IS_PARAMETER: mark(value, true, true); break;
    case IS_CONSTANT:
        mark(value, emp_shape_elements(&value->shape) >= LARGE, false);
        value->is_buffer = value->is_weight;
        break;
    default: guess_weight(o, value);
    }
}

/* The values of Constant nodes are settings, unless a file has no weights among its initializers, or has
 * filters among the constants. */
void emp_onnx_mark_constant(emp_onnx *o, emp_onnx_value *value)
{
    mark(value, false, false);
    value->is_buffer = false;
    if (o->has_weights && !o->has_constant_filters) return;
    guess_weight(o, value);
    if (value->is_weight)
        emp_import_notes_assume(
            o->notes, "values of Constant nodes count as weights, as %s",
            o->has_weights ? "filters are among them"
                           : "the file has no weights among its initializers");
}

void emp_onnx_mark_input(emp_onnx *o, emp_onnx_value *value)
{
    int32_t role = role_of(o, value->name);
    bool    is_buffer = is_named_as_buffer(value->name) || (role & ROLE_STATISTIC) != 0;

    if (o->has_weights) return;
    if (!emp_dtype_is_float(value->dtype)) {
        value->is_weight =
            is_named_as_buffer(value->name) && emp_shape_elements(&value->shape) >= LARGE;
        return;
    }
    mark(value,
         (role & ROLE_LAYER) != 0 || is_named_as_parameter(value->name) ||
             is_named_as_buffer(value->name),
         !is_buffer);
    value->is_buffer = value->is_weight && is_buffer;
    if (value->is_weight)
        emp_import_notes_assume(
            o->notes,
            "inputs that layers read as weights, or with names of weights, count as "
            "weights, as the file has none of its own");
}
