// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/execution/hierarchy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/import/pytorch/lower.h"
#include "graphs/import/traces/step_graph.h"

/* The work of a call besides the calls within it. */
typedef enum {
    DOES_NOTHING,
    ALLOCATES,
    HELPS,
    GATHERS,
    LOOKS_UP,
    WORKS,
    MULTIPLIES
} deed;

typedef struct {
    emp_strmap deed_of_name;
    deed      *deed;           /* [call] */
    bool      *has_worker;     /* [call] a call within it works */
    bool      *has_multiplier; /* [call] a call within it multiplies matrices */
    bool      *is_done;        /* [call] it is taken, or a call around it is */
} finder;

/* ---- nodes ---- */

static emp_status read_node(emp_execution_call *call, const emp_json *node,
                            int32_t number, emp_error *err)
{
    const emp_json *id = emp_json_get(node, "id");
    const char     *schema = emp_json_string(emp_execution_attribute(node, "op_schema"));
    const char     *backend =
        emp_json_string(emp_execution_attribute(node, "kernel_backend"));

    *call = (emp_execution_call){.json = node,
                                 .name = emp_json_string(emp_json_get(node, "name")),
                                 .schema = schema == NULL ? "" : schema,
                                 .id = emp_json_integer(id),
                                 .parent = -1,
                                 .is_triton =
                                     backend != NULL && strcmp(backend, "triton") == 0};
    if (call->name != NULL && emp_json_is(id, EMP_JSON_INTEGER)) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "nodes[%d] has no %s", number,
                     call->name == NULL ? "name" : "id");
}

static int by_id(const void *a, const void *b)
{
    const emp_execution_call *x = (const emp_execution_call *)a;
    const emp_execution_call *y = (const emp_execution_call *)b;

    return (x->id > y->id) - (x->id < y->id);
}

/* The parent is "parent" in old traces, and the one control dependency in new ones. */
static void find_parent(emp_execution_calls *calls, int32_t i)
{
    emp_execution_call *call = &calls->call[i];
    const emp_json     *parent = emp_json_get(call->json, "parent");

    if (parent == NULL) parent = emp_json_get(call->json, "ctrl_deps");
    emp_execution_call  wanted = {.id = emp_json_integer(parent)};
    emp_execution_call *found =
        bsearch(&wanted, calls->call, (size_t)calls->count, sizeof *found, by_id);
    if (emp_json_is(parent, EMP_JSON_INTEGER) && found != NULL && found < call)
        call->parent = (int32_t)(found - calls->call);
}

static emp_status read_nodes(emp_execution_calls *out, const emp_json *root,
                             emp_error *err)
{
    const emp_json *nodes = emp_json_get(root, "nodes");

    EMP_CHECK(EMP_ALLOC(out->call, (size_t)emp_json_count(nodes)));
    for (const emp_json *v = emp_json_first(nodes); v != NULL;
         v = emp_json_next(v), out->count++)
        EMP_CHECK(read_node(&out->call[out->count], v, out->count, err));
    qsort(out->call, (size_t)out->count, sizeof *out->call, by_id);
    for (int32_t i = 1; i < out->count; i++)
        if (out->call[i].id == out->call[i - 1].id)
            return EMP_ERROR(EMP_EFORMAT, "two nodes have the id %" PRId64,
                             out->call[i].id);
    for (int32_t i = 0; i < out->count; i++) find_parent(out, i);
    return EMP_OK;
}

/* ---- what did the work ---- */

static deed deed_of_op(const emp_aten_op *op)
{
    if (op->is_view || op->is_getitem) return DOES_NOTHING;
    switch (op->type->work) {
    case EMP_WORK_NOTHING: return ALLOCATES;
    case EMP_WORK_FILL:
    case EMP_WORK_MOVE:
    case EMP_WORK_CAST: return HELPS;
    case EMP_WORK_GATHER: return GATHERS;
    case EMP_WORK_LOOKUP: return LOOKS_UP;
    case EMP_WORK_PRODUCT:
    case EMP_WORK_CONVOLUTION:
    case EMP_WORK_RECURRENT:
    case EMP_WORK_ATTENTION: return MULTIPLIES;
    default: return WORKS;
    }
}

static deed deed_of(const emp_execution_call *call)
{
    emp_aten_op op;

    if (call->is_triton) return WORKS;
    if (strstr(call->name, "::") == NULL) return DOES_NOTHING;
    if (!emp_aten_parse(&op, call->name, strlen(call->name))) return DOES_NOTHING;
    if (op.type != NULL) return deed_of_op(&op);
    return call->schema[0] != '\0' ? WORKS : DOES_NOTHING;
}

