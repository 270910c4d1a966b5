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

/* The mean reward of the *ran placements that ran. */
static double mean_of_ran(const emp_reinforce_rules *rules, const emp_score *scores,
                          int32_t count, int32_t *ran)
{
    double sum = 0.0;

    *ran = 0;
    for (int32_t k = 0; k < count; k++) {
        if (!scores[k].is_feasible) continue;
        sum += reward_of(rules, &scores[k]);
        ++*ran;
    }
    return *ran > 0 ? sum / *ran : 0.0;
}

/* Before the samples are judged; \a mean is that of the \a ran that ran. */
static void start_baseline(const emp_reinforce_rules *rules, emp_baseline *baseline,
                           int32_t ran, double mean)
{
    if (baseline->ran == 0)
        baseline->value = ran > 0 && rules->baseline_first ? mean : failure_reward(rules);
    if (rules->baseline_mean && ran > 0)
        baseline->value = baseline->ran == 0
                              ? mean
                              : baseline->value + (mean - baseline->value) * ran /
                                                      ((double)baseline->ran + ran);
    baseline->ran += ran < INT32_MAX - baseline->ran ? ran : INT32_MAX - baseline->ran;
}

emp_judgement emp_reinforce_judge(const emp_reinforce_rules *rules,
                                  emp_baseline *baseline, int64_t update,
                                  const emp_score *scores, int32_t count)
{
    const double  decay = rules->baseline_decay;
    emp_judgement j = {.count = 0};
    bool          takes_part[EMP_MAX_TOLD];
    int32_t       ran;
    const double  mean = mean_of_ran(rules, scores, count, &ran);

    start_baseline(rules, baseline, ran, mean);
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
    if (rules->baseline_mean) return j;
    if (rules->baseline_failures && update < rules->updates_failures)
        baseline->value = decay * baseline->value + (1.0 - decay) * j.reward;
    else if (ran > 0)
        baseline->value = decay * baseline->value + (1.0 - decay) * mean;
    return j;
}
