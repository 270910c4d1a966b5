/** \file policy/reinforce/learner.h
 * What all policies that REINFORCE trains have in common: one ask draws a batch of
 * placements, one tell is one update.
 *
 *     grad J = 1/k sum_j (R_j - b) grad log p(d_j)
 *
 * for k placements d_j, rewards R and baseline b (learner.h). An update has two halves,
 * between which ranks add their gradients (emp_method_sharing).
 *
 * A policy is a struct that begins with an emp_learner, and an emp_learner_type. Functions
 * that take a void *state are for the table of a method; \a state is the policy.
 */
#ifndef EMP_POLICY_REINFORCE_LEARNER_H
#define EMP_POLICY_REINFORCE_LEARNER_H

#include <stdint.h>

#include "base/work.h"
#include "policy/features/op_features.h"
#include "policy/nn/params.h"
#include "policy/nn/real.h"
#include "search/method.h"

/* From the scores of an update's samples to their advantages (Williams, 1992; the rules of
 * Mirhoseini et al., 2017 and 2018):
 *
 *     R = -sqrt(t), -t or -ln(t), t the step time in s; out of memory t = failure^2
 *     b = moving average of the mean reward of the samples that ran, or of all that take
 *         part; or the mean of all samples that ran so far, these included
 *     advantage of sample k = R_k - b
 *
 * After some updates samples that ran out of memory no longer take part, unless rules say that
 * they do where most of an update failed. With a cap c the advantage is (R_k - b) / s within
 * [-c, c], s the deviation of rewards that ran: one failure then weighs no more than c
 * deviations. */

/** The reward of a step of t seconds; the paper found the first to be the best. */
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
    double cap; /**< if above 0, advantages are counted in deviations of the rewards of
                   placements that ran, and are at most this and at least minus this */
    double failures_share; /**< if above 0, failures take part also later in updates of
                              whose samples at least this share failed */
} emp_reinforce_rules;

/** Zero-initialise. All of it is what a checkpoint keeps. */
typedef struct {
    double  value;
    int32_t ran; /**< placements that ran so far; it is a failure's reward before */
    double
        square; /**< moving average of the squared distance from the mean of an update, of
                       placements that ran; 0 before the first update with several */
} emp_baseline;

/** The inputs of an update. */
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

enum { EMP_LEARNER_MAX_NETS = 2, EMP_LEARNER_MAX_METRICS = 12 };

typedef struct {
    int32_t             samples; /**< placements per update */
    double              clip;    /**< largest gradient norm of each network */
    double              entropy; /**< weight of the policy's entropy in the objective */
    emp_adam            adam;
    emp_reinforce_rules rules;
} emp_learner_options;

/* Rows of methods' options that several learners have. A method gives its struct \a type, the field \a at, and its
 * own defaults: each a number, or EMP_LEARNER_DEFAULTS of its presets. */

#define EMP_LEARNER_DEFAULTS(...) __VA_ARGS__

/** The options of an emp_adam. \a epsilon_name: "epsilon", unless the method has another option of this name. */
#define EMP_ADAM_OPTIONS(type, at, rate, epsilon_name, eps, hat)                         \
    EMP_REAL_OPTION("lr", type, at.learning_rate, 0, 10, "learning rate of Adam", rate), \
        EMP_REAL_OPTION(epsilon_name, type, at.epsilon, 1e-30, 1e6, "Adam's epsilon",    \
                        eps),                                                            \
        EMP_BOOL_OPTION("epsilon_hat", type, at.epsilon_hat,                             \
                        "1: it is added before the second moment's bias is corrected, "  \
                        "as in TensorFlow, 0: after",                                    \
                        hat),                                                            \
        EMP_REAL_OPTION("beta1", type, at.beta1, 0, 0.9999,                              \
                        "decay of Adam's first moment", 0.9),                            \
        EMP_REAL_OPTION("beta2", type, at.beta2, 0, 0.999999,                            \
                        "decay of Adam's second moment", 0.999)

