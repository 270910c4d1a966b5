// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/reinforce/reinforce.h"

#include <math.h>

static const double SHORTEST_S = 1e-9;

double emp_reward(emp_reward_form form, double seconds)
{
    switch (form) {
    case EMP_REWARD_SQRT: return -sqrt(seconds);
    case EMP_REWARD_IDENTITY: return -seconds;
    case EMP_REWARD_LOG: return -log(fmax(seconds, SHORTEST_S));
    }
    return 0.0;
}

static double failure_reward(const emp_reinforce_rules *rules)
{
    return emp_reward(rules->form, rules->failure * rules->failure);
}

static double reward_of(const emp_reinforce_rules *rules, const emp_score *score)
{
    return score->is_feasible ? emp_reward(rules->form, score->step_time_s)
                              : failure_reward(rules);
}

/* The mean reward of placements that ran. False: none did. */
static bool mean_of_ran(const emp_reinforce_rules *rules, const emp_score *scores,
                        int32_t count, double *reward)
{
    double  sum = 0.0;
    int32_t ran = 0;

    for (int32_t k = 0; k < count; k++) {
        if (!scores[k].is_feasible) continue;
        sum += reward_of(rules, &scores[k]);
        ran++;
    }
    if (ran > 0) *reward = sum / ran;
    return ran > 0;
}

static void start_baseline(const emp_reinforce_rules *rules, emp_baseline *baseline,
                           bool has_ran, double mean)
{
    if (baseline->is_started) return;
    baseline->is_started = has_ran;
    baseline->value = has_ran && rules->baseline_first ? mean : failure_reward(rules);
}

emp_judgement emp_reinforce_judge(const emp_reinforce_rules *rules,
                                  emp_baseline *baseline, int64_t update,
                                  const emp_score *scores, int32_t count)
{
    const double  decay = rules->baseline_decay;
    emp_judgement j = {.count = 0};
    bool          takes_part[EMP_MAX_TOLD];
    double        mean = 0.0;
    bool          has_ran = mean_of_ran(rules, scores, count, &mean);

    start_baseline(rules, baseline, has_ran, mean);
    for (int32_t k = 0; k < count; k++) {
        takes_part[k] = scores[k].is_feasible || update < rules->updates_failures;
        j.reward += reward_of(rules, &scores[k]) / count;
        j.count += takes_part[k];
    }
    for (int32_t k = 0; k < count; k++) {
        if (!takes_part[k]) continue;
        j.weight[k] = (reward_of(rules, &scores[k]) - baseline->value) / j.count;
        j.advantage += j.weight[k];
    }
    if (rules->baseline_failures && update < rules->updates_failures)
        baseline->value = decay * baseline->value + (1.0 - decay) * j.reward;
    else if (has_ran)
        baseline->value = decay * baseline->value + (1.0 - decay) * mean;
    return j;
}
