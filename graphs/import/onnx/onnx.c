// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/onnx/model.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/onnx/lower.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

static bool is_float(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_FLOAT || dtype == EMP_DTYPE_HALF ||
           dtype == EMP_DTYPE_BFLOAT16 || dtype == EMP_DTYPE_DOUBLE;
}

/* The first output of floating point that an op makes, and its name. */
static emp_port find_prediction(emp_onnx *o, const emp_onnx_scope *scope,
                                const emp_onnx_graph *graph, emp_slice *name)
{
    for (int32_t i = 0; i < graph->outputs.count; i++) {
        emp_onnx_info info;
        if (emp_onnx_info_read(&info, graph->outputs.item[i], NULL) != EMP_OK) continue;
        const emp_onnx_value *value = emp_onnx_find(scope, info.name);
        *name = info.name;
        if (value != NULL && value->port.op >= 0 && is_float(value->dtype))
            return value->port;
    }
    (void)o;
    return EMP_TF_NONE;
}

/* The input of a last softmax or sigmoid: the losses have these of their own. */
static emp_port logits_of(emp_tf *tf, emp_port y)
{
    static const char *const last[] = {"Softmax", "LogSoftmax", "Sigmoid"};
    const char              *type = emp_graph_builder_type(tf->builder, y.op);

    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
        if (strcmp(type, last[i]) == 0)
            return emp_graph_builder_input(tf->builder, y.op, 0);
    return y;
}

/* softplus(x) - x z for labels z. */
static emp_port binary_cross_entropy(emp_tf *tf, emp_port x)
{
    emp_port z =
        emp_tf_placeholder(tf, "labels", emp_tf_dtype(tf, x), emp_tf_shape(tf, x));
    emp_port product = emp_tf_op2(tf, "Mul", NULL, x, z);

    return emp_tf_op2(tf, "Sub", NULL, emp_tf_op1(tf, "Softplus", NULL, x), product);
}

static emp_port squared_error(emp_tf *tf, emp_port x)
{
    emp_port z =
        emp_tf_placeholder(tf, "labels", emp_tf_dtype(tf, x), emp_tf_shape(tf, x));

    return emp_tf_op2(tf, "SquaredDifference", NULL, x, z);
}

static emp_port cross_entropy(emp_tf *tf, emp_port x)
{
    emp_shape shape = emp_tf_shape(tf, x);
    int64_t   classes = shape.dim[shape.rank - 1];
    int64_t   rows = classes > 0 ? emp_shape_elements(&shape) / classes : 0;
    emp_port  labels = emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT64, EMP_SHAPE(rows));

    if (shape.rank != 2) x = emp_tf_reshape(tf, x, EMP_SHAPE(rows, classes));
    return emp_tf_op2(tf, "SparseSoftmaxCrossEntropyWithLogits", NULL, x, labels);
}

static emp_port add_loss(emp_onnx *o, emp_port y, emp_slice name)
{
    emp_tf     *tf = o->tf;
    emp_port    x = logits_of(tf, y), each;
    emp_shape   shape = emp_tf_shape(tf, x);
    const char *what, *outer = emp_tf_enter(tf, "loss");

    if (shape.rank >= 4) {
        what = "the mean squared error";
        each = squared_error(tf, x);
    } else if (shape.rank < 2 || shape.dim[shape.rank - 1] < 2) {
        what = "the binary cross entropy";
        each = binary_cross_entropy(tf, x);
    } else {
        what = "the cross entropy over the last dim";
        each = cross_entropy(tf, x);
    }
    emp_port loss = emp_tf_reduce_all(tf, "Mean", NULL, each);
    emp_tf_leave(tf, outer);
    emp_import_notes_assume(o->notes, "the loss is %s of the output \"%.*s\"", what,
                            EMP_SLICE_ARG(name));
    return loss;
}

