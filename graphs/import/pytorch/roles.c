// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/lower.h"

#include <string.h>

#include "base/mem.h"

/* An update has about a dozen ops; of a longer one not all are seen. */
enum { WALK_MAX = 64, CANDIDATES_MAX = 6, ROUNDS_MAX = 8 };

/* A result of the step, and the placeholders that it may be the new value of. */
typedef struct {
    int32_t node, count, candidate[CANDIDATES_MAX];
    int32_t claimed; /* the one that it is; -1 */
} outcome;

typedef struct {
    emp_torch_calls *calls;
    emp_torch_roles *roles;
    outcome         *outcome;
    int32_t          outcome_count;
    int32_t         *stamp;      /* [node] the outcome whose walk has been there */
    bool            *is_claimed; /* [node] of a placeholder */
    bool            *is_written; /* [node] of a placeholder that an op in place changes */
} finder;

void emp_torch_roles_clear(emp_torch_roles *roles)
{
    emp_arrays_clear(&roles->arrays);
    *roles = (emp_torch_roles){0};
}

static bool is_placeholder(const emp_torch_program *p, int32_t node)
{
    return p->node[node].what == EMP_TORCH_PLACEHOLDER && p->node[node].result_count == 1;
}

static bool is_alike(const emp_tensor_info *a, const emp_tensor_info *b)
{
    return a != NULL && b != NULL && a->dtype == b->dtype &&
           emp_shape_equal(&a->shape, &b->shape);
}

static bool is_float(emp_dtype dtype)
{
    return dtype != EMP_DTYPE_BOOL && !emp_dtype_is_integer(dtype);
}

/* ---- new values ---- */

static bool works_by_element(const emp_torch_calls *c, int32_t node)
{
    const emp_aten_op *op = c->op_of[node];

    if (op == NULL) return false;
    if (c->taken_from[node] >= 0) op = c->op_of[c->taken_from[node]];
    return op->type != NULL &&
           (op->is_view || op->is_list || op->is_getitem ||
            op->type->work == EMP_WORK_ELEMENTWISE || op->type->work == EMP_WORK_CAST ||
            op->type->work == EMP_WORK_MOVE);
}

static void add_candidate(outcome *o, int32_t placeholder)
{
    for (int32_t i = 0; i < o->count; i++)
        if (o->candidate[i] == placeholder) return;
    if (o->count < CANDIDATES_MAX) o->candidate[o->count++] = placeholder;
}

/* From a result back through ops by element to placeholders of its shape, but for those that the file calls inputs. For
 * an op of lists only the tensors at the place of its result matter. */
static void walk_back(finder *f, outcome *o, int32_t number)
{
    const emp_torch_program *p = f->calls->program;
    const emp_tensor_info   *made = p->node[o->node].result;
    int32_t                  stack[WALK_MAX], top = 0, steps = 0;

    if (p->node[o->node].result_count == 0) return;
    stack[top++] = o->node;
    while (top > 0 && steps++ < WALK_MAX) {
        int32_t node = stack[--top], source = node;
        if (is_placeholder(p, node)) {
            if (p->node[node].role != EMP_TORCH_INPUT) add_candidate(o, node);
            continue;
        }
        if (p->node[node].what != EMP_TORCH_CALL || !works_by_element(f->calls, node))
            continue;
        if (f->calls->taken_from[node] >= 0) source = f->calls->taken_from[node];
        int32_t                pieces = emp_torch_list_count(f->calls, source);
        emp_torch_walk         at = {0};
        const emp_torch_value *v;
        while ((v = emp_torch_next_of_piece(p, &p->node[source], &at,
                                            f->calls->taken[node], pieces)) != NULL) {
            if (f->stamp[v->node] == number || top == WALK_MAX ||
                !is_alike(emp_torch_tensor(f->calls, v), made))
                continue;
            f->stamp[v->node] = number;
            stack[top++] = v->node;
        }
    }
}

static void claim(finder *f, outcome *o, int32_t placeholder)
{
    o->claimed = placeholder;
    f->is_claimed[placeholder] = true;
}

/* Who has one candidate left takes it, which may leave another with one. */
static void settle(finder *f, bool is_last)
{
    for (int32_t i = 0; i < f->outcome_count; i++) {
        outcome *o = &f->outcome[i];
        int32_t  left = 0, which = -1;
        for (int32_t k = 0; o->claimed < 0 && k < o->count; k++) {
            if (f->is_claimed[o->candidate[k]]) continue;
            if (left++ == 0) which = o->candidate[k];
        }
        if (left == 1 || (left > 1 && is_last)) claim(f, o, which);
    }
}

