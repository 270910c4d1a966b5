// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/colocation_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/op.h"

enum { NOBODY = -1, SEVERAL = -2 };

/* Sets of classes: a forest whose roots are the lowest classes, and a ring of members. */
typedef struct {
    const emp_graph *graph;
    int32_t         *parent;   /* [class] */
    int32_t         *next;     /* [class] the next member of the ring */
    bool            *is_free;  /* [class] may run on a GPU and has a live op */
    bool            *is_layer; /* [root] rule 3 has made it */
    int32_t         *first_op; /* [class + 1] into op_of_class */
    emp_op_id       *op_of_class;
    emp_arrays       arrays;
} sets;

static bool is_member(const sets *s, emp_op_id op)
{
    return !s->graph->op[op].is_folded && s->is_free[s->graph->op[op].colocation_class];
}

static int32_t find_of_op(sets *s, emp_op_id op)
{
    return emp_disjoint_root(s->parent, s->graph->op[op].colocation_class);
}

static void unite(sets *s, int32_t a, int32_t b)
{
    int32_t one = emp_disjoint_root(s->parent, a);
    int32_t other = emp_disjoint_root(s->parent, b), next = s->next[one];

    if (!emp_disjoint_join(s->parent, one, other)) return;
    bool is_layer = s->is_layer[one] || s->is_layer[other];
    s->next[one] = s->next[other]; /* of two rings, one */
    s->next[other] = next;
    s->is_layer[emp_disjoint_root(s->parent, one)] = is_layer;
}

static void list_ops(sets *s)
{
    const emp_graph *g = s->graph;

    for (emp_op_id op = 0; op < g->op_count; op++)
        s->first_op[g->op[op].colocation_class + 1]++;
    for (int32_t c = 0; c < g->class_count; c++) s->first_op[c + 1] += s->first_op[c];
    for (emp_op_id op = 0; op < g->op_count; op++) /* next serves as a count of ops */
        s->op_of_class[s->first_op[g->op[op].colocation_class] +
                       s->next[g->op[op].colocation_class]++] = op;
}

static emp_status init_sets(sets *s, const emp_problem *problem, emp_error *err)
{
    const emp_graph *g = problem->graph;
    size_t           classes = (size_t)g->class_count;

    *s = (sets){.graph = g};
    s->parent = EMP_ADD_ARRAY(&s->arrays, int32_t, classes);
    s->next = EMP_ADD_ARRAY(&s->arrays, int32_t, classes);
    s->is_free = EMP_ADD_ARRAY(&s->arrays, bool, classes);
    s->is_layer = EMP_ADD_ARRAY(&s->arrays, bool, classes);
    s->first_op = EMP_ADD_ARRAY(&s->arrays, int32_t, classes + 1);
    s->op_of_class = EMP_ADD_ARRAY(&s->arrays, emp_op_id, (size_t)g->op_count);
    if (s->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "groups of %d classes", g->class_count);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = g->op[op].colocation_class;
        if (!g->op[op].is_folded && (problem->kinds_of_class[c] & EMP_KIND_GPU) != 0)
            s->is_free[c] = true;
    }
    list_ops(s);
    emp_disjoint_init(s->parent, g->class_count);
    for (int32_t c = 0; c < g->class_count; c++) s->next[c] = c;
    return EMP_OK;
}

/* ---- rule 1: gradients ------------------------------------------------------------- */

static bool is_gradient(const char *name)
{
    const char *forward;

    return emp_forward_of_gradient(name, &forward) > 0;
}

static emp_status join_gradients(sets *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->graph;
    emp_strmap       map = {0};
    const char      *forward;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (is_member(s, op) && !is_gradient(g->name[op]))
            EMP_TRY(emp_strmap_set(&map, g->name[op], strlen(g->name[op]), op, err));
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        size_t  length = emp_forward_of_gradient(g->name[op], &forward);
        int32_t twin = length == 0 ? -1 : emp_strmap_get(&map, forward, length);
        if (twin >= 0 && is_member(s, op))
            unite(s, g->op[op].colocation_class, g->op[twin].colocation_class);
    }

cleanup:
    emp_strmap_clear(&map);
    return st;
}

/* ---- rule 3: convolutions and poolings --------------------------------------------- */

/* A path that leads to a convolution or pooling. */
typedef struct {
    emp_op_id op;       /* one that stands in it directly; -1 = none */
    int32_t   op_count; /* of those in it at any depth */
} scope;

typedef struct {
    emp_strmap map; /* path -> index */
    scope     *scope;
    int32_t    count;
} scopes;

static bool is_convolution_or_pooling(const sets *s, emp_op_id op)
{
    return (s->graph->op[op].flags & EMP_OP_LAYER) && is_member(s, op) &&
           !is_gradient(s->graph->name[op]);
}

/* The length of the path that \a length characters of \a name stand in; 0 = none. */
static size_t parent_length(const char *name, size_t length)
{
    while (length > 0 && name[length - 1] != '/') length--;
    return length > 0 ? length - 1 : 0;
}

