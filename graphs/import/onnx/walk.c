// SPDX-License-Identifier: GPL-3.0-or-later
// Over the nodes of a graph in a topological order: theirs, as ONNX promises, or else one that is found.
#include <string.h>

#include "base/mem.h"
#include "graphs/import/onnx/lower.h"

enum { NAME_BYTES = 200, BLAME_BYTES = 240 };

/* ---- nodes ---- */

/* The standard's own domain, and ONNX Runtime's. */
static bool is_read_domain(emp_slice domain)
{
    static const char *const domains[] = {"com.microsoft", "com.microsoft.nchwc",
                                          "com.ms.internal.nhwc", "ai.onnx.preview",
                                          "ai.onnx.preview.training"};

    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++)
        if (emp_slice_is(domain, domains[i])) return true;
    return domain.size == 0;
}

/* The rule of a node's type; NULL: the type is not known. Where names are equal, the domain's own rule counts.
 * Some exporters leave the domain of the runtime's types out. */
static const emp_onnx_rule *find_rule(emp_slice domain, emp_slice type)
{
    static const emp_onnx_rule *const tables[] = {
        emp_onnx_runtime_rules, emp_onnx_math_rules,      emp_onnx_array_rules,
        emp_onnx_made_rules,    emp_onnx_layer_rules,     emp_onnx_other_rules,
        emp_onnx_einsum_rules,  emp_onnx_attention_rules, emp_onnx_sequence_rules};

    const size_t count = sizeof tables / sizeof tables[0], first = domain.size == 0;

    if (!is_read_domain(domain)) return NULL;
    for (size_t t = 0; t < count; t++)
        for (const emp_onnx_rule *rule = tables[(first + t) % count]; rule->type != NULL;
             rule++)
            if (emp_slice_is(type, rule->type)) return rule;
    return NULL;
}

/* A unique name for the node's first op: its own, else its result's, else its type. */
static const char *name_node(emp_onnx *o, const emp_onnx_node *node)
{
    emp_slice from = node->name.size > 0 ? node->name
                     : node->output_count > 0 && node->output[0].size > 0
                         ? node->output[0]
                         : node->type;
    char      text[NAME_BYTES];
    size_t    size = 0;

    for (size_t i = 0; i < from.size && size < sizeof text - 1; i++) {
        unsigned char byte = (unsigned char)from.data[i];
        if (size == 0 && byte == '/') continue;
        text[size++] = byte > ' ' && byte < '\x7f' ? (char)byte : '_';
    }
    text[size] = '\0';
    return emp_tf_unique_in(o->tf, "",
                            emp_tf_join(o->tf, size > 0 ? text : "node", "", ""));
}

static void forget_outputs(emp_onnx *o, emp_onnx_scope *scope, const emp_onnx_node *node)
{
    for (int32_t i = 0; i < node->output_count && o->status == EMP_OK; i++) {
        if (node->output[i].size == 0) continue;
        emp_onnx_value *value = emp_onnx_bind(o, scope, node->output[i]);
        if (value != NULL) value->is_unknown = true;
    }
}

/* Turns a failure of the graph under construction into a note; false: none, or no memory. */
static bool take_problem(emp_onnx_call *c)
{
    emp_onnx  *o = c->o;
    emp_error *err = o->tf->err;
    char       blamed[BLAME_BYTES];

    if (emp_tf_is_ok(o->tf)) return false;
    if (o->tf->status == EMP_ENOMEM) {
        o->status = EMP_ENOMEM;
        return false;
    }
    emp_onnx_blame_sizes(o, err->msg, blamed, sizeof blamed);
    emp_import_notes_problem(o->notes, "node \"%.*s\" of type %.*s: %s%s",
                             EMP_SLICE_ARG(c->node->name), EMP_SLICE_ARG(c->node->type),
                             err->msg, blamed);
    o->tf->status = EMP_OK;
    *err = (emp_error){0};
    return true;
}

