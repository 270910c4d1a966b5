// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/onnx/lower.h"

#include <string.h>

/* Who makes and who reads each name of a graph. */
typedef struct {
    const emp_onnx_node *node;
    int32_t              count;
    emp_strmap           producer, reader, readers; /* the last reader, and how many */
    emp_onnx_fusion     *fusion;
} wiring;

static bool is_type(const wiring *w, int32_t i, const char *type)
{
    return i >= 0 && w->node[i].domain.size == 0 && emp_slice_is(w->node[i].type, type);
}

static emp_slice input_of(const wiring *w, int32_t i, int32_t k)
{
    return i >= 0 && k < w->node[i].input_count ? w->node[i].input[k]
                                                : (emp_slice){"", 0};
}

static emp_slice output_of(const wiring *w, int32_t i)
{
    return i >= 0 && w->node[i].output_count > 0 ? w->node[i].output[0]
                                                 : (emp_slice){"", 0};
}

static int32_t producer_of(const wiring *w, emp_slice name)
{
    return name.size == 0 ? -1 : emp_strmap_get(&w->producer, name.data, name.size);
}

static int32_t readers_of(const wiring *w, int32_t i)
{
    emp_slice name = output_of(w, i);
    int32_t   count =
        name.size == 0 ? 0 : emp_strmap_get(&w->readers, name.data, name.size);

    return count < 0 ? 0 : count;
}

/* The one node that reads what node i makes, if it is of that type; else -1. */
static int32_t only_reader(const wiring *w, int32_t i, const char *type)
{
    emp_slice name = output_of(w, i);

    if (readers_of(w, i) != 1) return -1;
    int32_t reader = emp_strmap_get(&w->reader, name.data, name.size);
    return is_type(w, reader, type) ? reader : -1;
}

static bool same(emp_slice a, emp_slice b)
{
    return a.size > 0 && a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* The operand of node i beside that one. */
static emp_slice other_input(const wiring *w, int32_t i, emp_slice name)
{
    return same(input_of(w, i, 0), name) ? input_of(w, i, 1) : input_of(w, i, 0);
}

/* Not made by a node that computes: an initializer, an input, a Constant. */
static bool is_given(const wiring *w, emp_slice name)
{
    int32_t i = producer_of(w, name);

    return name.size > 0 &&
           (i < 0 || is_type(w, i, "Constant") || is_type(w, i, "Identity"));
}

static void absorb(wiring *w, const int32_t *parts, int32_t count, int32_t into)
{
    for (int32_t i = 0; i < count; i++)
        if (parts[i] >= 0)
            w->fusion[parts[i]] =
                (emp_onnx_fusion){.kind = EMP_ONNX_FUSED_AWAY, .into = into};
}

/* ---- norms ---- */

/* From sqrt(mean(s^2) + eps) back to its parts and s; false: it is something else. */
static bool match_deviation(const wiring *w, int32_t root, emp_slice *s, int32_t *parts)
{
    int32_t sum = is_type(w, root, "Sqrt") ? producer_of(w, input_of(w, root, 0)) : -1;

    if (!is_type(w, sum, "Add") || readers_of(w, root) != 1 || readers_of(w, sum) != 1)
        return false;
    int32_t mean = producer_of(w, input_of(w, sum, 0));
    if (!is_type(w, mean, "ReduceMean")) mean = producer_of(w, input_of(w, sum, 1));
    if (!is_type(w, mean, "ReduceMean") || readers_of(w, mean) != 1) return false;
    int32_t square = producer_of(w, input_of(w, mean, 0));
    bool    is_pow = is_type(w, square, "Pow");
    bool    is_mul =
        is_type(w, square, "Mul") && same(input_of(w, square, 0), input_of(w, square, 1));
    if ((!is_pow && !is_mul) || readers_of(w, square) != 1) return false;
    *s = input_of(w, square, 0);
    parts[0] = root;
    parts[1] = sum;
    parts[2] = mean;
    parts[3] = square;
    return true;
}

/* Takes in a scale and a bias that follow the node. */
static void finish_norm(wiring *w, int32_t last, emp_onnx_fusion fusion)
{
    int32_t scaled = only_reader(w, last, "Mul");

    if (scaled >= 0 && is_given(w, other_input(w, scaled, output_of(w, last)))) {
        fusion.scale = other_input(w, scaled, output_of(w, last));
        absorb(w, &last, 1, scaled);
        last = scaled;
        int32_t moved = only_reader(w, last, "Add");
        if (fusion.kind == EMP_ONNX_LAYER_NORM && moved >= 0 &&
            is_given(w, other_input(w, moved, output_of(w, last)))) {
            fusion.bias = other_input(w, moved, output_of(w, last));
            absorb(w, &last, 1, moved);
            last = moved;
        }
    }
    w->fusion[last] = fusion;
}

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps), and the same without the means. */
static void match_division(wiring *w, int32_t i)
{
    int32_t   parts[4];
    emp_slice s;

    if (!match_deviation(w, producer_of(w, input_of(w, i, 1)), &s, parts) ||
        !same(s, input_of(w, i, 0)))
        return;
    int32_t sub = producer_of(w, s), mean = producer_of(w, input_of(w, sub, 1));
    bool    is_centred = is_type(w, sub, "Sub") && is_type(w, mean, "ReduceMean") &&
                      same(input_of(w, mean, 0), input_of(w, sub, 0)) &&
                      readers_of(w, mean) == 1 &&
                      readers_of(w, sub) == (is_type(w, parts[3], "Pow") ? 2 : 3);
    absorb(w, parts, 4, i);
    if (is_centred) absorb(w, (int32_t[]){sub, mean}, 2, i);
    finish_norm(
        w, i,
        (emp_onnx_fusion){.kind = is_centred ? EMP_ONNX_LAYER_NORM : EMP_ONNX_RMS_NORM,
                          .x = is_centred ? input_of(w, sub, 0) : s});
}

