// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/lower.h"

#include <emplace/problem.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/pytorch/program.h"

enum { NAME_BYTES = 8300, OPS_MAX = 1 << 24 };

typedef struct {
    emp_graph_builder       *builder;
    const emp_torch_calls   *calls;
    const emp_torch_program *p;
    const emp_torch_roles   *roles;
    int32_t                 *first;  /* [node] its first op; -1: it has none */
    int32_t                 *pieces; /* [node] ops, one after another */
    int32_t                  op_count;
    emp_op_id               *parent;    /* [op] of a set of ops that share a device */
    int32_t                 *size;      /* [op] of the set that this one is the root of */
    bool                    *is_update; /* [op] one of an optimizer */
    bool      *is_new; /* [op] writes a parameter's or a state's new value in place */
    emp_arrays arrays;
} lowering;

/* ---- reads and writes of one buffer in the order of the program ---- */

typedef struct {
    emp_op_id op;
    int32_t   next;
} buffer_reader;

typedef struct {
    emp_graph_builder *builder; /**< borrowed */
    emp_op_id         *writer;  /**< [buffer] the last op that has written it; -1 */
    int32_t           *reader;  /**< [buffer] what has read it since, a list; -1 */
    buffer_reader     *pool;
    int32_t            count, capacity;
} order_of_buffers;

static void order_clear(order_of_buffers *order)
{
    emp_free(order->writer);
    emp_free(order->reader);
    emp_free(order->pool);
    *order = (order_of_buffers){0};
}

static emp_status order_init(order_of_buffers *order, emp_graph_builder *builder,
                             int32_t buffers, emp_error *err)
{
    *order = (order_of_buffers){.builder = builder};
    EMP_CHECK(EMP_ALLOC(order->writer, (size_t)buffers));
    EMP_CHECK(EMP_ALLOC(order->reader, (size_t)buffers));
    for (int32_t i = 0; i < buffers; i++) order->writer[i] = order->reader[i] = -1;
    return EMP_OK;
}

/* \a op reads the buffer, of which \a from has made the view that it reads. */
static emp_status order_read(order_of_buffers *order, int32_t buffer, emp_op_id from,
                             emp_op_id op, emp_error *err)
{
    emp_op_id writer = order->writer[buffer];

    if (writer >= 0 && writer != from && writer != op)
        EMP_CHECK(emp_graph_builder_add_control(order->builder, writer, op, err));
    EMP_CHECK(EMP_GROW(order->pool, order->count + 1, order->capacity));
    order->pool[order->count] = (buffer_reader){op, order->reader[buffer]};
    order->reader[buffer] = order->count++;
    return EMP_OK;
}

/* \a op writes the buffer, after all that have read it. */
static emp_status order_write(order_of_buffers *order, int32_t buffer, emp_op_id op,
                              emp_error *err)
{
    for (int32_t i = order->reader[buffer]; i >= 0; i = order->pool[i].next) {
        emp_op_id reader = order->pool[i].op;
        if (reader != op)
            EMP_CHECK(emp_graph_builder_add_control(order->builder, reader, op, err));
    }
    order->reader[buffer] = -1;
    order->writer[buffer] = op;
    return EMP_OK;
}

/* ---- which nodes are ops ---- */

static const emp_torch_value *first_tensor(const lowering *l, int32_t node)
{
    emp_torch_walk at = {0};

    return emp_torch_next_tensor(l->p, &l->p->node[node], &at);
}

static bool is_cut(const lowering *l, int32_t node) /* a tuple of views */
{
    const emp_aten_op *op = l->calls->op_of[node];

    return op != NULL && op->is_view && l->p->node[node].is_tuple;
}

static bool is_free(const emp_aten_op *op)
{
    return op != NULL && op->type != NULL && op->type->work == EMP_WORK_NOTHING;
}

static int32_t count_pieces(const lowering *l, int32_t node)
{
    const emp_torch_node *n = &l->p->node[node];
    const emp_aten_op    *op = l->calls->op_of[node];
    int32_t               lists, from = l->calls->taken_from[node];

    if (n->what == EMP_TORCH_OUTPUT) return 0;
    if (n->what == EMP_TORCH_PLACEHOLDER) return n->result_count == 1;
    if (from >= 0) return is_cut(l, from) && first_tensor(l, from) != NULL;
    if (op != NULL && op->is_getitem)
        return n->result_count > 0 && first_tensor(l, node) != NULL;
    if (is_cut(l, node)) return 0;
    if (is_free(op) && !op->is_view) return n->result_count > 0;
    if (is_free(op)) return first_tensor(l, node) != NULL;
    lists = emp_torch_list_count(l->calls, node);
    return lists > 0 ? lists : 1;
}

