// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/go.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "search/groups/class_groups.h"

/* ---- mending ---- */

/* They bound what a proposal costs: moves that are made, and moves that are tried for each. */
enum { MOST_MOVES = 64, MOST_TRIES = 256 };

/* Probabilities below this count as equal. */
static const double LEAST_P = 1e-30;

/* A node to another device. */
typedef struct emp_go_move {
    double  gain; /* of the log-likelihood */
    int32_t position;
    uint8_t to;
} move;

emp_status emp_go_fit_init(emp_go_fit *f, const emp_node_graph *nodes,
                           const emp_transferable *features, const emp_problem *problem,
                           int32_t choices, emp_error *err)
{
    const size_t rows = (size_t)nodes->node_count;

    *f = (emp_go_fit){
        .nodes = nodes, .features = features, .problem = problem, .choices = choices};
    f->device_of_node = EMP_ADD_ARRAY(&f->arrays, emp_device_id, rows);
    f->device_of_op = EMP_ADD_ARRAY(&f->arrays, emp_device_id, (size_t)nodes->op_count);
    f->move = EMP_ADD_ARRAY(&f->arrays, move, rows * (size_t)choices);
    if (f->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "moves of %zu nodes", rows);
    return emp_room_init(&f->room, problem, err);
}

void emp_go_fit_clear(emp_go_fit *f)
{
    emp_room_clear(&f->room);
    emp_arrays_clear(&f->arrays);
    *f = (emp_go_fit){0};
}

static double missing_of(emp_go_fit *f, const uint8_t *choice)
{
    for (emp_op_id op = 0; op < f->nodes->op_count; op++) f->device_of_op[op] = 0;
    for (int32_t v = 0; v < f->nodes->node_count; v++)
        f->device_of_node[v] = choice[f->features->position[v]];
    emp_node_graph_spread(f->nodes, f->device_of_node, f->device_of_op);
    emp_problem_legalize(f->problem, f->device_of_op);
    return emp_room_missing(&f->room, f->device_of_op);
}

static bool is_full(const emp_go_fit *f, int32_t device)
{
    return f->room.peak_bytes[device] > emp_problem_memory_bytes(f->problem, device);
}

/* The likelier move first; among equals the one of the earlier node, to the lower device. */
static int compare(const void *a, const void *b)
{
    const move *x = a, *y = b;

    if (x->gain != y->gain) return x->gain < y->gain ? 1 : -1;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* \return how many moves leave a device that lacks memory. */
static int32_t list_moves(emp_go_fit *f, const uint8_t *choice, const emp_real *p)
{
    int32_t count = 0;

    for (int32_t i = 0; i < f->features->count; i++) {
        const emp_real *of_node = &p[(int64_t)i * f->choices];
        if (!is_full(f, choice[i])) continue;
        const double here = log(fmax((double)of_node[choice[i]], LEAST_P));
        for (int32_t d = 0; d < f->problem->machine->device_count; d++) {
            if (d == choice[i] || !(f->features->devices[i] >> d & 1)) continue;
            f->move[count++] =
                (move){log(fmax((double)of_node[d], LEAST_P)) - here, i, (uint8_t)d};
        }
    }
    qsort(f->move, (size_t)count, sizeof *f->move, compare);
    return count < MOST_TRIES ? count : MOST_TRIES;
}

/* Makes the best of the moves. \return what is missing then, at most \a missing. */
static double make_move(emp_go_fit *f, uint8_t *choice, int32_t count, double missing)
{
    const move *best = NULL;

    for (int32_t i = 0; i < count && missing > 0.0 && !emp_stop_is_set(f->stop); i++) {
        const move   *m = &f->move[i];
        const uint8_t from = choice[m->position];
        choice[m->position] = m->to;
        const double left = missing_of(f, choice);
        choice[m->position] = from;
        if (left >= missing) continue;
        missing = left;
        best = m;
    }
    if (best != NULL) choice[best->position] = best->to;
    return missing;
}

double emp_go_fit_mend(emp_go_fit *f, uint8_t *choice, const emp_real *p)
{
    double missing = missing_of(f, choice);

    for (int32_t i = 0; i < MOST_MOVES && missing > 0.0; i++) {
        const int32_t count = list_moves(f, choice, p);
        const double  left = make_move(f, choice, count, missing);
        if (left >= missing) break;
        missing = left;
        missing_of(f, choice); /* the peaks of what now stands */
    }
    return missing;
}

/* ---- draws ---- */

emp_coupling emp_coupling_none(int32_t count) { return (emp_coupling){.count = count}; }

/* Nodes that METIS leaves out share one more group. */
static void spread(int32_t *group, const int32_t *group_of_class, int32_t rest,
                   const emp_node_graph *nodes, const emp_transferable *features,
                   const emp_problem *problem)
{
    for (int32_t v = 0; v < nodes->node_count; v++) {
        emp_op_id op = nodes->ops.member[nodes->ops.first[v]];
        int32_t   own = group_of_class[problem->graph->op[op].colocation_class];
        group[features->position[v]] = own < 0 ? rest : own;
    }
}

emp_status emp_coupling_init(emp_coupling *c, const emp_node_graph *nodes,
                             const emp_transferable *features, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)problem->graph->class_count);
    emp_class_groups_params how = {.kind = EMP_CLASS_GROUPS_METIS,
                                   .imbalance = 1.3,
                                   .seed = params->seed,
                                   .stop = params->stop};

    *c = emp_coupling_none(nodes->node_count);
    if (group_of_class == NULL)
        EMP_FAIL(EMP_ENOMEM, "groups of %d nodes", nodes->node_count);
    for (how.count = 4; how.count < c->count / 2 && c->cut_count < EMP_GO_MAX_CUTS;
         how.count *= 2) {
        int32_t  found = 0;
        int32_t *group = EMP_ADD_ARRAY(&c->arrays, int32_t, (size_t)c->count);
        if (group == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d nodes", c->count);
        EMP_TRY(emp_class_groups(group_of_class, &found, problem, &how, err));
        spread(group, group_of_class, found, nodes, features, problem);
        c->group[c->cut_count] = group;
        c->group_count[c->cut_count++] = found + 1;
    }

cleanup:
    emp_free(group_of_class);
    return st;
}

