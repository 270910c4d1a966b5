// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/container.h"

#include "base/collections.h"
#include "base/mem.h"

typedef struct {
    const emp_graph *graph;
    bool            *is_target;
    int32_t          count;
    emp_strmap       names; /* to op ids; filled where names are looked up */
} marker;

static void mark(marker *m, emp_op_id op)
{
    m->count += !m->is_target[op];
    m->is_target[op] = true;
}

static emp_status index_names(marker *m, emp_error *err)
{
    for (emp_op_id op = 0; op < m->graph->op_count; op++) {
        const char *name = m->graph->name[op];
        EMP_CHECK(emp_strmap_set(&m->names, name, strlen(name), op, err));
    }
    return EMP_OK;
}

/* The op that a name, perhaps with a port or as a control input, means; -1 = none. */
static emp_op_id find_op(const marker *m, emp_slice name)
{
    const char *colon = memchr(name.data, ':', name.size);

    if (colon != NULL) name.size = (size_t)(colon - name.data);
    if (emp_slice_starts(name, "^")) name = (emp_slice){name.data + 1, name.size - 1};
    return emp_strmap_get(&m->names, name.data, name.size);
}

/* A name that leads nowhere leaves the search to the other rules. */
static emp_status visit_train_op(void *context, emp_slice name, emp_error *err)
{
    marker   *m = context;
    emp_op_id op = find_op(m, name);

    (void)err;
    if (op >= 0) mark(m, op);
    return EMP_OK;
}

static bool is_assign(const emp_graph *g, emp_op_id op)
{
    return (g->op[op].flags & EMP_OP_ASSIGNS) != 0;
}

/* Ops that change variables in a step. Assign initialises and restores; where an
 * optimizer uses it, the train op waits for it. */
static bool is_update(const emp_graph *g, emp_op_id op)
{
    uint32_t flags = g->op[op].flags;

    return (flags & EMP_OP_IS_OPTIMIZER) ||
           ((flags & EMP_OP_UPDATES_REF) && !is_assign(g, op));
}

/* Ops that save or restore variables are no step, and neither is what waits for them. */
static bool is_beside_step(const emp_graph *g, emp_op_id op)
{
    static const char *const types[] = {
        "Save",      "SaveSlices",        "SaveV2", "Restore", "RestoreSlice",
        "RestoreV2", "MergeV2Checkpoints"};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(g->type_name[g->type[op]], types[i]) == 0) return true;
    return is_assign(g, op);
}

static bool is_sink(const emp_graph *g, emp_op_id op)
{
    return g->consumer_offset[g->output_offset[op]] ==
               g->consumer_offset[g->output_offset[op + 1]] &&
           g->control_out_offset[op] == g->control_out_offset[op + 1];
}

static bool has_inputs(const emp_graph *g, emp_op_id op)
{
    return g->input_offset[op] < g->input_offset[op + 1] ||
           g->control_offset[op] < g->control_offset[op + 1];
}

/* Sets reached[op] for ops that are seeds or wait for one. */
static void reach(const emp_graph *g, bool (*is_seed)(const emp_graph *, emp_op_id),
                  bool            *reached)
{
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        bool      is_reached = is_seed(g, op);
        for (int32_t k = g->input_offset[op]; k < g->input_offset[op + 1]; k++)
            is_reached = is_reached || reached[g->tensor[g->input[k]].producer];
        for (int32_t k = g->control_offset[op]; k < g->control_offset[op + 1]; k++)
            is_reached = is_reached || reached[g->control[k]];
        reached[op] = is_reached;
    }
}

/* Whether a name lies in a scope "gradients" or "gradients_1" at any level. */
static bool is_in_gradients(const char *name)
{
    for (const char *scope = name; scope != NULL; scope = strchr(scope, '/')) {
        scope += *scope == '/';
        if (strncmp(scope, "gradients", 9) != 0) continue;
        const char *rest = scope + 9;
        if (*rest == '_') rest += 1 + strspn(rest + 1, "0123456789");
        if (*rest == '/') return true;
    }
    return false;
}