static emp_status plan(lowering *l, emp_error *err)
{
    size_t nodes = (size_t)l->p->node_count;

    l->first = EMP_ADD_ARRAY(&l->arrays, int32_t, nodes);
    l->pieces = EMP_ADD_ARRAY(&l->arrays, int32_t, nodes);
    if (l->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "ops of %zu nodes", nodes);
    for (int32_t i = 0; i < l->p->node_count; i++) {
        l->pieces[i] = count_pieces(l, i);
        l->first[i] = l->pieces[i] > 0 ? l->op_count : -1;
        if (l->pieces[i] > OPS_MAX - l->op_count)
            return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d ops", OPS_MAX);
        l->op_count += l->pieces[i];
    }
    l->parent = EMP_ADD_ARRAY(&l->arrays, emp_op_id, (size_t)l->op_count);
    l->size = EMP_ADD_ARRAY(&l->arrays, int32_t, (size_t)l->op_count);
    l->is_update = EMP_ADD_ARRAY(&l->arrays, bool, (size_t)l->op_count);
    l->is_new = EMP_ADD_ARRAY(&l->arrays, bool, (size_t)l->op_count);
    if (l->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d ops", l->op_count);
    emp_disjoint_init(l->parent, l->op_count);
    return EMP_OK;
}

/* Where a tensor comes from; op -1: from nothing that is an op. A tuple of views stands for what it cuts. */
static emp_port port_of(const lowering *l, int32_t node, int32_t result)
{
    while (l->first[node] < 0) {
        const emp_torch_value *v = is_cut(l, node) ? first_tensor(l, node) : NULL;
        if (l->calls->taken_from[node] >= 0) {
            result = l->calls->taken[node];
            node = l->calls->taken_from[node];
        } else if (v != NULL) {
            result = v->result;
            node = v->node;
        } else {
            return (emp_port){-1, 0};
        }
    }
    if (l->pieces[node] > 1)
        return (emp_port){l->first[node] + (result < l->pieces[node] ? result : 0), 0};
    return (emp_port){l->first[node], result};
}

/* ---- what an op reads ---- */

/* Walks what one op of a node reads. */
typedef struct {
    const emp_torch_node  *node; /* whose arguments they are */
    emp_torch_walk         at;
    int32_t                piece, pieces;
    bool                   is_first_only, is_done;
    const emp_torch_value *out; /* only written */
} reads;

static reads reads_of(const lowering *l, int32_t node, int32_t piece)
{
    int32_t from = l->calls->taken_from[node];
    bool    is_taken =
        from >= 0 || (l->calls->op_of[node] != NULL && l->calls->op_of[node]->is_getitem);

    return (reads){.node = &l->p->node[from >= 0 ? from : node],
                   .piece = piece,
                   .pieces = l->pieces[node],
                   .out = emp_torch_out(l->calls, node),
                   .is_first_only = is_taken,
                   .is_done = l->p->node[node].what != EMP_TORCH_CALL};
}

static const emp_torch_value *next_read(const lowering *l, reads *r)
{
    const emp_torch_value *v = NULL;

    if (r->is_done) return NULL;
    do v = emp_torch_next_of_piece(l->p, r->node, &r->at, r->piece, r->pieces);
    while (v != NULL && v == r->out);
    r->is_done = v == NULL || r->is_first_only;
    return v;
}

/* ---- colocation ---- */

static void join(lowering *l, emp_op_id a, emp_op_id b)
{
    if (a >= 0 && b >= 0) emp_disjoint_join(l->parent, a, b);
}

static emp_op_id op_of_owner(const lowering *l, const emp_torch_value *v)
{
    return port_of(l, l->calls->owner[v->node], v->result).op;
}

static const emp_tensor_info *result_of(const lowering *l, int32_t node, int32_t piece)
{
    const emp_torch_node *n = &l->p->node[node];

    return piece < n->result_count ? &n->result[piece] : NULL;
}

static bool is_same_shape(const emp_tensor_info *a, const emp_tensor_info *b)
{
    return a != NULL && b != NULL && a->shape.rank > 0 &&
           emp_shape_equal(&a->shape, &b->shape);
}

static bool is_buffer_of_norm(const lowering *l, int32_t node, const emp_torch_value *v)
{
    const emp_aten_op *op = l->calls->op_of[node];

    return op != NULL && op->type != NULL &&
           strcmp(op->type->name, "native_batch_norm") == 0 &&
           l->p->node[l->calls->owner[v->node]].role == EMP_TORCH_BUFFER;
}

/* Whether an "out" overload writes the memory of a placeholder. */
static bool writes_out(const lowering *l, int32_t node)
{
    int32_t owner = l->calls->owner[node];

    return owner != node && l->first[owner] >= 0 && emp_torch_out(l->calls, node) != NULL;
}

/* An op in place is where its buffer is; what follows from an optimizer's state is where that is. */
static void bind_piece(lowering *l, int32_t node, int32_t piece)
{
    emp_op_id              op = l->first[node] + piece;
    const emp_tensor_info *made = result_of(l, node, l->pieces[node] > 1 ? piece : 0);
    reads                  r = reads_of(l, node, piece);
    const emp_torch_value *v;

    if (writes_out(l, node)) join(l, op, l->first[l->calls->owner[node]]);
    while ((v = next_read(l, &r)) != NULL) {
        int32_t   owner = l->calls->owner[v->node];
        emp_op_id from = port_of(l, v->node, v->result).op;
        if (emp_torch_writes(l->calls, node, r.at.argument) ||
            is_buffer_of_norm(l, node, v))
            join(l, op, op_of_owner(l, v));
        bool is_state = l->p->node[owner].role == EMP_TORCH_STATE ||
                        (from >= 0 && l->is_update[from]);
        if (!is_state || !is_same_shape(made, emp_torch_tensor(l->calls, v))) continue;
        join(l, op, op_of_owner(l, v));
        join(l, op, from);
        l->is_update[op] = true;
    }
}

/* The op whose result a view of a result is. */
static int32_t without_views(const lowering *l, int32_t node)
{
    for (int i = 0; i < 8; i++) {
        const emp_aten_op     *op = l->calls->op_of[node];
        const emp_torch_value *v =
            op != NULL && op->is_view ? first_tensor(l, node) : NULL;
        if (v == NULL) break;
        node = v->node;
    }
    return node;
}

/* Marks the op that writes the new value of a placeholder there, if all that read the old one are done. */
static void bind_update(lowering *l, int32_t node, int32_t placeholder)
{
    int32_t   source = without_views(l, node);
    emp_op_id op = port_of(l, source, 0).op;

    if (l->calls->taken_from[source] >= 0) source = l->calls->taken_from[source];
    const emp_aten_op *call = l->calls->op_of[source];
    if (op < 0 || call == NULL) return;
    join(l, op, l->first[placeholder]);
    l->is_update[op] = true;
    if (l->calls->last_reader[placeholder] <= source && !call->is_in_place &&
        !is_free(call))
        l->is_new[op] = true;
}

/* The weights and forward ops of a module share a device. */
static emp_status bind_modules(lowering *l, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap first_of = {0};

    for (int32_t i = 0; i < l->p->node_count; i++) {
        const char *module = l->p->node[i].module;
        if (module == NULL || l->pieces[i] == 0) continue;
        int32_t first = emp_strmap_get(&first_of, module, strlen(module));
        if (first < 0)
            EMP_TRY(emp_strmap_set(&first_of, module, strlen(module), l->first[i], err));
        for (int32_t k = 0; first >= 0 && k < l->pieces[i]; k++)
            join(l, l->first[i] + k, first);
    }

cleanup:
    emp_strmap_clear(&first_of);
    return st;
}

static void bind_all(lowering *l)
{
    for (int32_t i = 0; i < l->p->node_count; i++)
        for (int32_t k = 0; k < l->pieces[i]; k++) bind_piece(l, i, k);
    for (int32_t i = 0; i < l->p->node_count; i++)
        if (l->roles->update_of[i] >= 0) bind_update(l, i, l->roles->update_of[i]);
    for (emp_op_id op = 0; op < l->op_count; op++)
        l->size[emp_disjoint_root(l->parent, op)]++;
}

/* ---- ops ---- */

static const char *type_of(const lowering *l, int32_t node)
{
    static const char *const of_role[] = {"torch.input", "torch.input", "torch.parameter",
                                          "torch.buffer", "torch.optimizer_state"};
    int32_t                  from = l->calls->taken_from[node];

    if (l->p->node[node].what == EMP_TORCH_PLACEHOLDER)
        return of_role[l->p->node[node].role];
    if (emp_torch_is_idle(l->calls, node)) return "aten.alias";
    if (from >= 0) node = from;
    const emp_aten_op *op = l->calls->op_of[node];
    if (op == NULL) return l->p->node[node].target;
    return op->is_getitem ? "aten.select" : op->name;
}

static emp_op_attrs attrs_of(const lowering *l, int32_t node)
{
    bool is_call =
        l->p->node[node].what == EMP_TORCH_CALL && l->calls->op_of[node] != NULL;

    return is_call ? emp_torch_op_attrs(l->calls, node) : (emp_op_attrs){0};
}

static emp_status state_outputs(lowering *l, int32_t node, int32_t piece, emp_op_id op,
                                emp_error *err)
{
    const emp_torch_node  *n = &l->p->node[node];
    const emp_tensor_info *made = n->result;
    int32_t                count = n->result_count;
    emp_tensor_info        one = {.shape = EMP_SHAPE_UNKNOWN, .dtype = EMP_DTYPE_FLOAT};
    reads                  r = reads_of(l, node, piece);
    bool is_kept = n->what == EMP_TORCH_PLACEHOLDER && n->role != EMP_TORCH_INPUT &&
                   n->role != EMP_TORCH_UNTOLD;

    if (l->pieces[node] > 1) {
        const emp_torch_value *v = next_read(l, &r);
        const emp_tensor_info *own = result_of(l, node, piece);
        if (own == NULL && v != NULL) own = emp_torch_tensor(l->calls, v);
        if (own != NULL) one = *own;
        made = &one;
        count = 1;
    } else if (count == 0) {
        made = &one;
        count = l->calls->reader_offset[node] < l->calls->reader_offset[node + 1];
    } else if (count == 1) {
        one = n->result[0];
        made = &one;
    }
    one.is_ref = is_kept || l->is_new[op] || writes_out(l, node);
    return emp_graph_builder_state_outputs(l->builder, op, made, count, err);
}

static emp_status declare_piece(lowering *l, int32_t node, int32_t piece, emp_error *err)
{
    const emp_torch_node *n = &l->p->node[node];
    emp_op_attrs          attrs = attrs_of(l, node);
    const char           *type = type_of(l, node);
    char                  name[NAME_BYTES], number[16] = "";
    emp_op_id             op, planned = l->first[node] + piece;
    emp_op_id             root = emp_disjoint_root(l->parent, planned);

    if (l->pieces[node] > 1) snprintf(number, sizeof number, ".%d", piece);
    int length =
        snprintf(name, sizeof name, "%s%s%s%s", n->module == NULL ? "" : n->module,
                 n->module == NULL ? "" : "/", n->name, number);
    if (l->size[root] > 1) attrs.colocation = root + 1;
    emp_status st = emp_graph_builder_declare(l->builder, name, (size_t)length, type,
                                              strlen(type), &attrs, NULL, 0, &op, err);
    if (st != EMP_OK) return st == EMP_EINVAL ? EMP_EFORMAT : st;
    return state_outputs(l, node, piece, op, err);
}

static emp_status connect_piece(lowering *l, order_of_buffers *order, int32_t node,
                                int32_t piece, emp_error *err)
{
    emp_op_id op = l->first[node] + piece;
    bool is_view = is_free(l->calls->op_of[node]) || emp_torch_is_idle(l->calls, node) ||
                   l->calls->taken_from[node] >= 0;
    reads                  r = reads_of(l, node, piece);
    const emp_torch_value *v;

    while ((v = next_read(l, &r)) != NULL) {
        emp_port from = port_of(l, v->node, v->result);
        if (from.op < 0) continue;
        EMP_CHECK(emp_graph_builder_connect(l->builder, from, op, err));
        if (!is_view)
            EMP_CHECK(order_read(order, l->calls->owner[v->node], from.op, op, err));
    }
    r = reads_of(l, node, piece);
    while ((v = next_read(l, &r)) != NULL)
        if (emp_torch_writes(l->calls, node, r.at.argument))
            EMP_CHECK(order_write(order, l->calls->owner[v->node], op, err));
    if (!writes_out(l, node)) return EMP_OK;
    int32_t owner = l->calls->owner[node];
    EMP_CHECK(emp_graph_builder_add_control(l->builder, l->first[owner], op, err));
    return order_write(order, owner, op, err);
}

/* The node of an update is the one that the step gives back: the op may stand before it. */
static emp_status order_update(lowering *l, order_of_buffers *order, int32_t node,
                               emp_error *err)
{
    emp_op_id op = port_of(l, without_views(l, node), 0).op;

    if (op < 0 || !l->is_new[op]) return EMP_OK;
    emp_graph_builder_set_target(l->builder, op);
    return order_write(order, l->roles->update_of[node], op, err);
}

static void mark_targets(lowering *l)
{
    bool is_marked = false;

    for (int32_t i = 0; i < l->p->node_count; i++) {
        reads                  r = reads_of(l, i, 0);
        const emp_torch_value *v;
        emp_torch_walk         at = {0};
        if (l->p->node[i].what == EMP_TORCH_OUTPUT) {
            while ((v = emp_torch_next_tensor(l->p, &l->p->node[i], &at)) != NULL) {
                emp_op_id op = port_of(l, v->node, v->result).op;
                if (op >= 0) emp_graph_builder_set_target(l->builder, op);
                is_marked = is_marked || op >= 0;
            }
        }
        if (writes_out(l, i)) emp_graph_builder_set_target(l->builder, l->first[i]);
        is_marked = is_marked || writes_out(l, i);
        for (int32_t k = 0; k < l->pieces[i]; k++) {
            r = reads_of(l, i, k);
            while ((v = next_read(l, &r)) != NULL) {
                bool is_kept =
                    l->p->node[l->calls->owner[v->node]].what == EMP_TORCH_PLACEHOLDER;
                if (!is_kept || !emp_torch_writes(l->calls, i, r.at.argument)) continue;
                emp_graph_builder_set_target(l->builder, l->first[i] + k);
                is_marked = true;
            }
        }
    }
    if (!is_marked) emp_graph_builder_set_target(l->builder, l->op_count - 1);
}

/* Adds the ops and marks the targets. O(nodes + arguments) expected.
 * \retval EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ENOMEM */
static emp_status emp_torch_lower(emp_graph_builder     *builder,
                                  const emp_torch_calls *calls,
                                  const emp_torch_roles *roles, emp_error *err)
{
    emp_status st = EMP_OK;
    lowering   l = {
          .builder = builder, .calls = calls, .p = calls->program, .roles = roles};
    order_of_buffers order = {0};

    /* Eager mode issues ops so that of all that wait the first one of the program is next. */
    emp_graph_builder_set_program_order(builder);
    EMP_TRY(plan(&l, err));
    if (l.op_count == 0) EMP_FAIL(EMP_EFORMAT, "the graph has no op");
    EMP_TRY(bind_modules(&l, err));
    bind_all(&l);
    for (int32_t i = 0; i < l.p->node_count; i++)
        for (int32_t k = 0; k < l.pieces[i]; k++) EMP_TRY(declare_piece(&l, i, k, err));
    EMP_TRY(order_init(&order, builder, l.p->node_count, err));
    for (int32_t i = 0; i < l.p->node_count; i++) {
        for (int32_t k = 0; k < l.pieces[i]; k++)
            EMP_TRY(connect_piece(&l, &order, i, k, err));
        if (roles->update_of[i] >= 0) EMP_TRY(order_update(&l, &order, i, err));
    }
    mark_targets(&l);

cleanup:
    order_clear(&order);
    emp_arrays_clear(&l.arrays);
    return st;
}

/* Graphs of PyTorch: torch.fx graphs as JSON, archives of torch.export. */

/* ---- notes of a file ---- */

static void say_how_much_is_known(emp_text *n, const emp_torch_calls *c)
{
    const emp_torch_program *p = c->program;
    int32_t                  unknown = 0;
    const char              *example = "";

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].what != EMP_TORCH_CALL) continue;
        if (c->op_of[i] != NULL && c->op_of[i]->type != NULL) continue;
        if (unknown++ == 0) example = p->node[i].target;
    }
    emp_text_add(n, "A %s of %d node%s, ", p->kind, p->node_count,
                 emp_units_plural(p->node_count));
    if (unknown == 0)
        emp_text_add(n, "all known");
    else
        emp_text_add(n, "%d of unknown ops, which count as element-wise (%.60s%s)",
                     unknown, example, unknown > 1 ? ", ..." : "");
}

