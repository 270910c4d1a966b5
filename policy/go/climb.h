/** \file policy/go/climb.h
 * The steps of an update of GO: some epochs of PPO (reinforce/row_ppo.h) on decisions that were
 * drawn once, of all tasks together. The objectives of tasks are added.
 */
#ifndef EMP_POLICY_GO_CLIMB_H
#define EMP_POLICY_GO_CLIMB_H

#include "policy/go/net.h"
#include "policy/reinforce/row_ppo.h"
#include "search/method.h"

/** Decisions of one kind, of all nodes. */
typedef struct {
    emp_decides     what;
    bool            is_kept;  /**< they stay as they are, and teach nothing */
    const emp_real *p;        /**< [position][choice] of the network; borrowed */
    emp_real       *d_logits; /**< likewise */
    emp_row_ppo     ppo;
    emp_real       *drawn_from; /**< [position][choice] */
    uint8_t        *choice;     /**< [sample][position] */
} emp_go_task;

typedef struct {
    int32_t  samples; /**< that the advantages of the tasks were gathered of */
    int32_t  epochs;
    double   clip;    /**< largest norm of a gradient */
    double   entropy; /**< weight */
    emp_adam adam;
} emp_go_climb;

/** Makes the steps. The network's last forward pass is that of drawing. Sets \a gradient_norm to that of
 * the last step, before clipping. Once the network's `stop` is set, it ends early, and the parameters
 * are worth nothing.
 * \return minus the objective before the last step, without entropy. */
double emp_go_climb_run(const emp_go_climb *climb, emp_go_net *net,
                        const emp_go_task *task, int32_t task_count,
                        double *gradient_norm);

#endif /* EMP_POLICY_GO_CLIMB_H */
