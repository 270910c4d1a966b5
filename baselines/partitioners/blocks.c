// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/partitioners/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/op.h"

/* a waits for b, or a belongs to the list of b. */
typedef struct {
    int32_t a, b;
} pair;

typedef struct {
    const emp_problem *problem;
    const emp_graph   *g;
    int32_t            class_count;
    bool              *has_forward; /* [class] */
    bool              *is_lookup;   /* [op] no op waits for it */
    int32_t           *root;        /* [class] disjoint sets */
    pair              *pair;        /* [2 edge] */
    int32_t            pair_count;
    emp_blocks        *blocks;
    bool               is_numbered; /* blocks have numbers; else roots stand for them */
} maker;

/* ---- passes ---- */

/* Length of NAME in "NAME/grad", "NAME/grad_input" and "NAME/recompute", as the builder of transformers calls gradients and what runs
 * again for them; 0: another name. */
static size_t forward_length(const char *name)
{
    const char *leaf = strrchr(name, '/');

    if (leaf == NULL) return 0;
    if (strcmp(leaf, "/recompute") == 0) return (size_t)(leaf - name);
    if (strncmp(leaf, "/grad", 5) != 0) return 0;
    return leaf[5] == '\0' || leaf[5] == '_' ? (size_t)(leaf - name) : 0;
}

static bool is_backward(const char *name)
{
    return emp_is_gradient_name(name) || forward_length(name) > 0;
}

/* Joins the classes of gradients with the classes of the ops that they are named after. */
static emp_status join_gradients(const maker *m, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap op_of_name = {0};

    for (emp_op_id op = 0; op < m->g->op_count; op++)
        if (m->problem->class_of_op[op] >= 0)
            EMP_TRY(emp_strmap_set(&op_of_name, m->g->name[op], strlen(m->g->name[op]),
                                   op, err));
    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        const size_t length = forward_length(m->g->name[op]);
        if (length == 0 || m->problem->class_of_op[op] < 0) continue;
        const emp_op_id forward = emp_strmap_get(&op_of_name, m->g->name[op], length);
        if (forward < 0) continue;
        emp_disjoint_join(m->root, m->problem->class_of_op[op],
                          m->problem->class_of_op[forward]);
        m->has_forward[m->problem->class_of_op[op]] = true;
    }

cleanup:
    emp_strmap_clear(&op_of_name);
    return st;
}

/* ---- pairs ---- */