/* The node's type as one of the graph; the table must not know it. */
static const char *unknown_type(emp_onnx_call *c)
{
    char   type[NAME_BYTES];
    size_t size = 0;

    for (; size < c->node->type.size && size < sizeof type - 1; size++) {
        unsigned char byte = (unsigned char)c->node->type.data[size];
        type[size] = byte > ' ' && byte < '\x7f' ? (char)byte : '_';
    }
    type[size] = '\0';
    return emp_tf_join(c->o->tf, type, emp_op_type_find(type) != NULL ? ".onnx" : "", "");
}

/* An element-wise op of the size of the largest input, for what we do not know. */
static void take_as_elementwise(emp_onnx_call *c)
{
    enum { MOST = 8 };
    emp_port inputs[MOST] = {0};
    int32_t  count = 0;
    int64_t  largest = -1;

    for (int32_t i = 0; i < c->in_count && count < MOST; i++) {
        if (c->in[i] == NULL) continue;
        inputs[count++] = emp_onnx_port(c->o, c->in[i]);
        int64_t elements = emp_shape_elements(&c->in[i]->shape);
        if (elements <= largest) continue;
        largest = elements;
        emp_port first = inputs[0];
        inputs[0] = inputs[count - 1];
        inputs[count - 1] = first;
    }
    const char *type = unknown_type(c);
    emp_port    y = emp_onnx_emit(c, type, NULL, inputs, count);
    for (int32_t i = 0; i < c->node->output_count; i++) emp_onnx_out(c, i, y);
    emp_import_notes_assume(c->o->notes,
                            "ops of the unknown type %s are element-wise, as large as "
                            "their largest input",
                            type);
}

#define LENIENT " (--lenient takes it as element-wise)"

static void refuse_unknown(emp_onnx_call *c)
{
    emp_slice domain = c->node->domain;

    if (!is_read_domain(domain))
        emp_onnx_refuse(
            c, "the type is not known, nor are others of the domain %.*s" LENIENT,
            EMP_SLICE_ARG(domain));
    else if (domain.size > 0)
        emp_onnx_refuse(c, "the type is not known in the domain %.*s" LENIENT,
                        EMP_SLICE_ARG(domain));
    else
        emp_onnx_refuse(c, "the type is not known" LENIENT);
}

/* Nodes that read or hand on sequences; all others read tensors. */
static bool takes_sequences(const emp_onnx_call *c)
{
    static const char *const types[] = {"Identity", "If", "Loop"};
    emp_slice                type = c->node->type;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (emp_slice_is(type, types[i])) return true;
    for (const emp_onnx_rule *rule = emp_onnx_sequence_rules; rule->type != NULL; rule++)
        if (emp_slice_is(type, rule->type)) return true;
    return false;
}

/* The first input that is a sequence although its node reads tensors; -1 = there is none. */
static int32_t find_sequence(const emp_onnx_call *c)
{
    for (int32_t i = 0; i < c->in_count; i++)
        if (c->in[i] != NULL && c->in[i]->is_sequence) return takes_sequences(c) ? -1 : i;
    return -1;
}

static void lower(emp_onnx_call *c)
{
    const emp_onnx_rule *rule = find_rule(c->node->domain, c->node->type);
    const int32_t        sequence = find_sequence(c);
    emp_slice            body;

    if (emp_onnx_model_function(c->o->model, c->node->domain, c->node->type, &body))
        emp_onnx_lower_function(c, body);
    else if (sequence >= 0)
        emp_onnx_refuse(c, "input %d is a sequence, must be a tensor", sequence);
    else if (rule != NULL)
        rule->fn(c, rule->word);
    else if (c->o->is_lenient)
        take_as_elementwise(c);
    else
        refuse_unknown(c);
    if (!take_problem(c) || c->o->status != EMP_OK) return;
    forget_outputs(c->o, c->scope, c->node);
}

