// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/class_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/op.h"

/* A shorter series is no walk through time: branches, repeated helpers. */
enum { SHORTEST_SERIES = 8 };

enum { FORWARD, BACKWARD, WEIGHTS };

/* Names "base", "base_1", "base_2", ... */
typedef struct {
    int32_t low, high;
} series;

typedef struct {
    const char *scope; /* borrowed from a name */
    int32_t     length;
    bool        is_cell; /* its scope is never cut */
    int32_t     steps;   /* length of its shortest series; 1 = none */
    int32_t     cut;     /* number of the cut scope */
} layer;

/* Where an op stands. */
typedef struct {
    int32_t layer;
    int32_t at, of; /* member of a series, and the length of that */
    int32_t direction;
} tag;

typedef struct {
    const emp_problem *problem;
    emp_strmap         series_of_base, layer_of_scope;
    series            *series;   /* [number]; room for every component of every name */
    layer             *layer;    /* [number]; room for one per op */
    tag               *tag;      /* [op] */
    int32_t           *first_op; /* [class] first live op; -1 = left out */
} namer;

/* ---- names ------------------------------------------------------------------------- */

/* A gradient of no single forward op, as a sum of gradients. */
static bool is_homeless(const char *name)
{
    const char *forward;

    return emp_is_gradient_name(name) && emp_forward_of_gradient(name, &forward) == 0;
}

/* The name that decides an op's place: its own, or its forward op's. */
static size_t name_of_layer(const char *name, const char **home)
{
    size_t length = emp_is_gradient_name(name) ? emp_forward_of_gradient(name, home) : 0;

    if (length > 0) return length;
    *home = name;
    return strlen(name);
}

/* Bytes of the component at `from`. */
static size_t component(const char *name, size_t from, size_t length)
{
    const char *slash = memchr(name + from, '/', length - from);

    return slash == NULL ? length - from : (size_t)(slash - (name + from));
}

/* Splits "MatMul_3" into 6 bytes and 3; no number: 0. */
static int32_t split_number(const char *text, size_t length, size_t *base)
{
    size_t  digits = 0;
    int32_t number = 0;

    while (digits < length && digits < 9 && text[length - 1 - digits] >= '0' &&
           text[length - 1 - digits] <= '9')
        digits++;
    *base = length;
    if (digits == 0 || digits + 1 >= length || text[length - 1 - digits] != '_') return 0;
    *base = length - 1 - digits;
    for (size_t i = length - digits; i < length; i++)
        number = 10 * number + text[i] - '0';
    return number;
}

/* Where the component of the recurrent cell starts, and the layer's scope ends; else 0. */
static size_t find_cell(const char *name, size_t length, size_t *scope)
{
    if (emp_cell_of_name(name, scope) < 0 || *scope > length) *scope = 0;
    size_t at = *scope;

    while (at > 0 && name[at - 1] != '/') at--;
    return at;
}

/* The number of the component of `bytes` at `at`, and where it is written. In "cell_1_2"
 * the layer is no number. */
static int32_t number_at(const char *name, size_t at, size_t bytes, size_t scope,
                         size_t *base)
{
    if (at >= scope) return split_number(name + at, bytes, base);
    *base = scope - at;
    return bytes > *base ? atoi(name + scope + 1) : 0;
}

/* ---- series ------------------------------------------------------------------------ */

static emp_status note_series(namer *n, const char *name, size_t length, emp_error *err)
{
    size_t scope, base, bytes;

    for (size_t at = find_cell(name, length, &scope); at < length; at += bytes + 1) {
        bytes = component(name, at, length);
        int32_t number = number_at(name, at, bytes, scope, &base);
        int32_t found = emp_strmap_get(&n->series_of_base, name, at + base);
        if (found < 0) {
            found = (int32_t)n->series_of_base.count;
            EMP_CHECK(emp_strmap_set(&n->series_of_base, name, at + base, found, err));
            n->series[found] = (series){number, number};
        }
        if (number < n->series[found].low) n->series[found].low = number;
        if (number > n->series[found].high) n->series[found].high = number;
    }
    return EMP_OK;
}

/* The first component that is a member of a series long enough: its start and place;
 * without one, `length`. */
static size_t find_series(const namer *n, const char *name, size_t length, tag *t,
                          size_t *scope)
{
    size_t base, bytes;

    *t = (tag){.of = 1};
    for (size_t at = find_cell(name, length, scope); at < length; at += bytes + 1) {
        bytes = component(name, at, length);
        int32_t       number = number_at(name, at, bytes, *scope, &base);
        int32_t       found = emp_strmap_get(&n->series_of_base, name, at + base);
        const series *s = found < 0 ? NULL : &n->series[found];
        if (s == NULL || s->high - s->low + 1 < SHORTEST_SERIES) continue;
        if (at < *scope && number == 0) continue; /* the steps are within the cell */
        t->at = number - s->low;
        t->of = s->high - s->low + 1;
        return at;
    }
    return length;
}

