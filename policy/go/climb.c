// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/climb.h"

#include <string.h>

static void set_gradient(const emp_go_climb *climb, const emp_go_task *t)
{
    if (t->is_kept)
        memset(t->d_logits, 0,
               (size_t)t->ppo.rows * (size_t)t->ppo.choices * sizeof *t->d_logits);
    else
        emp_row_ppo_gradient(&t->ppo, t->d_logits, t->p, t->drawn_from, climb->samples,
                             climb->entropy);
}

static double objective_of(const emp_go_climb *climb, const emp_go_task *t)
{
    if (t->is_kept) return 0.0;
    return emp_row_ppo_objective(&t->ppo, t->p, t->drawn_from, climb->samples);
}

double emp_go_climb_run(const emp_go_climb *climb, emp_go_net *net,
                        const emp_go_task *task, int32_t task_count,
                        double *gradient_norm)
{
    double objective = 0.0;

    for (int32_t epoch = 0; epoch < climb->epochs && !emp_stop_is_set(net->stop);
         epoch++) {
        if (epoch > 0) emp_go_net_forward(net);
        for (int32_t k = 0; k < task_count; k++) set_gradient(climb, &task[k]);
        emp_go_net_backward(net);
        objective = 0.0;
        for (int32_t k = 0; k < task_count; k++)
            objective += objective_of(climb, &task[k]);
        *gradient_norm = emp_params_ascend(&net->params, climb->clip, &climb->adam);
    }
    return -objective;
}