/* Looks the inputs up; false where a problem upstream hides one. */
static bool find_inputs(emp_onnx_call *c)
{
    bool is_known = true;

    for (int32_t i = 0; i < c->in_count; i++) {
        emp_slice name = c->node->input[i];
        c->in[i] = emp_onnx_find(c->scope, name);
        if (c->in[i] == NULL && name.size > 0) {
            emp_import_notes_problem(
                c->o->notes,
                "node \"%.*s\" of type %.*s reads \"%.*s\", which no "
                "node before it makes",
                EMP_SLICE_ARG(c->node->name), EMP_SLICE_ARG(c->node->type),
                EMP_SLICE_ARG(name));
            is_known = false;
        }
        if (c->in[i] != NULL && c->in[i]->is_unknown) is_known = false;
    }
    return is_known;
}

/* \param note  Where the name of its ops goes, or NULL. */
static void visit(emp_onnx *o, emp_onnx_scope *scope, const emp_onnx_node *node,
                  const emp_onnx_fusion *fusion, emp_import_node *note)
{
    emp_onnx_value **in = emp_arena_alloc(&o->arena, ((size_t)node->input_count + 1) *
                                                         sizeof(emp_onnx_value *));
    emp_onnx_call    c = {.o = o,
                          .scope = scope,
                          .node = node,
                          .in = in,
                          .in_count = node->input_count,
                          .opset = emp_onnx_model_opset(o->model, node->domain)};

    if (in == NULL) {
        o->status = EMP_ENOMEM;
        return;
    }
    if (o->node_budget-- <= 0) {
        if (o->node_budget == -1)
            emp_import_notes_problem(o->notes,
                                     "loops unroll to more nodes than the file may have");
        forget_outputs(o, scope, node);
        return;
    }
    const bool is_known = find_inputs(&c);
    if (fusion->kind == EMP_ONNX_FUSED_AWAY) {
        forget_outputs(o, scope, node); /* only parts read them */
        return;
    }
    if (fusion->kind == EMP_ONNX_PLAIN && !is_known) {
        o->passed_over++;
        forget_outputs(o, scope, node);
        return;
    }
    if (fusion->kind == EMP_ONNX_PLAIN) emp_onnx_settle_inputs(&c);
    if (fusion->kind == EMP_ONNX_PLAIN && emp_onnx_fold(&c)) return;
    c.name = name_node(o, node);
    if (note != NULL)
        note->op = emp_arena_strndup(&o->notes->texts, c.name, strlen(c.name));
    const char *outer = emp_tf_reenter(o->tf, emp_tf_join(o->tf, c.name, "/", ""));
    if (fusion->kind != EMP_ONNX_PLAIN) {
        emp_onnx_lower_fused(&c, fusion);
        if (take_problem(&c)) forget_outputs(o, scope, node);
    } else {
        lower(&c);
    }
    emp_tf_leave(o->tf, outer);
}

/* Notes an output that another node makes, too, or that is an input or an initializer. */
static emp_status check_output(emp_onnx *o, const emp_onnx_scope *scope,
                               const emp_onnx_node *nodes, int32_t i, emp_slice name,
                               emp_strmap *maker)
{
    const int32_t other = emp_strmap_get(maker, name.data, name.size);

    if (other >= 0)
        emp_import_notes_problem(o->notes,
                                 "node \"%.*s\" of type %.*s: its output \"%.*s\" is "
                                 "made by node \"%.*s\" of type "
                                 "%.*s, too",
                                 EMP_SLICE_ARG(nodes[i].name),
                                 EMP_SLICE_ARG(nodes[i].type), EMP_SLICE_ARG(name),
                                 EMP_SLICE_ARG(nodes[other].name),
                                 EMP_SLICE_ARG(nodes[other].type));
    else if (emp_strmap_get(&scope->index, name.data, name.size) >= 0)
        emp_import_notes_problem(
            o->notes,
            "node \"%.*s\" of type %.*s: its output \"%.*s\" is an input "
            "or an initializer of the graph, too",
            EMP_SLICE_ARG(nodes[i].name), EMP_SLICE_ARG(nodes[i].type),
            EMP_SLICE_ARG(name));
    else
        return emp_strmap_set(maker, name.data, name.size, i, o->err);
    return EMP_OK;
}

