// SPDX-License-Identifier: GPL-3.0-or-later
// Graphs within nodes: branches, loops, scans, and functions of the model's own.
#include "graphs/import/onnx/lower.h"

enum { MAX_TRIPS = 100000 };

/* The results that a graph in a node gives away, by position; NULL where the name is not known. */
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
                    emp_onnx_value *value)
{
    if (name.size > 0 && value != NULL) (void)emp_onnx_bind_value(o, scope, name, value);
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
    c->o->walk(c->o, scope, graph);
    c->o->depth--;
}

/* Hands results of an inner graph on; what is not known there is not known outside. */
static void give(emp_onnx_call *c, int32_t i, emp_onnx_value *value)
{
    emp_onnx_value unknown = {.shape = EMP_SHAPE_UNKNOWN,
                              .port = EMP_TF_NONE,
                              .grouped = EMP_TF_NONE,
                              .is_unknown = true};

    if (value != NULL && !value->is_unknown && !value->is_sequence &&
        value->port.op < 0 && value->number == NULL)
        emp_onnx_port(c->o, value);
    emp_onnx_out_value(c, i, value != NULL ? value : &unknown);
}

/* Keeps the weights that a graph reads without running it: its own, and the weights of graphs around it. */
static void keep_weights(emp_onnx_call *c, const emp_onnx_scope *outer,
                         const emp_onnx_graph *graph)
{
    static const char *const bodies[] = {"then_branch", "else_branch", "body"};
    emp_onnx                *o = c->o;
    emp_onnx_scope           scope = {.outer = outer, .call = outer->call};

    o->depth++;
    emp_onnx_bind_initializers(o, &scope, graph);
    o->node_budget -=
        o->node_budget < graph->nodes.count ? o->node_budget : graph->nodes.count;
    for (int32_t n = 0; n < graph->nodes.count && o->node_budget > 0; n++) {
        emp_onnx_node   node;
        emp_onnx_attr   attr;
        emp_onnx_tensor tensor;
        emp_onnx_graph  inner;
        if (o->status != EMP_OK ||
            emp_onnx_node_read(&node, graph->nodes.item[n], &o->arena, NULL) != EMP_OK)
            break;
        if (emp_slice_is(node.type, "Constant") && node.output_count > 0 &&
            emp_onnx_attr_find(&node, "value", &attr) && attr.tensor.data != NULL &&
            emp_onnx_tensor_read(&tensor, attr.tensor, NULL) == EMP_OK)
            emp_onnx_bind_tensor(o, &scope, node.output[0], &tensor, false);
        for (int32_t i = 0; i < node.input_count; i++) {
            emp_onnx_value *value = emp_onnx_find(&scope, node.input[i]);
            if (value != NULL && value->transposed != NULL) value = value->transposed;
            if (value != NULL && value->is_weight) emp_onnx_keep(o, value);
        }
        for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
            if (o->depth < EMP_ONNX_MAX_DEPTH &&
                emp_onnx_attr_find(&node, bodies[i], &attr) && attr.graph.data != NULL &&
                emp_onnx_graph_read(&inner, attr.graph, &o->arena, NULL) == EMP_OK)
                keep_weights(c, &scope, &inner);
    }
    o->depth--;
    emp_onnx_scope_clear(&scope);
}

void emp_onnx_lower_if(emp_onnx_call *c, const char *word)
{
    emp_onnx_value *condition = emp_onnx_in(c, 0);
    emp_onnx_scope  scope = {.outer = c->scope, .call = c->scope->call};
    emp_onnx_graph  branch;
    bool            is_known = condition != NULL && condition->number != NULL;
    bool            takes_else = is_known && emp_shape_elements(&condition->shape) > 0 &&
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
    if (is_known || !open_body(c, "else_branch", &branch)) return;
    keep_weights(c, c->scope, &branch);
    if (condition != NULL && condition->port.op >= 0) emp_onnx_keep(c->o, condition);
}

static bool is_false(const emp_onnx_value *value)
{
    return value != NULL && value->number != NULL &&
           emp_shape_elements(&value->shape) == 1 && value->number[0] == 0.0;
}

/* The iterations that a Loop may make: as many as its constants say; -1 = they do not. */
static int64_t trips_of(const emp_onnx_call *c)
{
    const emp_onnx_value *limit = emp_onnx_in(c, 0);

    if (is_false(emp_onnx_in(c, 1))) return 0;
    if (limit != NULL && limit->number != NULL && limit->number[0] <= MAX_TRIPS)
        return emp_truncate(limit->number[0]);
    return -1;
}

/* True if a Loop goes on after t iterations: constants say so, or nothing is known of its
 * condition, and then it makes as many as it may, or one. */
