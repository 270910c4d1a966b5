// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/crowd.h"

#include "base/mem.h"

emp_status emp_crowd_init(emp_crowd *crowd, int32_t limit, emp_error *err)
{
    *crowd = (emp_crowd){.limit = limit, .end_server = EMP_CROWD_SERVERS};
    EMP_CHECK(EMP_ALLOC(crowd->member, (size_t)limit));
    EMP_CHECK(EMP_ALLOC(crowd->late, (size_t)limit));
    EMP_CHECK(EMP_ALLOC(crowd->place, (size_t)limit));
    for (int32_t server = 0; server < EMP_CROWD_SERVERS; server++)
        EMP_CHECK(EMP_ALLOC(crowd->order[server], (size_t)limit));
    return EMP_OK;
}

void emp_crowd_clear(emp_crowd *crowd)
{
    emp_free(crowd->member);
    emp_free(crowd->late);
    emp_free(crowd->place);
    for (int32_t server = 0; server < EMP_CROWD_SERVERS; server++)
        emp_free(crowd->order[server]);
    *crowd = (emp_crowd){0};
}

/* By its place in `late`. */
static inline const emp_crowd_member *member_at(const emp_crowd *crowd, int32_t place)
{
    return &crowd->member[crowd->late[place]];
}

emp_crowd_member *emp_crowd_add(emp_crowd *crowd, emp_time_ns elsewhere_ns)
{
    int32_t at = crowd->count, slot = at;

    if (at == crowd->limit) {
        if (member_at(crowd, at - 1)->elsewhere_ns >= elsewhere_ns) return NULL;
        slot = crowd->late[--at];
    } else {
        crowd->count++;
    }
    for (; at > 0 && member_at(crowd, at - 1)->elsewhere_ns < elsewhere_ns; at--)
        crowd->late[at] = crowd->late[at - 1];
    crowd->late[at] = slot;
    crowd->member[slot].elsewhere_ns = elsewhere_ns;
    return &crowd->member[slot];
}

/* The latest first; of those released at one time the last in `late`. Members come with the latest first, more or
 * less. */
static void sort_by_release(const emp_crowd *crowd, int32_t server)
{
    const emp_crowd_member *all = crowd->member;
    int32_t                *order = crowd->order[server];

    for (int32_t i = 0; i < crowd->count; i++) {
        const emp_time_ns release_ns = all[i].release_ns[server];
        int32_t           at = i;
        for (; at > 0; at--) {
            const int32_t     other = order[at - 1];
            const emp_time_ns later_ns = all[other].release_ns[server];
            if (later_ns > release_ns) break;
            if (later_ns == release_ns && crowd->place[other] > crowd->place[i]) break;
            order[at] = other;
        }
        order[at] = i;
    }
}

/* If the first `count` in `late` are all here: those released no sooner than one of them take turns
 * after that, and one is last. */
static emp_time_ns serve(const emp_crowd *crowd, int32_t count, int32_t server)
{
    emp_time_ns best_ns = 0, work_ns = 0, tail_ns = EMP_COST_LIMIT_NS;

    for (int32_t i = 0; i < crowd->count; i++) {
        const int32_t           one = crowd->order[server][i];
        const emp_crowd_member *m = &crowd->member[one];
        if (crowd->place[one] >= count) continue;
        work_ns = emp_bound_add(work_ns, m->work_ns[server]);
        tail_ns = emp_time_sooner(tail_ns, m->tail_ns[server]);
        emp_time_ns end_ns =
            emp_bound_add(m->release_ns[server], emp_bound_add(work_ns, tail_ns));
        best_ns = emp_time_later(best_ns, end_ns);
    }
    return best_ns;
}

static emp_time_ns serve_all(const emp_crowd *crowd, int32_t count)
{
    emp_time_ns least_ns = 0;

    for (int32_t server = crowd->first_server; server < crowd->end_server; server++)
        least_ns = emp_time_later(least_ns, serve(crowd, count, server));
    return least_ns;
}

/* No less than serve() for any count: one is the first to be served, and no tail is longer than its own. */
static emp_time_ns serve_at_most(const emp_crowd *crowd, int32_t server)
{
    emp_time_ns most_ns = 0, work_ns = 0;

    for (int32_t i = 0; i < crowd->count; i++) {
        const emp_crowd_member *m = &crowd->member[crowd->order[server][i]];
        work_ns = emp_bound_add(work_ns, m->work_ns[server]);
        most_ns = emp_time_later(
            most_ns, emp_bound_add(m->release_ns[server],
                                   emp_bound_add(work_ns, m->tail_ns[server])));
    }
    return most_ns;
}

/* Either the first n members are all here or one of them is elsewhere, for at least as long
 * as the n-th: for every n the sooner of the two. */
emp_time_ns emp_crowd_least(const emp_crowd *crowd, emp_time_ns known_ns)
{
    emp_time_ns most_ns = 0;

    if (crowd->count == 0) return known_ns;
    for (int32_t i = 0; i < crowd->count; i++) crowd->place[crowd->late[i]] = i;
    for (int32_t server = crowd->first_server; server < crowd->end_server; server++) {
        sort_by_release(crowd, server);
        most_ns = emp_time_later(most_ns, serve_at_most(crowd, server));
    }
    for (int32_t i = 0; i < crowd->count && known_ns < most_ns; i++) {
        const emp_time_ns elsewhere_ns = member_at(crowd, i)->elsewhere_ns;
        if (elsewhere_ns <= known_ns) break;
        known_ns = emp_time_later(known_ns,
                                  emp_time_sooner(elsewhere_ns, serve_all(crowd, i + 1)));
    }
    return known_ns;
}