static int32_t count_path_parts(const sets *s)
{
    int32_t parts = 0;

    for (emp_op_id op = 0; op < s->graph->op_count; op++) {
        if (!is_convolution_or_pooling(s, op)) continue;
        for (const char *at = s->graph->name[op]; *at != '\0'; at++) parts += *at == '/';
    }
    return parts;
}

static emp_status add_scopes_of(scopes *all, const char *name, emp_op_id op,
                                emp_error *err)
{
    for (size_t n = parent_length(name, strlen(name)); n > 0;
         n = parent_length(name, n)) {
        int32_t i = emp_strmap_get(&all->map, name, n);
        if (i < 0) {
            i = all->count++;
            all->scope[i].op = -1;
            EMP_CHECK(emp_strmap_set(&all->map, name, n, i, err));
        }
        all->scope[i].op_count++;
        if (strchr(name + n + 1, '/') == NULL) all->scope[i].op = op;
    }
    return EMP_OK;
}

/* The layer that an op belongs to: the innermost path around it that holds one
 * convolution or pooling and no other at any depth. */
static emp_op_id layer_of(const scopes *all, const char *name)
{
    for (size_t n = parent_length(name, strlen(name)); n > 0;
         n = parent_length(name, n)) {
        int32_t i = emp_strmap_get(&all->map, name, n);
        if (i >= 0 && all->scope[i].op >= 0)
            return all->scope[i].op_count == 1 ? all->scope[i].op : -1;
    }
    return -1;
}

static emp_status join_convolutions(sets *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->graph;
    scopes           all = {0};

    EMP_TRY(EMP_ALLOC(all.scope, (size_t)count_path_parts(s)));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (!is_convolution_or_pooling(s, op)) continue;
        s->is_layer[find_of_op(s, op)] = true;
        EMP_TRY(add_scopes_of(&all, g->name[op], op, err));
    }
    for (emp_op_id op = 0; op < g->op_count && all.count > 0; op++) {
        if (!is_member(s, op) || is_gradient(g->name[op])) continue;
        emp_op_id layer = layer_of(&all, g->name[op]);
        if (layer >= 0)
            unite(s, g->op[op].colocation_class, g->op[layer].colocation_class);
    }

cleanup:
    emp_strmap_clear(&all.map);
    emp_free(all.scope);
    return st;
}

/* ---- rule 3: steps of recurrent cells ---------------------------------------------- */

typedef struct {
    int32_t cell; /* the first op whose name has the same path to "cell_K" */
    int32_t step;
    int32_t class_id;
} cell_op;

static int by_cell_and_step(const void *a, const void *b)
{
    const cell_op *x = a, *y = b;

    if (x->cell != y->cell) return x->cell < y->cell ? -1 : 1;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return (x->class_id > y->class_id) - (x->class_id < y->class_id);
}

/* cell[op] becomes the number of its cell, or -1: gradients follow by rule 1, and
 * variables serve all steps. */
static emp_status find_cells(const sets *s, int32_t *cell, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->graph;
    emp_strmap       map = {0};
    size_t           length;
    bool            *has_variable = EMP_NEW_ARRAY(bool, (size_t)g->class_count);

    if (has_variable == NULL) EMP_FAIL(EMP_ENOMEM, "cells of %d ops", g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].flags & EMP_OP_IS_VARIABLE)
            has_variable[g->op[op].colocation_class] = true;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        cell[op] = -1;
        if (!is_member(s, op) || has_variable[g->op[op].colocation_class] ||
            is_gradient(g->name[op]) || emp_cell_of_name(g->name[op], &length) < 0)
            continue;
        cell[op] = emp_strmap_get(&map, g->name[op], length);
        if (cell[op] >= 0) continue;
        cell[op] = op;
        EMP_TRY(emp_strmap_set(&map, g->name[op], length, op, err));
    }

cleanup:
    emp_strmap_clear(&map);
    emp_free(has_variable);
    return st;
}

/* The steps of a cell share names, so they are distinguished by their inputs. A step begins where
 * its input and the state before are joined: an op's step is the largest that it reads of
 * in its cell, one more if it joins. An op that reads nothing in the cell (dropout of
 * the input) belongs to the first step that reads it. */
static void number_steps(const emp_graph *g, const int32_t *cell, int32_t *step)
{
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        step[op] = -1;
        for (int32_t e = g->input_offset[op]; e < g->input_offset[op + 1]; e++) {
            emp_op_id from = g->tensor[g->input[e]].producer;
            if (cell[op] >= 0 && cell[from] == cell[op] && step[from] > step[op])
                step[op] = step[from];
        }
        if (cell[op] >= 0 && g->op[op].cost->work == EMP_WORK_CONCAT) step[op]++;
    }
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        emp_op_id op = g->topo[i];
        int32_t   end = g->consumer_offset[g->output_offset[op + 1]];
        if (cell[op] < 0 || step[op] >= 0) continue;
        for (int32_t e = g->consumer_offset[g->output_offset[op]]; e < end; e++) {
            emp_op_id to = g->consumer[e];
            if (cell[to] == cell[op] && step[to] >= 0 &&
                (step[op] < 0 || step[to] < step[op]))
                step[op] = step[to];
        }
    }
}

