/** \file sim/bounds/paths/path.h
 * Heads and tails: how long an op waits at least for those before it, and what comes at
 * least after it, by the kind of device that it is on. docs/bounds.md, lemma 1.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_PATH_H
#define EMP_SIM_BOUNDS_PATHS_PATH_H

#include "sim/bounds/paths/model.h"

/** Earliest times, from the start of the step. */
typedef struct {
    emp_time_ns ready_ns;  /**< all inputs are there */
    emp_time_ns queued_ns; /**< on a stream: its kernels start no sooner */
    emp_time_ns told_ns, done_ns;
} emp_bound_head;

/** Least times to the end of the step, its fixed cost not included. */
typedef struct {
    emp_time_ns ready_ns;  /**< from when all inputs are there */
    emp_time_ns queued_ns; /**< from when its kernels start */
    emp_time_ns told_ns, done_ns;
} emp_bound_tail;

typedef struct {
    /** [op][kind]; where the op may not be, further than any time */
    emp_bound_head (*head)[EMP_DEVICE_KINDS];
    emp_bound_tail (*tail)[EMP_DEVICE_KINDS];
} emp_bound_paths;

/** Whether ops on the kind are issued to a stream, where they are told before they are done. */
static inline bool emp_bound_has_stream(const emp_bound_model *model, int32_t kind)
{
    return model->has_thread && kind == EMP_DEVICE_GPU;
}

/** Whether the other end of an edge may be on a kind, if one end is on \a kind: on any that it may be on, but on the same
 * where both are of one class. */
static inline bool emp_bound_may_pair(const emp_bound_op   *other,
                                      const emp_bound_edge *edge, int32_t kind,
                                      int32_t other_kind)
{
    return emp_bound_may(other, other_kind) && (!edge->is_bound || kind == other_kind);
}

/** \retval EMP_ENOMEM */
emp_status emp_bound_paths_init(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_error *err);
void       emp_bound_paths_clear(emp_bound_paths *paths);

/** Finds all heads and tails for the kinds that the model leaves; every op has one.
 * O(V + E). */
void emp_bound_paths_find(emp_bound_paths *paths, const emp_bound_model *model);

/** Likewise all heads; tails stay. */
void emp_bound_paths_find_all_heads(emp_bound_paths *paths, const emp_bound_model *model);

/** The heads of an op on each kind where it may be, from those of the ops before it. O(its edges). */
void emp_bound_paths_find_heads(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_op_id op);

/** Once the floor of an op has risen: its head on a GPU, from what was found of its edges. */
void emp_bound_paths_raise_head(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_op_id op);

/** The longest path through an op on a kind of device. */
static inline emp_time_ns emp_bound_paths_through(const emp_bound_paths *paths,
                                                  emp_op_id op, int32_t kind)
{
    const emp_bound_head *head = &paths->head[op][kind];
    const emp_bound_tail *tail = &paths->tail[op][kind];

    return emp_time_later(emp_bound_add(head->ready_ns, tail->ready_ns),
                          emp_bound_add(head->queued_ns, tail->queued_ns));
}

/** Likewise on the kind that suits the op best; 0: it may be on none. */
static inline emp_time_ns emp_bound_paths_through_at_least(const emp_bound_paths *paths,
                                                           const emp_bound_model *model,
                                                           emp_op_id              op)
{
    emp_time_ns least_ns = model->op[op].kinds == 0 ? 0 : EMP_COST_LIMIT_NS;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        if (emp_bound_may(&model->op[op], k))
            least_ns = emp_time_sooner(least_ns, emp_bound_paths_through(paths, op, k));
    return least_ns;
}

/** The longest through an op on the kind that suits it best. O(V). */
emp_time_ns emp_bound_paths_longest(const emp_bound_paths *paths,
                                    const emp_bound_model *model);

/* How long one op starts after another is done, both on GPUs, because of all that is between them: it takes turns on
 * one GPU or shares several, and copies lead there and back (segment.c). docs/bounds.md, lemma 8. */

/** Adds links to the model where segments are longer than paths, and raises its floors. Heads are found anew. Does
 * nothing where rules are not `events`.
 * \param near  How many of those that an op waits for are looked at.
 * \param tries  How many segments end at an op at most.
 * O(V near (near + tries)). \retval EMP_ENOMEM */
emp_status emp_bound_segments(emp_bound_model *model, emp_bound_paths *paths,
                              int32_t near, int32_t tries, emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_PATH_H */