/* A scalar that nobody reads, and that is computed and not just a variable's value. */
static bool is_loss(const emp_graph *g, emp_op_id op)
{
    if (!is_sink(g, op) || g->input_offset[op] == g->input_offset[op + 1] ||
        g->output_offset[op] == g->output_offset[op + 1] || is_in_gradients(g->name[op]))
        return false;
    const emp_tensor *out = &g->tensor[g->output_offset[op]];
    return out->dtype == EMP_DTYPE_FLOAT && out->shape->rank == 0 && !out->is_ref &&
           !g->tensor[g->input[g->input_offset[op]]].is_ref;
}

/* Marks the updates, the sinks behind them (the op that a training loop runs comes after
 * all updates), and the losses. */
static void mark_training(marker *m, bool *reached)
{
    const emp_graph *g = m->graph;
    bool             any = false;

    for (emp_op_id op = 0; op < g->op_count; op++) any = any || is_update(g, op);
    if (!any) return;
    reach(g, is_update, reached);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (is_update(g, op) || (reached[op] && is_sink(g, op)) || is_loss(g, op))
            mark(m, op);
    }
}

/* Marks the sinks that are computed, but not those that initialise, save or restore variables. */
static void mark_inference(marker *m, bool *reached)
{
    const emp_graph *g = m->graph;

    reach(g, is_beside_step, reached);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (is_sink(g, op) && !reached[op] && has_inputs(g, op)) mark(m, op);
    }
}

/* A graph of which nothing else is left, as one that initialises variables, is its own step. */
static void mark_sinks(marker *m)
{
    const emp_graph *g = m->graph;

    for (emp_op_id op = 0; m->count == 0 && op < g->op_count; op++)
        m->is_target[op] = is_sink(g, op);
}

static emp_status parse(marker *m, const char *list, emp_error *err)
{
    EMP_CHECK(index_names(m, err));
    for (const char *at = list; *at != '\0'; at += *at == ',') {
        emp_slice name = {at, strcspn(at, ",")};
        at += name.size;
        if (name.size == 0) continue;
        emp_op_id op = find_op(m, name);
        if (op < 0)
            return EMP_ERROR(EMP_EINVAL, "the target \"%.*s\" is no op of this graph",
                             EMP_SLICE_ARG(name));
        mark(m, op);
    }
    if (m->count == 0)
        return EMP_ERROR(EMP_EINVAL, "the list of targets \"%s\" names no op", list);
    return EMP_OK;
}

emp_status emp_targets_parse(emp_graph *graph, const char *list, emp_error *err)
{
    emp_status st = EMP_OK;
    marker     m = {.graph = graph};

    EMP_TRY(EMP_ALLOC(m.is_target, (size_t)graph->op_count));
    EMP_TRY(parse(&m, list, err));
    emp_graph_set_targets(graph, m.is_target);

cleanup:
    emp_strmap_clear(&m.names);
    emp_free(m.is_target);
    return st;
}

emp_status emp_targets_find(emp_graph *graph, emp_message_file *file, emp_slice meta,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    marker     m = {.graph = graph};
    bool      *reached = NULL;

    EMP_TRY(EMP_ALLOC(m.is_target, (size_t)graph->op_count));
    EMP_TRY(EMP_ALLOC(reached, (size_t)graph->op_count));
    if (meta.data != NULL) {
        EMP_TRY(index_names(&m, err));
        EMP_TRY(emp_container_each_train_op(file, meta, visit_train_op, &m, err));
    }
    if (m.count == 0) mark_training(&m, reached);
    if (m.count == 0) mark_inference(&m, reached);
    if (m.count == 0 && meta.data != NULL)
        EMP_FAIL(
            EMP_EUNSUPPORTED,
            "no signature, and nothing in the graph but variables with what saves and "
            "restores them; save the model with a signature: "
            "tf.saved_model.save(model, DIR, signatures=...)");
    if (m.count == 0) mark_sinks(&m);
    emp_graph_set_targets(graph, m.is_target);

cleanup:
    emp_free(reached);
    emp_strmap_clear(&m.names);
    emp_free(m.is_target);
    return st;
}
