// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/crowd.h"

#include "base/clones.h"
#include "base/mem.h"

/* Counts of members that are looked at together. */
enum { COUNTS = 8 };

emp_status emp_crowd_init(emp_crowd *crowd, int32_t limit, emp_error *err)
{
    *crowd = (emp_crowd){.limit = limit, .end_server = EMP_CROWD_SERVERS};
    EMP_CHECK(EMP_ALLOC(crowd->member, (size_t)limit));
    EMP_CHECK(EMP_ALLOC(crowd->late, (size_t)limit));
    EMP_CHECK(EMP_ALLOC(crowd->elsewhere_ns, (size_t)limit));
    EMP_CHECK(EMP_ALLOC(crowd->place, (size_t)limit));
    for (int32_t server = 0; server < EMP_CROWD_SERVERS; server++)
        EMP_CHECK(EMP_ALLOC(crowd->order[server], (size_t)limit));
    return EMP_OK;
}

void emp_crowd_clear(emp_crowd *crowd)
{
    emp_free(crowd->member);
    emp_free(crowd->late);
    emp_free(crowd->elsewhere_ns);
    emp_free(crowd->place);
    for (int32_t server = 0; server < EMP_CROWD_SERVERS; server++)
        emp_free(crowd->order[server]);
    *crowd = (emp_crowd){0};
}

emp_crowd_member *emp_crowd_add(emp_crowd *crowd, emp_time_ns elsewhere_ns)
{
    int32_t at = crowd->count, slot = at;

    if (at == crowd->limit) {
        if (crowd->elsewhere_ns[at - 1] >= elsewhere_ns) return NULL;
        slot = crowd->late[--at];
    } else {
        crowd->count++;
    }
    for (; at > 0 && crowd->elsewhere_ns[at - 1] < elsewhere_ns; at--) {
        crowd->late[at] = crowd->late[at - 1];
        crowd->elsewhere_ns[at] = crowd->elsewhere_ns[at - 1];
    }
    crowd->late[at] = slot;
    crowd->elsewhere_ns[at] = elsewhere_ns;
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

/* Times for several counts. */
typedef emp_time_ns times __attribute__((vector_size(COUNTS * sizeof(emp_time_ns))));

/* The less of two times, and the greater, by signs of differences: GCC 12 makes scalar code of vectors of comparisons. */
#define LESS(a, b)    ((b) + (((a) - (b)) & (((a) - (b)) >> 63)))
#define GREATER(a, b) ((a) - (((a) - (b)) & (((a) - (b)) >> 63)))

/* If the first n in `late` are all here: those released no sooner than one of them take turns after that, and one is
 * last. For n from `first` + 1 on, [n - first - 1] rises to that. */
EMP_CLONES static void serve_counts(const emp_crowd *crowd, int32_t first, int32_t server,
                                    times *least_ns)
{
    const times count = {1, 2, 3, 4, 5, 6, 7, 8};
    const times limit_ns = EMP_COST_LIMIT_NS - (times){0};
    times       best_ns = *least_ns, work_ns = {0}, tail_ns = limit_ns;

    for (int32_t i = 0; i < crowd->count; i++) {
        const int32_t           one = crowd->order[server][i];
        const emp_crowd_member *m = &crowd->member[one];
        const times             is_here = (crowd->place[one] - first - count) >> 63;
        const times             more_ns = work_ns + (m->work_ns[server] & is_here);
        const times its_tail_ns = (m->tail_ns[server] & is_here) | (limit_ns & ~is_here);
        work_ns = LESS(more_ns, limit_ns);
        tail_ns = LESS(its_tail_ns, tail_ns);
        const times last_ns = work_ns + tail_ns;
        const times end_ns = LESS(last_ns, limit_ns) + m->release_ns[server];
        best_ns = GREATER(best_ns, LESS(end_ns, limit_ns) & is_here);
    }
    *least_ns = best_ns;
}

/* Either the first n members are all here or one of them is elsewhere, for at least as long
 * as the n-th: for every n the sooner of the two. \a busy: servers that
 * may be busy beyond the time that is known. */
static emp_time_ns least_of_counts(const emp_crowd *crowd, int32_t first, uint32_t busy,
                                   emp_time_ns known_ns)
{
    times least_ns = {0};

    for (int32_t server = crowd->first_server; server < crowd->end_server; server++)
        if (busy >> server & 1u) serve_counts(crowd, first, server, &least_ns);
    for (int32_t n = 0; n < COUNTS && first + n < crowd->count; n++)
        known_ns = emp_time_later(
            known_ns, emp_time_sooner(crowd->elsewhere_ns[first + n], least_ns[n]));
    return known_ns;
}

/* True if some members, all here, may keep a server busy beyond a time. However they are ordered, some members are released
 * no later than the last of them, and what follows that release is at most its own work and the longer of its tail and
 * what follows those before it. \a order: NULL = as members are. */
static bool may_be_busy(const emp_crowd *crowd, const int32_t *order, int32_t server,
                        emp_time_ns known_ns)
{
    emp_time_ns after_ns = 0;

    for (int32_t i = 0; i < crowd->count; i++) {
        const emp_crowd_member *m = &crowd->member[order == NULL ? i : order[i]];
        after_ns = emp_bound_add(emp_time_later(after_ns, m->tail_ns[server]),
                                 m->work_ns[server]);
        if (emp_bound_add(m->release_ns[server], after_ns) > known_ns) return true;
    }
    return false;
}

/* Orders members for servers that may be busy beyond a time. \return the mask of these. */
static uint32_t find_busy(const emp_crowd *crowd, emp_time_ns known_ns)
{
    uint32_t busy = 0;

    for (int32_t server = crowd->first_server; server < crowd->end_server; server++)
        if (may_be_busy(crowd, NULL, server, known_ns)) busy |= 1u << server;
    for (int32_t i = 0; busy != 0 && i < crowd->count; i++)
        crowd->place[crowd->late[i]] = i;
    for (int32_t server = crowd->first_server; server < crowd->end_server; server++) {
        if (!(busy >> server & 1u)) continue;
        sort_by_release(crowd, server);
        if (!may_be_busy(crowd, crowd->order[server], server, known_ns))
            busy &= ~(1u << server);
    }
    return busy;
}

emp_time_ns emp_crowd_least(const emp_crowd *crowd, emp_time_ns known_ns)
{
    const uint32_t busy = find_busy(crowd, known_ns);

    for (int32_t i = 0; busy != 0 && i < crowd->count; i += COUNTS) {
        if (crowd->elsewhere_ns[i] <= known_ns) break;
        known_ns = least_of_counts(crowd, i, busy, known_ns);
    }
    return known_ns;
}