/* x * (1 / sqrt(mean(x^2) + eps)) */
static void match_scaling(wiring *w, int32_t i)
{
    for (int32_t k = 0; k < 2; k++) {
        int32_t   parts[5], inverse = producer_of(w, input_of(w, i, k));
        int32_t   operand = is_type(w, inverse, "Reciprocal") ? 0 : 1;
        emp_slice s;
        if ((operand == 1 && !is_type(w, inverse, "Div")) ||
            readers_of(w, inverse) != 1 ||
            !match_deviation(w, producer_of(w, input_of(w, inverse, operand)), &s,
                             parts) ||
            !same(s, input_of(w, i, 1 - k)) ||
            (operand == 1 && !is_given(w, input_of(w, inverse, 0))))
            continue;
        parts[4] = inverse;
        absorb(w, parts, 5, i);
        finish_norm(w, i, (emp_onnx_fusion){.kind = EMP_ONNX_RMS_NORM, .x = s});
        return;
    }
}

/* ---- activations ---- */

static void take_activation(wiring *w, int32_t last, const char *type, emp_slice x,
                            const int32_t *parts, int32_t count)
{
    absorb(w, parts, count, last);
    w->fusion[last] =
        (emp_onnx_fusion){.kind = EMP_ONNX_ACTIVATION, .type = type, .x = x};
}

/* x / sqrt(2) -> Erf -> + 1 -> * x -> * 0.5, the last two in either order. */
static void match_gelu(wiring *w, int32_t erf)
{
    int32_t scaled = producer_of(w, input_of(w, erf, 0));
    int32_t one = only_reader(w, erf, "Add"), product = only_reader(w, one, "Mul");

    if ((!is_type(w, scaled, "Div") && !is_type(w, scaled, "Mul")) ||
        readers_of(w, scaled) != 1 || product < 0)
        return;
    emp_slice x = input_of(w, scaled, 0), by = other_input(w, product, output_of(w, one));
    if (is_given(w, x)) x = input_of(w, scaled, 1);
    if (same(by, x)) {
        int32_t last = only_reader(w, product, "Mul");
        if (last >= 0 && is_given(w, other_input(w, last, output_of(w, product))))
            take_activation(w, last, "Gelu", x, (int32_t[]){scaled, erf, one, product},
                            4);
        return;
    }
    int32_t half = producer_of(w, by);
    if (is_type(w, half, "Mul") && readers_of(w, half) == 1 &&
        (same(input_of(w, half, 0), x) || same(input_of(w, half, 1), x)))
        take_activation(w, product, "Gelu", x, (int32_t[]){scaled, erf, one, half}, 4);
}

/* f(x) * x by one node, or by two: Softplus, Tanh. */
static void match_gate(wiring *w, int32_t gate, const char *type, int32_t first)
{
    int32_t product = only_reader(w, gate, "Mul");

    if (product < 0) return;
    emp_slice x = input_of(w, first, 0);
    if (!same(other_input(w, product, output_of(w, gate)), x)) return;
    take_activation(w, product, type, x, (int32_t[]){gate, first}, 2);
}

/* x + 3 -> Clip -> * x -> / 6 */
static void match_hard_swish(wiring *w, int32_t clip)
{
    int32_t sum = producer_of(w, input_of(w, clip, 0));
    int32_t product = only_reader(w, clip, "Mul"), last = only_reader(w, product, "Div");

    if (last < 0) last = only_reader(w, product, "Mul");
    if (!is_type(w, sum, "Add") || readers_of(w, sum) != 1 || last < 0) return;
    emp_slice x = other_input(w, product, output_of(w, clip));
    if (!same(x, input_of(w, sum, 0)) && !same(x, input_of(w, sum, 1))) return;
    if (!is_given(w, other_input(w, sum, x)) ||
        !is_given(w, other_input(w, last, output_of(w, product))))
        return;
    take_activation(w, last, "HardSwish", x, (int32_t[]){sum, clip, product}, 3);
}

