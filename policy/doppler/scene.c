// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/net.h"

#include <math.h>

#include "base/collections.h"

enum { F = EMP_DOPPLER_FEATURES };

/* ---- times ---- */

static double mean_over_routes_ns(const emp_machine *m, int64_t bytes)
{
    double sum = 0.0;
    int    pairs = m->device_count * (m->device_count - 1);

    for (emp_device_id i = 0; i < m->device_count; i++) {
        for (emp_device_id j = 0; j < m->device_count; j++) {
            if (i == j) continue;
            sum += 1e9 * (m->route[i][j].latency_s +
                          (double)bytes / m->route[i][j].bytes_per_s);
        }
    }
    return pairs == 0 ? 0.0 : round(sum / pairs);
}

static double stated_ns(const emp_doppler_scene *s, int32_t node)
{
    const emp_members *ops = &s->graph->ops;
    double             longest = 0.0;

    for (int32_t i = ops->first[node]; i < ops->first[node + 1]; i++)
        longest = fmax(
            longest, (double)emp_graph_stated_copy_ns(s->problem->graph, ops->member[i]));
    return longest;
}

static void fill_times(emp_doppler_scene *s)
{
    const emp_node_graph *g = s->graph;

    for (int32_t v = 0; v < g->node_count; v++) {
        double  sum = 0.0;
        int32_t count = 0;
        for (emp_device_id d = 0; d < g->device_count; d++) {
            int64_t at = (int64_t)v * g->device_count + d;
            s->time_ns[at] = round(1e9 * g->time_s[at]);
            if ((g->devices[v] >> d & 1) == 0) continue;
            sum += s->time_ns[at];
            count++;
        }
        s->compute_ns[v] = round(sum / count);
        s->message_ns[v] =
            s->is_stated ? stated_ns(s, v)
                         : mean_over_routes_ns(s->problem->machine, g->output_bytes[v]);
    }
}

/* How long it takes until node from's result is on device to: 0 where it is.
 * bytes are what the reader reads of it. */
static double transfer_ns(const emp_doppler_scene *s, int32_t from, int64_t bytes,
                          emp_device_id source, emp_device_id to)
{
    const emp_route *route = &s->problem->machine->route[source][to];

    if (source == to) return 0.0;
    if (s->is_stated) return s->message_ns[from];
    return round(1e9 * (route->latency_s + (double)bytes / route->bytes_per_s));
}

/* ---- longest paths ---- */

/* Sets the level of a node, whose neighbours of that direction have theirs. */
static void extend(const emp_doppler_scene *s, const emp_node_edges *edges, int32_t v,
                   double *level, int32_t *next)
{
    next[v] = -1;
    level[v] = s->compute_ns[v];
    for (int32_t e = edges->first[v]; e < edges->first[v + 1]; e++) {
        int32_t u = edges->node[e];
        if (next[v] < 0 || level[u] > level[next[v]]) next[v] = u;
    }
    if (next[v] >= 0) level[v] += s->message_ns[v] + level[next[v]];
}

static void fill_levels(emp_doppler_scene *s)
{
    const emp_node_graph *g = s->graph;

    for (int32_t i = g->node_count - 1; i >= 0; i--)
        extend(s, &g->successors, g->order[i], s->b_level, s->below);
    for (int32_t i = 0; i < g->node_count; i++)
        extend(s, &g->predecessors, g->order[i], s->t_level, s->above);
}

/* ---- features ---- */

void emp_doppler_scale(emp_real *scaled, const double *plain, int32_t rows)
{
    for (int32_t c = 0; c < F; c++) {
        double mean = 0.0, squares = 0.0;
        for (int32_t r = 0; r < rows; r++) mean += plain[r * F + c];
        mean /= rows;
        for (int32_t r = 0; r < rows; r++)
            squares += (plain[r * F + c] - mean) * (plain[r * F + c] - mean);
        double deviation = sqrt(squares / rows) + 1e-6;
        for (int32_t r = 0; r < rows; r++)
            scaled[r * F + c] = (emp_real)((plain[r * F + c] - mean) / deviation);
    }
}

