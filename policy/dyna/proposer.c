// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/dyna/dyna.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/layers.h"

enum { W1, B1, W2, SLICES };

/* Bytes and times are shares; a thousandth is small, and log1p of a thousand is about 7. */
static const double FINE = 1000.0, FINE_LOG = 6.9;

/* ---- creation ---------------------------------------------------------------------- */

static emp_status add_scene(emp_proposer *p, emp_proposer_scene *scene, emp_error *err)
{
    scene->device_of_node =
        EMP_ADD_ARRAY(&p->arrays, emp_device_id, (size_t)p->nodes->node_count);
    return p->arrays.is_short ? EMP_ERROR(EMP_ENOMEM, "a scene") : EMP_OK;
}

/* The mean time of a byte between two devices. */
static double mean_s_per_byte(const emp_machine *m)
{
    double  sum = 0.0;
    int32_t pairs = 0;

    for (emp_device_id a = 0; a < m->device_count; a++) {
        for (emp_device_id b = 0; b < m->device_count; b++) {
            if (a == b || !(m->route[a][b].bytes_per_s > 0.0)) continue;
            sum += 1.0 / m->route[a][b].bytes_per_s;
            pairs++;
        }
    }
    return pairs > 0 ? sum / pairs : 0.0;
}

static double time_on(const emp_proposer *p, int32_t node, emp_device_id device)
{
    return p->nodes
        ->time_s[(size_t)node * (size_t)p->nodes->device_count + (size_t)device];
}

static double bytes_of(const emp_proposer *p, int32_t node)
{
    return (double)(p->nodes->persistent_bytes[node] + p->nodes->output_bytes[node]);
}

static void sum_up(emp_proposer *p)
{
    const emp_node_graph *n = p->nodes;

    p->s_per_byte = mean_s_per_byte(p->problem->machine);
    for (int32_t v = 0; v < n->node_count; v++) {
        double least = INFINITY;
        for (emp_device_id d = 0; d < n->device_count; d++)
            if (n->devices[v] >> d & 1) least = fmin(least, time_on(p, v, d));
        p->least_s[v] = least;
        p->work_s += least;
    }
    for (int32_t i = 0; i < n->neighbors.count; i++)
        p->all_bytes += (double)n->neighbors.bytes[i];
}

/* At first all outputs are 0: the last layer begins there. */
static emp_status init_net(emp_move_net *net, int32_t inputs, int32_t hidden,
                           emp_arrays *arrays, emp_rng *rng, emp_error *err)
{
    const size_t          rows = EMP_PROPOSER_MOVES, H = (size_t)hidden;
    const emp_param_slice slices[SLICES] = {
        {"w1", inputs, hidden, 0}, {"b1", 1, hidden, 0}, {"w2", hidden, 1, 0}};

    *net = (emp_move_net){.inputs = inputs, .hidden = hidden};
    EMP_CHECK(emp_params_init(&net->params, slices, SLICES, err));
    net->params.threads = 1;
    net->h = EMP_ADD_ARRAY(arrays, emp_real, rows * H);
    net->dh = EMP_ADD_ARRAY(arrays, emp_real, rows * H);
    net->out = EMP_ADD_ARRAY(arrays, emp_real, rows);
    net->dout = EMP_ADD_ARRAY(arrays, emp_real, rows);
    if (arrays->is_short) return EMP_ERROR(EMP_ENOMEM, "a network of %d units", hidden);
    emp_params_glorot(&net->params, W1, 1.0, rng);
    return EMP_OK;
}