static int compare_pairs(const void *x, const void *y)
{
    const pair *p = x, *q = y;

    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static void add_pair(maker *m, int32_t a, int32_t b)
{
    m->pair[m->pair_count++] = (pair){a, b};
}

/* Leaves one of each, in order. */
static void sort_pairs(maker *m)
{
    int32_t kept = 0;

    qsort(m->pair, (size_t)m->pair_count, sizeof *m->pair, compare_pairs);
    for (int32_t i = 0; i < m->pair_count; i++) {
        if (i == 0 || compare_pairs(&m->pair[i], &m->pair[i - 1]) != 0)
            m->pair[kept++] = m->pair[i];
    }
    m->pair_count = kept;
}

/* Rows of the second members by the first: offset[row_count + 1]. */
static emp_status make_rows(const maker *m, int32_t row_count, emp_arrays *arrays,
                            int32_t **offset, int32_t **entry, emp_error *err)
{
    *offset = EMP_ADD_ARRAY(arrays, int32_t, (size_t)row_count + 1);
    *entry = EMP_ADD_ARRAY(arrays, int32_t, (size_t)m->pair_count);
    if (arrays->is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d edges of blocks", m->pair_count);
    for (int32_t i = 0; i < m->pair_count; i++) {
        (*offset)[m->pair[i].a + 1]++;
        (*entry)[i] = m->pair[i].b;
    }
    for (int32_t row = 0; row < row_count; row++) (*offset)[row + 1] += (*offset)[row];
    return EMP_OK;
}

/* ---- edges ---- */

/* Calls \a visit with every edge between ops that run. */
static void each_edge(maker *m, bool with_control,
                      void (*visit)(maker *, emp_op_id from, emp_op_id to))
{
    const emp_graph *g = m->g;

    for (emp_op_id to = 0; to < g->op_count; to++) {
        if (g->op[to].is_folded) continue;
        for (int32_t i = g->input_offset[to]; i < g->input_offset[to + 1]; i++) {
            emp_op_id from = g->tensor[g->input[i]].producer;
            if (!g->op[from].is_folded) visit(m, from, to);
        }
        for (int32_t i = g->control_offset[to];
             with_control && i < g->control_offset[to + 1]; i++)
            if (!g->op[g->control[i]].is_folded) visit(m, g->control[i], to);
    }
}

static int32_t id_of(maker *m, emp_op_id op)
{
    return m->is_numbered ? m->blocks->block_of_op[op]
                          : emp_disjoint_root(m->root, m->problem->class_of_op[op]);
}

/* The later before the earlier: whom a block waits for. */
static void add_wait(maker *m, emp_op_id from, emp_op_id to)
{
    const int32_t *class_of_op = m->problem->class_of_op;
    bool           is_back_from = is_backward(m->g->name[from]);
    bool           is_back_to = is_backward(m->g->name[to]);
    int32_t        a = id_of(m, to), b = id_of(m, from);

    if (a == b || is_back_from != is_back_to || m->is_lookup[from]) return;
    if (!is_back_to) add_pair(m, a, b);
    if (is_back_to &&
        (!m->has_forward[class_of_op[from]] || !m->has_forward[class_of_op[to]]))
        add_pair(m, b, a);
}

static void add_neighbours(maker *m, emp_op_id from, emp_op_id to)
{
    int32_t a = id_of(m, from), b = id_of(m, to);

    if (a == b) return;
    add_pair(m, a, b);
    add_pair(m, b, a);
}

/* ---- circles ---- */

/* Tarjan's algorithm (SIAM J. Comput. 1(2), 1972), without recursion. */
typedef struct {
    int32_t   *offset, *entry; /* whom a class waits for */
    int32_t   *number, *low;   /* [class] number 0 = not yet seen */
    int32_t   *next;           /* [class] the edge to follow next */
    int32_t   *open, *path;    /* classes of no component yet; those on the way */
    bool      *is_open;
    int32_t    open_count, path_count, seen;
    emp_arrays arrays;
} search;

static void enter(search *s, int32_t c)
{
    s->number[c] = s->low[c] = ++s->seen;
    s->next[c] = s->offset[c];
    s->open[s->open_count++] = c;
    s->is_open[c] = true;
    s->path[s->path_count++] = c;
}

static void leave(search *s, int32_t c, int32_t *root)
{
    int32_t member;

    s->path_count--;
    if (s->path_count > 0) {
        int32_t above = s->path[s->path_count - 1];
        if (s->low[c] < s->low[above]) s->low[above] = s->low[c];
    }
    if (s->low[c] != s->number[c]) return;
    do {
        member = s->open[--s->open_count];
        s->is_open[member] = false;
        emp_disjoint_join(root, c, member);
    } while (member != c);
}

static void find_circles(search *s, int32_t class_count, int32_t *root)
{
    for (int32_t start = 0; start < class_count; start++) {
        if (s->number[start] == 0) enter(s, start);
        while (s->path_count > 0) {
            int32_t c = s->path[s->path_count - 1];
            if (s->next[c] == s->offset[c + 1]) {
                leave(s, c, root);
                continue;
            }
            int32_t to = s->entry[s->next[c]++];
            if (s->number[to] == 0)
                enter(s, to);
            else if (s->is_open[to] && s->number[to] < s->low[c])
                s->low[c] = s->number[to];
        }
    }
}

/* An op without inputs. */
static bool is_source(const emp_graph *g, emp_op_id op)
{
    return g->input_offset[op] == g->input_offset[op + 1] &&
           g->control_offset[op] == g->control_offset[op + 1];
}

/* Whether the forward op reads nothing but sources, at least one of its own class and one of another. */
static bool is_of_inputs(const maker *m, emp_op_id op)
{
    const emp_graph *g = m->g;
    bool             has_own = false, has_other = false;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_op_id from = g->tensor[g->input[i]].producer;
        const bool is_own = m->problem->class_of_op[from] == m->problem->class_of_op[op];
        if (!g->op[from].is_folded && !is_source(g, from)) return false;
        has_own = has_own || is_own;
        has_other = has_other || !is_own;
    }
    return has_own && has_other && !is_backward(g->name[op]);
}

/* Whether the forward op waits for a forward op of another class that is no source. */
static bool waits_for_others(const maker *m, emp_op_id op)
{
    const emp_graph *g = m->g;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_op_id from = g->tensor[g->input[i]].producer;
        if (!g->op[from].is_folded && !is_source(g, from) &&
            !is_backward(g->name[from]) &&
            m->problem->class_of_op[from] != m->problem->class_of_op[op])
            return !is_backward(g->name[op]);
    }
    return false;
}

