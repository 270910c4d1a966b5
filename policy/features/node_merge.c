// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/features/node_merge.h"

#include <stdlib.h>

#include "base/disjoint.h"

static const double FIRST_LIMIT = 0.25; /* of the mean load that is wanted */
static const double GROWTH = 1.5;

enum { NONE = -1 };

/* Sets of nodes, each a list that begins at its root. */
typedef struct {
    const emp_node_merge_input *in;
    int32_t                    *parent;      /* [node] */
    int32_t                    *next, *last; /* [node] of the lists */
    double                     *load;        /* [root] */
    uint64_t                   *devices;     /* [root] */
    int32_t                    *position;    /* [root] */
    int32_t                    *order;       /* nodes by their first positions */
    int32_t                     set_count, max_sets;
    double                      limit;
    bool                        mixes; /* sets that may use different devices, too */
    emp_arrays                  arrays;
} merging;

/* A set next to another one, and the bytes between them. */
typedef struct {
    int32_t root; /* NONE: there is none */
    int64_t bytes;
} neighbor;

/* The first successor, with sign 1, or the last predecessor, with sign -1. */
static neighbor nearest(merging *m, int32_t root, const emp_node_edges *edges,
                        int32_t sign)
{
    neighbor best = {NONE, 0};

    for (int32_t v = root; v != NONE; v = m->next[v]) {
        for (int32_t i = edges->first[v]; i < edges->first[v + 1]; i++) {
            int32_t other = emp_disjoint_root(m->parent, edges->node[i]);
            if (other == root) continue;
            if (best.root == NONE ||
                sign * m->position[other] < sign * m->position[best.root])
                best = (neighbor){other, 0};
            if (other == best.root) best.bytes += edges->bytes[i];
        }
    }
    return best;
}

static bool may_join(const merging *m, int32_t a, int32_t b)
{
    return m->load[a] + m->load[b] <= m->limit &&
           (m->mixes || m->devices[a] == m->devices[b]);
}

/* The set then stands at the place of the second. */
static void join(merging *m, int32_t a, int32_t b)
{
    int32_t root = a < b ? a : b, other = a < b ? b : a;

    m->position[root] = m->position[b];
    m->parent[other] = root;
    m->next[m->last[root]] = other;
    m->last[root] = m->last[other];
    m->load[root] += m->load[other];
    m->devices[root] &= m->devices[other];
    m->set_count--;
}

/* Joins the set to one beside it if it may; without any, to the one before that had none. */
static bool try_join(merging *m, int32_t root, int32_t *lone)
{
    neighbor after = nearest(m, root, m->in->successors, 1);
    neighbor before = nearest(m, root, m->in->predecessors, -1);
    int32_t  into = NONE;

    if (after.root != NONE && may_join(m, root, after.root)) into = after.root;
    if (before.root != NONE && may_join(m, root, before.root) &&
        (into == NONE || before.bytes > after.bytes))
        into = before.root;
    if (after.root == NONE && before.root == NONE) {
        if (*lone != NONE && may_join(m, root, *lone)) into = *lone;
        *lone = into == NONE ? root : NONE;
    }
    if (into != NONE) join(m, root, into);
    return into != NONE;
}

static bool run_round(merging *m)
{
    bool    has_changed = false;
    int32_t lone = NONE;

    for (int32_t i = 0; i < m->in->node_count && m->set_count > m->max_sets; i++) {
        int32_t root = m->order[i];
        if (m->parent[root] != root) continue;
        if (try_join(m, root, &lone)) has_changed = true;
    }
    return has_changed;
}

static void run(merging *m, double total)
{
    m->limit = FIRST_LIMIT * total / m->max_sets;
    while (m->set_count > m->max_sets) {
        if (run_round(m)) continue;
        if (m->limit >= 2.0 * total) /* all of them, whatever the rounding */
            m->mixes = true;
        else
            m->limit = GROWTH * m->limit;
    }
}

/* ---- the caller's side ---- */

typedef struct {
    int32_t position, node;
} place;

static int by_position(const void *left, const void *right)
{
    int32_t l = ((const place *)left)->position, r = ((const place *)right)->position;

    return (l > r) - (l < r);
}

static emp_status start(merging *m, emp_error *err)
{
    size_t count = (size_t)m->in->node_count;
    place *places = EMP_ADD_ARRAY(&m->arrays, place, count);

    m->next = EMP_ADD_ARRAY(&m->arrays, int32_t, count);
    m->last = EMP_ADD_ARRAY(&m->arrays, int32_t, count);
    m->load = EMP_ADD_ARRAY(&m->arrays, double, count);
    m->devices = EMP_ADD_ARRAY(&m->arrays, uint64_t, count);
    m->order = EMP_ADD_ARRAY(&m->arrays, int32_t, count);
    if (m->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "merging of %d nodes", m->in->node_count);
    emp_disjoint_init(m->parent, m->in->node_count);
    for (int32_t v = 0; v < m->in->node_count; v++) {
        m->next[v] = NONE;
        m->last[v] = v;
        m->load[v] = m->in->load[v];
        m->devices[v] = m->in->devices[v];
        places[v] = (place){m->position[v], v};
    }
    qsort(places, count, sizeof *places, by_position);
    for (size_t i = 0; i < count; i++) m->order[i] = places[i].node;
    return EMP_OK;
}

emp_status emp_node_merge(const emp_node_merge_input *input, int32_t max_nodes,
                          int32_t *position, int32_t *merged, emp_error *err)
{
    emp_status st = EMP_OK;
    double     total = 0.0;
    merging    m = {.in = input,
                    .parent = merged,
                    .position = position,
                    .set_count = input->node_count,
                    .max_sets = max_nodes};

    EMP_TRY(start(&m, err));
    for (int32_t v = 0; v < input->node_count; v++) total += input->load[v];
    run(&m, total);
    for (int32_t v = 0; v < input->node_count; v++)
        merged[v] = emp_disjoint_root(m.parent, v);

cleanup:
    emp_arrays_clear(&m.arrays);
    return st;
}