emp_status emp_proposer_init(emp_proposer *p, const emp_problem *problem,
                             const emp_moves *moves, int32_t hidden, uint64_t seed,
                             emp_error *err)
{
    emp_rng rng;

    *p = (emp_proposer){.problem = problem, .moves = moves};
    EMP_CHECK(emp_node_graph_create(&p->nodes, problem, 0, err));
    const size_t nodes = (size_t)p->nodes->node_count;
    p->blame_of_node = EMP_ADD_ARRAY(&p->arrays, double, nodes);
    p->end_of_node = EMP_ADD_ARRAY(&p->arrays, double, nodes);
    p->least_s = EMP_ADD_ARRAY(&p->arrays, double, nodes);
    p->x = EMP_ADD_ARRAY(&p->arrays, emp_real,
                         (size_t)EMP_PROPOSER_MOVES * EMP_PROPOSER_FEATURES);
    if (p->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "features of %zu nodes", nodes);
    EMP_CHECK(add_scene(p, &p->parent, err));
    EMP_CHECK(add_scene(p, &p->scene, err));
    sum_up(p);
    emp_rng_init(&rng, seed, 0, 0);
    EMP_CHECK(init_net(&p->policy, EMP_PROPOSER_FEATURES, hidden, &p->arrays, &rng, err));
    EMP_CHECK(init_net(&p->judge, EMP_JUDGE_INPUTS, hidden, &p->arrays, &rng, err));
    return emp_proposer_grow(p, err);
}

void emp_proposer_clear(emp_proposer *p)
{
    for (int32_t l = 0; l < p->level_count; l++) {
        emp_members_clear(&p->nodes_of_group[l]);
        emp_free(p->border[l].first);
        emp_free(p->border[l].node);
        emp_free(p->border[l].bytes);
    }
    emp_node_graph_destroy(p->nodes);
    emp_params_clear(&p->policy.params);
    emp_params_clear(&p->judge.params);
    emp_arrays_clear(&p->arrays);
    *p = (emp_proposer){0};
}

/* Counts the edges that leave each group, or lists them where there is room. */
static void list_border(const emp_proposer *p, const emp_members *g,
                        const int32_t *group_of_node, emp_proposer_border *border)
{
    const emp_node_edges *edges = &p->nodes->neighbors;
    int32_t               count = 0;

    for (int32_t group = 0; group < g->group_count; group++) {
        border->first[group] = count;
        for (int32_t i = g->first[group]; i < g->first[group + 1]; i++) {
            const int32_t v = g->member[i];
            for (int32_t e = edges->first[v]; e < edges->first[v + 1]; e++) {
                if (group_of_node[edges->node[e]] == group) continue;
                if (border->node != NULL) {
                    border->node[count] = edges->node[e];
                    border->bytes[count] = (double)edges->bytes[e];
                }
                count++;
            }
        }
    }
    border->first[g->group_count] = count;
}

/* The nodes of the groups of a level, and their edges. Groups consist of classes, as nodes do. */
static emp_status add_level(emp_proposer *p, int32_t level, emp_error *err)
{
    emp_status           st = EMP_OK;
    const emp_members   *ops = &p->moves->level[level];
    emp_members         *g = &p->nodes_of_group[level];
    emp_proposer_border *border = &p->border[level];
    const int32_t        nodes = p->nodes->node_count;
    int32_t             *group = NULL;

    EMP_TRY(EMP_ALLOC(group, (size_t)nodes));
    p->level_count = level + 1;
    for (int32_t v = 0; v < nodes; v++) group[v] = -1;
    for (int32_t k = 0; k < ops->group_count; k++) {
        for (int32_t i = ops->first[k]; i < ops->first[k + 1]; i++) {
            const int32_t node = p->nodes->node_of_op[ops->member[i]];
            if (node >= 0) group[node] = k;
        }
    }
    EMP_TRY(emp_members_init(g, group, nodes, ops->group_count, err));
    EMP_TRY(EMP_ALLOC(border->first, (size_t)g->group_count + 1));
    list_border(p, g, group, border);
    const size_t count = (size_t)border->first[g->group_count];
    EMP_TRY(EMP_ALLOC(border->node, count));
    EMP_TRY(EMP_ALLOC(border->bytes, count));
    list_border(p, g, group, border);

cleanup:
    emp_free(group);
    return st;
}

emp_status emp_proposer_grow(emp_proposer *p, emp_error *err)
{
    while (p->level_count < p->moves->level_count)
        EMP_CHECK(add_level(p, p->level_count, err));
    return EMP_OK;
}

/* ---- the scene --------------------------------------------------------------------- */