static bool read_optimizer(const char *word, emp_tf_optimizer *optimizer)
{
    static const struct {
        const char      *word;
        emp_tf_optimizer optimizer;
    } words[] = {
        {"sgd", EMP_TF_SGD}, {"momentum", EMP_TF_MOMENTUM}, {"adam", EMP_TF_FUSED_ADAM}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) != 0) continue;
        *optimizer = words[i].optimizer;
        return true;
    }
    return false;
}

/* Adds the step to the graph under construction and makes it, with the loss, the target.
 * \param[in] optimizer  "sgd", "momentum" or "adam".
 * \retval EMP_EUNSUPPORTED  An op has no gradient; the message names it.
 * \retval EMP_EFORMAT       No output can be trained on, or there is no weight to train. */
static emp_status onnx_train(emp_onnx *o, const emp_onnx_scope *scope,
                             const emp_onnx_graph *graph, const char *word,
                             emp_error *err)
{
    emp_tf          *tf = o->tf;
    emp_tf_optimizer optimizer = EMP_TF_SGD;
    emp_slice        name = {"", 0};
    emp_port         y = find_prediction(o, scope, graph, &name);
    int32_t          trained = 0;

    if (!read_optimizer(word, &optimizer))
        return EMP_ERROR(EMP_EINVAL, "an optimizer \"%s\"; there are sgd, momentum, adam",
                         word);
    for (int32_t i = 0; i < tf->variable_count; i++)
        trained += tf->variable[i].is_trainable;
    if (y.op < 0 || trained == 0)
        return EMP_ERROR(EMP_EFORMAT, "a model that cannot be trained: it has %s",
                         y.op < 0 ? "no output of floating point" : "no weights");
    tf->torch_gradients = true;
    emp_port  loss = add_loss(o, y, name);
    emp_op_id step = emp_tf_minimize(tf, loss, NULL, optimizer, 0.0);
    if (!emp_tf_is_ok(tf)) return EMP_ERROR(tf->status, "%s", tf->err->msg);
    emp_tf_set_target(tf, step);
    emp_tf_set_target(tf, loss.op);
    emp_import_notes_assume(o->notes,
                            "the training step is derived, not the file's: "
                            "gradients of %d weights, then %s",
                            trained, word);
    return EMP_OK;
}

enum { NEWEST = 28 };

/* Memory that constants, and nodes of unrolled loops, may take beside what the file has. */
enum { NUMBERS_BESIDE = 1 << 20, NODES_BESIDE = 1 << 15, SEQUENCE_ITEMS = 1 << 23 };

/* ---- inputs ---- */

/* \param first  The number of the first value that is an input. */
static void bind_input(emp_onnx *o, emp_onnx_scope *scope, emp_onnx_info *info,
                       int32_t first)
{
    emp_onnx_value *value = emp_onnx_find(scope, info->name);

    if (value != NULL &&
        emp_strmap_get(&scope->index, info->name.data, info->name.size) >= first)
        emp_import_notes_problem(o->notes, "two inputs have the name \"%.*s\"",
                                 EMP_SLICE_ARG(info->name));
    if (value != NULL || o->status != EMP_OK) return; /* an initializer's default */
    value = emp_onnx_bind(o, scope, info->name);
    if (value == NULL) return;
    if (!info->is_tensor || info->shape.rank < 0 || info->dtype == EMP_DTYPE_NONE) {
        emp_import_notes_problem(o->notes, "input \"%.*s\" is no tensor of a known rank",
                                 EMP_SLICE_ARG(info->name));
        value->is_unknown = true;
        return;
    }
    value->dtype = info->dtype;
    value->shape = info->shape;
    if (emp_shape_is_known(&info->shape)) emp_onnx_mark_input(o, value);
    if (value->is_weight) return;
    emp_onnx_fix_sizes(o, info);
    value->shape = info->shape;
    char name[128];
    snprintf(name, sizeof name, "%.*s", EMP_SLICE_ARG(info->name));
    for (char *c = name; *c != '\0'; c++)
        if (*c <= ' ' || *c >= '\x7f') *c = '_';
    const char *plain = name + (name[0] == '/');
    value->port = emp_tf_placeholder(o->tf, plain[0] != '\0' ? plain : "input",
                                     value->dtype, value->shape);
}

