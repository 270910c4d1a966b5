/** \file bench/speed/stand_giph.h
 * GiPH's network over a random graph on a random network of devices. An update is all of an episode
 * but the scores and the features: for each of two moves a node a forward and a backward pass over
 * the gpNet of the moment, then one step of Adam.
 *
 * Moves and the times of nodes are made up. An episode runs on one thread, as it does in a run.
 */
#ifndef EMP_BENCH_SPEED_STAND_GIPH_H
#define EMP_BENCH_SPEED_STAND_GIPH_H

#include "bench/speed/stand_task.h"
#include "bench/speed/stand_work.h"
#include "policy/giph/network.h"

enum { EMP_STAND_GIPH_NODES = 64 /* the default of max_nodes */ };

typedef struct {
    emp_loaded_task task;
    emp_node_graph *nodes; /**< owned */
    emp_giph_world  world;
    emp_params      params;
    emp_giph_work   work;
    int32_t         moves;
    emp_gpnet      *net; /**< [move] as it is before the move; owned */
    int32_t   *action;   /**< [move][pair] pairs that may be moved to; -1 behind them */
    int32_t   *choice;   /**< [move] position in these */
    double    *weight;   /**< [move] */
    emp_real  *p;        /**< [pair] probabilities of a move */
    emp_arrays arrays;   /**< of the moves */
} emp_stand_giph;

/** About \a nodes nodes, at most EMP_STAND_GIPH_NODES. \retval EMP_ENOMEM */
emp_status emp_stand_giph_init(emp_stand_giph *stand, int32_t nodes, emp_rng *rng,
                               emp_error *err);
void       emp_stand_giph_clear(emp_stand_giph *stand); /**< legal after a failed init */

/** Makes an update; returns the loss: minus the weighted sum of ln p of moves. */
double emp_stand_giph_update(emp_stand_giph *stand);

void           emp_stand_giph_write(const emp_stand_giph *stand, FILE *stream);
emp_stand_work emp_stand_giph_work(const emp_stand_giph *stand);

#endif /* EMP_BENCH_SPEED_STAND_GIPH_H */