static void put(emp_proposer *p, emp_proposer_scene *s, int32_t node, double sign)
{
    const emp_device_id d = s->device_of_node[node];

    s->load_s[d] += sign * time_on(p, node, d);
    s->bytes[d] += sign * bytes_of(p, node);
    s->blame_s[d] += sign * p->blame_of_node[node];
}

static void copy_scene(const emp_proposer *p, emp_proposer_scene *to,
                       const emp_proposer_scene *from)
{
    emp_device_id *device_of_node = to->device_of_node;

    memcpy(device_of_node, from->device_of_node,
           (size_t)p->nodes->node_count * sizeof *device_of_node);
    *to = *from;
    to->device_of_node = device_of_node;
}

void emp_proposer_see(emp_proposer *p, const emp_device_id *device_of_op, double step_s,
                      const double *blame_s, const double *end_frac)
{
    const emp_node_graph *n = p->nodes;
    emp_proposer_scene   *s = &p->parent;

    p->step_s = step_s;
    memset(s->load_s, 0, sizeof s->load_s);
    memset(s->bytes, 0, sizeof s->bytes);
    memset(s->blame_s, 0, sizeof s->blame_s);
    for (int32_t v = 0; v < n->node_count; v++) {
        const int32_t first = n->ops.first[v], end = n->ops.first[v + 1];
        double        blame = 0.0, ends = 0.0;
        for (int32_t i = first; i < end; i++) {
            if (blame_s != NULL) blame += blame_s[n->ops.member[i]];
            if (end_frac != NULL) ends += end_frac[n->ops.member[i]];
        }
        p->blame_of_node[v] = p->hides_blame ? 0.0 : blame;
        p->end_of_node[v] = ends / (end - first);
        s->device_of_node[v] = device_of_op[n->ops.member[first]];
        put(p, s, v, 1.0);
    }
    copy_scene(p, &p->scene, s);
}

void emp_proposer_return(emp_proposer *p) { copy_scene(p, &p->scene, &p->parent); }

static int32_t level_of(const emp_proposer *p, const emp_move *move)
{
    return (int32_t)(move->groups - p->moves->level);
}

void emp_proposer_move(emp_proposer *p, const emp_move *move)
{
    const emp_members *g = &p->nodes_of_group[level_of(p, move)];

    for (int32_t i = g->first[move->group]; i < g->first[move->group + 1]; i++) {
        put(p, &p->scene, g->member[i], -1.0);
        p->scene.device_of_node[g->member[i]] = move->to;
        put(p, &p->scene, g->member[i], 1.0);
    }
}

/* ---- features ---------------------------------------------------------------------- */

/* A group as it lies. */
typedef struct {
    double work_s, here_s,
        there_s;    /* on the fastest devices, where it is, where it goes */
    double moved_s; /* of here_s, what is not there yet */
    double blame_s, end, bytes;
    double traffic, to_there,
        to_here; /* bytes across its border: all, with either device */
} view;

static emp_device_id look_at(const emp_proposer *p, const emp_move *m, view *w)
{
    const int32_t              level = level_of(p, m);
    const emp_members         *g = &p->nodes_of_group[level];
    const emp_proposer_border *border = &p->border[level];
    const emp_proposer_scene  *s = &p->scene;
    double        traffic[EMP_MAX_DEVICES] = {0}, held[EMP_MAX_DEVICES] = {0};
    const int32_t first = g->first[m->group], end = g->first[m->group + 1];
    emp_device_id from = s->device_of_node[g->member[first]];

    for (int32_t i = first; i < end; i++) {
        const int32_t       v = g->member[i];
        const emp_device_id d = s->device_of_node[v];
        held[d] += p->least_s[v];
        if (held[d] > held[from]) from = d;
        w->work_s += p->least_s[v];
        w->here_s += time_on(p, v, d);
        w->there_s += time_on(p, v, m->to);
        if (d != m->to) w->moved_s += time_on(p, v, d);
        w->blame_s += p->blame_of_node[v];
        w->end += p->end_of_node[v] / (end - first);
        w->bytes += bytes_of(p, v);
    }
    for (int32_t e = border->first[m->group]; e < border->first[m->group + 1]; e++)
        traffic[s->device_of_node[border->node[e]]] += border->bytes[e];
    for (emp_device_id d = 0; d < p->nodes->device_count; d++) w->traffic += traffic[d];
    w->to_there = traffic[m->to];
    w->to_here = traffic[from];
    return from;
}