void emp_coupling_clear(emp_coupling *c)
{
    emp_arrays_clear(&c->arrays);
    *c = (emp_coupling){0};
}

static float draw_gumbel(emp_rng *rng)
{
    return (float)-log(-log(emp_rng_uniform(rng) + 0x1p-54));
}

static uint8_t choose(const emp_real *p, const float *gumbel, int32_t devices)
{
    double  most = -INFINITY;
    uint8_t chosen = 0;

    for (int32_t d = 0; d < devices; d++) {
        if (!(p[d] > 0)) continue;
        double value = log((double)p[d]) + (double)gumbel[d];
        if (value <= most) continue;
        most = value;
        chosen = (uint8_t)d;
    }
    return chosen;
}

void emp_coupling_draw(const emp_coupling *c, uint8_t *choice, const emp_real *p,
                       int32_t devices, float *gumbel, emp_rng *rng)
{
    int32_t cut =
        c->cut_count == 0 ? 0 : (int32_t)emp_rng_below(rng, (uint32_t)c->cut_count + 1);
    const int32_t *group = cut < c->cut_count ? c->group[cut] : NULL;
    int64_t        groups = group != NULL ? c->group_count[cut] : c->count;

    for (int64_t i = 0; i < groups * devices; i++) gumbel[i] = draw_gumbel(rng);
    for (int64_t v = 0; v < c->count; v++) {
        int64_t own = group != NULL ? group[v] : v;
        choice[v] = choose(&p[v * devices], &gumbel[own * devices], devices);
    }
}

void emp_coupling_argmax(uint8_t *choice, const emp_real *p, int32_t count,
                         int32_t devices)
{
    for (int64_t v = 0; v < count; v++) {
        choice[v] = 0;
        for (int32_t d = 1; d < devices; d++)
            if (p[v * devices + d] > p[v * devices + choice[v]]) choice[v] = (uint8_t)d;
    }
}

/* ---- names of an example's GPUs ---- */

/* Impossible choices count as very unlikely, so that sums can be compared. */
static const double LEAST_NAMED_P = 1e-9;

typedef struct {
    const emp_problem *problem;
    uint8_t            gpu[EMP_MAX_DEVICES];
    int32_t            count;
    int32_t            index_of_device[EMP_MAX_DEVICES]; /* -1: no GPU */
} gpus;

static gpus find_gpus(const emp_problem *problem)
{
    const emp_machine *m = problem->machine;
    gpus               g = {.problem = problem};

    for (emp_device_id d = 0; d < m->device_count; d++) {
        const bool is_gpu = m->device[d].kind == EMP_DEVICE_GPU;
        g.index_of_device[d] = is_gpu ? g.count : -1;
        if (is_gpu) g.gpu[g.count++] = (uint8_t)d;
    }
    return g;
}

static bool is_same_route(const emp_route *x, const emp_route *y)
{
    return x->bytes_per_s == y->bytes_per_s && x->latency_s == y->latency_s;
}

/* Whether the machine is the same one after two of its GPUs are exchanged, which is an equivalence. */
static bool are_alike(const gpus *g, int32_t i, int32_t k)
{
    const emp_machine  *m = g->problem->machine;
    const emp_device_id a = g->gpu[i], b = g->gpu[k];

    if (g->problem->costs->column_of_device[a] !=
            g->problem->costs->column_of_device[b] ||
        m->device[a].memory_bytes != m->device[b].memory_bytes ||
        m->device[a].host != m->device[b].host ||
        !is_same_route(&m->route[a][b], &m->route[b][a]))
        return false;
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (d != a && d != b &&
            (!is_same_route(&m->route[a][d], &m->route[b][d]) ||
             !is_same_route(&m->route[d][a], &m->route[d][b])))
            return false;
    return true;
}

