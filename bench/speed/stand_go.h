/** \file bench/speed/stand_go.h
 * GO's network over a synthetic graph, with the sizes of its defaults. An update is what follows
 * the scores of K placements: the forward pass that they were drawn in, and four epochs of PPO.
 *
 * Each node reads from the node before it and from one some steps before.
 */
#ifndef EMP_BENCH_SPEED_STAND_GO_H
#define EMP_BENCH_SPEED_STAND_GO_H

#include "bench/speed/stand_work.h"
#include "policy/go/rounds.h"

enum { EMP_STAND_GO_HIDDEN = 512 }; /**< hidden units of an attention layer */

typedef struct {
    emp_transferable features;
    emp_go_net       net;
    emp_go_task      task;      /**< devices */
    double          *advantage; /**< [sample] */
    int32_t          samples;
    emp_arrays       arrays; /**< of the task, and the advantages */
} emp_stand_go;

/** \param threads  Most that an update will have. \retval EMP_ENOMEM */
emp_status emp_stand_go_init(emp_stand_go *stand, int32_t nodes, int32_t samples,
                             int32_t threads, emp_rng *rng, emp_error *err);
void       emp_stand_go_clear(emp_stand_go *stand); /**< legal after a failed init */

/** Makes an update; returns the mean of -ln p of all decisions before its last step. */
double emp_stand_go_update(emp_stand_go *stand, int32_t threads);

void           emp_stand_go_write(const emp_stand_go *stand, FILE *stream);
emp_stand_work emp_stand_go_work(const emp_stand_go *stand);

#endif /* EMP_BENCH_SPEED_STAND_GO_H */