/* Binds the inputs of a graph as placeholders, or as weights where exporters list them so. */
static emp_status bind_inputs(emp_onnx *o, emp_onnx_scope *scope,
                              const emp_onnx_graph *graph, emp_error *err)
{
    const int32_t first = scope->count;

    EMP_CHECK(emp_onnx_find_sizes(o, scope, graph, err));
    for (int32_t i = 0; i < graph->inputs.count && o->status == EMP_OK; i++) {
        emp_onnx_info info;
        EMP_CHECK(emp_onnx_info_read(&info, graph->inputs.item[i], err));
        bind_input(o, scope, &info, first);
    }
    return EMP_OK;
}

/* ---- models ---- */

static emp_status check_versions(const emp_onnx_model *model, emp_import_notes *notes,
                                 emp_error *err)
{
    int64_t version = emp_onnx_model_opset(model, (emp_slice){"", 0});

    if (version == 0 && model->opset_count == 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "an ONNX model that says no version of its operators");
    if (version > NEWEST)
        emp_import_notes_assume(
            notes, "operators of version %lld are taken as those of version %d",
            (long long)version, NEWEST);
    return EMP_OK;
}

static void describe(const emp_onnx *o, const emp_onnx_graph *graph)
{
    const emp_onnx_model *m = o->model;

    emp_import_notes_say(
        o->notes, "an ONNX model%s%.*s%s%.*s, operators of version %lld, with %d nodes",
        m->producer.size > 0 ? " of " : "", EMP_SLICE_ARG(m->producer),
        m->producer_version.size > 0 ? " " : "", EMP_SLICE_ARG(m->producer_version),
        (long long)emp_onnx_model_opset(m, (emp_slice){"", 0}), graph->nodes.count);
}

/* The op of each output becomes a target. A constant output is one of the graph, too. */
static int32_t mark_targets(emp_onnx *o, const emp_onnx_scope *scope,
                            const emp_onnx_graph *graph)
{
    int32_t count = 0;

    for (int32_t i = 0; i < graph->outputs.count && o->status == EMP_OK; i++) {
        emp_onnx_info info;
        if (emp_onnx_info_read(&info, graph->outputs.item[i], NULL) != EMP_OK) continue;
        emp_onnx_value *value = emp_onnx_find(scope, info.name);
        if (value == NULL) {
            emp_import_notes_problem(o->notes, "output \"%.*s\" is made by no node",
                                     EMP_SLICE_ARG(info.name));
            continue;
        }
        if (value->is_unknown) continue;
        for (int32_t k = 0; k < (value->is_sequence ? value->item_count : 1); k++) {
            emp_port port = emp_onnx_port(o, value->is_sequence ? value->item[k] : value);
            if (!o->is_training) emp_tf_set_target(o->tf, port.op);
            count++;
        }
    }
    return count;
}

/* The weights of a branch that is not taken are in memory, too, and both branches wait for their
 * condition. Gradients do not reach such weights. */
static void mark_kept(emp_onnx *o)
{
    for (int32_t i = 0; i < o->kept_count && o->status == EMP_OK; i++) {
        emp_onnx_value *value = o->kept[i];
        if (value->port.op < 0) value->is_trainable = false;
        emp_tf_set_target(o->tf, emp_onnx_port(o, value).op);
    }
}

