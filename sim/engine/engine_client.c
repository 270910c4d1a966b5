// SPDX-License-Identifier: GPL-3.0-or-later
/* A client: the one program that drives the devices of all hosts, as that of llama.cpp does with its RPC servers. It
 * issues the rounds of a step (micro-batches of a prompt) one after another.
 *
 * The client waits. To copy a tensor between hosts it waits until the tensor is made and has left the links, and only
 * then goes on. So the ops of a round begin when all copies between hosts that earlier rounds read have left theirs. The
 * last server works beside the next round.
 *
 * A server does one thing at a time. It receives a copy when it has done all ops on its host of rounds before the first
 * that reads it, and the hop of the copy begins then.
 *
 * Rounds are the levels of the graph, unless these are the order of its program, which is one round. An op that depends on a later round belongs to that one, so that nothing waits for
 * a round that waits for it. Runs with fused ops, and those whose GPUs have host threads, have no client. */
#include "sim/engine/engine.h"

#include <string.h>

enum { NONE = -1 };

typedef struct {
    int32_t first, last; /* or NONE */
} queue;

struct emp_sim_client {
    uint8_t *round; /* [op] */
    int32_t *next;  /* [item: op, or op_count + copy] that is held behind it, or NONE */
    int32_t  reads[EMP_LEVELS]; /* of a round: those that wait for a copy between hosts */
    int32_t  round_now;         /* the last that may begin */
    queue    ops[EMP_LEVELS];   /* of a round: held */
    /* For the host of each CPU that is not the client's: */
    int32_t left[EMP_MAX_DEVICES][EMP_LEVELS]; /* ops that are not done, by rounds */
    int32_t least[EMP_MAX_DEVICES];            /* the first round that has some */
    queue   copies[EMP_MAX_DEVICES]
                [EMP_LEVELS];          /* held, by the first round that reads them */
    uint64_t waiting[EMP_MAX_DEVICES]; /* bit r: copies of round r are held */
};

static void push(queue *q, int32_t *next, int32_t item)
{
    next[item] = NONE;
    if (q->first == NONE)
        q->first = item;
    else
        next[q->last] = item;
    q->last = item;
}

static int32_t pop(queue *q, const int32_t *next)
{
    const int32_t item = q->first;

    q->first = next[item];
    return item;
}

static void follow(uint8_t *round, int32_t reader, int32_t op)
{
    if (round[reader] < round[op]) round[reader] = round[op];
}

/* Ops are numbered topologically. */
static void find_rounds(emp_engine *sim, uint8_t *round)
{
    const emp_graph *g = sim->problem->graph;

    for (int32_t op = 0; op < sim->op_count; op++) {
        const int level = g->op[sim->start[op].id].level;
        round[op] = (uint8_t)(level < EMP_LEVELS ? level : EMP_LEVELS - 1);
    }
    for (int32_t op = 0; op < sim->op_count; op++) {
        const emp_sim_op *o = &sim->op[op];
        for (int32_t i = o->reader; i < o->reader_end; i++)
            follow(round, (int32_t)(sim->reader[i].place / 2), op);
        for (int32_t i = sim->control_offset[op]; i < sim->control_offset[op + 1]; i++)
            follow(round, sim->control[i], op);
    }
}

static bool has_rounds(const emp_graph *graph)
{
    return graph->has_levels && !graph->in_program_order;
}

static int32_t host_of(const emp_engine *sim, int32_t device)
{
    return sim->problem->machine->device[device].host;
}

static bool has_several_hosts(const emp_engine *sim)
{
    for (int32_t d = 1; d < sim->device_count; d++)
        if (host_of(sim, d) != host_of(sim, 0)) return true;
    return false;
}

emp_status emp_engine_set_client(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err)
{
    const size_t ops = (size_t)sim->op_count;
    const size_t copies = (size_t)(sim->first_copy + sim->copy_limit);

    if (!problem->runtime.events.client || !has_rounds(problem->graph) ||
        sim->rules.serial_issue || !has_several_hosts(sim))
        return EMP_OK;
    emp_sim_client *client = EMP_ADD_ARRAY(&sim->arrays, emp_sim_client, 1);
    uint8_t        *round = EMP_ADD_ARRAY(&sim->arrays, uint8_t, ops);
    int32_t        *next = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops + copies);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "rounds of %d ops", sim->op_count);
    client->round = round;
    client->next = next;
    find_rounds(sim, round);
    sim->client = client;
    return EMP_OK;
}