static void fill_features(emp_doppler_scene *s)
{
    const emp_node_graph *g = s->graph;
    const emp_node_edges *in = &g->predecessors, *out = &g->successors;

    for (int32_t v = 0; v < g->node_count; v++) {
        double *f = s->plain + (size_t)v * F;
        f[0] = s->compute_ns[v];
        f[1] = s->b_level[v];
        f[2] = s->t_level[v];
        for (int32_t e = in->first[v]; e < in->first[v + 1]; e++)
            f[3] += s->message_ns[in->node[e]];
        f[4] = (out->first[v + 1] - out->first[v]) * s->message_ns[v];
    }
    emp_doppler_scale(s->feature, s->plain, g->node_count);
}

/* ---- messages ---- */

/* Over the edges, of which a node sends as many as it has neighbours. */
static void scale_messages(emp_doppler_scene *s)
{
    const int32_t *first = s->graph->neighbors.first;
    const int32_t  edges = s->graph->neighbors.count, nodes = s->graph->node_count;
    double         mean = 0.0, squares = 0.0;

    for (int32_t v = 0; v < nodes; v++)
        mean += s->message_ns[v] * (first[v + 1] - first[v]);
    if (edges > 0) mean /= edges;
    for (int32_t v = 0; v < nodes; v++) {
        double off = s->message_ns[v] - mean;
        squares += off * off * (first[v + 1] - first[v]);
    }
    double deviation = edges > 0 ? sqrt(squares / edges) : 0.0;
    for (int32_t v = 0; v < nodes; v++) {
        double off = s->message_ns[v] - mean;
        s->message[v] = deviation > 0.0 ? (emp_real)(off / (deviation + 1e-6)) : 0;
    }
}

/* Keys become ranges of their logarithms, from 0 on. */
static void bucket(emp_keyed *k, int32_t count)
{
    const double low = log1p(k[0].key), high = log1p(k[count - 1].key);

    for (int32_t i = 0; i < count; i++) {
        double at = (log1p(k[i].key) - low) / (high - low) * EMP_DOPPLER_BUCKETS;
        k[i].key = fmin(floor(at), EMP_DOPPLER_BUCKETS - 1);
    }
}

static int32_t count_keys(const emp_keyed *k, int32_t count)
{
    int32_t different = 0;

    for (int32_t i = 0; i < count; i++) different += i == 0 || k[i].key != k[i - 1].key;
    return different;
}

static emp_status classify(emp_doppler_scene *s, emp_error *err)
{
    const int32_t nodes = s->graph->node_count;
    emp_arrays    scratch = {0};
    emp_keyed    *k = EMP_ADD_ARRAY(&scratch, emp_keyed, (size_t)nodes);
    int32_t class = -1;

    if (scratch.is_short) return EMP_ERROR(EMP_ENOMEM, "messages of %d nodes", nodes);
    for (int32_t v = 0; v < nodes; v++) k[v] = (emp_keyed){s->message_ns[v], v};
    emp_keyed_sort(k, (size_t)nodes);
    if (count_keys(k, nodes) > EMP_DOPPLER_BUCKETS) bucket(k, nodes);
    emp_keyed_sort(k, (size_t)nodes);
    for (int32_t i = 0; i < nodes; i++) {
        if (i == 0 || k[i].key != k[i - 1].key) class ++;
        s->class_node[i] = k[i].number;
        s->class_first[class + 1] = i + 1;
        s->class_message[class] += s->message[k[i].number];
    }
    s->class_count = class + 1;
    for (int32_t c = 0; c < s->class_count; c++)
        s->class_message[c] /= (emp_real)(s->class_first[c + 1] - s->class_first[c]);
    emp_arrays_clear(&scratch);
    return EMP_OK;
}

/* ---- all of it ---- */

