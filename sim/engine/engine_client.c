// SPDX-License-Identifier: GPL-3.0-or-later
/* A client: the one program that drives the devices of all hosts, as that of llama.cpp does with its RPC servers. It
 * issues the rounds of a step (micro-batches of a prompt) one after another. To copy a tensor between hosts it waits
 * until the tensor is made and has arrived, and only then goes on. So the ops of a round begin when all copies between
 * hosts that earlier rounds read have arrived. The last device's work of a round goes on beside the next round.
 *
 * Rounds are the levels of the graph. An op that depends on a later round belongs to that one, so that no op waits for
 * a round that waits for it. Runs with fused ops have no client. */
#include "sim/engine/engine.h"

#include <string.h>

struct emp_sim_client {
    uint8_t *round;             /* [op] */
    int32_t *next;              /* [op] that is held behind it, or -1 */
    int32_t  reads[EMP_LEVELS]; /* of a round: those that wait for a copy between hosts */
    int32_t  first[EMP_LEVELS], last[EMP_LEVELS]; /* of a round: ops that are held, or -1 */
    int32_t  round_now;                           /* the last that may begin */
};

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
        for (int32_t i = o->reader; i < o[1].reader; i++)
            follow(round, (int32_t)(sim->reader[i].place / 2), op);
        for (int32_t i = sim->rest[op].control; i < sim->rest[op + 1].control; i++)
            follow(round, sim->control[i], op);
    }
}

static bool has_several_hosts(const emp_machine *m)
{
    for (int32_t d = 1; d < m->device_count; d++)
        if (m->device[d].host != m->device[0].host) return true;
    return false;
}

emp_status emp_engine_set_client(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err)
{
    const size_t ops = (size_t)sim->op_count;

    if (!problem->runtime.events.client || !problem->graph->has_levels ||
        !has_several_hosts(problem->machine))
        return EMP_OK;
    emp_sim_client *client = EMP_ADD_ARRAY(&sim->arrays, emp_sim_client, 1);
    uint8_t        *round = EMP_ADD_ARRAY(&sim->arrays, uint8_t, ops);
    int32_t        *next = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "rounds of %d ops", sim->op_count);
    client->round = round;
    client->next = next;
    find_rounds(sim, round);
    sim->client = client;
    return EMP_OK;
}

static bool is_between_hosts(const emp_engine *sim, int32_t from, int32_t to)
{
    const emp_machine *m = sim->problem->machine;

    return m->device[from].host != m->device[to].host;
}

void emp_engine_reset_client(emp_engine *sim)
{
    emp_sim_client *client = sim->client;

    memset(client->reads, 0, sizeof client->reads);
    memset(client->first, -1, sizeof client->first);
    for (int32_t op = 0; op < sim->op_count; op++) {
        for (int32_t t = sim->op[op].output; t < sim->op[op + 1].output; t++) {
            const int32_t home = sim->space_of_place[2 * op + sim->instance[t].on_host];
            for (int32_t i = sim->instance[t].reader; i < sim->instance[t + 1].reader;
                 i++) {
                const uint32_t place = sim->reader[i].place;
                client->reads[client->round[place / 2]] +=
                    is_between_hosts(sim, home, sim->space_of_place[place]);
            }
        }
    }
    client->round_now = 0;
    emp_engine_next_held(sim);
}

bool emp_engine_hold(emp_engine *sim, int32_t op)
{
    emp_sim_client *client = sim->client;
    const int32_t   round = client->round[op];

    if (round <= client->round_now) return false;
    client->next[op] = -1;
    if (client->first[round] < 0)
        client->first[round] = op;
    else
        client->next[client->last[round]] = op;
    client->last[round] = op;
    return true;
}

void emp_engine_count_read(emp_engine *sim, int32_t copy, int32_t op)
{
    const emp_sim_instance *c = &sim->instance[copy];

    sim->client->reads[sim->client->round[op]] -= is_between_hosts(sim, c->from, c->space);
}

int32_t emp_engine_next_held(emp_engine *sim)
{
    emp_sim_client *client = sim->client;

    for (;;) {
        const int32_t round = client->round_now, op = client->first[round];
        if (op >= 0) {
            client->first[round] = client->next[op];
            return op;
        }
        if (client->reads[round] > 0 || round == EMP_LEVELS - 1) return -1;
        client->round_now++;
    }
}
