/** \file sim/bounds/paths/crowd.h
 * Ops that are all on one GPU, where they take turns, or of which one is elsewhere, which takes its time to get
 * there: the sooner of the two. docs/bounds.md, lemma 6 (the idea: Papadimitriou and Yannakakis, SIAM J. Comput. 19,
 * 1990).
 */
#ifndef EMP_SIM_BOUNDS_PATHS_CROWD_H
#define EMP_SIM_BOUNDS_PATHS_CROWD_H

#include "base/error.h"
#include "sim/bounds/paths/model.h"

/** Servers where ops take turns: a host thread and a stream; without host threads only the first. */
enum { EMP_CROWD_THREAD, EMP_CROWD_STREAM, EMP_CROWD_SERVERS };

typedef struct {
    emp_time_ns release_ns[EMP_CROWD_SERVERS]; /**< its turn begins no sooner */
    emp_time_ns work_ns[EMP_CROWD_SERVERS];
    emp_time_ns tail_ns[EMP_CROWD_SERVERS]; /**< what comes after its turn at least */
} emp_crowd_member;

typedef struct {
    emp_crowd_member *member;  /**< in the order in which they came */
    int32_t          *late;    /**< members, who is elsewhere for longest first */
    emp_time_ns *elsewhere_ns; /**< of those: if one is elsewhere, no less than that */
    int32_t     *place;        /**< [member] room for its place in `late` */
    int32_t     *order[EMP_CROWD_SERVERS]; /**< room for members, the last first */
    int32_t      count, limit;
    int32_t      first_server, end_server; /**< others have no work */
} emp_crowd;

/** For all servers. \retval EMP_ENOMEM */
emp_status emp_crowd_init(emp_crowd *crowd, int32_t limit, emp_error *err);
void       emp_crowd_clear(emp_crowd *crowd);

/** Beyond the limit those stay that are elsewhere for longest. O(limit).
 * \return The new member, of which all is to be set; NULL: it does not stay. */
emp_crowd_member *emp_crowd_add(emp_crowd *crowd, emp_time_ns elsewhere_ns);

/** The least time in which all are served here or one of them is elsewhere, or \a known_ns if that is later.
 * O(limit^2). */
emp_time_ns emp_crowd_least(const emp_crowd *crowd, emp_time_ns known_ns);

#endif /* EMP_SIM_BOUNDS_PATHS_CROWD_H */
