// SPDX-License-Identifier: GPL-3.0-or-later
/* Links that ranks of collectives keep. */
#include <string.h>

#include "sim/engine/engine.h"

#define NOT_BEGUN INT64_C(-1)

enum { WORD_BITS = 64, LINK_WORDS = EMP_MAX_LINKS / WORD_BITS };

_Static_assert(EMP_MAX_LINKS % WORD_BITS == 0, "all links have a bit");

typedef struct {
    uint64_t word[LINK_WORDS];
} link_set;

/* Ops that are the ranks of one collective. */
typedef struct {
    int32_t     first, count; /* rows of rank[] */
    bool        is_pairwise;  /* each sends to each, not to the next one alone */
    link_set    links;        /* that it uses in this run */
    emp_time_ns begun_ns;     /* start of its first rank in this run; NOT_BEGUN */
} rank_set;

/* From when until when a rank keeps the links of its set. */
typedef struct {
    emp_time_ns start_ns, end_ns;
    int32_t     set;
} hold;

struct emp_sim_collectives {
    int32_t   set_count;
    rank_set *set;
    int32_t  *rank;      /* ops, by their sets */
    int32_t  *set_of_op; /* -1 = it is no rank, or the only one of its collective */
    int32_t   hold_count;
    hold     *hold; /* [ranks] those that have not ended */
};

/* ---- links ---- */

static void add_route(link_set *links, const emp_sim_route *route)
{
    for (int32_t i = 0; i < route->link_count; i++) {
        int32_t link = route->link[i] - EMP_SIM_MAX_STREAMS; /* streams come first */
        if (link >= 0) links->word[link / WORD_BITS] |= UINT64_C(1) << link % WORD_BITS;
    }
}

static bool have_common_link(const link_set *a, const link_set *b)
{
    uint64_t common = 0;

    for (int32_t w = 0; w < LINK_WORDS; w++) common |= a->word[w] & b->word[w];
    return common != 0;
}

static int32_t device_of_rank(const emp_engine *sim, const rank_set *s, int32_t rank)
{
    return sim->space_of_place[2 * (size_t)sim->collectives->rank[s->first + rank]];
}

/* Rank a sends to rank b. */
static void add_pair(const emp_engine *sim, rank_set *s, int32_t a, int32_t b)
{
    int32_t from = device_of_rank(sim, s, a), to = device_of_rank(sim, s, b);

    if (from != to) add_route(&s->links, &sim->route[from][to]);
}

void emp_engine_reset_collectives(emp_engine *sim)
{
    emp_sim_collectives *c = sim->collectives;

    c->hold_count = 0;
    for (int32_t i = 0; i < c->set_count; i++) {
        rank_set *s = &c->set[i];
        s->begun_ns = NOT_BEGUN;
        s->links = (link_set){0};
        for (int32_t a = 0; a < s->count; a++) {
            if (!s->is_pairwise) add_pair(sim, s, a, (a + 1) % s->count);
            for (int32_t b = 0; s->is_pairwise && b < s->count; b++)
                add_pair(sim, s, a, b);
        }
    }
}

/* ---- a run ---- */

/* When all copies on the links have ended. */
static emp_time_ns copies_end(const emp_engine *sim, const link_set *links,
                              emp_time_ns start)
{
    for (int32_t w = 0; w < LINK_WORDS; w++) {
        for (uint64_t rest = links->word[w]; rest != 0; rest &= rest - 1) {
            int32_t link = w * WORD_BITS + __builtin_ctzll(rest);
            start = emp_time_later(start, sim->link_free_ns[EMP_SIM_MAX_STREAMS + link]);
        }
    }
    return start;
}

/* When all other sets leave the links of one alone. */
static emp_time_ns others_end(const emp_sim_collectives *c, int32_t set,
                              emp_time_ns start)
{
    for (int32_t i = 0; i < c->hold_count; i++) {
        const hold *h = &c->hold[i];
        if (h->set != set && have_common_link(&c->set[h->set].links, &c->set[set].links))
            start = emp_time_later(start, h->end_ns);
    }
    return start;
}

static void forget_what_has_ended(emp_sim_collectives *c, emp_time_ns now)
{
    int32_t left = 0;

    for (int32_t i = 0; i < c->hold_count; i++)
        if (c->hold[i].end_ns > now) c->hold[left++] = c->hold[i];
    c->hold_count = left;
}

