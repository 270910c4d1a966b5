/** \file sim/bounds/queue.h
 * Windows at whose end a GPU can only do what comes late in its queue: docs/bounds.md, lemma 9.
 *
 * An op with a long tail ends before the window does. All that it depends on was issued before it, so on its GPU that
 * is done, too, although its own tail may be short, and counts as work inside the window.
 */
#ifndef EMP_SIM_BOUNDS_QUEUE_H
#define EMP_SIM_BOUNDS_QUEUE_H

#include "sim/bounds/inside.h"

typedef struct {
    double     value; /**< the bound; 0 = none */
    emp_window window;
    /** The op c of lemma 9 that gives the bound: of the last long ops of all GPUs, the one that is announced first. -1: no
     * candidate gives less than all long ops and fillers shared by all GPUs, or than one GPU without long ops. */
    emp_op_id last;
    double    idle;   /**< of that GPU after `last`, over the number of GPUs */
    double    shared; /**< GPUs that share the work */
} emp_queue_proof;

/** The highest bound over sampled windows. Without host threads, or with one GPU, there is none.
 * \param enough  Only higher bounds are looked for.
 * \param work  [op] is set to what its kernels account for, if there is a bound; NULL is allowed.
 * O(samples x (candidates x fillers + V + E)). \retval EMP_ENOMEM */
emp_status emp_bound_queue(emp_queue_proof *out, const emp_bound_model *model,
                           const emp_bound_paths *paths, double enough, double *work,
                           emp_error *err);

#endif /* EMP_SIM_BOUNDS_QUEUE_H */
