// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/textbook_internal.h"

static int set_of(const struct textbook *b, emp_op_id op)
{
    int others = 0;

    if (b->g->collective == NULL || b->g->collective[op].set == 0) return 0;
    for (emp_op_id i = 0; i < b->g->op_count; i++)
        others += i != op && is_live(b, i) &&
                  b->g->collective[i].set == b->g->collective[op].set;
    return others > 0 ? b->g->collective[op].set : 0;
}

/* The rank after \a op in the order of ids; after the last one the first. */
static emp_op_id next_rank(const struct textbook *b, emp_op_id op)
{
    emp_op_id next = op;

    do next = (next + 1) % b->g->op_count;
    while (!is_live(b, next) || b->g->collective[next].set != b->g->collective[op].set);
    return next;
}

static int is_on_route(const struct textbook *b, emp_op_id from, emp_op_id to, int link)
{
    const emp_route *route = &b->p->machine->route[b->device[from]][b->device[to]];

    for (int i = 0; b->rt->events.shared_links && i < route->link_count; i++)
        if (route->link[i] == link) return 1;
    return 0;
}

static int finds_link(const struct textbook *b, int set, int link)
{
    for (emp_op_id a = 0; a < b->g->op_count; a++) {
        if (!is_live(b, a) || b->g->collective[a].set != set) continue;
        for (emp_op_id c = next_rank(b, a); c != a; c = next_rank(b, c)) {
            if (is_on_route(b, a, c, link)) return 1;
            if (b->g->collective[a].op != EMP_COLLECTIVE_ALL_TO_ALL) break;
        }
    }
    return 0;
}

void textbook_find_links(struct textbook *b)
{
    for (emp_op_id op = 0; b->is_used != NULL && op < b->g->op_count; op++) {
        int set = set_of(b, op);
        for (int link = 0; set > 0 && link < b->p->machine->link_count; link++)
            b->is_used[set * EMP_MAX_LINKS + link] = (char)finds_link(b, set, link);
    }
}

static int uses_link(const struct textbook *b, int set, int link)
{
    return b->is_used[set * EMP_MAX_LINKS + link];
}

static int share_a_link(const struct textbook *b, int set, int other)
{
    for (int link = 0; link < EMP_MAX_LINKS; link++)
        if (uses_link(b, set, link) && uses_link(b, other, link)) return 1;
    return 0;
}

ns textbook_wait_for_links(struct textbook *b, emp_op_id op, ns at, ns time)
{
    int set = is_cpu(b, b->device[op]) || time == 0 ? 0 : set_of(b, op);
    int has_begun = 0;
    ns  start = at;

    if (set == 0) return 0;
    for (int i = 0; i < b->holds && !has_begun; i++) {
        has_begun = b->hold[i].set == set;
        if (has_begun) start = later(start, b->hold[i].start);
    }
    for (int link = 0; !has_begun && link < EMP_MAX_LINKS; link++)
        if (uses_link(b, set, link)) start = later(start, b->link_free[link]);
    for (int i = 0; !has_begun && i < b->holds; i++)
        if (share_a_link(b, set, b->hold[i].set)) start = later(start, b->hold[i].end);
    b->hold[b->holds++] = (struct hold){start, start + time, set};
    return start - at;
}

ns textbook_begin_beside_sets(const struct textbook *b, const emp_route *route, ns start,
                              ns time)
{
    for (int i = 0; i < b->holds; i++) {
        const struct hold *h = &b->hold[i];
        int                is_shared = 0;
        for (int k = 0; k < route->link_count; k++)
            is_shared |= uses_link(b, h->set, route->link[k]);
        if (!is_shared || h->end <= start || h->start >= start + time) continue;
        start = h->end;
        i = -1; /* it may now overlap with an earlier one */
    }
    return start;
}