static emp_status find_outcomes(finder *f, emp_error *err)
{
    const emp_torch_program *p = f->calls->program;
    int32_t                  count = 0;

    for (int32_t i = 0; i < p->node_count; i++) {
        f->stamp[i] = -1;
        emp_torch_walk at = {0};
        if (p->node[i].what == EMP_TORCH_OUTPUT)
            while (emp_torch_next_tensor(p, &p->node[i], &at) != NULL) count++;
    }
    EMP_CHECK(EMP_ALLOC(f->outcome, (size_t)count));
    for (int32_t i = 0; i < p->node_count; i++) {
        emp_torch_walk         at = {0};
        const emp_torch_value *v;
        if (p->node[i].what != EMP_TORCH_OUTPUT) continue;
        while ((v = emp_torch_next_tensor(p, &p->node[i], &at)) != NULL) {
            outcome *o = &f->outcome[f->outcome_count];
            *o = (outcome){.node = v->node, .claimed = -1};
            if (p->node[v->node].what == EMP_TORCH_CALL)
                walk_back(f, o, f->outcome_count);
            f->outcome_count++;
        }
    }
    return EMP_OK;
}

/* A graph without an update may compute its result element by element, too. */
static void find_updates(finder *f)
{
    int32_t claimed = 0;

    for (int i = 0; i < ROUNDS_MAX; i++) settle(f, false);
    settle(f, true);
    for (int32_t i = 0; i < f->outcome_count; i++) claimed += f->outcome[i].claimed >= 0;
    if (f->outcome_count < 2 || 2 * claimed < f->outcome_count) {
        memset(f->is_claimed, 0,
               (size_t)f->calls->program->node_count * sizeof *f->is_claimed);
        return;
    }
    for (int32_t i = 0; i < f->outcome_count; i++)
        if (f->outcome[i].claimed >= 0)
            f->roles->update_of[f->outcome[i].node] = f->outcome[i].claimed;
}

/* ---- roles ---- */

static bool is_norm_of_batches(const emp_aten_op *op)
{
    return op->type != NULL && strstr(op->type->name, "batch_norm") != NULL;
}

/* Whether a call does more with a placeholder than to update it: it reads it for a result of another
 * shape, or not by element. Sets *is_statistic for what norms of batches keep. */
static bool is_used(finder *f, int32_t placeholder, bool *is_statistic)
{
    const emp_torch_calls   *c = f->calls;
    const emp_torch_program *p = c->program;
    const emp_tensor_info   *own = p->node[placeholder].result;
    int32_t                  stack[WALK_MAX], top = 0, steps = 0;
    bool                     is_read = false;

    stack[top++] = placeholder;
    while (top > 0 && steps++ < WALK_MAX) {
        int32_t node = stack[--top];
        for (int32_t i = c->reader_offset[node]; i < c->reader_offset[node + 1]; i++) {
            int32_t            reader = c->reader[i];
            const emp_aten_op *op = c->op_of[reader];
            if (op == NULL) continue;
            if (op->is_view || op->is_getitem) {
                if (top < WALK_MAX) stack[top++] = reader;
                continue;
            }
            if (is_norm_of_batches(op)) {
                const emp_torch_value *mean = emp_torch_argument(
                    p, &p->node[reader], strstr(op->name, "backward") != NULL ? 99 : 3,
                    "running_mean");
                const emp_torch_value *var = emp_torch_argument(
                    p, &p->node[reader], mean == NULL ? 99 : 4, "running_var");
                if ((mean != NULL && mean->node == node) ||
                    (var != NULL && var->node == node)) {
                    *is_statistic = true;
                    continue;
                }
            }
            bool is_alone = works_by_element(c, reader) &&
                            p->node[reader].result_count > 0 &&
                            is_alike(&p->node[reader].result[0], own);
            if (!is_alone && !op->is_list) is_read = true;
        }
    }
    return is_read;
}