/* Marks lookups of classes that also wait for others, where both are in one circle. Returns whether there are some. */
static bool mark_lookups(maker *m, const int32_t *size_of_root, bool *is_late)
{
    bool is_any = false;

    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        const int32_t c = m->problem->class_of_op[op];
        if (c >= 0 && waits_for_others(m, op)) is_late[c] = true;
    }
    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        const int32_t c = m->problem->class_of_op[op];
        if (c < 0 || !is_late[c] || size_of_root[emp_disjoint_root(m->root, c)] < 2)
            continue;
        m->is_lookup[op] = is_of_inputs(m, op);
        is_any = is_any || m->is_lookup[op];
    }
    return is_any;
}

static emp_status find_lookups(bool *is_any, maker *m, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_arrays arrays = {0};
    int32_t   *size = EMP_ADD_ARRAY(&arrays, int32_t, (size_t)m->class_count);
    bool      *is_late = EMP_ADD_ARRAY(&arrays, bool, (size_t)m->class_count);

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "%d colocation classes", m->class_count);
    for (int32_t c = 0; c < m->class_count; c++) size[emp_disjoint_root(m->root, c)]++;
    *is_any = mark_lookups(m, size, is_late);

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

static emp_status join_circles(maker *m, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     classes = (size_t)m->class_count;
    search     s = {0};

    s.number = EMP_ADD_ARRAY(&s.arrays, int32_t, classes);
    s.low = EMP_ADD_ARRAY(&s.arrays, int32_t, classes);
    s.next = EMP_ADD_ARRAY(&s.arrays, int32_t, classes);
    s.open = EMP_ADD_ARRAY(&s.arrays, int32_t, classes);
    s.path = EMP_ADD_ARRAY(&s.arrays, int32_t, classes);
    s.is_open = EMP_ADD_ARRAY(&s.arrays, bool, classes);
    if (s.arrays.is_short) EMP_FAIL(EMP_ENOMEM, "%d colocation classes", m->class_count);
    m->pair_count = 0;
    each_edge(m, true, add_wait);
    sort_pairs(m);
    EMP_TRY(make_rows(m, m->class_count, &s.arrays, &s.offset, &s.entry, err));
    find_circles(&s, m->class_count, m->root);

cleanup:
    emp_arrays_clear(&s.arrays);
    return st;
}

/* ---- what costs nothing ---- */

/* Marks the roots whose ops take time, or have no kernel on a GPU. */
static void mark_costly(maker *m, bool *is_costly)
{
    const emp_cost_table *costs = m->problem->costs;

    memset(is_costly, 0, (size_t)m->class_count * sizeof *is_costly);
    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        int32_t c = m->problem->class_of_op[op];
        if (c < 0) continue;
        if (costs->gpu[op].compute_ns > 0 || costs->cpu[op].compute_ns > 0 ||
            !(m->problem->kinds_of_class[c] & EMP_KIND_GPU))
            is_costly[emp_disjoint_root(m->root, c)] = true;
    }
}

static emp_status join_leaves(maker *m, emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_costly = EMP_NEW_ARRAY(bool, (size_t)m->class_count), is_changed = true;

    if (is_costly == NULL) EMP_FAIL(EMP_ENOMEM, "%d colocation classes", m->class_count);
    while (is_changed) {
        is_changed = false;
        mark_costly(m, is_costly);
        m->pair_count = 0;
        each_edge(m, true, add_neighbours);
        sort_pairs(m);
        for (int32_t i = 0; i < m->pair_count; i++) {
            const pair *p = &m->pair[i];
            bool        is_only =
                (i == 0 || p[-1].a != p->a) && (i + 1 == m->pair_count || p[1].a != p->a);
            if (is_only && !is_costly[p->a])
                is_changed |= emp_disjoint_join(m->root, p->a, p->b);
        }
    }

cleanup:
    emp_free(is_costly);
    return st;
}

/* ---- blocks ---- */

/* Roots that have ops. */
static int32_t count_blocks(maker *m, bool *is_block)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        if (m->problem->class_of_op[op] < 0) continue;
        int32_t root = id_of(m, op);
        count += !is_block[root];
        is_block[root] = true;
    }
    return count;
}

/* Kahn's algorithm from the last block to the first. The block that became free last comes next, so that
 * neighbours get neighbouring numbers. */