static void match(wiring *w, int32_t i)
{
    if (w->fusion[i].kind != EMP_ONNX_PLAIN || w->node[i].domain.size > 0) return;
    if (is_type(w, i, "Div")) match_division(w, i);
    if (is_type(w, i, "Mul")) match_scaling(w, i);
    if (is_type(w, i, "Erf")) match_gelu(w, i);
    if (is_type(w, i, "Sigmoid")) match_gate(w, i, "Silu", i);
    if (is_type(w, i, "HardSigmoid")) match_gate(w, i, "HardSwish", i);
    if (is_type(w, i, "Clip")) match_hard_swish(w, i);
    if (is_type(w, i, "Softplus")) {
        int32_t tanh = only_reader(w, i, "Tanh");
        if (tanh >= 0) match_gate(w, tanh, "Mish", i);
    }
}

static emp_status add_reader(wiring *w, emp_slice name, int32_t i, emp_error *err)
{
    int32_t before = emp_strmap_get(&w->readers, name.data, name.size);

    if (name.size == 0) return EMP_OK;
    EMP_CHECK(emp_strmap_set(&w->reader, name.data, name.size, i, err));
    return emp_strmap_set(&w->readers, name.data, name.size, before < 0 ? 1 : before + 1,
                          err);
}

/* A result that a graph gives away counts as read, twice, so that no pattern swallows it. */
static emp_status wire(wiring *w, const emp_onnx_graph *graph, emp_error *err)
{
    for (int32_t i = 0; i < w->count; i++) {
        const emp_onnx_node *node = &w->node[i];
        for (int32_t k = 0; k < node->output_count; k++)
            if (node->output[k].size > 0)
                EMP_CHECK(emp_strmap_set(&w->producer, node->output[k].data,
                                         node->output[k].size, i, err));
        for (int32_t k = 0; k < node->input_count; k++)
            EMP_CHECK(add_reader(w, node->input[k], i, err));
    }
    for (int32_t k = 0; k < graph->outputs.count; k++) {
        emp_onnx_info info;
        emp_slice     name = graph->outputs.item[k];
        if (emp_onnx_info_read(&info, name, NULL) == EMP_OK && info.name.size > 0)
            name = info.name;
        EMP_CHECK(add_reader(w, name, 0, err));
        EMP_CHECK(add_reader(w, name, 0, err));
    }
    return EMP_OK;
}

emp_status emp_onnx_find_fusions(emp_onnx_fusion *fusion, const emp_onnx_node *nodes,
                                 int32_t count, const emp_onnx_graph *graph,
                                 emp_error *err)
{
    wiring     w = {.node = nodes, .count = count, .fusion = fusion};
    emp_status st = wire(&w, graph, err);

    for (int32_t i = 0; st == EMP_OK && i < count; i++) match(&w, i);
    emp_strmap_clear(&w.producer);
    emp_strmap_clear(&w.reader);
    emp_strmap_clear(&w.readers);
    return st;
}

/* ---- lowering ---- */

static emp_port operand(emp_onnx_call *c, emp_slice name)
{
    emp_onnx_value *value = emp_onnx_find(c->scope, name);

    if (value == NULL || value->is_unknown) {
        emp_onnx_refuse(c, "its operand \"%.*s\" is not known", EMP_SLICE_ARG(name));
        return EMP_TF_NONE;
    }
    return emp_onnx_port(c->o, value);
}

void emp_onnx_lower_fused(emp_onnx_call *c, const emp_onnx_fusion *fusion)
{
    emp_port input[3] = {operand(c, fusion->x)};
    int32_t  count = 1;

    if (fusion->kind == EMP_ONNX_ACTIVATION) {
        emp_onnx_out(c, 0, emp_onnx_emit(c, fusion->type, NULL, input, 1));
        return;
    }
    if (fusion->scale.size > 0) input[count++] = operand(c, fusion->scale);
    if (fusion->bias.size > 0) input[count++] = operand(c, fusion->bias);
    if (count == 1 && input[0].op >= 0) {
        emp_shape x = emp_tf_shape(c->o->tf, input[0]);
        emp_shape ones = EMP_SHAPE(x.rank > 0 ? x.dim[x.rank - 1] : 1);
        input[count++] =
            emp_tf_const(c->o->tf, NULL, "ones", EMP_DTYPE_FLOAT, ones, NULL, 0);
    }
    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, fusion->kind == EMP_ONNX_LAYER_NORM ? "LayerNorm" : "RMSNorm",
                      NULL, input, count));
}