/* Counts the reads of the op's outputs that wait for a copy between hosts. */
static void count_reads(emp_engine *sim, int32_t op)
{
    emp_sim_client *client = sim->client;

    for (int32_t t = sim->op[op].output; t < sim->op[op + 1].output; t++) {
        const emp_sim_instance *i = &sim->instance[t];
        const int32_t home = host_of(sim, sim->space_of_place[2 * op + i->on_host]);
        for (int32_t r = i->reader; r < i[1].reader; r++) {
            const uint32_t place = sim->reader[r].place;
            client->reads[client->round[place / 2]] +=
                host_of(sim, sim->space_of_place[place]) != home;
        }
    }
}

static void find_least(emp_sim_client *client, int32_t host)
{
    int32_t *least = &client->least[host];

    while (*least < EMP_LEVELS - 1 && client->left[host][*least] == 0) ++*least;
}

void emp_engine_reset_client(emp_engine *sim)
{
    emp_sim_client *client = sim->client;

    memset(client->reads, 0, sizeof client->reads);
    memset(client->left, 0, sizeof client->left);
    memset(client->ops, NONE, sizeof client->ops);
    memset(client->copies, NONE, sizeof client->copies);
    memset(client->waiting, 0, sizeof client->waiting);
    for (int32_t op = 0; op < sim->op_count; op++) {
        count_reads(sim, op);
        client->left[host_of(sim, sim->space_of_place[2 * op])][client->round[op]]++;
    }
    for (int32_t d = 0; d < sim->device_count; d++) {
        client->least[d] = 0;
        find_least(client, d);
    }
    client->round_now = 0;
    emp_engine_next_held(sim);
}

bool emp_engine_hold(emp_engine *sim, int32_t op)
{
    emp_sim_client *client = sim->client;
    const int32_t   round = client->round[op];

    if (round <= client->round_now) return false;
    push(&client->ops[round], client->next, op);
    return true;
}

int32_t emp_engine_count_read(emp_engine *sim, int32_t copy, int32_t op)
{
    const emp_sim_instance *c = &sim->instance[copy];
    const int32_t           round = sim->client->round[op];

    sim->client->reads[round] -= host_of(sim, c->from) != host_of(sim, c->space);
    return round;
}

int32_t emp_engine_next_held(emp_engine *sim)
{
    emp_sim_client *client = sim->client;

    for (;;) {
        const int32_t round = client->round_now;
        if (client->ops[round].first != NONE)
            return pop(&client->ops[round], client->next);
        if (client->reads[round] > 0 || round == EMP_LEVELS - 1) return NONE;
        client->round_now++;
    }
}

bool emp_engine_hold_copy(emp_engine *sim, int32_t copy, int32_t round)
{
    emp_sim_client         *client = sim->client;
    const emp_sim_instance *c = &sim->instance[copy];
    const int32_t           host = host_of(sim, c->space);

    if (host == host_of(sim, c->from) || host == host_of(sim, 0) ||
        round <= client->least[host])
        return false;
    push(&client->copies[host][round], client->next, sim->op_count + copy);
    client->waiting[host] |= UINT64_C(1) << round;
    return true;
}

void emp_engine_count_done(emp_engine *sim, int32_t op, int32_t device)
{
    emp_sim_client *client = sim->client;
    const int32_t   host = host_of(sim, device);

    client->left[host][client->round[op]]--;
    find_least(client, host);
}

int32_t emp_engine_next_held_copy(emp_engine *sim, int32_t device)
{
    emp_sim_client *client = sim->client;
    const int32_t   host = host_of(sim, device);

    if (client->waiting[host] == 0) return NONE;
    const int32_t round = __builtin_ctzll(client->waiting[host]);
    if (round > client->least[host]) return NONE;
    queue        *q = &client->copies[host][round];
    const int32_t copy = pop(q, client->next) - sim->op_count;
    if (q->first == NONE) client->waiting[host] &= client->waiting[host] - 1;
    return copy;
}
