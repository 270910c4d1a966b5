/** \file baselines/searches/post.h
 * Proximal policy optimisation (Schulman et al., 2017) of a table of independent choices:
 * p[group][device] = softmax of logits[group][device].
 *
 * With r_k = prod_g p[g][d_kg] / p_old[g][d_kg] of sample k and its advantage A_k, it
 * climbs
 *
 *     J = 1/K sum_k min(r_k A_k, clip(r_k, 1 - c, 1 + c) A_k)
 *
 *     dJ / dlogit[g][d] = 1/K sum_k r_k A_k ([d = d_kg] - p[g][d])
 *
 * where the sum is over the samples whose ratio is not clipped.
 */
#ifndef EMP_BASELINES_SEARCHES_POST_H
#define EMP_BASELINES_SEARCHES_POST_H

#include <stdint.h>

typedef struct {
    int32_t        groups, devices, samples;
    const int32_t *choice;    /**< [sample][group] device */
    const double  *old_log_p; /**< [sample] of the whole placement */
    const double  *advantage; /**< [sample] */
    double         clip;
} emp_ppo_batch;

/** Softmax of a row. */
void emp_ppo_softmax(const double *logits, int32_t devices, double *p);

/** Logarithm of the probability of a placement. O(groups x devices). */
double emp_ppo_log_p(const double *logits, int32_t groups, int32_t devices,
                     const int32_t *choice);

/** J, and its gradient [group][device]. O(samples x groups x devices). */
double emp_ppo_objective(const emp_ppo_batch *batch, const double *logits,
                         double *gradient);

#endif /* EMP_BASELINES_SEARCHES_POST_H */