static void check_outputs(emp_onnx *o, const emp_onnx_scope *scope,
                          const emp_onnx_node *nodes, int32_t count, emp_strmap *maker)
{
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < nodes[i].output_count && o->status == EMP_OK; k++) {
            const emp_slice name = nodes[i].output[k];
            if (name.size > 0) o->status = check_output(o, scope, nodes, i, name, maker);
        }
    }
}

/* ---- order ---- */

/* A search for an order in which each node comes after those that make what it reads, itself or in its graphs. */
typedef struct {
    const emp_onnx_node *node;
    const emp_strmap    *maker; /* of a name: its node */
    bool                *is_begun;
    int32_t             *stack, *order;
    int32_t              depth, count;
    emp_arena            arena; /* of graphs within nodes */
} sorting;

/* The first node that is not begun and makes what this one reads, or -1. Damaged graphs read nothing. */
static int32_t find_unmet(sorting *s, const emp_onnx_node *node, int32_t depth)
{
    static const char *const bodies[] = {"then_branch", "else_branch", "body"};
    int32_t                  unmet = -1;

    for (int32_t i = 0; i < node->input_count && unmet < 0; i++) {
        int32_t maker =
            emp_strmap_get(s->maker, node->input[i].data, node->input[i].size);
        if (maker >= 0 && !s->is_begun[maker]) unmet = maker;
    }
    for (size_t b = 0; b < sizeof bodies / sizeof bodies[0] && unmet < 0; b++) {
        emp_onnx_attr  attr;
        emp_onnx_graph inner;
        if (depth >= EMP_ONNX_MAX_DEPTH || !emp_onnx_attr_find(node, bodies[b], &attr) ||
            attr.graph.data == NULL ||
            emp_onnx_graph_read(&inner, attr.graph, &s->arena, NULL) != EMP_OK)
            continue;
        for (int32_t i = 0; i < inner.nodes.count && unmet < 0; i++) {
            emp_onnx_node within;
            if (emp_onnx_node_read(&within, inner.nodes.item[i], &s->arena, NULL) ==
                EMP_OK)
                unmet = find_unmet(s, &within, depth + 1);
        }
    }
    return unmet;
}

static bool is_sorted(sorting *s, int32_t count)
{
    bool is = true;

    for (int32_t i = 0; i < count && is; i++) {
        is = find_unmet(s, &s->node[i], 0) < 0;
        s->is_begun[i] = true;
        emp_arena_clear(&s->arena);
    }
    for (int32_t i = 0; i < count; i++) s->is_begun[i] = false;
    return is;
}

/* Puts a node behind those that it needs. In a cycle one node comes too soon. */
static void put_in_order(sorting *s, int32_t node)
{
    if (s->is_begun[node]) return;
    s->is_begun[node] = true;
    s->stack[s->depth++] = node;
    while (s->depth > 0) {
        const int32_t top = s->stack[s->depth - 1];
        const int32_t unmet = find_unmet(s, &s->node[top], 0);
        emp_arena_clear(&s->arena);
        if (unmet < 0) {
            s->order[s->count++] = top;
            s->depth--;
        } else {
            s->is_begun[unmet] = true;
            s->stack[s->depth++] = unmet;
        }
    }
}