static emp_status join_cell_steps(sets *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->graph;
    size_t           ops = (size_t)g->op_count;
    emp_arrays       arrays = {0};
    int32_t         *cell = EMP_ADD_ARRAY(&arrays, int32_t, ops);
    int32_t         *step = EMP_ADD_ARRAY(&arrays, int32_t, ops);
    cell_op         *list = EMP_ADD_ARRAY(&arrays, cell_op, ops);
    int32_t          count = 0;

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "steps of %d ops", g->op_count);
    EMP_TRY(find_cells(s, cell, err));
    number_steps(g, cell, step);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (cell[op] < 0 || step[op] < 0) continue;
        list[count++] = (cell_op){cell[op], step[op], g->op[op].colocation_class};
        s->is_layer[find_of_op(s, op)] = true;
    }
    qsort(list, (size_t)count, sizeof *list, by_cell_and_step);
    for (int32_t i = 1; i < count; i++) {
        if (list[i].cell == list[i - 1].cell && list[i].step == list[i - 1].step)
            unite(s, list[i].class_id, list[i - 1].class_id);
    }

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

/* ---- rule 2: one consumer ---------------------------------------------------------- */

/* Who reads an op besides its own set: a root, NOBODY or SEVERAL. \a known is the answer
 * for other ops of the set. A reader that cannot move is no set to go into. */
static int32_t add_readers(sets *s, int32_t root, emp_op_id op, int32_t known)
{
    const emp_graph *g = s->graph;
    int32_t          end = g->consumer_offset[g->output_offset[op + 1]];

    for (int32_t i = g->consumer_offset[g->output_offset[op]]; i < end; i++) {
        emp_op_id to = g->consumer[i];
        if (g->op[to].is_folded) continue;
        int32_t reader = is_member(s, to) ? find_of_op(s, to) : SEVERAL;
        if (reader == root || reader == known) continue;
        if (known != NOBODY || reader == SEVERAL) return SEVERAL;
        known = reader;
    }
    return known;
}

static int32_t only_reader(sets *s, int32_t root)
{
    int32_t reader = NOBODY, c = root;

    do {
        for (int32_t i = s->first_op[c]; i < s->first_op[c + 1]; i++) {
            if (s->graph->op[s->op_of_class[i]].is_folded) continue;
            reader = add_readers(s, root, s->op_of_class[i], reader);
            if (reader == SEVERAL) return SEVERAL;
        }
        c = s->next[c];
    } while (c != root);
    return reader;
}

/* Sets are taken by their last op, consumers first: a ladder folds up in one round. */
static emp_status join_only_readers(sets *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->graph;
    int32_t         *seen = EMP_NEW_ARRAY(int32_t, (size_t)g->class_count);
    bool             has_changed = true;

    if (seen == NULL) EMP_FAIL(EMP_ENOMEM, "readers of %d classes", g->class_count);
    for (int32_t round = 1; has_changed; round++) {
        has_changed = false;
        for (int32_t i = g->op_count - 1; i >= 0; i--) {
            if (!is_member(s, g->topo[i])) continue;
            int32_t root = find_of_op(s, g->topo[i]);
            if (seen[root] == round || s->is_layer[root]) continue;
            seen[root] = round;
            int32_t reader = only_reader(s, root);
            if (reader < 0) continue;
            unite(s, root, reader);
            has_changed = true;
        }
    }

cleanup:
    emp_free(seen);
    return st;
}

/* ------------------------------------------------------------------------------------ */

static void number_groups(sets *s, int32_t *group_of_class, int32_t *group_count)
{
    const emp_graph *g = s->graph;

    *group_count = 0;
    for (int32_t c = 0; c < g->class_count; c++) group_of_class[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (!is_member(s, op)) continue;
        int32_t *group = &group_of_class[find_of_op(s, op)];
        if (*group < 0) *group = (*group_count)++;
        group_of_class[g->op[op].colocation_class] = *group;
    }
}

emp_status emp_colocation_groups_by(int32_t *group_of_class, int32_t *group_count,
                                    const emp_problem *problem, uint32_t rules,
                                    emp_error *err)
{
    emp_status st = EMP_OK;
    sets       s = {0};

    EMP_TRY(init_sets(&s, problem, err));
    if (rules & EMP_COLOCATION_GRADIENTS) EMP_TRY(join_gradients(&s, err));
    if (rules & EMP_COLOCATION_LAYERS) {
        EMP_TRY(join_convolutions(&s, err));
        EMP_TRY(join_cell_steps(&s, err));
    }
    if (rules & EMP_COLOCATION_READERS) EMP_TRY(join_only_readers(&s, err));
    number_groups(&s, group_of_class, group_count);

cleanup:
    emp_arrays_clear(&s.arrays);
    return st;
}

emp_status emp_colocation_groups(int32_t *group_of_class, int32_t *group_count,
                                 const emp_problem *problem, emp_error *err)
{
    return emp_colocation_groups_by(group_of_class, group_count, problem,
                                    EMP_COLOCATION_ALL, err);
}
