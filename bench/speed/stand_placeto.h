/** \file bench/speed/stand_placeto.h
 * Placeto's network over a synthetic graph, with the sizes of its preset `paper` and four devices.
 * An update is all of an episode but the scores: a forward pass for the device of each group, then
 * the states once more, forward and backward, and one step of Adam.
 *
 * Each group reads from the one before it and from one some steps before. Times and values of
 * placements are made up.
 */
#ifndef EMP_BENCH_SPEED_STAND_PLACETO_H
#define EMP_BENCH_SPEED_STAND_PLACETO_H

#include "bench/speed/stand_work.h"
#include "policy/placeto/placeto.h"

enum { EMP_STAND_PLACETO_HIDDEN = 16 * (5 + 4) }; /**< widest layer, of the head */

typedef struct {
    emp_placeto_agent agent;
} emp_stand_placeto;

/** \retval EMP_ENOMEM */
emp_status emp_stand_placeto_init(emp_stand_placeto *stand, int32_t groups, emp_rng *rng,
                                  emp_error *err);
void emp_stand_placeto_clear(emp_stand_placeto *stand); /**< legal after a failed init */

/** Makes an update; returns the loss: returns less baselines times -ln p, less entropy. */
double emp_stand_placeto_update(emp_stand_placeto *stand, int32_t threads);

void           emp_stand_placeto_write(const emp_stand_placeto *stand, FILE *stream);
emp_stand_work emp_stand_placeto_work(const emp_stand_placeto *stand);

#endif /* EMP_BENCH_SPEED_STAND_PLACETO_H */