/* Some tools write nodes in another order, and ONNX Runtime sorts them, too. */
static emp_status sort_nodes(emp_onnx *o, emp_onnx_node *nodes, int32_t count,
                             const emp_strmap *maker, emp_error *err)
{
    emp_status     st = EMP_OK;
    sorting        s = {.node = nodes, .maker = maker};
    emp_onnx_node *sorted = NULL;

    EMP_TRY(EMP_ALLOC(s.is_begun, (size_t)count));
    if (is_sorted(&s, count)) goto cleanup;
    EMP_TRY(EMP_ALLOC(s.stack, (size_t)count));
    EMP_TRY(EMP_ALLOC(s.order, (size_t)count));
    EMP_TRY(EMP_ALLOC(sorted, (size_t)count));
    for (int32_t i = 0; i < count; i++) put_in_order(&s, i);
    for (int32_t i = 0; i < count; i++) sorted[i] = nodes[s.order[i]];
    memcpy(nodes, sorted, (size_t)count * sizeof *nodes);
    emp_import_notes_assume(o->notes,
                            "nodes that stand before what they read wait for it");

cleanup:
    emp_arena_clear(&s.arena);
    emp_free(s.is_begun);
    emp_free(s.stack);
    emp_free(s.order);
    emp_free(sorted);
    return st;
}

/* Lists the nodes of the model's outer graph in the notes; NULL: they belong to an inner graph, or there is no memory. */
static emp_import_node *note_nodes(emp_onnx *o, const emp_onnx_scope *scope,
                                   const emp_onnx_node   *nodes,
                                   const emp_onnx_fusion *fusions, size_t count)
{
    emp_import_node *list;

    if (o->notes == NULL || scope->outer != NULL || scope->call != NULL) return NULL;
    emp_arena *texts = &o->notes->texts;
    list = emp_arena_alloc(texts, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count && list != NULL; i++) {
        emp_slice name = nodes[i].name, type = nodes[i].type;
        list[i].name = emp_arena_strndup(texts, name.data, name.size);
        list[i].type = emp_arena_strndup(texts, type.data, type.size);
        list[i].into = fusions[i].kind == EMP_ONNX_FUSED_AWAY ? fusions[i].into : -1;
        if (list[i].name == NULL || list[i].type == NULL) list = NULL;
    }
    if (list == NULL) o->status = EMP_ENOMEM;
    o->notes->node = list;
    o->notes->node_count = list == NULL ? 0 : (int32_t)count;
    return list;
}

void emp_onnx_walk(emp_onnx *o, emp_onnx_scope *scope, const emp_onnx_graph *graph)
{
    size_t           count = (size_t)graph->nodes.count;
    emp_onnx_node   *nodes = emp_arena_alloc(&o->arena, (count + 1) * sizeof *nodes);
    emp_onnx_fusion *fusions = emp_arena_alloc(&o->arena, (count + 1) * sizeof *fusions);
    emp_error        reason = {0};

    if (nodes == NULL || fusions == NULL) {
        o->status = EMP_ENOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        emp_status st =
            emp_onnx_node_read(&nodes[i], graph->nodes.item[i], &o->arena, &reason);
        if (st == EMP_OK) continue;
        if (st == EMP_ENOMEM) o->status = st;
        emp_import_notes_problem(o->notes, "node %zu: %s", i, reason.msg);
        return;
    }
    emp_strmap maker = {0};
    check_outputs(o, scope, nodes, (int32_t)count, &maker);
    if (o->status == EMP_OK)
        o->status = sort_nodes(o, nodes, (int32_t)count, &maker, o->err);
    emp_strmap_clear(&maker);
    if (o->status != EMP_OK) return;
    o->status = emp_onnx_find_fusions(fusions, nodes, (int32_t)count, graph, o->err);
    if (o->status != EMP_OK) return;
    emp_import_node *notes = note_nodes(o, scope, nodes, fusions, count);
    scope->graph = graph;
    for (size_t i = 0; i < count && o->status == EMP_OK; i++)
        visit(o, scope, &nodes[i], &fusions[i], notes == NULL ? NULL : &notes[i]);
}
