// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/go.h"

#include <string.h>

#include "policy/nn/layers.h"

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

void emp_go_rounds_allocate(emp_go_rounds *r, const emp_go_net *net, int32_t samples,
                            emp_arrays *arrays)
{
    const size_t rows = (size_t)net->features->count;
    const size_t later = (size_t)(r->count - 1) * (size_t)samples * rows;

    r->rows = net->features->count;
    r->samples = samples;
    if (r->count == 1) return;
    r->seen = EMP_ADD_ARRAY(arrays, uint8_t, later);
    r->likelihood = EMP_ADD_ARRAY(arrays, emp_real, later);
    r->drawn_from = EMP_ADD_ARRAY(arrays, emp_real, rows * (size_t)net->shape.devices);
    r->sum = EMP_ADD_ARRAY(arrays, emp_real, net->params.count);
}

/* Where a sample of a round behind the first stands. */
static size_t place_of(const emp_go_rounds *r, int32_t round, int32_t sample)
{
    return ((size_t)(round - 1) * (size_t)r->samples + (size_t)sample) * (size_t)r->rows;
}

void emp_go_rounds_begin(emp_go_rounds *r, int32_t round, const uint8_t *choice,
                         int32_t samples)
{
    memcpy(r->seen + place_of(r, round, 0), choice, (size_t)samples * (size_t)r->rows);
}

void emp_go_rounds_show(const emp_go_rounds *r, int32_t round, int32_t sample,
                        emp_go_net *net)
{
    emp_go_net_show(net, r->seen + place_of(r, round, sample));
}

void emp_go_rounds_note(emp_go_rounds *r, int32_t round, int32_t sample,
                        const emp_go_net *net, const uint8_t *choice)
{
    emp_real *likelihood = r->likelihood + place_of(r, round, sample);

    for (int32_t v = 0; v < r->rows; v++)
        likelihood[v] = net->p[(int64_t)v * net->shape.devices + choice[v]];
}

/* ---- gradients ---- */

void emp_go_rounds_zero(emp_go_rounds *r, const emp_go_net *net)
{
    if (r->count > 1) memset(r->sum, 0, net->params.count * sizeof *r->sum);
}

void emp_go_rounds_add(emp_go_rounds *r, const emp_go_net *net)
{
    if (r->count > 1)
        emp_vector_add(r->sum, net->params.gradient, (int64_t)net->params.count);
}

void emp_go_rounds_give(const emp_go_rounds *r, emp_go_net *net)
{
    if (r->count > 1)
        memcpy(net->params.gradient, r->sum, net->params.count * sizeof *r->sum);
}

/* ---- steps ---- */

/* The draw for a sample: the next round has seen it, or it was proposed. */
static const uint8_t *drawn(const emp_go_rounds *r, const emp_go_task *t, int32_t round,
                            int32_t sample)
{
    return round == r->count - 1 ? t->choice + (size_t)sample * (size_t)r->rows
                                 : r->seen + place_of(r, round + 1, sample);
}

/* Handles all samples at once. \return the objective. */
static double pass_first(emp_go_rounds *r, const emp_go_climb *climb, emp_go_net *net,
                         const emp_go_task *t, const double *advantage)
{
    emp_go_net_show(net, NULL);
    emp_go_net_forward(net);
    emp_row_ppo_gather(&t->ppo, drawn(r, t, 0, 1), advantage, climb->samples);
    emp_row_ppo_gradient(&t->ppo, t->d_logits, t->p, t->drawn_from, climb->samples,
                         climb->entropy);
    emp_go_net_backward(net);
    emp_go_rounds_add(r, net);
    return emp_row_ppo_objective(&t->ppo, t->p, t->drawn_from, climb->samples);
}

/* Handles one sample, whose advantage is given. Choices that were not drawn have no part in the
 * objective, whatever they were drawn from. */
static double pass_later(emp_go_rounds *r, const emp_go_climb *climb, emp_go_net *net,
                         const emp_go_task *t, int32_t round, int32_t sample,
                         double advantage)
{
    const uint8_t  *choice = drawn(r, t, round, sample);
    const emp_real *likelihood = r->likelihood + place_of(r, round, sample);

    emp_go_rounds_show(r, round, sample, net);
    emp_go_net_forward(net);
    emp_row_ppo_gather(&t->ppo, choice, &advantage, 1);
    for (int32_t v = 0; v < r->rows; v++)
        r->drawn_from[(int64_t)v * t->ppo.choices + choice[v]] = likelihood[v];
    emp_row_ppo_gradient(&t->ppo, t->d_logits, t->p, r->drawn_from, climb->samples,
                         climb->entropy / climb->samples);
    emp_go_net_backward(net);
    emp_go_rounds_add(r, net);
    return emp_row_ppo_objective(&t->ppo, t->p, r->drawn_from, climb->samples);
}

double emp_go_rounds_climb(emp_go_rounds *r, const emp_go_climb *climb, emp_go_net *net,
                           const emp_go_task *task, const double *advantage,
                           double *gradient_norm)
{
    double objective = 0.0;

    for (int32_t epoch = 0; epoch < climb->epochs && !emp_stop_is_set(net->stop);
         epoch++) {
        emp_go_rounds_zero(r, net);
        objective = pass_first(r, climb, net, task, advantage);
        for (int32_t round = 1; round < r->count; round++)
            for (int32_t k = 1; k <= climb->samples && !emp_stop_is_set(net->stop); k++)
                objective += pass_later(r, climb, net, task, round, k, advantage[k - 1]);
        emp_go_rounds_give(r, net);
        *gradient_norm = emp_params_ascend(&net->params, climb->clip, &climb->adam);
    }
    return -objective;
}