static emp_status allocate(emp_doppler_scene *s, emp_error *err)
{
    size_t nodes = (size_t)s->graph->node_count, devices = (size_t)s->graph->device_count;

    s->time_ns = EMP_ADD_ARRAY(&s->arrays, double, nodes *devices);
    s->compute_ns = EMP_ADD_ARRAY(&s->arrays, double, nodes);
    s->message_ns = EMP_ADD_ARRAY(&s->arrays, double, nodes);
    s->b_level = EMP_ADD_ARRAY(&s->arrays, double, nodes);
    s->t_level = EMP_ADD_ARRAY(&s->arrays, double, nodes);
    s->below = EMP_ADD_ARRAY(&s->arrays, int32_t, nodes);
    s->above = EMP_ADD_ARRAY(&s->arrays, int32_t, nodes);
    s->plain = EMP_ADD_ARRAY(&s->arrays, double, nodes *F);
    s->feature = EMP_ADD_ARRAY(&s->arrays, emp_real, nodes * F);
    s->message = EMP_ADD_ARRAY(&s->arrays, emp_real, nodes);
    s->class_message = EMP_ADD_ARRAY(&s->arrays, emp_real, EMP_DOPPLER_BUCKETS);
    s->class_first = EMP_ADD_ARRAY(&s->arrays, int32_t, EMP_DOPPLER_BUCKETS + 1);
    s->class_node = EMP_ADD_ARRAY(&s->arrays, int32_t, nodes);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "facts of %zu nodes", nodes);
    return EMP_OK;
}

emp_status emp_doppler_scene_init(emp_doppler_scene *s, const emp_problem *problem,
                                  int32_t max_nodes, emp_error *err)
{
    *s = (emp_doppler_scene){.problem = problem};
    s->is_stated = problem->runtime.rules == EMP_RULES_EDGES &&
                   emp_graph_stated_copy_ns(problem->graph, 0) >= 0;
    EMP_CHECK(emp_node_graph_create(&s->graph, problem, max_nodes, err));
    EMP_CHECK(allocate(s, err));
    fill_times(s);
    fill_levels(s);
    fill_features(s);
    scale_messages(s);
    return classify(s, err);
}

void emp_doppler_scene_clear(emp_doppler_scene *s)
{
    emp_node_graph_destroy(s->graph);
    emp_arrays_clear(&s->arrays);
    *s = (emp_doppler_scene){0};
}

enum { WORK = 0, INPUT_WORK, INPUT_START, INPUT_END, START };

emp_status emp_doppler_episode_init(emp_doppler_episode     *e,
                                    const emp_doppler_scene *scene, emp_error *err)
{
    size_t nodes = (size_t)scene->graph->node_count;

    *e = (emp_doppler_episode){.scene = scene};
    e->device_of_node = EMP_ADD_ARRAY(&e->arrays, emp_device_id, nodes);
    e->start_ns = EMP_ADD_ARRAY(&e->arrays, double, nodes);
    e->end_ns = EMP_ADD_ARRAY(&e->arrays, double, nodes);
    e->missing = EMP_ADD_ARRAY(&e->arrays, int32_t, nodes);
    e->unread = EMP_ADD_ARRAY(&e->arrays, int32_t, nodes);
    e->ready = EMP_ADD_ARRAY(&e->arrays, int32_t, nodes);
    if (e->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "episode of %zu nodes", nodes);
    return EMP_OK;
}

void emp_doppler_episode_clear(emp_doppler_episode *e) { emp_arrays_clear(&e->arrays); }

void emp_doppler_episode_begin(emp_doppler_episode *e)
{
    const emp_node_graph *g = e->scene->graph;

    e->ready_count = e->booked = 0;
    for (emp_device_id d = 0; d < g->device_count; d++) {
        e->free_ns[d] = e->work_ns[d] = 0.0;
        e->free_bytes[d] = emp_problem_memory_bytes(e->scene->problem, d);
    }
    for (int32_t v = 0; v < g->node_count; v++) {
        e->device_of_node[v] = -1;
        e->missing[v] = g->predecessors.first[v + 1] - g->predecessors.first[v];
        e->unread[v] = g->successors.first[v + 1] - g->successors.first[v];
        if (e->missing[v] == 0) e->ready[e->ready_count++] = v;
    }
}

/* ---- looking at a node ---- */

static double time_on(const emp_doppler_scene *s, int32_t node, emp_device_id device)
{
    return s->time_ns[(int64_t)node * s->graph->device_count + device];
}

static void list_candidates(emp_doppler_episode *e, int32_t v, int64_t bytes)
{
    const emp_node_graph *g = e->scene->graph;

    e->candidate_count = 0;
    for (emp_device_id d = 0; d < g->device_count; d++) {
        if ((g->devices[v] >> d & 1) == 0 || bytes > e->free_bytes[d]) continue;
        e->candidate[e->candidate_count++] = d;
    }
}