static emp_status number_blocks(maker *m, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     classes = (size_t)m->class_count;
    int32_t   *offset = NULL, *entry = NULL, free_count = 0;
    emp_arrays arrays = {0};
    int32_t   *waiting = EMP_ADD_ARRAY(&arrays, int32_t, classes);
    int32_t   *are_free = EMP_ADD_ARRAY(&arrays, int32_t, classes);
    int32_t   *number = EMP_ADD_ARRAY(&arrays, int32_t, classes);
    bool      *is_block = EMP_ADD_ARRAY(&arrays, bool, classes);

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "%d colocation classes", m->class_count);
    m->pair_count = 0;
    each_edge(m, true, add_wait);
    sort_pairs(m);
    EMP_TRY(make_rows(m, m->class_count, &arrays, &offset, &entry, err));
    for (int32_t i = 0; i < m->pair_count; i++) waiting[m->pair[i].b]++;
    m->blocks->count = count_blocks(m, is_block);
    for (int32_t c = 0; c < m->class_count; c++)
        if (is_block[c] && waiting[c] == 0) are_free[free_count++] = c;
    for (int32_t left = m->blocks->count; free_count > 0;) {
        int32_t c = are_free[--free_count];
        number[c] = --left;
        for (int32_t i = offset[c]; i < offset[c + 1]; i++)
            if (--waiting[entry[i]] == 0) are_free[free_count++] = entry[i];
    }
    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        bool is_live = m->problem->class_of_op[op] >= 0;
        m->blocks->block_of_op[op] = is_live ? number[id_of(m, op)] : -1;
    }

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

static emp_status sum_up(maker *m, emp_error *err)
{
    emp_blocks *b = m->blocks;

    b->block = EMP_ADD_ARRAY(&b->arrays, emp_block, (size_t)b->count);
    if (b->block == NULL) return EMP_ERROR(EMP_ENOMEM, "%d blocks", b->count);
    for (int32_t i = 0; i < b->count; i++)
        b->block[i] = (emp_block){.has_gpu = true, .has_cpu = true};
    for (emp_op_id op = 0; op < m->g->op_count; op++) {
        int32_t c = m->problem->class_of_op[op];
        if (c < 0) continue;
        emp_block *to = &b->block[b->block_of_op[op]];
        to->bytes += m->g->op[op].persistent_bytes;
        for (int32_t t = m->g->output_offset[op]; t < m->g->output_offset[op + 1]; t++)
            to->bytes += m->g->tensor[t].bytes;
        if (!(m->problem->kinds_of_class[c] & EMP_KIND_GPU)) to->has_gpu = false;
        if (!(m->problem->kinds_of_class[c] & EMP_KIND_CPU)) to->has_cpu = false;
    }
    for (int32_t i = 0; i < b->count; i++) b->block[i].has_gpu |= !b->block[i].has_cpu;
    return EMP_OK;
}

static emp_status list_waits(maker *m, emp_error *err)
{
    m->pair_count = 0;
    each_edge(m, true, add_wait);
    sort_pairs(m);
    return make_rows(m, m->blocks->count, &m->blocks->arrays, &m->blocks->wait_offset,
                     &m->blocks->wait, err);
}

/* ---- nets ---- */

static void add_pin(maker *m, emp_op_id from, emp_op_id to)
{
    if (id_of(m, from) == id_of(m, to)) return;
    add_pair(m, from, id_of(m, from));
    add_pair(m, from, id_of(m, to));
}

/* Between a GPU and its host. */
static double copy_rate(const emp_problem *problem, emp_device_id gpu)
{
    if (problem->runtime.rules == EMP_RULES_MSR_LATENCY ||
        problem->runtime.rules == EMP_RULES_MSR_LOAD)
        return problem->runtime.msr.host_bytes_per_s;
    return problem->machine->route[gpu][problem->machine->device[gpu].host].bytes_per_s;
}

static emp_time_ns time_copy(const emp_graph *g, emp_op_id op, double bytes_per_s)
{
    int64_t stated_ns = emp_graph_stated_copy_ns(g, op);
    double  bytes = 0.0;

    if (stated_ns >= 0 || bytes_per_s <= 0.0) return stated_ns >= 0 ? stated_ns : 0;
    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        if (emp_graph_is_read(g, t)) bytes += (double)g->tensor[t].copy_bytes;
    }
    return emp_ns_of_seconds(bytes / bytes_per_s);
}