static emp_device_id device_of(const emp_go_naming *n, int32_t position)
{
    return n->device_of_node[n->nodes->order[position]];
}

/* The first name of a GPU like it that none has yet. */
static void take_name(const gpus *g, int32_t i, int32_t *name_of_gpu, bool *is_taken)
{
    int32_t name = 0;

    if (name_of_gpu[i] >= 0) return;
    while (is_taken[name] || !are_alike(g, i, name)) name++;
    is_taken[name] = true;
    name_of_gpu[i] = name;
}

static void name_by_use(const emp_go_naming *n, const gpus *g, int32_t *name_of_gpu)
{
    bool is_taken[EMP_MAX_DEVICES] = {false};

    for (int32_t i = 0; i < g->count; i++) name_of_gpu[i] = -1;
    for (int32_t v = 0; v < n->nodes->node_count; v++) {
        const int32_t i = g->index_of_device[device_of(n, v)];
        if (i >= 0) take_name(g, i, name_of_gpu, is_taken);
    }
    for (int32_t i = 0; i < g->count; i++) take_name(g, i, name_of_gpu, is_taken);
}

/* Rows are taken one by one. Potentials make all gains of what is assigned 0, and no other one
 * positive; columns that no row has yet are reached by a shortest path. */
typedef struct {
    double  row[EMP_MAX_DEVICES + 1], column[EMP_MAX_DEVICES + 1]; /* potentials */
    int32_t row_of_column[EMP_MAX_DEVICES + 1];                    /* from 1; 0: none */
    int32_t before[EMP_MAX_DEVICES + 1];
    double  least[EMP_MAX_DEVICES + 1];
    bool    is_seen[EMP_MAX_DEVICES + 1];
} assignment;

/* \return the next column. */
static int32_t step(assignment *a, double gain[][EMP_MAX_DEVICES], int32_t count,
                    int32_t column)
{
    const int32_t row = a->row_of_column[column];
    double        delta = INFINITY;
    int32_t       next = 0;

    a->is_seen[column] = true;
    for (int32_t c = 1; c <= count; c++) {
        if (a->is_seen[c]) continue;
        const double cost = -gain[row - 1][c - 1] - a->row[row] - a->column[c];
        if (cost < a->least[c]) {
            a->least[c] = cost;
            a->before[c] = column;
        }
        if (a->least[c] < delta) {
            delta = a->least[c];
            next = c;
        }
    }
    for (int32_t c = 0; c <= count; c++) {
        if (a->is_seen[c]) {
            a->row[a->row_of_column[c]] += delta;
            a->column[c] -= delta;
        } else {
            a->least[c] -= delta;
        }
    }
    return next;
}

void emp_go_assign(double gain[][EMP_MAX_DEVICES], int32_t count, int32_t *column_of_row)
{
    assignment a = {.row_of_column = {0}};

    for (int32_t row = 1; row <= count; row++) {
        int32_t column = 0;
        a.row_of_column[0] = row;
        for (int32_t c = 0; c <= count; c++) {
            a.least[c] = INFINITY;
            a.is_seen[c] = false;
        }
        do column = step(&a, gain, count, column);
        while (a.row_of_column[column] != 0);
        for (; column != 0; column = a.before[column])
            a.row_of_column[column] = a.row_of_column[a.before[column]];
    }
    for (int32_t c = 1; c <= count; c++) column_of_row[a.row_of_column[c] - 1] = c - 1;
}

static void name_by_match(const emp_go_naming *n, const gpus *g, int32_t *name_of_gpu)
{
    double gain[EMP_MAX_DEVICES][EMP_MAX_DEVICES];

    /* the name of a different GPU costs more than all other names together can */
    for (int32_t i = 0; i < g->count; i++)
        for (int32_t name = 0; name < g->count; name++)
            gain[i][name] = are_alike(g, i, name)
                                ? 0.0
                                : (n->nodes->node_count + 1) * log(LEAST_NAMED_P);
    for (int32_t v = 0; v < n->nodes->node_count; v++) {
        const int32_t i = g->index_of_device[device_of(n, v)];
        for (int32_t name = 0; i >= 0 && name < g->count; name++)
            gain[i][name] += log(fmax(
                (double)n->p[(int64_t)v * n->choices + g->gpu[name]], LEAST_NAMED_P));
    }
    emp_go_assign(gain, g->count, name_of_gpu);
}

void emp_go_name_devices(const emp_go_naming *naming, emp_go_names how,
                         uint8_t *name_of_device)
{
    const gpus g = find_gpus(naming->problem);
    int32_t    name_of_gpu[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < naming->problem->machine->device_count; d++)
        name_of_device[d] = (uint8_t)d;
    if (how == EMP_NAMES_MATCHED)
        name_by_match(naming, &g, name_of_gpu);
    else
        name_by_use(naming, &g, name_of_gpu);
    for (int32_t i = 0; i < g.count; i++)
        name_of_device[g.gpu[i]] = g.gpu[name_of_gpu[i]];
}