static bool goes_on(emp_onnx_call *c, int64_t t, int64_t most,
                    const emp_onnx_value *condition)
{
    const emp_onnx_value *limit = emp_onnx_in(c, 0);
    const bool            is_count_data = limit != NULL && limit->number == NULL;
    const bool            is_known =
        condition != NULL && condition->number != NULL && !is_count_data;

    if (t > 0 && is_false(condition)) return false;
    if (most >= 0) return t < most;
    if (t == 0 || (is_known && t < MAX_TRIPS)) return true;
    emp_import_notes_assume(c->o->notes, "node \"%.*s\" of type Loop makes one iteration",
                            EMP_SLICE_ARG(c->node->name));
    return false;
}

static void bind_scalar(emp_onnx *o, emp_onnx_scope *scope, emp_slice name,
                        emp_dtype dtype, const double *number)
{
    emp_onnx_value *value = name.size > 0 ? emp_onnx_bind(o, scope, name) : NULL;

    if (value == NULL) return;
    value->shape = EMP_SHAPE_SCALAR;
    value->dtype = dtype;
    value->number = number;
}

/* One iteration: binds what it reads, walks over the body, and leaves in `carried` what it makes. */
static emp_onnx_value *iterate(emp_onnx_call *c, const emp_onnx_graph *body, int64_t t,
                               emp_onnx_value **carried, int32_t carried_count,
                               int32_t results)
{
    emp_onnx_scope scope = {.outer = c->scope, .call = c->scope->call};
    double        *index = emp_onnx_new_numbers(c->o, 1);

    if (index != NULL) *index = (double)t;
    bind_scalar(c->o, &scope, input_name(body, 0), EMP_DTYPE_INT64, index);
    bind_scalar(c->o, &scope, input_name(body, 1), EMP_DTYPE_BOOL, NULL);
    for (int32_t i = 0; i < carried_count; i++)
        bind_to(c->o, &scope, input_name(body, 2 + i), carried[i]);
    walk_inside(c, &scope, body);
    emp_onnx_value *condition = result(&scope, body, 0, false);
    for (int32_t i = 0; i < results; i++) carried[i] = result(&scope, body, 1 + i, false);
    emp_onnx_scope_clear(&scope);
    return condition;
}

/* The outputs of a Loop: last states, then what iterations make, stacked; of these the last is kept. */
static void give_results(emp_onnx_call *c, emp_onnx_value **carried,
                         int32_t carried_count, int32_t results, int64_t trips)
{
    for (int32_t i = 0; i < c->node->output_count; i++) {
        bool is_scanned = i >= carried_count;
        if (is_scanned && i < results && trips > 0 && carried[i] != NULL &&
            !carried[i]->is_unknown && !carried[i]->is_sequence) {
            emp_shape shape = {.rank = 1, .dim = {trips}};
            for (int32_t d = 0; d < carried[i]->shape.rank && d < EMP_MAX_RANK - 1; d++)
                shape.dim[shape.rank++] = carried[i]->shape.dim[d];
            emp_port last = emp_onnx_port(c->o, carried[i]);
            emp_onnx_out(c, i,
                         emp_onnx_emit2(c, "BroadcastTo", last,
                                        emp_onnx_int_vector(c, shape.dim, shape.rank)));
        } else {
            give(c, i, (is_scanned && trips == 0) || i >= results ? NULL : carried[i]);
        }
    }
}

void emp_onnx_lower_loop(emp_onnx_call *c, const char *word)
{
    emp_onnx_graph  body;
    int32_t         carried_count = c->in_count - 2;
    int64_t         most = trips_of(c), t = 0;
    emp_onnx_value *condition = NULL, **carried;

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
    for (; goes_on(c, t, most, condition) && c->o->status == EMP_OK; t++) {
        condition = iterate(c, &body, t, carried, carried_count, results);
        if (c->o->node_budget <= 0) break;
    }
    give_results(c, carried, carried_count, results, t);
}

emp_port emp_onnx_part(emp_onnx_call *c, emp_onnx_value *value, int32_t axis,
                       int64_t first, int64_t end, bool squeezed)
{
    int64_t   begin[EMP_MAX_RANK] = {0}, size[EMP_MAX_RANK];
    emp_shape shape = value->shape, item = {.rank = 0};

    begin[axis] = first;
    for (int32_t d = 0; d < shape.rank; d++) {
        size[d] = d == axis ? end - first : shape.dim[d];
        if (d != axis) item.dim[item.rank++] = shape.dim[d];
    }
    emp_port part = emp_onnx_emit(c, "Slice", NULL,
                                  EMP_TF_PORTS(emp_onnx_port(c->o, value),
                                               emp_onnx_int_vector(c, begin, shape.rank),
                                               emp_onnx_int_vector(c, size, shape.rank)));
    return squeezed ? emp_onnx_reshape(c, part, item) : part;
}

/* The axis of scanned tensor i; an attribute may name one for each. */
static int32_t scan_axis(emp_onnx_call *c, const char *name, int32_t i, int32_t rank)
{
    enum { MOST = 64 };
    int64_t list[MOST];
    int32_t count = emp_onnx_ints(c, name, -1, list, MOST);

    return i < count ? emp_onnx_axis(c, list[i], rank) : 0;
}