/* From (op, block) to (net, block). */
static emp_status number_nets(maker *m, emp_error *err)
{
    emp_blocks *b = m->blocks;

    for (int32_t i = 0; i < m->pair_count; i++)
        b->net_count += i == 0 || m->pair[i].a != m->pair[i - 1].a;
    b->op_of_net = EMP_ADD_ARRAY(&b->arrays, emp_op_id, (size_t)b->net_count);
    if (b->op_of_net == NULL) return EMP_ERROR(EMP_ENOMEM, "%d nets", b->net_count);
    for (int32_t i = 0, net = -1, last = -1; i < m->pair_count; i++) {
        if (m->pair[i].a != last) {
            last = m->pair[i].a;
            b->op_of_net[++net] = last;
        }
        m->pair[i].a = net;
    }
    return EMP_OK;
}

static emp_status list_nets(maker *m, emp_error *err)
{
    emp_blocks *b = m->blocks;

    m->pair_count = 0;
    each_edge(m, false, add_pin);
    sort_pairs(m);
    EMP_CHECK(number_nets(m, err));
    EMP_CHECK(make_rows(m, b->net_count, &b->arrays, &b->pin_offset, &b->pin, err));
    for (int32_t i = 0; i < m->pair_count; i++)
        m->pair[i] = (pair){m->pair[i].b, m->pair[i].a};
    sort_pairs(m);
    return make_rows(m, b->count, &b->arrays, &b->net_offset, &b->net, err);
}

/* ---- lifecycle ---- */

static emp_status allocate(maker *m, emp_error *err)
{
    int64_t pairs = 2 * ((int64_t)m->g->edge_count + m->g->control_edge_count);

    if (pairs > INT32_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "blocks of a graph of %d edges",
                         m->g->edge_count);
    m->has_forward = EMP_NEW_ARRAY(bool, (size_t)m->class_count);
    m->is_lookup = EMP_NEW_ARRAY(bool, (size_t)m->g->op_count);
    m->root = EMP_NEW_ARRAY(int32_t, (size_t)m->class_count);
    m->pair = EMP_NEW_ARRAY(pair, (size_t)pairs);
    m->blocks->block_of_op =
        EMP_ADD_ARRAY(&m->blocks->arrays, int32_t, (size_t)m->g->op_count);
    if (!m->has_forward || !m->is_lookup || !m->root || !m->pair ||
        !m->blocks->block_of_op)
        return EMP_ERROR(EMP_ENOMEM, "blocks of %d ops", m->g->op_count);
    return EMP_OK;
}

emp_status emp_blocks_init(emp_blocks *blocks, const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    maker      m = {.problem = problem,
                    .g = problem->graph,
                    .class_count = problem->graph->class_count,
                    .blocks = blocks};

    bool has_lookups = false;

    *blocks = (emp_blocks){0};
    EMP_TRY(allocate(&m, err));
    emp_disjoint_init(m.root, m.class_count);
    for (emp_op_id op = 0; op < m.g->op_count; op++) {
        int32_t c = problem->class_of_op[op];
        if (c >= 0 && !is_backward(m.g->name[op])) m.has_forward[c] = true;
    }
    EMP_TRY(join_gradients(&m, err));
    EMP_TRY(join_circles(&m, err));
    EMP_TRY(find_lookups(&has_lookups, &m, err));
    if (has_lookups) {
        emp_disjoint_init(m.root, m.class_count);
        EMP_TRY(join_gradients(&m, err));
        EMP_TRY(join_circles(&m, err));
    }
    EMP_TRY(join_leaves(&m, err));
    EMP_TRY(number_blocks(&m, err));
    m.is_numbered = true;
    EMP_TRY(sum_up(&m, err));
    EMP_TRY(list_waits(&m, err));
    EMP_TRY(list_nets(&m, err));

cleanup:
    emp_free(m.has_forward);
    emp_free(m.is_lookup);
    emp_free(m.root);
    emp_free(m.pair);
    return st;
}

void emp_blocks_time(emp_time_ns *time_ns, const emp_blocks *b, const emp_problem *p,
                     emp_device_id device)
{
    memset(time_ns, 0, (size_t)b->count * sizeof *time_ns);
    for (emp_op_id op = 0; op < p->graph->op_count; op++)
        if (b->block_of_op[op] >= 0)
            time_ns[b->block_of_op[op]] += emp_problem_op_time_ns(p, op, device);
}

void emp_blocks_time_copies(emp_time_ns *copy_ns, const emp_blocks *b,
                            const emp_problem *p, emp_device_id gpu)
{
    const double bytes_per_s = copy_rate(p, gpu);

    for (int32_t net = 0; net < b->net_count; net++)
        copy_ns[net] = time_copy(p->graph, b->op_of_net[net], bytes_per_s);
}

void emp_blocks_clear(emp_blocks *blocks)
{
    emp_arrays_clear(&blocks->arrays);
    *blocks = (emp_blocks){0};
}