/* ---- layers ------------------------------------------------------------------------ */

static size_t directory_of(const char *name, size_t length)
{
    while (length > 0 && name[length - 1] != '/') length--;
    return length > 0 ? length - 1 : 0;
}

static emp_status tag_by_name(namer *n, emp_op_id op, const char *name, size_t length,
                              emp_error *err)
{
    tag   *t = &n->tag[op];
    size_t cell, at = find_series(n, name, length, t, &cell);
    size_t scope = cell > 0 ? cell : directory_of(name, at);

    t->layer = emp_strmap_get(&n->layer_of_scope, name, scope);
    if (t->layer < 0) {
        t->layer = (int32_t)n->layer_of_scope.count;
        EMP_CHECK(emp_strmap_set(&n->layer_of_scope, name, scope, t->layer, err));
        n->layer[t->layer] = (layer){name, (int32_t)scope, cell > 0, 1, 0};
    }
    int32_t *steps = &n->layer[t->layer].steps;
    if (t->of > 1 && (*steps == 1 || t->of < *steps)) *steps = t->of;
    return EMP_OK;
}

static emp_status tag_ops(namer *n, emp_error *err)
{
    const emp_graph *g = n->problem->graph;

    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const int32_t   input = g->input_offset[op];
        const char     *name;
        size_t          length = name_of_layer(g->name[op], &name);
        if (is_homeless(g->name[op]) && g->input_offset[op + 1] > input)
            n->tag[op] = n->tag[g->tensor[g->input[input]].producer];
        else
            EMP_CHECK(tag_by_name(n, op, name, length, err));
    }
    return EMP_OK;
}

/* ---- directions -------------------------------------------------------------------- */

static bool are_twins(const char *a, const char *b)
{
    const char *forward_a, *forward_b;
    size_t      length_a = emp_forward_of_gradient(a, &forward_a);
    size_t      length_b = emp_forward_of_gradient(b, &forward_b);

    return length_b == 0 ||
           (length_a == length_b && memcmp(forward_a, forward_b, length_a) == 0);
}

/* Whether all that reads an op's outputs is outside of the gradients, or gradients of
 * weights: of the same forward op, or sums. */
static bool is_of_weights(const namer *n, emp_op_id op)
{
    const emp_graph *g = n->problem->graph;
    int32_t          first = g->consumer_offset[g->output_offset[op]];
    int32_t          end = g->consumer_offset[g->output_offset[op + 1]];

    for (int32_t i = first; i < end; i++) {
        emp_op_id reader = g->consumer[i];
        if (!emp_is_gradient_name(g->name[reader])) continue;
        if (n->tag[reader].direction != WEIGHTS ||
            !are_twins(g->name[op], g->name[reader]))
            return false;
    }
    return end > first;
}

static void find_directions(namer *n)
{
    const emp_graph *g = n->problem->graph;

    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        emp_op_id op = g->topo[i];
        bool      is_backward = emp_is_gradient_name(g->name[op]);
        n->tag[op].direction = !is_backward           ? FORWARD
                               : is_of_weights(n, op) ? WEIGHTS
                                                      : BACKWARD;
    }
}

/* ---- clusters ---------------------------------------------------------------------- */

/* How far clusters are made coarser. */
typedef struct {
    int32_t depth; /* components of a scope */
    int32_t block; /* steps */
    bool    cuts_cells;
} coarseness;

/* Numbers the scopes of layers, cut as far as that; all that is cut to one scope is one
 * layer. */
static emp_status cut_scopes(namer *n, const coarseness *how, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_strmap    map = {0};
    const int32_t count = (int32_t)n->layer_of_scope.count;

    for (int32_t i = 0; i < count; i++) {
        layer *l = &n->layer[i];
        size_t length = (size_t)l->length, end = 0;
        for (int32_t d = 0; d < how->depth && end < length; d++)
            end += (end > 0) + component(l->scope, end + (end > 0), length);
        if (l->is_cell && !how->cuts_cells) end = length;
        l->cut = emp_strmap_get(&map, l->scope, end);
        if (l->cut >= 0) continue;
        l->cut = (int32_t)map.count;
        EMP_TRY(emp_strmap_set(&map, l->scope, end, l->cut, err));
    }

cleanup:
    emp_strmap_clear(&map);
    return st;
}

typedef struct {
    int32_t cut, block, direction;
} key;

