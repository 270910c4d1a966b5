/** \file policy/reinforce/reinforce.h
 * From the scores of an update's samples to their advantages (Williams, 1992; the rules of
 * Mirhoseini et al., 2017 and 2018):
 *
 *     R = -sqrt(t), -t or -ln(t), t the step time in s; out of memory t = failure^2
 *     b = moving average of the mean reward of the samples that ran, or of all that take
 *         part; or the mean of all samples that ran so far, these included
 *     advantage of sample k = R_k - b
 *
 * After some updates samples that ran out of memory no longer take part.
 */
#ifndef EMP_POLICY_REINFORCE_REINFORCE_H
#define EMP_POLICY_REINFORCE_REINFORCE_H

#include "search/method.h"

/** What a step of t seconds is worth; the paper found the first to be the best. */
typedef enum {
    EMP_REWARD_SQRT,     /**< -sqrt(t) */
    EMP_REWARD_IDENTITY, /**< -t */
    EMP_REWARD_LOG       /**< -ln(t), t at least a nanosecond */
} emp_reward_form;

/** The reward of a step of \a seconds. */
double emp_reward(emp_reward_form form, double seconds);

typedef struct {
    /** The root of the seconds that a placement out of memory counts for in every form:
     * 10 is a step of 100 s, worth -10, -100 or -4.6. */
    double          failure;
    emp_reward_form form;
    int32_t         updates_failures; /**< updates in which failures take part */
    double          baseline_decay;   /**< of the moving average */
    bool baseline_first; /**< starts at the first placements that ran, not at a failure */
    bool baseline_failures; /**< failures that take part are averaged, too */
    bool baseline_mean;     /**< the mean takes the place of the moving average */
} emp_reinforce_rules;

/** Zero-initialise. All of it is what a checkpoint keeps. */
typedef struct {
    double  value;
    int32_t ran; /**< placements that ran so far; it is a failure's reward before */
} emp_baseline;

/** What an update is computed from. */
typedef struct {
    double weight
        [EMP_MAX_TOLD]; /**< advantage / samples that take part; 0 = takes no part */
    double  advantage;  /**< mean of those that take part */
    double  reward;     /**< mean of all samples */
    int32_t count;      /**< of those that take part */
} emp_judgement;

/** Judges the \a count samples, at most EMP_MAX_TOLD, of update number \a update, of which the baseline then
 * knows. O(count). */
emp_judgement emp_reinforce_judge(const emp_reinforce_rules *rules,
                                  emp_baseline *baseline, int64_t update,
                                  const emp_score *scores, int32_t count);

#endif /* EMP_POLICY_REINFORCE_REINFORCE_H */