/* A Scan at work: states, tensors that are cut into steps, and what steps make. */
typedef struct {
    emp_onnx_graph   body;
    int32_t          states, scanned, stacked;
    int64_t          steps;
    emp_onnx_value **state;
    emp_port        *rows; /* steps of each stacked output */
} scan;

/* The steps are the size of the first tensor along its axis; the others must have as many. */
static bool count_steps(emp_onnx_call *c, scan *s)
{
    s->steps = -1;
    for (int32_t i = 0; i < s->scanned; i++) {
        const emp_onnx_value *whole = emp_onnx_in(c, s->states + i);
        if (whole == NULL || whole->shape.rank < 1) {
            emp_onnx_refuse(c, "scanned input %d is missing or has no axes", i);
            return false;
        }
        int32_t axis = scan_axis(c, "scan_input_axes", i, whole->shape.rank);
        if (!emp_tf_is_ok(c->o->tf)) return false;
        int64_t size = whole->shape.dim[axis];
        if (size < 0 || size > MAX_TRIPS || (s->steps >= 0 && size != s->steps)) {
            emp_onnx_refuse(c, "scanned input %d has %lld steps along axis %d%s", i,
                            (long long)size, axis,
                            size >= 0 && size <= MAX_TRIPS ? ", unlike those before it"
                                                           : ", need 0 to 100000");
            return false;
        }
        s->steps = size;
    }
    return true;
}

static void scan_step(emp_onnx_call *c, scan *s, int64_t t)
{
    emp_onnx_scope scope = {.outer = c->scope, .call = c->scope->call};

    for (int32_t i = 0; i < s->states; i++)
        bind_to(c->o, &scope, input_name(&s->body, i), s->state[i]);
    for (int32_t i = 0; i < s->scanned; i++) {
        emp_onnx_value *whole = emp_onnx_in(c, s->states + i);
        int32_t         axis = scan_axis(c, "scan_input_axes", i, whole->shape.rank);
        emp_port        step = emp_onnx_part(c, whole, axis, t, t + 1, true);
        emp_onnx_value *item =
            emp_onnx_bind(c->o, &scope, input_name(&s->body, s->states + i));
        if (item == NULL) break;
        item->dtype = whole->dtype;
        item->port = step;
        if (step.op >= 0) item->shape = emp_tf_shape(c->o->tf, step);
    }
    walk_inside(c, &scope, &s->body);
    for (int32_t i = 0; i < s->states; i++)
        s->state[i] = result(&scope, &s->body, i, false);
    for (int32_t i = 0; i < s->stacked; i++) {
        emp_onnx_value *made = result(&scope, &s->body, s->states + i, false);
        s->rows[i * s->steps + t] =
            made != NULL && !made->is_unknown ? emp_onnx_port(c->o, made) : EMP_TF_NONE;
    }
    emp_onnx_scope_clear(&scope);
}

void emp_onnx_lower_scan(emp_onnx_call *c, const char *word)
{
    scan          s = {.states = 0};
    const int64_t scanned = emp_onnx_int(c, "num_scan_inputs", 1);

    (void)word;
    if (!open_body(c, "body", &s.body)) return;
    if (scanned < 1 || scanned > c->in_count || emp_onnx_is_before(c, 9)) {
        emp_onnx_refuse(c, "a Scan of %lld of %d inputs in operators of version %lld",
                        (long long)scanned, c->in_count, (long long)c->opset);
        return;
    }
    s.scanned = (int32_t)scanned;
    s.states = c->in_count - s.scanned;
    if (!count_steps(c, &s)) return;
    if (s.body.outputs.count > s.states) s.stacked = s.body.outputs.count - s.states;
    s.rows = emp_arena_alloc(&c->o->arena,
                             ((size_t)s.stacked * (size_t)s.steps + 1) * sizeof *s.rows);
    s.state =
        emp_arena_alloc(&c->o->arena, ((size_t)s.states + 1) * sizeof(emp_onnx_value *));
    if (s.rows == NULL || s.state == NULL) {
        c->o->status = EMP_ENOMEM;
        return;
    }
    for (int32_t i = 0; i < s.states; i++) s.state[i] = emp_onnx_in(c, i);
    for (int64_t t = 0; t < s.steps && c->o->status == EMP_OK; t++) {
        scan_step(c, &s, t);
        if (c->o->node_budget <= 0) return;
    }
    for (int32_t i = 0; i < s.states; i++) give(c, i, s.state[i]);
    for (int32_t i = 0; i < s.stacked && s.steps > 0; i++) {
        const emp_port *rows = &s.rows[i * s.steps];
        if (rows[0].op < 0) continue;
        int32_t rank = emp_tf_shape(c->o->tf, rows[0]).rank + 1;
        int32_t axis = scan_axis(c, "scan_output_axes", i, rank);
        emp_onnx_out(
            c, s.states + i,
            emp_onnx_emit(c, "Pack",
                          &(emp_op_attrs){.count = (int32_t)s.steps, .axis = axis}, rows,
                          (int32_t)s.steps));
    }
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
