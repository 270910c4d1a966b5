/** \file sim/bounds/why.h
 * The lemma that a bound comes from, and the ops that account for it.
 *
 *     emp_bounds_why all = {0}, gpus = {0};
 *     EMP_TRY(emp_bounds_explain(&bounds, &all, &gpus, problem, &options, err));
 *     ... all.lemma, all.shares ...
 *     emp_bounds_why_clear(&all);
 *     emp_bounds_why_clear(&gpus);
 */
#ifndef EMP_SIM_BOUNDS_WHY_H
#define EMP_SIM_BOUNDS_WHY_H

#include "sim/bounds/inside.h"
#include "sim/bounds/paths/walk.h"
#include "sim/bounds/queue.h"

/** Lemmas: name, key in JSON, words. */
#define EMP_BOUND_LEMMA_LIST(X)                                            \
    X(NONE, "none", "nothing")                                             \
    X(PATH, "path", "the longest path")                                    \
    X(AREA, "area", "all work, divided among all devices")                 \
    X(CLASS, "class", "ops that must share a device")                      \
    X(WINDOW, "window", "work between what must come before and after it") \
    X(QUEUE, "queue", "work that must end before long tails begin")        \
    X(MEMORY, "memory", "variables that do not fit")

typedef enum {
#define X(name, key, words) EMP_BOUND_BY_##name,
    EMP_BOUND_LEMMA_LIST(X)
#undef X
} emp_bound_lemma;

/** Zero-initialise. Times are without the fixed cost of a step. */
typedef struct emp_bounds_why emp_bounds_why;
struct emp_bounds_why {
    emp_bound_lemma lemma;
    emp_time_ns     bound_ns;
    emp_time_ns
        value_ns; /**< what the lemma proves; more than bound_ns only if a time is refuted */
    bool
               is_refuted; /**< by contradiction: a step within bound_ns - 1 has ops only where no path is longer, and then
                        * takes value_ns */
    emp_window window;     /**< of EMP_BOUND_BY_WINDOW and EMP_BOUND_BY_QUEUE */
    double     weight
        [EMP_BOUND_RESOURCES]; /**< of area and window: price x capacity, in all 1 */
    double price
        [EMP_AREA_PRICES]; /**< likewise, of a nanosecond; with rents of all memory of a kind */
    double    rent_ns; /**< of the area: what memory adds */
    emp_proof proof;   /**< if the options asked for it: what the lemma is applied to */
    emp_bound_shares
        shares; /**< of a path in the order of time; their sum with the window or the rent is value_ns */
};

/** The state in which a lemma has proven something. */
typedef struct {
    const emp_bound_model *model;
    const emp_bound_paths *paths;
    const emp_area_item   *of_class; /**< [class] */
    const emp_area_item
        *of_op; /**< of a window: the work inside, of ops that may be somewhere */
    const emp_area         *area;
    const emp_window_proof *window;
    const emp_queue_proof  *queue;
    const double           *queue_work; /**< [op] as of emp_bound_queue() */
    emp_op_id
        lost; /**< a path: all kinds of this op's class are ruled out, whose ops have their paths on each; -1: the
                       * longest path */
} emp_bound_evidence;

/** Replaces what \a why says. \retval EMP_ENOMEM */
emp_status emp_bounds_why_take(emp_bounds_why *why, const emp_bound_evidence *evidence,
                               emp_bound_lemma lemma, emp_error *err);
void       emp_bounds_why_clear(emp_bounds_why *why);

#endif /* EMP_SIM_BOUNDS_WHY_H */