#define EMP_CLIP_OPTION(type, at, ...)                                                 \
    EMP_REAL_OPTION("clip", type, at, 1e-6, 1e9, "largest gradient norm of a network", \
                    __VA_ARGS__)

#define EMP_ENTROPY_OPTION(type, at, ...)        \
    EMP_REAL_OPTION("entropy", type, at, 0, 1e6, \
                    "weight of the policy's entropy in the objective", __VA_ARGS__)

/** The options of emp_reinforce_rules. */
#define EMP_REWARD_OPTIONS(type, at, form_default, first, average, failures)         \
    EMP_WORD_OPTION("reward", type, at.form, "sqrt|identity|log",                    \
                    "of a step of t seconds: -sqrt(t), -t, -ln(t)", form_default),   \
        EMP_REAL_OPTION("failure", type, at.failure, 0, 1e6,                         \
                        "out of memory counts as a step of failure^2 s", 10),        \
        EMP_REAL_OPTION("baseline_decay", type, at.baseline_decay, 0, 1,             \
                        "of the moving average of rewards", 0.9),                    \
        EMP_BOOL_OPTION("baseline_first", type, at.baseline_first,                   \
                        "1: it starts at the first placements that ran, 0: at a "    \
                        "failure's reward",                                          \
                        first),                                                      \
        EMP_BOOL_OPTION("baseline_failures", type, at.baseline_failures,             \
                        "1: failures that take part in an update enter it, 0: only " \
                        "placements that ran do",                                    \
                        average),                                                    \
        EMP_INTEGER_OPTION("updates_failures", type, at.updates_failures, 0, 1e9,    \
                           "updates that failures take part in", failures)

/** The parameters of a network, and their names in a checkpoint. */
typedef struct {
    emp_params *params;
    const char *step, *value, *moment1, *moment2, *gradient;
    int32_t     norm;     /**< the metric that is the norm of their gradient */
    bool        is_fixed; /**< they are kept, but learn nothing */
    double      rate;     /**< of their own; 0: the learner's */
} emp_learner_net;

/** One whose names begin with \a prefix, a literal. */
#define EMP_LEARNER_NET(prefix, params, norm)                                      \
    (emp_learner_net)                                                              \
    {                                                                              \
        params, prefix "step", prefix "value", prefix "moment1", prefix "moment2", \
            prefix "gradient", norm, false, 0.0                                    \
    }

typedef struct emp_learner emp_learner;

/** The functions of a policy. */
typedef struct {
    int32_t            metric_count;
    const char *const *metrics; /**< names: "loss", "reward", "baseline", its own */

    /** Draws \a samples placements, at most as many as the options say, sets \a drawn, and
     * allocates nothing. */
    void (*propose)(emp_learner *learner, int32_t samples);
    /** The device of a row of the features in a placement drawn last. */
    emp_device_id (*device)(const emp_learner *learner, int32_t sample, int32_t row);
    /** Sets the gradients of all networks, by the sum of weight[k] log p(d_k) over
     * the \a own placements drawn last, at least 1, and of \a entropy times their mean
     * entropy. Returns the loss. */
    double (*take_gradients)(emp_learner *learner, const double *weight, int32_t own,
                             double entropy);
    /** Sets the metrics of its own but the norms. */
    void (*report)(emp_learner *learner);
    /** OPTIONAL: how scores become weights, in place of emp_reinforce_judge(). */
    emp_judgement (*judge)(emp_learner *learner, const emp_score *scores, int32_t count);
    /** OPTIONAL: sees the scores before they are judged; arguments as emp_learner_backward(). */
    void (*look)(emp_learner *learner, const emp_score *scores, int32_t count,
                 int32_t first, int32_t own);
    /** OPTIONAL: ends a step, after the networks have learned. */
    void (*finish)(emp_learner *learner);
} emp_learner_type;