static double over(double x, double y) { return y > 0.0 ? x / y : 0.0; }

/* log1p of a share, from 0 to about 1. */
static double fine(double share) { return log1p(FINE * share) / FINE_LOG; }

static void describe(const emp_proposer *p, const emp_move *m, emp_real *x)
{
    const emp_proposer_scene *s = &p->scene;
    const emp_device         *device = p->problem->machine->device;
    view                      w = {0};
    const emp_device_id       from = look_at(p, m, &w), to = m->to;
    const double              step = p->step_s > 0.0 ? p->step_s : 1.0;
    const double              cut_s = (w.to_here - w.to_there) * p->s_per_byte;
    const double              numbers[EMP_PROPOSER_FEATURES] = {
                     fine(over(w.work_s, p->work_s)),
                     1.0 - over(w.moved_s, w.here_s),
                     fmin(s->load_s[to] / step, 2.0),
                     fmin(s->load_s[from] / step, 2.0),
                     fmin((s->load_s[to] + w.there_s - s->load_s[from]) / step, 2.0),
                     over(w.to_there, w.traffic),
                     over(w.to_here, w.traffic),
                     fine(over(w.traffic, p->all_bytes)),
                     fmax(fmin(cut_s / step, 1.0), -1.0),
                     fmax(fmin(cut_s / (w.here_s + w.there_s + 1e-9), 2.0), -2.0),
                     fine(w.blame_s / step),
                     fmin(over(w.blame_s, w.here_s), 2.0),
                     s->blame_s[to] / step,
                     s->blame_s[from] / step,
                     fmin((s->bytes[to] + w.bytes) / (double)(device[to].memory_bytes + 1), 2.0),
                     fmin(s->bytes[from] / (double)(device[from].memory_bytes + 1), 2.0),
                     device[to].kind == EMP_DEVICE_CPU,
                     device[from].kind == EMP_DEVICE_CPU,
                     fmax(fmin(log(over(w.there_s, w.here_s) + 1e-9), 3.0), -3.0) / 3.0,
                     w.end,
    };

    for (int32_t f = 0; f < EMP_PROPOSER_FEATURES; f++) x[f] = (emp_real)numbers[f];
}

/* ---- the networks ------------------------------------------------------------------ */

void emp_move_net_forward(emp_move_net *net, const emp_real *x, int32_t count)
{
    const emp_params *w = &net->params;

    emp_linear_forward(net->h, x, emp_params_value(w, W1), emp_params_value(w, B1), count,
                       net->inputs, net->hidden, 1);
    emp_activation_forward(EMP_ACTIVATION_TANH, net->h, (int64_t)count * net->hidden);
    emp_linear_forward(net->out, net->h, emp_params_value(w, W2), NULL, count,
                       net->hidden, 1, 1);
}

void emp_move_net_learn(emp_move_net *net, emp_real *gradient, const emp_real *x,
                        const double *weight, int32_t count)
{
    const emp_params *w = &net->params;

    emp_move_net_forward(net, x, count);
    for (int32_t i = 0; i < count; i++) net->dout[i] = (emp_real)weight[i];
    emp_linear_backward(net->dh, gradient + w->slice[W2].offset, NULL, net->dout, net->h,
                        emp_params_value(w, W2), count, net->hidden, 1, 1);
    emp_activation_backward(EMP_ACTIVATION_TANH, net->dh, net->h,
                            (int64_t)count * net->hidden);
    emp_linear_backward(NULL, gradient + w->slice[W1].offset,
                        gradient + w->slice[B1].offset, net->dh, x,
                        emp_params_value(w, W1), count, net->inputs, net->hidden, 1);
}

void emp_proposer_weigh(emp_proposer *p, const emp_move *moves, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        describe(p, &moves[i], p->x + (size_t)i * EMP_PROPOSER_FEATURES);
    emp_move_net_forward(&p->policy, p->x, count);
}