static void say_roles(emp_text *n, const emp_torch_roles *r)
{
    emp_text_add(
        n,
        ". It has %d parameter%s, %d state%s of an optimizer, %d buffer%s and %d input%s",
        r->count[EMP_TORCH_PARAMETER], emp_units_plural(r->count[EMP_TORCH_PARAMETER]),
        r->count[EMP_TORCH_STATE], emp_units_plural(r->count[EMP_TORCH_STATE]),
        r->count[EMP_TORCH_BUFFER], emp_units_plural(r->count[EMP_TORCH_BUFFER]),
        r->count[EMP_TORCH_INPUT], emp_units_plural(r->count[EMP_TORCH_INPUT]));
    if (r->by_graph + r->by_name == 0) return;
    emp_text_add(n, "; assumed: %d role%s by what the step gives back, %d by name",
                 r->by_graph, emp_units_plural(r->by_graph), r->by_name);
}

static void say_parameters(emp_text *n, const emp_torch_program *p)
{
    int64_t elements = 0;

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].role != EMP_TORCH_PARAMETER || p->node[i].result_count != 1)
            continue;
        int64_t own = emp_shape_elements(&p->node[i].result[0].shape);
        if (__builtin_add_overflow(elements, own, &elements)) elements = INT64_MAX;
    }
    if (p->stated_parameters >= 0 && p->stated_parameters != elements)
        emp_text_add(n,
                     ". The file states %" PRId64 " parameters, and these have %" PRId64,
                     p->stated_parameters, elements);
    emp_text_add(n,
                 p->hides_ties
                     ? ". It was exported on \"meta\", so parameters that share a tensor "
                       "are counted each."
                     : ".");
}

