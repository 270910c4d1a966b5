// SPDX-License-Identifier: GPL-3.0-or-later
// Graphs within nodes: branches, loops, scans, and functions of the model's own.
#include "graphs/import/onnx/lower.h"

enum { MAX_TRIPS = 100000 };

/* What a graph in a node gives away, by position; NULL where the name is not known. */
static emp_onnx_value *result(const emp_onnx_scope *scope, const emp_onnx_graph *graph,
                              int32_t i, bool is_function)
{
    emp_onnx_info info = {.name = {"", 0}};

    if (i >= graph->outputs.count) return NULL;
    if (is_function) return emp_onnx_find(scope, graph->outputs.item[i]);
    return emp_onnx_info_read(&info, graph->outputs.item[i], NULL) == EMP_OK
               ? emp_onnx_find(scope, info.name)
               : NULL;
}

static emp_slice input_name(const emp_onnx_graph *graph, int32_t i)
{
    emp_onnx_info info = {.name = {"", 0}};

    if (i < graph->inputs.count)
        (void)emp_onnx_info_read(&info, graph->inputs.item[i], NULL);
    return info.name;
}

/* Binds a name of an inner graph to a value that is there already. */
static void bind_to(emp_onnx *o, emp_onnx_scope *scope, emp_slice name,
                    const emp_onnx_value *value)
{
    if (name.size == 0 || value == NULL) return;
    emp_onnx_value *own = emp_onnx_bind(o, scope, name);
    if (own == NULL) return;
    *own = *value;
    own->name = name;
}

static bool open_body(emp_onnx_call *c, const char *name, emp_onnx_graph *graph)
{
    emp_onnx_attr attr;
    emp_error     reason = {0};

    if (c->o->depth >= EMP_ONNX_MAX_DEPTH) {
        emp_onnx_refuse(c, "graphs lie within graphs more than %d deep",
                        EMP_ONNX_MAX_DEPTH);
        return false;
    }
    if (!emp_onnx_get(c, name, &attr) || attr.graph.data == NULL) {
        emp_onnx_refuse(c, "its graph \"%s\" is missing", name);
        return false;
    }
    if (emp_onnx_graph_read(graph, attr.graph, &c->o->arena, &reason) != EMP_OK) {
        emp_onnx_refuse(c, "its graph \"%s\": %s", name, reason.msg);
        return false;
    }
    return true;
}

static void walk_inside(emp_onnx_call *c, emp_onnx_scope *scope,
                        const emp_onnx_graph *graph)
{
    c->o->depth++;
    emp_onnx_bind_initializers(c->o, scope, graph);
    emp_onnx_walk(c->o, scope, graph);
    c->o->depth--;
}

/* Hands results of an inner graph on; what is not known there is not known outside. */
static void give(emp_onnx_call *c, int32_t i, emp_onnx_value *value)
{
    emp_onnx_value unknown = {
        .shape = EMP_SHAPE_UNKNOWN, .port = EMP_TF_NONE, .is_unknown = true};

    if (value != NULL && !value->is_unknown && value->port.op < 0 &&
        value->number == NULL)
        emp_onnx_port(c->o, value);
    emp_onnx_out_value(c, i, value != NULL ? value : &unknown);
}

void emp_onnx_lower_if(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *condition = emp_onnx_in(c, 0);
    emp_onnx_scope        scope = {.outer = c->scope, .call = c->scope->call};
    emp_onnx_graph        branch;
    bool                  is_known = condition != NULL && condition->number != NULL;
    bool takes_else = is_known && emp_shape_elements(&condition->shape) > 0 &&
                      condition->number[0] == 0.0;

    (void)word;
    if (!is_known)
        emp_import_notes_assume(c->o->notes,
                                "node \"%.*s\" of type If takes its then branch",
                                EMP_SLICE_ARG(c->node->name));
    if (!open_body(c, takes_else ? "else_branch" : "then_branch", &branch)) return;
    walk_inside(c, &scope, &branch);
    for (int32_t i = 0; i < c->node->output_count; i++)
        give(c, i, result(&scope, &branch, i, false));
    emp_onnx_scope_clear(&scope);
}

