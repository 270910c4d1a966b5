/** \file bench/speed/stand_hsdag.h
 * HSDAG's network over a synthetic graph, with the sizes of its preset `emplace` and four devices.
 * An update is all of an episode but the scores: a forward pass for each of its steps, then the
 * steps once more, forward and backward, and one step of Adam.
 *
 * Each set of nodes has an edge to the one before it and to one some steps before. Groups are those
 * that the network forms, and devices are made up. So are the inputs of each step, where a run adds
 * codes: a group that rounding makes another one then changes nothing but its step.
 */
#ifndef EMP_BENCH_SPEED_STAND_HSDAG_H
#define EMP_BENCH_SPEED_STAND_HSDAG_H

#include "bench/speed/stand_work.h"
#include "policy/hsdag/parsing_net.h"

enum { EMP_STAND_HSDAG_HIDDEN = 128 };

typedef struct {
    emp_hsdag_net net;
    int32_t       steps;
    emp_real     *x;      /**< [step][set][input] */
    int32_t      *action; /**< [step][set] devices */
    int32_t      *device; /**< [group] scratch */
    double       *weight; /**< [step] */
    emp_arrays    arrays; /**< all of these arrays */
} emp_stand_hsdag;

/** \param threads  Most that an update will have. \retval EMP_ENOMEM */
emp_status emp_stand_hsdag_init(emp_stand_hsdag *stand, int32_t sets, int32_t width,
                                int32_t steps, int32_t threads, emp_rng *rng,
                                emp_error *err);
void emp_stand_hsdag_clear(emp_stand_hsdag *stand); /**< legal after a failed init */

/** Makes an update; returns the loss: minus the weighted sum of ln p of the steps' devices. */
double emp_stand_hsdag_update(emp_stand_hsdag *stand, int32_t threads);

void emp_stand_hsdag_write(const emp_stand_hsdag *stand, FILE *stream);
/** Of levels as the last pass had them. */
emp_stand_work emp_stand_hsdag_work(const emp_stand_hsdag *stand);

#endif /* EMP_BENCH_SPEED_STAND_HSDAG_H */