static emp_status find_deeds(finder *f, const emp_execution_calls *calls, emp_error *err)
{
    for (int32_t i = 0; i < calls->count; i++) {
        const emp_execution_call *call = &calls->call[i];
        size_t                    length = strlen(call->name);
        int32_t known = emp_strmap_get(&f->deed_of_name, call->name, length);
        if (known < 0) {
            known = (int32_t)deed_of(call);
            EMP_CHECK(emp_strmap_set(&f->deed_of_name, call->name, length, known, err));
        }
        f->deed[i] = (deed)known;
    }
    return EMP_OK;
}

/* Whether a call is how the one around it works in place: "aten::mul" within "aten::mul_", which writes its operand. */
static bool is_its_form(const emp_execution_call *call, const emp_execution_call *parent)
{
    size_t length = strlen(call->name);

    return strncmp(call->name, parent->name, length) == 0 &&
           strcmp(parent->name + length, "_") == 0;
}

/* Whether a call leaves nothing to do to the one around it. */
static bool works_for(const finder *f, const emp_execution_calls *calls, int32_t call)
{
    int32_t parent = calls->call[call].parent;

    if (is_its_form(&calls->call[call], &calls->call[parent])) return false;
    if (f->deed[call] == GATHERS && f->deed[parent] == LOOKS_UP)
        return f->has_worker[call];
    return f->has_worker[call] || f->deed[call] >= GATHERS;
}

/* From the innermost calls outwards, then from the outermost inwards. A helper is part of a call around it that
 * is taken, and so is an allocation. */
static void take(finder *f, emp_execution_calls *calls)
{
    static const char optimizer[] = "Optimizer.step#"; /* then the name of its class */

    for (int32_t i = calls->count - 1; i >= 0; i--) {
        const emp_execution_call *call = &calls->call[i];
        if (call->parent < 0) continue;
        if (works_for(f, calls, i)) f->has_worker[call->parent] = true;
        if (f->has_multiplier[i] || f->deed[i] == MULTIPLIES)
            f->has_multiplier[call->parent] = true;
    }
    for (int32_t i = 0; i < calls->count; i++) {
        emp_execution_call *call = &calls->call[i];
        bool                has_other =
            f->deed[i] == MULTIPLIES ? f->has_multiplier[i] : f->has_worker[i];
        f->is_done[i] = call->parent >= 0 && f->is_done[call->parent];
        call->is_taken = !f->is_done[i] && f->deed[i] != DOES_NOTHING && !has_other;
        call->is_update = strncmp(call->name, optimizer, strlen(optimizer)) == 0 ||
                          (call->parent >= 0 && calls->call[call->parent].is_update);
        f->is_done[i] = f->is_done[i] || call->is_taken;
    }
}

static bool is_step(const emp_execution_call *call)
{
    static const char step[] = "ProfilerStep#";

    return strncmp(call->name, step, sizeof step - 1) == 0;
}

/* Leaves the calls to the middle one of several steps. */
static void take_one_step(emp_execution_calls *calls)
{
    int32_t step = -1;

    for (int32_t i = 0; i < calls->count; i++)
        calls->step_count += is_step(&calls->call[i]);
    if (calls->step_count < 2) return;
    for (int32_t i = 0; i < calls->count; i++) {
        emp_execution_call *call = &calls->call[i];
        step += is_step(call);
        if (step != calls->step_count / 2)
            call->is_taken = false;
        else if (is_step(call))
            calls->step = call->name;
    }
}

emp_status emp_execution_calls_read(emp_execution_calls *out, const emp_json *root,
                                    emp_error *err)
{
    emp_status st = EMP_OK;
    finder     f = {0};

    *out = (emp_execution_calls){0};
    EMP_TRY(read_nodes(out, root, err));
    EMP_TRY(EMP_ALLOC(f.deed, (size_t)out->count));
    EMP_TRY(EMP_ALLOC(f.has_worker, (size_t)out->count));
    EMP_TRY(EMP_ALLOC(f.has_multiplier, (size_t)out->count));
    EMP_TRY(EMP_ALLOC(f.is_done, (size_t)out->count));
    EMP_TRY(find_deeds(&f, out, err));
    take(&f, out);
    take_one_step(out);

cleanup:
    emp_strmap_clear(&f.deed_of_name);
    emp_free(f.deed);
    emp_free(f.has_worker);
    emp_free(f.has_multiplier);
    emp_free(f.is_done);
    return st;
}

void emp_execution_calls_clear(emp_execution_calls *calls)
{
    emp_free(calls->call);
    *calls = (emp_execution_calls){0};
}
