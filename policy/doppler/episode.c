// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/episode.h"

#include <math.h>

enum { F = EMP_DOPPLER_FEATURES, WORK = 0, INPUT_WORK, INPUT_START, INPUT_END, START };

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
        e->free_bytes[d] = e->scene->problem->machine->device[d].memory_bytes;
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
        double there = e->end_ns[u] + emp_doppler_transfer_ns(s, u, in->bytes[i], at, d);
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
        start =
            fmax(start, e->end_ns[u] + emp_doppler_transfer_ns(s, u, in->bytes[i],
                                                               e->device_of_node[u], d));
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
