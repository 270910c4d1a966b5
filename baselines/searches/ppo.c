// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/searches/ppo.h"

#include <math.h>
#include <string.h>

#include "sim/machine/machine.h"

void emp_ppo_softmax(const double *logits, int32_t devices, double *p)
{
    double top = logits[0], sum = 0.0;

    for (int32_t d = 1; d < devices; d++) top = fmax(top, logits[d]);
    for (int32_t d = 0; d < devices; d++) sum += p[d] = exp(logits[d] - top);
    for (int32_t d = 0; d < devices; d++) p[d] /= sum;
}

double emp_ppo_log_p(const double *logits, int32_t groups, int32_t devices,
                     const int32_t *choice)
{
    double sum = 0.0, p[EMP_MAX_DEVICES];

    for (int32_t g = 0; g < groups; g++) {
        emp_ppo_softmax(logits + g * devices, devices, p);
        sum += log(p[choice[g]]);
    }
    return sum;
}

/* Adds weight x d(log p of the choice) / d(logits). */
static void add_gradient(const emp_ppo_batch *b, const double *logits,
                         const int32_t *choice, double weight, double *gradient)
{
    double p[EMP_MAX_DEVICES];

    for (int32_t g = 0; g < b->groups; g++) {
        emp_ppo_softmax(logits + g * b->devices, b->devices, p);
        double *row = gradient + g * b->devices;
        for (int32_t d = 0; d < b->devices; d++) row[d] -= weight * p[d];
        row[choice[g]] += weight;
    }
}

double emp_ppo_objective(const emp_ppo_batch *b, const double *logits, double *gradient)
{
    double sum = 0.0;

    memset(gradient, 0, (size_t)(b->groups * b->devices) * sizeof *gradient);
    for (int32_t k = 0; k < b->samples; k++) {
        const int32_t *choice = b->choice + (int64_t)k * b->groups;
        double         log_p = emp_ppo_log_p(logits, b->groups, b->devices, choice);
        double         ratio = exp(log_p - b->old_log_p[k]), a = b->advantage[k];
        double         clipped = fmin(fmax(ratio, 1.0 - b->clip), 1.0 + b->clip);
        sum += fmin(ratio * a, clipped * a);
        if (ratio * a <= clipped * a)
            add_gradient(b, logits, choice, ratio * a / b->samples, gradient);
    }
    return sum / b->samples;
}