static void say_modules(emp_text *n, const emp_torch_program *p)
{
    for (int32_t i = 0; i < p->node_count; i++)
        if (p->node[i].module != NULL) return;
    emp_text_add(n, " It names no modules, so there is no device_map of it.");
}

/* torch.cond and its like take graphs as operands, which no op of the table stands for. */
static void warn_of_graphs_within(emp_import_notes *notes, const emp_torch_calls *c)
{
    for (int32_t i = 0; i < c->program->node_count; i++) {
        const emp_torch_node *n = &c->program->node[i];
        if (n->what == EMP_TORCH_CALL && strstr(n->target, "higher_order") != NULL &&
            (c->op_of[i] == NULL || c->op_of[i]->type == NULL))
            emp_import_notes_warn(notes,
                                  "%.80s (%.80s) runs a graph of its own, whose work is "
                                  "not counted",
                                  n->name, n->target);
    }
}

/* ---- reading ---- */

static emp_status read_archive(emp_torch_program *program, emp_slice archive,
                               emp_import_notes *notes, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    emp_pt2_weights   weights = {0};
    char             *json = NULL;
    size_t            size = 0;

    EMP_TRY(emp_pt2_unpack(archive.data, archive.size, &json, &size, err));
    EMP_TRY(emp_json_parse(&d, json, size, err));
    EMP_TRY(emp_pt2_weights_read(&weights, archive.data, archive.size, err));
    EMP_TRY(emp_pt2_read(program, d.root, &weights, notes, err));

cleanup:
    emp_pt2_weights_clear(&weights);
    emp_json_clear(&d);
    emp_free(json);
    return st;
}

emp_status emp_pytorch_lower(emp_graph_builder *builder, emp_reading *r,
                             emp_torch_program *program, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_torch_calls calls = {0};
    emp_torch_roles roles = {0};
    emp_text        n = {r->devices->note, sizeof r->devices->note, 0};

    EMP_TRY(emp_torch_calls_init(&calls, program, err));
    EMP_TRY(emp_torch_roles_find(&roles, &calls, err));
    EMP_TRY(emp_torch_lower(builder, &calls, &roles, err));
    warn_of_graphs_within(r->notes, &calls);
    say_how_much_is_known(&n, &calls);
    say_roles(&n, &roles);
    say_parameters(&n, program);
    say_modules(&n, program);

cleanup:
    emp_torch_roles_clear(&roles);
    emp_torch_calls_clear(&calls);
    return st;
}

emp_status emp_pytorch_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_torch_program program = {0};
    emp_status        st = r->json != NULL ? emp_fx_json_read(&program, r->json, err)
                                           : read_archive(&program, r->bytes, r->notes, err);

    if (st == EMP_OK) st = emp_pytorch_lower(builder, r, &program, err);
    emp_torch_program_clear(&program);
    return st;
}