static emp_status build(emp_onnx *o, emp_graph **out, const emp_onnx_params *params,
                        emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_onnx_graph graph;
    emp_onnx_scope scope = {0};

    EMP_TRY(check_versions(o->model, o->notes, err));
    EMP_TRY(emp_onnx_graph_read(&graph, o->model->graph, &o->arena, err));
    describe(o, &graph);
    o->node_budget =
        (int64_t)graph.nodes.count + NODES_BESIDE + (int64_t)(o->model->bytes.size / 64);
    EMP_TRY(emp_onnx_find_roles(o, &graph, 0, err));
    EMP_TRY(emp_onnx_read_stated(o, &graph, err));
    emp_onnx_bind_initializers(o, &scope, &graph);
    EMP_TRY(bind_inputs(o, &scope, &graph, err));
    if (o->status == EMP_OK) o->walk(o, &scope, &graph);
    int32_t targets = o->status == EMP_OK ? mark_targets(o, &scope, &graph) : 0;
    mark_kept(o);
    if (o->status == EMP_OK && !emp_tf_is_ok(o->tf)) o->status = o->tf->status;
    if (o->status != EMP_OK) EMP_FAIL(o->status, "%s", o->tf->err->msg);
    EMP_TRY(emp_import_notes_check(o->notes, err));
    EMP_TRY(emp_onnx_check_sizes(o, true, err));
    if (targets == 0) EMP_FAIL(EMP_EFORMAT, "an ONNX model that makes no tensor");
    if (o->is_training) EMP_TRY(onnx_train(o, &scope, &graph, params->train, err));
    EMP_TRY(emp_tf_finish(o->tf, out));

cleanup:
    emp_onnx_scope_clear(&scope);
    return st;
}

emp_status emp_onnx_build(emp_graph **out, emp_slice bytes, const emp_onnx_params *params,
                          emp_import_notes *notes, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_onnx_model model;
    emp_tf         tf = {0};
    emp_error      reason = {0};
    emp_onnx       o = {.model = &model,
                        .tf = &tf,
                        .notes = notes,
                        .walk = emp_onnx_walk,
                        .dims = params->dims,
                        .batch = params->batch,
                        .number_budget = NUMBERS_BESIDE + (int64_t)(bytes.size / 4),
                        .item_budget = SEQUENCE_ITEMS,
                        .is_training = params->train != NULL && params->train[0] != '\0',
                        .is_lenient = params->is_lenient,
                        .err = &reason};

    *out = NULL;
    EMP_TRY(emp_onnx_model_read(&model, bytes, err));
    EMP_TRY(emp_tf_init(&tf, &reason));
    emp_graph_builder_assume_kernels(tf.builder);
    st = build(&o, out, params, err);

cleanup:
    if (st != EMP_OK) st = EMP_ERROR(st, "%s", reason.msg);
    emp_tf_clear(&tf);
    emp_strmap_clear(&o.role_of_name);
    emp_strmap_clear(&o.inner);
    emp_free((void *)o.inner_weight);
    emp_free((void *)o.kept);
    emp_free(o.size);
    emp_arena_clear(&o.arena);
    return st;
}

/* ---- files ---- */

typedef struct {
    int32_t batch;
    bool    is_lenient;
} onnx_values;

const emp_option emp_onnx_options[] = {
    EMP_INTEGER_OPTION(
        "batch", onnx_values, batch, 0, INT32_MAX,
        "the size of inputs that leave their first one open; 0 = not given", 0),
    EMP_BOOL_OPTION("lenient", onnx_values, is_lenient,
                    "whether ops of unknown types count as element-wise", 0),
    EMP_NO_OPTION};

/* The texts of a spec behind the path. */
enum { DIM = 1, TRAIN };

emp_status emp_onnx_load(emp_graph **out, emp_reading *r, emp_error *err)
{
    const onnx_values    *v = (const onnx_values *)r->values;
    const emp_onnx_params params = {.batch = v->batch,
                                    .dims = r->spec->text[DIM],
                                    .train = r->spec->text[TRAIN],
                                    .is_lenient = v->is_lenient};

    return emp_onnx_build(out, r->bytes, &params, r->notes, err);
}
