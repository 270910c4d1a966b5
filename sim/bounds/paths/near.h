/** \file sim/bounds/paths/near.h
 * The ops before one op, and how long it takes from each of them to that op at least, by where they are.
 *
 *     emp_near_begin(&near, op);
 *     while ((n = emp_near_next(&near)) != NULL)
 *         if (... n is of interest ...) emp_near_go_on(&near, n);
 *     emp_near_end(&near);
 *
 * The later in topological order an op is, the sooner it comes. So all that it leads to has come before it, and its
 * lags are complete, or as complete as they get.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_NEAR_H
#define EMP_SIM_BOUNDS_PATHS_NEAR_H

#include <stdalign.h>

#include "base/mem.h"
#include "sim/bounds/paths/model.h"

/** Where an op is, seen from the GPU of the op that waits. */
enum { EMP_NEAR_HERE, EMP_NEAR_OTHER_GPU, EMP_NEAR_ON_CPU, EMP_NEAR_PLACES };
/** The goal that lags lead to: the op that waits is ready, or its kernels start. */
enum { EMP_NEAR_READY, EMP_NEAR_START, EMP_NEAR_GOALS };

/** Times are kept in vectors, for each goal and place at emp_near_at(); places beyond EMP_NEAR_PLACES mean nothing. */
enum { EMP_NEAR_LANES = 4, EMP_NEAR_ALL = EMP_NEAR_GOALS * EMP_NEAR_LANES };
typedef emp_time_ns emp_near_times[EMP_NEAR_ALL];

/** All bits of the lanes of the CPU, by which times are chosen without branches; no bits of others. */
extern const emp_near_times emp_near_on_cpu;

static inline int32_t emp_near_at(int32_t goal, int32_t place)
{
    return EMP_NEAR_LANES * goal + place;
}

/** An op that the op which waits depends on. Least times to a goal, by where the op is, if it may be there; negative:
 * it may come after the goal. */
typedef struct {
    alignas(64) emp_near_times told_ns; /**< lags: from when it is told, ... */
    emp_near_times done_ns;             /**< ... or done */
    emp_near_times ready_ns, start_ns; /**< from when it is ready, or its kernels start */
    emp_op_id      op;
    uint32_t       places; /**< mask of where it may be */
} emp_near_op;

/** Delays between places, for one end's place and all of the other's, which stand there once for each goal. */
typedef struct {
    emp_near_times told_ns,
        done_ns; /**< EMP_BOUND_FAR: there is no such pair; -EMP_BOUND_FAR: it may come after */
    emp_near_times
        order_ns; /**< what is added to a time on one stream: 0, or -EMP_BOUND_FAR */
} emp_near_delays;

typedef struct {
    emp_near_delays
        to[EMP_NEAR_PLACES]; /**< [place of the reader], over those of the maker */
    emp_near_delays
        from[EMP_NEAR_PLACES]; /**< [place of the maker], over those of the reader */
} emp_near_way;

/** The facts about an op that do not depend on the op that waits, side by side in memory; but for `slot`. */
typedef struct {
    int32_t  rank; /**< in topological order */
    int32_t  colocation_class;
    uint32_t places; /**< where it may be, if it is not bound to the op that waits */
    int32_t  slot;   /**< in near; -1 = not near */
} emp_near_node;

/** The edge of the same place in the model. */
typedef struct {
    emp_op_id from;
    int32_t   way; /**< number of its delays */
} emp_near_edge;

typedef struct {
    int32_t rank, slot;
} emp_near_open;

typedef struct {
    const emp_bound_model *model; /**< borrowed */
    emp_op_id              to;    /**< the op that waits */
    emp_near_node         *node;  /**< [op] */
    emp_near_edge         *edge;  /**< as of model->edge_offset */
    emp_near_way          *way;   /**< [number of the edge's delays] */
    emp_near_op           *near;
    int32_t                count, limit;
    emp_near_open *open; /**< those that are still to come, the last in order last */
    int32_t        open_count;
    emp_arrays     arrays;
} emp_near;

/** \param limit  No more ops are near one. \retval EMP_ENOMEM */
emp_status emp_near_init(emp_near *near, const emp_bound_model *model, int32_t limit,
                         emp_error *err);
void       emp_near_clear(emp_near *near); /**< legal after a failed init */

void         emp_near_begin(emp_near *near, emp_op_id to);
emp_near_op *emp_near_next(emp_near *near); /**< NULL: there is no more */
/** The ops before this one come near, too. */
void emp_near_go_on(emp_near *near, emp_near_op *n);
void emp_near_end(emp_near *near);

/** The slot of an op in near, or -1. */
static inline int32_t emp_near_slot(const emp_near *near, emp_op_id op)
{
    return near->node[op].slot;
}

/** Edges to an op are those from here to before emp_near_first_edge(near, op + 1). */
static inline const emp_near_edge *emp_near_first_edge(const emp_near *near, emp_op_id op)
{
    return near->edge + near->model->edge_offset[op];
}

static inline int32_t emp_near_kind(int32_t place)
{
    return place == EMP_NEAR_ON_CPU ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
}

static inline bool emp_near_has_stream(const emp_near *near, int32_t place)
{
    return near->model->has_thread && place != EMP_NEAR_ON_CPU;
}

static inline bool emp_near_may(const emp_near_op *n, int32_t place)
{
    return n->places >> place & 1u;
}

/** A time after a lag, which may be unknown. */
static inline emp_time_ns emp_near_plus(emp_time_ns lag_ns, emp_time_ns ns)
{
    return lag_ns < 0 ? -1 : emp_bound_add(lag_ns, ns);
}

#endif /* EMP_SIM_BOUNDS_PATHS_NEAR_H */