static void describe(emp_doppler_episode *e, int32_t v, emp_device_id d, double *f)
{
    const emp_doppler_scene *s = e->scene;
    const emp_node_edges    *in = &s->graph->predecessors;
    bool                     has_input = false;

    f[WORK] = e->work_ns[d];
    f[INPUT_WORK] = f[INPUT_START] = f[INPUT_END] = 0.0;
    f[START] = e->free_ns[d];
    for (int32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        int32_t       u = in->node[i];
        emp_device_id at = e->device_of_node[u];
        double        there = e->end_ns[u] + transfer_ns(s, u, in->bytes[i], at, d);
        f[START] = fmax(f[START], there);
        if (at != d) continue;
        f[INPUT_WORK] += time_on(s, u, d);
        f[INPUT_START] =
            has_input ? fmin(f[INPUT_START], e->start_ns[u]) : e->start_ns[u];
        f[INPUT_END] = fmax(f[INPUT_END], e->end_ns[u]);
        has_input = true;
    }
}

void emp_doppler_episode_look(emp_doppler_episode *e, int32_t v)
{
    const emp_node_graph *g = e->scene->graph;

    list_candidates(e, v, g->persistent_bytes[v] + g->output_bytes[v]);
    if (e->candidate_count == 0) list_candidates(e, v, INT64_MIN);
    for (int32_t i = 0; i < e->candidate_count; i++)
        describe(e, v, e->candidate[i], e->device_feature + (size_t)i * F);
}

/* ---- booking ---- */

static double earliest_start(const emp_doppler_episode *e, int32_t v, emp_device_id d)
{
    const emp_doppler_scene *s = e->scene;
    const emp_node_edges    *in = &s->graph->predecessors;
    double                   start = e->free_ns[d];

    for (int32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        int32_t u = in->node[i];
        start = fmax(start, e->end_ns[u] +
                                transfer_ns(s, u, in->bytes[i], e->device_of_node[u], d));
    }
    return start;
}

static void take_memory(emp_doppler_episode *e, int32_t v, emp_device_id d)
{
    const emp_node_graph *g = e->scene->graph;
    const emp_node_edges *in = &g->predecessors;

    e->free_bytes[d] -= g->persistent_bytes[v] + g->output_bytes[v];
    for (int32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        int32_t u = in->node[i];
        if (--e->unread[u] == 0)
            e->free_bytes[e->device_of_node[u]] += g->output_bytes[u];
    }
}

void emp_doppler_episode_book(emp_doppler_episode *e, int32_t ready, emp_device_id d)
{
    const emp_doppler_scene *s = e->scene;
    const emp_node_edges    *out = &s->graph->successors;
    const int32_t            v = e->ready[ready];

    e->start_ns[v] = earliest_start(e, v, d);
    e->end_ns[v] = e->start_ns[v] + time_on(s, v, d);
    e->device_of_node[v] = d;
    e->free_ns[d] = e->end_ns[v];
    e->work_ns[d] += time_on(s, v, d);
    take_memory(e, v, d);
    e->booked++;
    e->ready[ready] = e->ready[--e->ready_count];
    for (int32_t i = out->first[v]; i < out->first[v + 1]; i++)
        if (--e->missing[out->node[i]] == 0) e->ready[e->ready_count++] = out->node[i];
}

/* ---- the teacher ---- */

static void mark_greatest(double *choice, int32_t count)
{
    double greatest = choice[0];

    for (int32_t i = 1; i < count; i++) greatest = fmax(greatest, choice[i]);
    for (int32_t i = 0; i < count; i++) choice[i] = choice[i] == greatest ? 1.0 : 0.0;
}

void emp_doppler_episode_teach_node(const emp_doppler_episode *e, double *choice)
{
    for (int32_t i = 0; i < e->ready_count; i++)
        choice[i] = e->scene->b_level[e->ready[i]];
    mark_greatest(choice, e->ready_count);
}

void emp_doppler_episode_teach_device(const emp_doppler_episode *e, int32_t node,
                                      double *choice)
{
    for (int32_t i = 0; i < e->candidate_count; i++)
        choice[i] = -(e->device_feature[i * F + START] +
                      time_on(e->scene, node, e->candidate[i]));
    mark_greatest(choice, e->candidate_count);
}