struct emp_learner {
    const emp_learner_type *type;
    emp_learner_options     options;
    emp_op_features        *ops;       /**< owned */
    uint64_t                seed;      /**< of the first weights */
    uint64_t                draw_seed; /**< of placements; the same unless set */
    int32_t                 threads;   /**< at least 1 */
    /** OPTIONAL; borrowed. Only policies whose draws and gradients look at it set it. Once its value is
     * not 0, what those leave is worth nothing. */
    const atomic_int *stop;
    int32_t           net_count; /**< set by the policy, as what follows */
    emp_learner_net   net[EMP_LEARNER_MAX_NETS];
    int32_t           drawn; /**< placements drawn last */

    int64_t           update; /**< updates made */
    emp_baseline      baseline;
    int32_t           has_gradient; /**< a sample took part: a step changes something */
    emp_method_metric metric[EMP_LEARNER_MAX_METRICS];
};

/** The learner that a policy begins with; takes \a ops over. */
emp_learner emp_learner_start(const emp_learner_type    *type,
                              const emp_learner_options *options, emp_op_features *ops,
                              uint64_t seed, int32_t threads);

/** Adds a network, whose loops then take the learner's threads. */
void emp_learner_add(emp_learner *learner, emp_learner_net net);

/** Whether the counts are possible in a run: a restored state may come from anywhere. Asks begin with it.
 * \retval EMP_EFORMAT */
emp_status emp_learner_check(const emp_learner *learner, emp_error *err);

/** Draws a batch. Ops without a row have no choice or no effect: device 0, from which
 * legalization sends them where they belong. \retval EMP_EINTERRUPTED  `stop` is set. \retval EMP_EFORMAT */
emp_status emp_learner_ask(void *state, const emp_owned_decision *candidates, int32_t max,
                           int32_t *count, emp_error *err);

/** Both halves of an update. \retval EMP_EINVAL  Not as many scores as were drawn.
 * \retval EMP_EINTERRUPTED  `stop` is set: there was no update. */
emp_status emp_learner_tell(void *state, const emp_score *scores, int32_t count,
                            emp_error *err);

/** The functions of emp_method_sharing. \retval EMP_EINVAL  As emp_learner_tell(). */
emp_status emp_learner_backward(void *state, const emp_score *scores, int32_t count,
                                int32_t first, int32_t own, emp_error *err);
void       emp_learner_step(void *state);
extern const emp_method_sharing emp_learner_sharing; /**< these, and the two below */
int32_t                         emp_learner_list_gradient(void           *state,
                                                          emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
int32_t                         emp_learner_list_values(void           *state,
                                                        emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/** The state that the next placements depend on beyond the arguments of a creation; random numbers
 * follow from seed and update. */
int32_t emp_learner_list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/** The same for only parameters and moments, for a policy whose networks fit any problem. */
int32_t emp_learner_list_weights(void           *state,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/** The mean of \a count values; NaN for none. */
double emp_learner_mean(const double *values, int32_t count);

const emp_method_metric *emp_learner_metrics(const void *state, int32_t *count);

/* Proximal policy optimization (Schulman et al., 2017) of rows of categoricals that are drawn
 * once, K samples in all, and learned from several times. The ratio is of one row, not of all:
 *
 *     J = 1/(K N) sum_k sum_v min(r A_k, clip(r, 1 - c, 1 + c) A_k) + e mean entropy,
 *     r = p_v(a_kv) / q_v(a_kv)
 *
 * for N rows v, advantages A_k, drawn choices a_kv, and q the distributions they were drawn from.
 * A row's ratio depends only on its choice. So the advantages of all samples with one choice are
 * added up once, above and below 0 apart.
 *
 * An advantage is (R - b) / s, b and s the mean and the deviation of earlier rewards. Without
 * earlier ones they are the samples' own. */

/** The statistics of earlier rewards (Welford, 1962). Zero-initialise. */
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

#endif /* EMP_POLICY_REINFORCE_LEARNER_H */