emp_time_ns emp_engine_keep_links(emp_engine *sim, int32_t op, emp_time_ns at,
                                  emp_time_ns duration)
{
    emp_sim_collectives *c = sim->collectives;
    int32_t              device = sim->space_of_place[2 * (size_t)op];
    int32_t              set = c->set_of_op[op];

    if (set < 0 || duration == 0 || sim->device[device].kind != EMP_DEVICE_GPU) return 0;
    forget_what_has_ended(c, sim->now);
    rank_set *s = &c->set[set];
    if (s->begun_ns == NOT_BEGUN)
        s->begun_ns = others_end(c, set, copies_end(sim, &s->links, at));
    emp_time_ns start = emp_time_later(at, s->begun_ns);
    c->hold[c->hold_count++] = (hold){start, start + duration, set};
    return start - at;
}

emp_time_ns emp_engine_begin_beside(const emp_engine *sim, const int32_t *link,
                                    int32_t count, emp_time_ns start,
                                    emp_time_ns duration)
{
    const emp_sim_collectives *c = sim->collectives;
    link_set                   own = {0};
    bool                       has_moved = true;

    for (int32_t i = 0; i < count; i++) {
        int32_t number = link[i] - EMP_SIM_MAX_STREAMS;
        if (number >= 0)
            own.word[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    }
    while (has_moved) {
        has_moved = false;
        for (int32_t i = 0; i < c->hold_count; i++) {
            const hold *h = &c->hold[i];
            if (h->end_ns <= start || h->start_ns >= start + duration ||
                !have_common_link(&c->set[h->set].links, &own))
                continue;
            start = h->end_ns;
            has_moved = true;
        }
    }
    return start;
}

/* ---- creation ---- */

/* The set of each op, as the graph numbers them: 0 = none. */
static int32_t number_of(const emp_engine *sim, const emp_graph *g, int32_t op)
{
    return g->collective[sim->start[op].id].set;
}

static int32_t count_sets(const emp_engine *sim, const emp_graph *g)
{
    int32_t most = 0;

    for (int32_t op = 0; op < sim->op_count; op++) {
        int32_t number = number_of(sim, g, op);
        if (number > most) most = number;
    }
    return most;
}

/* Ranks stand in the order of their ids in the graph, whatever the topological order. */
static void fill_sets(emp_engine *sim, const emp_graph *g, const int32_t *live)
{
    emp_sim_collectives *c = sim->collectives;
    int32_t              rows = 0;

    for (int32_t i = 0; i < c->set_count; i++) {
        c->set[i].first = rows;
        rows += c->set[i].count;
        c->set[i].count = 0;
    }
    for (emp_op_id id = 0; id < g->op_count; id++) {
        int32_t number = g->collective[id].set;
        if (live[id] < 0 || number == 0) continue;
        rank_set *s = &c->set[number - 1];
        c->rank[s->first + s->count++] = live[id];
        s->is_pairwise = g->collective[id].op == EMP_COLLECTIVE_ALL_TO_ALL;
    }
    for (int32_t op = 0; op < sim->op_count; op++) {
        int32_t number = number_of(sim, g, op);
        c->set_of_op[op] = number > 0 && c->set[number - 1].count > 1 ? number - 1 : -1;
    }
}

emp_status emp_engine_set_collectives(emp_engine *sim, const emp_graph *graph,
                                      const int32_t *live, emp_error *err)
{
    size_t ops = (size_t)sim->op_count;

    if (graph->collective == NULL) return EMP_OK;
    int32_t sets = count_sets(sim, graph);
    if (sets == 0) return EMP_OK;
    emp_sim_collectives *c = EMP_ADD_ARRAY(&sim->arrays, emp_sim_collectives, 1);
    if (c == NULL) return EMP_ERROR(EMP_ENOMEM, "collectives of a step");
    c->set_count = sets;
    c->set = EMP_ADD_ARRAY(&sim->arrays, rank_set, (size_t)sets);
    c->rank = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops);
    c->set_of_op = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops);
    c->hold = EMP_ADD_ARRAY(&sim->arrays, hold, ops);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d collectives of a step", sets);
    for (int32_t op = 0; op < sim->op_count; op++) {
        int32_t number = number_of(sim, graph, op);
        if (number > 0) c->set[number - 1].count++;
    }
    sim->collectives = c;
    sim->rules.has_collectives = true;
    fill_sets(sim, graph, live);
    return EMP_OK;
}