static emp_torch_role role_of_name(const char *name)
{
    static const struct {
        const char    *prefix;
        emp_torch_role role;
    } table[] = {
        {"ps_", EMP_TORCH_PARAMETER},   {"p_", EMP_TORCH_PARAMETER},
        {"param", EMP_TORCH_PARAMETER}, {"weight", EMP_TORCH_PARAMETER},
        {"bufs_", EMP_TORCH_BUFFER},    {"b_", EMP_TORCH_BUFFER},
        {"buf", EMP_TORCH_BUFFER},      {"c_", EMP_TORCH_BUFFER},
        {"lifted", EMP_TORCH_BUFFER},   {"_tensor_constant", EMP_TORCH_BUFFER},
        {"const", EMP_TORCH_BUFFER},    {"ms_", EMP_TORCH_STATE},
        {"vs_", EMP_TORCH_STATE},       {"exp_avg", EMP_TORCH_STATE},
        {"opt", EMP_TORCH_STATE},       {"state", EMP_TORCH_STATE},
        {"momentum", EMP_TORCH_STATE},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strncmp(name, table[i].prefix, strlen(table[i].prefix)) == 0)
            return table[i].role;
    return EMP_TORCH_INPUT;
}

/* AOTAutograd calls all that it differentiates "primals"; it gives back gradients of the parameters. */
static bool has_gradient(const finder *f, int32_t placeholder)
{
    const emp_torch_program *p = f->calls->program;
    const emp_tensor_info   *own = p->node[placeholder].result;

    if (strncmp(p->node[placeholder].name, "primals", 7) != 0) return false;
    for (int32_t i = 0; i < f->outcome_count; i++)
        if (p->node[f->outcome[i].node].result_count > 0 &&
            is_alike(p->node[f->outcome[i].node].result, own))
            return true;
    return false;
}

static void give_role(finder *f, int32_t i)
{
    emp_torch_node  *n = &f->calls->program->node[i];
    emp_torch_roles *r = f->roles;
    bool             is_statistic = false;

    if (n->role == EMP_TORCH_UNTOLD) {
        bool is_read = is_used(f, i, &is_statistic);
        bool is_kept = f->is_claimed[i] || f->is_written[i];
        r->by_graph++;
        if (is_statistic)
            n->role = EMP_TORCH_BUFFER;
        else if (is_kept && is_float(n->result[0].dtype))
            n->role = is_read ? EMP_TORCH_PARAMETER : EMP_TORCH_STATE;
        else if (is_kept)
            n->role = EMP_TORCH_BUFFER;
        else if (has_gradient(f, i))
            n->role = EMP_TORCH_PARAMETER;
        else {
            n->role = role_of_name(n->name);
            r->by_graph--;
            r->by_name++;
        }
    } else {
        r->told++;
    }
    r->count[n->role]++;
}

static void find_written(finder *f)
{
    const emp_torch_calls   *c = f->calls;
    const emp_torch_program *p = c->program;

    for (int32_t i = 0; i < p->node_count; i++) {
        emp_torch_walk         at = {0};
        const emp_torch_value *v;
        if ((v = emp_torch_out(c, i)) != NULL) f->is_written[c->owner[v->node]] = true;
        if (c->op_of[i] == NULL || !c->op_of[i]->is_in_place) continue;
        while ((v = emp_torch_next_tensor(p, &p->node[i], &at)) != NULL)
            if (emp_torch_writes(c, i, at.argument))
                f->is_written[c->owner[v->node]] = true;
    }
}

emp_status emp_torch_roles_find(emp_torch_roles *roles, emp_torch_calls *calls,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    nodes = calls->program->node_count;
    finder     f = {.calls = calls, .roles = roles};

    *roles = (emp_torch_roles){0};
    roles->update_of = EMP_ADD_ARRAY(&roles->arrays, int32_t, (size_t)nodes);
    f.stamp = EMP_ADD_ARRAY(&roles->arrays, int32_t, (size_t)nodes);
    f.is_claimed = EMP_ADD_ARRAY(&roles->arrays, bool, (size_t)nodes);
    f.is_written = EMP_ADD_ARRAY(&roles->arrays, bool, (size_t)nodes);
    if (roles->arrays.is_short) EMP_FAIL(EMP_ENOMEM, "roles of %d nodes", nodes);
    for (int32_t i = 0; i < nodes; i++) roles->update_of[i] = -1;
    EMP_TRY(find_outcomes(&f, err));
    find_updates(&f);
    find_written(&f);
    for (int32_t i = 0; i < nodes; i++)
        if (is_placeholder(calls->program, i)) give_role(&f, i);

cleanup:
    emp_free(f.outcome);
    return st;
}