/* The iterations that a Loop makes: as many as its constants say, else one. */
static int64_t trips_of(emp_onnx_call *c)
{
    const emp_onnx_value *limit = emp_onnx_in(c, 0), *condition = emp_onnx_in(c, 1);

    if (condition != NULL && condition->number != NULL && condition->number[0] == 0.0)
        return 0;
    if (limit != NULL && limit->number != NULL && limit->number[0] <= MAX_TRIPS)
        return emp_truncate(limit->number[0]);
    emp_import_notes_assume(c->o->notes, "node \"%.*s\" of type Loop makes one iteration",
                            EMP_SLICE_ARG(c->node->name));
    return 1;
}

/* One iteration reads `carried` and leaves in it what the next one reads; of what the body gives
 * away behind the condition, the last is kept. */
void emp_onnx_lower_loop(emp_onnx_call *c, const char *word)
{
    emp_onnx_graph   body;
    int32_t          carried_count = c->in_count - 2;
    int64_t          trips = trips_of(c);
    emp_onnx_value **carried;

    (void)word;
    if (!open_body(c, "body", &body)) return;
    int32_t results = body.outputs.count > 1 ? body.outputs.count - 1 : 0;
    if (carried_count < 0) carried_count = 0;
    carried = emp_arena_alloc(&c->o->arena, ((size_t)(carried_count + results) + 1) *
                                                sizeof(emp_onnx_value *));
    if (carried == NULL) {
        c->o->status = EMP_ENOMEM;
        return;
    }
    for (int32_t i = 0; i < carried_count; i++) carried[i] = emp_onnx_in(c, 2 + i);
    for (int64_t t = 0; t < trips && c->o->status == EMP_OK; t++) {
        emp_onnx_scope scope = {.outer = c->scope, .call = c->scope->call};
        double        *index = emp_onnx_new_numbers(c->o, 1);
        emp_onnx_value counter = {.dtype = EMP_DTYPE_INT64, .port = EMP_TF_NONE};
        emp_onnx_value goes_on = {.dtype = EMP_DTYPE_BOOL, .port = EMP_TF_NONE};
        if (index != NULL) *index = (double)t;
        counter.number = index;
        bind_to(c->o, &scope, input_name(&body, 0), &counter);
        bind_to(c->o, &scope, input_name(&body, 1), &goes_on);
        for (int32_t i = 0; i < carried_count; i++)
            bind_to(c->o, &scope, input_name(&body, 2 + i), carried[i]);
        walk_inside(c, &scope, &body);
        for (int32_t i = 0; i < results; i++)
            carried[i] = result(&scope, &body, 1 + i, false);
        emp_onnx_scope_clear(&scope);
        if (c->o->node_budget <= 0) break;
    }
    for (int32_t i = 0; i < c->node->output_count; i++) {
        bool is_scanned = i >= carried_count;
        if (is_scanned && i < results && trips > 0 && carried[i] != NULL &&
            !carried[i]->is_unknown) {
            emp_shape shape = {.rank = 1, .dim = {trips}};
            for (int32_t d = 0; d < carried[i]->shape.rank && d < EMP_MAX_RANK - 1; d++)
                shape.dim[shape.rank++] = carried[i]->shape.dim[d];
            emp_port last = emp_onnx_port(c->o, carried[i]);
            emp_onnx_out(c, i,
                         emp_onnx_emit2(c, "BroadcastTo", last,
                                        emp_onnx_int_vector(c, shape.dim, shape.rank)));
        } else {
            give(c, i, is_scanned && trips == 0 ? NULL : carried[i]);
        }
    }
}

/* Cuts step t out of a tensor along its first axis. */
static emp_port step_of(emp_onnx_call *c, emp_onnx_value *value, int64_t t)
{
    int64_t   begin[EMP_MAX_RANK] = {t}, size[EMP_MAX_RANK];
    emp_shape shape = value->shape, item = {.rank = shape.rank - 1};

    for (int32_t d = 0; d < shape.rank; d++) size[d] = d == 0 ? 1 : shape.dim[d];
    for (int32_t d = 0; d < item.rank; d++) item.dim[d] = shape.dim[d + 1];
    emp_port part = emp_onnx_emit(c, "Slice", NULL,
                                  EMP_TF_PORTS(emp_onnx_port(c->o, value),
                                               emp_onnx_int_vector(c, begin, shape.rank),
                                               emp_onnx_int_vector(c, size, shape.rank)));
    return emp_onnx_reshape(c, part, item);
}

