// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/edges_plain.h"

#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { NEVER = -1 };

typedef struct {
    const plain_step *step;
    const int64_t    *message_ns;
    plain_result     *result;
    int64_t           now_ns;
    int64_t          *ready_ns, *start_ns, *end_ns; /* [op]; NEVER = not yet */
    int64_t          *there_ns;                     /* [edge]; NEVER = not sent */
} simulation;

static bool are_all_there(const simulation *sim, int32_t op)
{
    const plain_step *s = sim->step;

    for (int32_t e = 0; e < s->edge_count; e++) {
        if (s->edge[e].consumer != op) continue;
        if (sim->there_ns[e] == NEVER || sim->there_ns[e] > sim->now_ns) return false;
    }
    return true;
}

/* An op that is running, or has just started and takes no time, has sent its messages. */
static void note_ready(simulation *sim)
{
    for (int32_t op = 0; op < sim->step->op_count; op++) {
        if (sim->ready_ns[op] == NEVER && are_all_there(sim, op))
            sim->ready_ns[op] = sim->now_ns;
    }
}

static bool is_busy(const simulation *sim, int32_t device)
{
    for (int32_t op = 0; op < sim->step->op_count; op++) {
        if (sim->step->device_of_op[op] == device && sim->start_ns[op] != NEVER &&
            sim->end_ns[op] > sim->now_ns)
            return true;
    }
    return false;
}

/* The op that starts next at this time, or -1. */
static int32_t choose(const simulation *sim)
{
    int32_t best = -1;

    for (int32_t op = 0; op < sim->step->op_count; op++) {
        if (sim->ready_ns[op] == NEVER || sim->start_ns[op] != NEVER) continue;
        if (is_busy(sim, sim->step->device_of_op[op])) continue;
        if (best < 0 || sim->ready_ns[op] < sim->ready_ns[best]) best = op;
    }
    return best;
}

static void start(simulation *sim, int32_t op)
{
    const plain_step *s = sim->step;

    sim->start_ns[op] = sim->now_ns;
    sim->end_ns[op] = sim->now_ns + plain_step_cost_ns(s, op);
    sim->result->busy_ns[s->device_of_op[op]] += plain_step_cost_ns(s, op);
    for (int32_t e = 0; e < s->edge_count; e++) {
        const plain_edge *edge = &s->edge[e];
        if (edge->producer != op) continue;
        sim->there_ns[e] = sim->end_ns[op];
        if (s->device_of_op[edge->consumer] == s->device_of_op[op]) continue;
        sim->there_ns[e] += sim->message_ns[e];
        sim->result->transfer_count++;
        if (edge->tensor != PLAIN_CONTROL)
            sim->result->traffic_bytes += s->tensor[edge->tensor].transfer_bytes;
    }
}

static void look_at(int64_t *next_ns, int64_t at_ns, int64_t now_ns)
{
    if (at_ns > now_ns && (*next_ns == NEVER || at_ns < *next_ns)) *next_ns = at_ns;
}

/* The next time at which anything ends, or NEVER. */
static int64_t find_next(const simulation *sim)
{
    int64_t next_ns = NEVER;

    for (int32_t op = 0; op < sim->step->op_count; op++)
        look_at(&next_ns, sim->end_ns[op], sim->now_ns);
    for (int32_t e = 0; e < sim->step->edge_count; e++)
        look_at(&next_ns, sim->there_ns[e], sim->now_ns);
    return next_ns;
}

static void hold(simulation *sim, int64_t *used, int32_t device, int64_t bytes)
{
    int64_t *peak = &sim->result->peak_bytes[device];

    used[device] += bytes;
    if (used[device] > *peak) *peak = used[device];
}

static int64_t output_bytes(const plain_step *s, int32_t op)
{
    int64_t bytes = 0;

    for (int32_t t = 0; t < s->tensor_count; t++)
        if (s->tensor[t].producer == op) bytes += s->tensor[t].memory_bytes;
    return bytes;
}

/* Whether all that read the op have been counted, this reader as the last. */
static bool was_last_reader(const simulation *sim, const bool *is_counted, int32_t op,
                            int32_t reader)
{
    const plain_step *s = sim->step;
    bool              is_reader = false;

    for (int32_t e = 0; e < s->edge_count; e++) {
        if (s->edge[e].producer != op) continue;
        if (!is_counted[s->edge[e].consumer]) return false;
        if (s->edge[e].consumer == reader) is_reader = true;
    }
    return is_reader;
}

