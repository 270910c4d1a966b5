// SPDX-License-Identifier: GPL-3.0-or-later
/* The name scopes of a graph as a tree. */
#include "sim/explain/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

static emp_status add_scope(emp_scopes *s, emp_strmap *map, const emp_scope *scope,
                            int32_t *number, emp_error *err)
{
    EMP_CHECK(EMP_GROW(s->scope, s->count + 1, s->limit_));
    EMP_CHECK(emp_strmap_set(map, scope->name, (size_t)scope->length, s->count, err));
    *number = s->count;
    s->scope[s->count++] = *scope;
    return EMP_OK;
}

/* The scope of a name, whose outer scopes are added where they are new. */
static emp_status find_scope(emp_scopes *s, emp_strmap *map, const char *name,
                             size_t length, int32_t *found, emp_error *err)
{
    *found = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] != '/') continue;
        int32_t scope = emp_strmap_get(map, name, i);
        if (scope < 0)
            EMP_CHECK(add_scope(
                s, map,
                &(emp_scope){.name = name, .length = (int32_t)i, .parent = *found},
                &scope, err));
        *found = scope;
    }
    return EMP_OK;
}

static emp_status place_ops(emp_scopes *s, emp_strmap *map, const emp_graph *g,
                            emp_error *err)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *name = g->name[op];
        size_t      length = emp_forward_of_gradient(g->name[op], &name);
        if (length == 0) name = g->name[op], length = strlen(name);
        s->of_op[op] = -1;
        if (g->op[op].is_folded) continue;
        EMP_CHECK(find_scope(s, map, name, length, &s->of_op[op], err));
        s->scope[s->of_op[op]].op_count++;
    }
    for (int32_t i = s->count - 1; i > 0; i--)
        s->scope[s->scope[i].parent].op_count += s->scope[i].op_count;
    return EMP_OK;
}

emp_status emp_scopes_init(emp_scopes *s, const emp_graph *graph, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap map = {0};
    int32_t    root;

    EMP_TRY(EMP_ALLOC(s->of_op, (size_t)graph->op_count));
    EMP_TRY(add_scope(s, &map, &(emp_scope){.name = "", .parent = -1}, &root, err));
    EMP_TRY(place_ops(s, &map, graph, err));

cleanup:
    emp_strmap_clear(&map);
    return st;
}

void emp_scopes_clear(emp_scopes *s)
{
    emp_free(s->scope);
    emp_free(s->of_op);
    *s = (emp_scopes){0};
}

bool emp_scopes_is_in(const emp_scopes *s, int32_t scope, int32_t outer)
{
    while (scope > outer) scope = s->scope[scope].parent;
    return scope == outer;
}