/* Fills cluster_of_class by the first ops of classes. */
static emp_status number_clusters(const namer *n, int32_t block,
                                  int32_t *cluster_of_class, int32_t *count,
                                  emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_strmap    map = {0};
    const int32_t classes = n->problem->graph->class_count;
    key          *keys = EMP_NEW_ARRAY(key, (size_t)classes);

    if (keys == NULL) EMP_FAIL(EMP_ENOMEM, "clusters of %d classes", classes);
    for (int32_t c = 0; c < classes; c++) {
        cluster_of_class[c] = -1;
        if (n->first_op[c] < 0) continue;
        const tag   *t = &n->tag[n->first_op[c]];
        const layer *l = &n->layer[t->layer];
        int32_t      step = (int32_t)((int64_t)t->at * l->steps / t->of);
        keys[c] = (key){l->cut, step / block, t->direction};
        cluster_of_class[c] = emp_strmap_get(&map, (const char *)&keys[c], sizeof(key));
        if (cluster_of_class[c] >= 0) continue;
        cluster_of_class[c] = (int32_t)map.count;
        EMP_TRY(emp_strmap_set(&map, (const char *)&keys[c], sizeof(key),
                               cluster_of_class[c], err));
    }
    *count = (int32_t)map.count;

cleanup:
    emp_strmap_clear(&map);
    emp_free(keys);
    return st;
}

/* Components of the deepest scope. */
static int32_t deepest(const namer *n)
{
    int32_t depth = 1;

    for (size_t i = 0; i < n->layer_of_scope.count; i++) {
        int32_t own = 1;
        for (int32_t k = 0; k < n->layer[i].length; k++)
            own += n->layer[i].scope[k] == '/';
        if (own > depth) depth = own;
    }
    return depth;
}

static int32_t longest_walk(const namer *n)
{
    int32_t steps = 1;

    for (size_t i = 0; i < n->layer_of_scope.count; i++)
        if (n->layer[i].steps > steps) steps = n->layer[i].steps;
    return steps;
}

/* The next coarser way; false = there is none. */
static bool coarsen(const namer *n, coarseness *how)
{
    if (how->depth > 1) {
        how->depth--;
    } else if (how->block < longest_walk(n)) {
        how->block *= 2;
    } else if (!how->cuts_cells) {
        how->cuts_cells = true;
        how->depth = deepest(n);
    } else {
        return false;
    }
    return true;
}

static emp_status make_clusters(namer *n, const emp_name_cluster_params *params,
                                int32_t *cluster_of_class, int32_t *count, emp_error *err)
{
    coarseness how = {.depth = deepest(n), .block = params->block};

    do {
        EMP_CHECK(cut_scopes(n, &how, err));
        EMP_CHECK(number_clusters(n, how.block, cluster_of_class, count, err));
    } while (*count > params->most && coarsen(n, &how));
    if (*count <= params->most) return EMP_OK;
    for (int32_t c = 0; c < n->problem->graph->class_count; c++)
        if (cluster_of_class[c] >= params->most) cluster_of_class[c] = params->most - 1;
    *count = params->most;
    return EMP_OK;
}

/* ---- all --------------------------------------------------------------------------- */

static void find_first_ops(namer *n)
{
    const emp_graph *g = n->problem->graph;

    for (int32_t c = 0; c < g->class_count; c++) n->first_op[c] = -1;
    for (emp_op_id op = g->op_count - 1; op >= 0; op--) {
        int32_t c = g->op[op].colocation_class;
        if (!g->op[op].is_folded && (n->problem->kinds_of_class[c] & EMP_KIND_GPU) != 0)
            n->first_op[c] = op;
    }
}

static size_t count_components(const emp_graph *g)
{
    size_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        count++;
        for (const char *at = g->name[op]; *at != '\0'; at++) count += *at == '/';
    }
    return count;
}

static emp_status init(namer *n, const emp_problem *problem, emp_error *err)
{
    const emp_graph *g = problem->graph;
    size_t           ops = (size_t)g->op_count;

    n->problem = problem;
    EMP_CHECK(EMP_ALLOC(n->series, count_components(g)));
    EMP_CHECK(EMP_ALLOC(n->layer, ops));
    EMP_CHECK(EMP_ALLOC(n->tag, ops));
    EMP_CHECK(EMP_ALLOC(n->first_op, (size_t)g->class_count));
    find_first_ops(n);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *name;
        size_t      length = name_of_layer(g->name[op], &name);
        EMP_CHECK(note_series(n, name, length, err));
    }
    return EMP_OK;
}

static void clear(namer *n)
{
    emp_strmap_clear(&n->series_of_base);
    emp_strmap_clear(&n->layer_of_scope);
    emp_free(n->series);
    emp_free(n->layer);
    emp_free(n->tag);
    emp_free(n->first_op);
}

emp_status emp_name_clusters(int32_t *cluster_of_class, int32_t *cluster_count,
                             const emp_problem             *problem,
                             const emp_name_cluster_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    namer      n = {0};

    EMP_TRY(init(&n, problem, err));
    EMP_TRY(tag_ops(&n, err));
    find_directions(&n);
    EMP_TRY(make_clusters(&n, params, cluster_of_class, cluster_count, err));

cleanup:
    clear(&n);
    return st;
}
