// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/reinforce/row_ppo.h"

#include <math.h>
#include <string.h>

#include "policy/nn/categorical.h"

static void add_reward(emp_rewards *r, double reward)
{
    double before = reward - r->mean;

    r->mean += before / (double)++r->count;
    r->squares += before * (reward - r->mean);
}

void emp_rewards_judge(emp_rewards *rewards, double *advantage, const double *reward,
                       int32_t count)
{
    emp_rewards now = *rewards, before = *rewards;

    for (int32_t k = 0; k < count; k++) add_reward(&now, reward[k]);
    if (before.count == 0) before = now;
    double deviation =
        before.count > 0 ? sqrt(before.squares / (double)before.count) : 0.0;
    for (int32_t k = 0; k < count; k++)
        advantage[k] = (reward[k] - before.mean) / (deviation > 1e-9 ? deviation : 1.0);
    *rewards = now;
}

void emp_row_ppo_gather(const emp_row_ppo *ppo, const uint8_t *choice,
                        const double *advantage, int32_t samples)
{
    const size_t bytes = (size_t)ppo->rows * (size_t)ppo->choices * sizeof *ppo->above;

    memset(ppo->above, 0, bytes);
    memset(ppo->below, 0, bytes);
    for (int64_t k = 0; k < samples; k++) {
        emp_real *sum = advantage[k] > 0.0 ? ppo->above : ppo->below;
        for (int64_t v = 0; v < ppo->rows; v++)
            sum[v * ppo->choices + choice[k * ppo->rows + v]] += (emp_real)advantage[k];
    }
}

static double ratio(emp_real p, emp_real q)
{
    return q > 0 ? (double)p / (double)q : 0.0;
}

/* r times the advantages that the clip does not hold back: d J / d ln p, but for the factor. */
static double pull(const emp_row_ppo *ppo, int64_t at, double r)
{
    return (r < 1.0 + ppo->clip ? r * (double)ppo->above[at] : 0.0) +
           (r > 1.0 - ppo->clip ? r * (double)ppo->below[at] : 0.0);
}

void emp_row_ppo_gradient(const emp_row_ppo *ppo, emp_real *d_logits, const emp_real *p,
                          const emp_real *q, int32_t samples, double entropy)
{
    const double  factor = 1.0 / ((double)samples * ppo->rows);
    const int64_t A = ppo->choices;

    for (int64_t first = 0; first < ppo->rows * A; first += A) {
        double all = 0.0;
        for (int64_t i = first; i < first + A; i++) {
            double one = factor * pull(ppo, i, ratio(p[i], q[i]));
            d_logits[i] = (emp_real)one;
            all += one;
        }
        for (int64_t i = first; i < first + A; i++)
            d_logits[i] -= (emp_real)(all * (double)p[i]);
        emp_categorical_entropy_gradient(&d_logits[first], &p[first], ppo->choices,
                                         entropy / ppo->rows);
    }
}

double emp_row_ppo_objective(const emp_row_ppo *ppo, const emp_real *p, const emp_real *q,
                             int32_t samples)
{
    double sum = 0.0;

    for (int64_t i = 0; i < (int64_t)ppo->rows * ppo->choices; i++) {
        double r = ratio(p[i], q[i]);
        sum += fmin(r, 1.0 + ppo->clip) * (double)ppo->above[i] +
               fmax(r, 1.0 - ppo->clip) * (double)ppo->below[i];
    }
    return sum / ((double)samples * ppo->rows);
}