/* Scan over first axes: states, then tensors that are cut; what steps make is stacked. */
void emp_onnx_lower_scan(emp_onnx_call *c, const char *word)
{
    emp_onnx_graph body;
    int64_t        scanned = emp_onnx_int(c, "num_scan_inputs", 1);

    (void)word;
    if (!open_body(c, "body", &body)) return;
    if (scanned < 1 || scanned > c->in_count || c->opset < 9) {
        emp_onnx_refuse(c, "a Scan of %lld of %d inputs in operators of version %lld",
                        (long long)scanned, c->in_count, (long long)c->opset);
        return;
    }
    const int32_t   states = c->in_count - (int32_t)scanned;
    emp_onnx_value *first = emp_onnx_in(c, states);
    if (first == NULL || first->shape.rank < 1 || first->shape.dim[0] > MAX_TRIPS) {
        emp_onnx_refuse(c, "the steps of its Scan are not known");
        return;
    }
    int64_t   steps = first->shape.dim[0];
    int32_t   results = body.outputs.count, stacked = results - states;
    emp_port *rows = emp_arena_alloc(
        &c->o->arena,
        ((size_t)(stacked > 0 ? stacked : 0) * (size_t)steps + 1) * sizeof *rows);
    emp_onnx_value **state =
        emp_arena_alloc(&c->o->arena, ((size_t)states + 1) * sizeof(emp_onnx_value *));
    if (rows == NULL || state == NULL) {
        c->o->status = EMP_ENOMEM;
        return;
    }
    for (int32_t i = 0; i < states; i++) state[i] = emp_onnx_in(c, i);
    for (int64_t t = 0; t < steps && c->o->status == EMP_OK; t++) {
        emp_onnx_scope scope = {.outer = c->scope, .call = c->scope->call};
        for (int32_t i = 0; i < states; i++)
            bind_to(c->o, &scope, input_name(&body, i), state[i]);
        for (int32_t i = 0; i < (int32_t)scanned; i++) {
            emp_onnx_value *whole = emp_onnx_in(c, states + i), item = {0};
            if (whole == NULL || whole->shape.rank < 1) continue;
            item = *whole;
            item.number = NULL;
            item.port = step_of(c, whole, t);
            item.shape = emp_tf_shape(c->o->tf, item.port);
            bind_to(c->o, &scope, input_name(&body, states + i), &item);
        }
        walk_inside(c, &scope, &body);
        for (int32_t i = 0; i < states; i++) state[i] = result(&scope, &body, i, false);
        for (int32_t i = 0; i < stacked; i++) {
            emp_onnx_value *made = result(&scope, &body, states + i, false);
            rows[i * steps + t] = made != NULL && !made->is_unknown
                                      ? emp_onnx_port(c->o, made)
                                      : EMP_TF_NONE;
        }
        emp_onnx_scope_clear(&scope);
        if (c->o->node_budget <= 0) return;
    }
    for (int32_t i = 0; i < states; i++) give(c, i, state[i]);
    for (int32_t i = 0; i < stacked && steps > 0; i++)
        emp_onnx_out(c, states + i,
                     emp_onnx_emit(c, "Pack", &(emp_op_attrs){.count = (int32_t)steps},
                                   &rows[i * steps], (int32_t)steps));
}

void emp_onnx_lower_function(emp_onnx_call *c, emp_slice body)
{
    emp_onnx_graph graph;
    emp_onnx_scope scope = {.call = c->node};
    emp_error      reason = {0};

    if (c->o->depth >= EMP_ONNX_MAX_DEPTH) {
        emp_onnx_refuse(c, "functions call functions more than %d deep",
                        EMP_ONNX_MAX_DEPTH);
        return;
    }
    if (emp_onnx_function_read(&graph, body, &c->o->arena, &reason) != EMP_OK) {
        emp_onnx_refuse(c, "its function: %s", reason.msg);
        return;
    }
    for (int32_t i = 0; i < graph.inputs.count; i++)
        bind_to(c->o, &scope, graph.inputs.item[i], emp_onnx_in(c, i));
    walk_inside(c, &scope, &graph);
    for (int32_t i = 0; i < c->node->output_count; i++)
        give(c, i, result(&scope, &graph, i, true));
    emp_onnx_scope_clear(&scope);
}
