/** \file policy/reinforce/row_ppo.h
 * Proximal policy optimization (Schulman et al., 2017) of rows of categoricals that are drawn
 * once, K samples in all, and learned from several times. The ratio is of one row, not of all:
 *
 *     J = 1/(K N) sum_k sum_v min(r A_k, clip(r, 1 - c, 1 + c) A_k) + e mean entropy,
 *     r = p_v(a_kv) / q_v(a_kv)
 *
 * for N rows v, advantages A_k, drawn choices a_kv, and q the distributions they were drawn from.
 * A row's ratio depends on its choice alone. So the advantages of all samples with one choice are
 * added up once, above and below 0 apart.
 *
 * An advantage is (R - b) / s, b and s the mean and the deviation of earlier rewards. Without
 * earlier ones they are those of the samples themselves.
 */
#ifndef EMP_POLICY_REINFORCE_ROW_PPO_H
#define EMP_POLICY_REINFORCE_ROW_PPO_H

#include <stdint.h>

#include "policy/nn/real.h"

/** What is known of earlier rewards (Welford, 1962). Zero-initialise. */
typedef struct {
    int64_t count;
    double  mean, squares; /**< sum of squared distances from the mean */
} emp_rewards;

/** Sets \a advantage [count] of \a reward [count], which the rewards then know, too. */
void emp_rewards_judge(emp_rewards *rewards, double *advantage, const double *reward,
                       int32_t count);

typedef struct {
    int32_t   rows, choices;
    double    clip;          /**< c */
    emp_real *above, *below; /**< [row][choice] sums of advantages over 0 and under it */
} emp_row_ppo;

/** Adds up the advantages; \a choice is [sample][row]. O(samples x rows). */
void emp_row_ppo_gather(const emp_row_ppo *ppo, const uint8_t *choice,
                        const double *advantage, int32_t samples);

/** Sets \a d_logits to the gradient of J for that many samples, with \a p now and \a q when they
 * were drawn, all [row][choice]. A choice of probability 0 stays so. */
void emp_row_ppo_gradient(const emp_row_ppo *ppo, emp_real *d_logits, const emp_real *p,
                          const emp_real *q, int32_t samples, double entropy);

/** J without the entropy. */
double emp_row_ppo_objective(const emp_row_ppo *ppo, const emp_real *p, const emp_real *q,
                             int32_t samples);

#endif /* EMP_POLICY_REINFORCE_ROW_PPO_H */