static void account_memory(simulation *sim)
{
    const plain_step *s = sim->step;
    int64_t           used[PLAIN_MAX_DEVICES] = {0};
    bool             *is_counted = EMP_NEW_ARRAY(bool, (size_t)s->op_count);

    assert(is_counted != NULL);
    for (int32_t count = 0; count < s->op_count; count++) {
        int32_t op = -1;
        for (int32_t v = 0; v < s->op_count; v++) {
            if (is_counted[v]) continue;
            bool waits = false; /* for an op that is ready at the same time */
            for (int32_t e = 0; e < s->edge_count; e++)
                waits |= s->edge[e].consumer == v && !is_counted[s->edge[e].producer];
            if (waits) continue;
            if (op < 0 || sim->ready_ns[v] < sim->ready_ns[op]) op = v;
        }
        int32_t device = s->device_of_op[op];
        is_counted[op] = true;
        hold(sim, used, device, output_bytes(s, op) + s->persistent_bytes[op]);
        hold(sim, used, device, s->temporary_bytes[op]);
        used[device] -= s->temporary_bytes[op];
        for (int32_t u = 0; u < s->op_count; u++) {
            if (was_last_reader(sim, is_counted, u, op))
                used[s->device_of_op[u]] -= output_bytes(s, u);
        }
    }
    emp_free(is_counted);
}

void edges_plain_run(const plain_step *s, const int64_t *message_ns, int64_t *start_ns,
                     plain_result *result)
{
    const size_t ops = (size_t)s->op_count, edges = (size_t)s->edge_count;
    simulation   sim = {.step = s,
                        .message_ns = message_ns,
                        .result = result,
                        .ready_ns = EMP_NEW_ARRAY(int64_t, ops),
                        .start_ns = EMP_NEW_ARRAY(int64_t, ops),
                        .end_ns = EMP_NEW_ARRAY(int64_t, ops),
                        .there_ns = EMP_NEW_ARRAY(int64_t, edges)};

    assert(sim.ready_ns && sim.start_ns && sim.end_ns && sim.there_ns);
    *result = (plain_result){0};
    for (size_t i = 0; i < ops; i++)
        sim.ready_ns[i] = sim.start_ns[i] = sim.end_ns[i] = NEVER;
    for (size_t i = 0; i < edges; i++) sim.there_ns[i] = NEVER;
    while (sim.now_ns != NEVER) {
        note_ready(&sim);
        for (int32_t op = choose(&sim); op >= 0; op = choose(&sim)) {
            start(&sim, op);
            note_ready(&sim);
        }
        sim.now_ns = find_next(&sim);
    }
    for (int32_t op = 0; op < s->op_count; op++) {
        assert(sim.end_ns[op] != NEVER);
        if (sim.end_ns[op] > result->step_time_ns) result->step_time_ns = sim.end_ns[op];
    }
    account_memory(&sim);
    if (start_ns != NULL) memcpy(start_ns, sim.start_ns, ops * sizeof *start_ns);
    emp_free(sim.ready_ns);
    emp_free(sim.start_ns);
    emp_free(sim.end_ns);
    emp_free(sim.there_ns);
}

void edges_plain_messages(const plain_step *s, const emp_problem *problem,
                          int64_t *message_ns)
{
    const emp_graph *g = problem->graph;
    int32_t          live = 0;
    int32_t         *id = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);

    assert(id != NULL);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded) id[live++] = op;
    for (int32_t e = 0; e < s->edge_count; e++) {
        const plain_edge *edge = &s->edge[e];
        bool              is_control = edge->tensor == PLAIN_CONTROL;
        const emp_route  *route =
            &problem->machine->route[s->device_of_op[edge->producer]]
                                    [s->device_of_op[edge->consumer]];
        message_ns[e] = 0;
        if (s->device_of_op[edge->producer] == s->device_of_op[edge->consumer]) continue;
        if (g->stated != NULL && g->stated[id[edge->producer]].copy_ns >= 0) {
            if (!is_control) message_ns[e] = g->stated[id[edge->producer]].copy_ns;
            continue;
        }
        int64_t bytes = is_control ? 0 : s->tensor[edge->tensor].transfer_bytes;
        message_ns[e] = llround(route->latency_s * 1e9) +
                        llround((double)bytes * (1e9 / route->bytes_per_s));
    }
    emp_free(id);
}
