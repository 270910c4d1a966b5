/** \file policy/doppler/doppler.h
 * DOPPLER (Yao et al., ICLR 2026) as a placer: one policy selects the next op, another its device;
 * both first imitate a list scheduler and then learn from scores. README.md says what of it is
 * published and what is ours.
 *
 * The first ask imitates, which takes most of the time of a short run. Then one ask is some
 * episodes, and one tell is one update. Presets: "paper" and "emplace".
 */
#ifndef EMP_POLICY_DOPPLER_DOPPLER_H
#define EMP_POLICY_DOPPLER_DOPPLER_H

#include "policy/doppler/net.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* DOPPLER's two policies at work: episodes, and updates by the two objectives. An episode has one
 * step a node. At each step the selector takes a ready node, then the placer its device.
 *
 *     imitation   sum over steps, and over the choices c that the teacher may make, of ln p(c)
 *     scores      sum over steps t of gamma^(N-1-t) (R - b) ln p(choice),  R the episode's reward
 *
 * Both in the mean over the episodes of an update, and with the mean sum of entropies, weighted.
 * Imitation runs in the states that the policies come to themselves; it needs no score and all of
 * it comes before the first candidate. Adam's moments are 0 after it, as the stages are runs of
 * their own in the released code. */

/* Every constant by name; doppler.c has ranges and presets. */

typedef enum {
    EMP_DOPPLER_EPSILON, /**< the most probable choice, or with probability epsilon any */
    EMP_DOPPLER_SOFTMAX  /**< a draw from the probabilities */
} emp_doppler_exploration;

typedef enum { EMP_DOPPLER_MATRICES, EMP_DOPPLER_GATED } emp_doppler_messages;

typedef struct {
    emp_learner_options     learner; /**< of the stage with scores */
    int32_t                 max_nodes, width, steps;
    emp_doppler_messages    mpnn;
    emp_doppler_exploration explore;
    double                  gamma;
    double                  epsilon;   /**< falls to 0 over so many episodes ... */
    int32_t                 episodes;  /**< ... 0: the run's */
    int32_t                 imitation; /**< most episodes of the stage before ... */
    double imitation_agreement; /**< ... which ends once this share is reached ... */
    int32_t
        imitation_patience; /**< ... or after so many episodes without a rise; 0: neither */
    double imitation_rate, imitation_epsilon, imitation_entropy;
} emp_doppler_options;

/** One of the episodes of an update, with all that it needs. */
typedef struct {
    emp_doppler_episode  episode;
    emp_doppler_choices  choices[2]; /**< [emp_doppler_kind] */
    emp_doppler_loads    loads;
    emp_doppler_gradient gradient[2];  /**< [emp_doppler_kind] */
    int32_t             *node_of_step; /**< [step] */
    emp_device_id       *device_of_step;
    double               log_prob,
        entropy[2];       /**< of all choices; sums over steps, [emp_doppler_kind] */
    int32_t    taught[2]; /**< choices that the teacher may make, likewise */
    int32_t    agreed[2]; /**< steps whose most probable choice the teacher may make */
    emp_arrays arrays;    /**< steps */
} emp_doppler_run;

/** How far imitation has come, which a checkpoint holds. The agreement is the share of steps in which
 * the most probable choice is one that the teacher may make, of the selector or of the placer, whichever
 * agrees less. */
typedef struct {
    double average; /**< moving average of the agreement, without a bias to 0 */
    double best;    /**< its highest value that rose by at least EMP_DOPPLER_RISE */
    double since;   /**< episodes after that */
    double weight;  /**< of the episodes in the average, up to 1 */
} emp_doppler_progress;

#define EMP_DOPPLER_RISE 0.005

typedef struct {
    emp_learner         learner; /**< first; its ops are NULL */
    emp_doppler_options options;
    emp_doppler_scene   scene;
    emp_doppler_net     net[2];      /**< [emp_doppler_kind] */
    emp_doppler_run    *run;         /**< [options.learner.samples] */
    int64_t             budget;      /**< episodes over which epsilon falls */
    bool                has_weights; /**< the values of a policy that was taught */
    int64_t             imitated;    /**< episodes so far */
    double match[2]; /**< share of the last imitated choices that are the teacher's */
    emp_doppler_progress progress;
} emp_doppler_agent;

/** Its place must not change afterwards. Clear it, also after a failure.
 * \param budget  Evaluations of the run; 0: unknown.
 * \retval EMP_EINVAL  No op has a choice of devices. \retval EMP_ENOMEM */
emp_status emp_doppler_agent_init(emp_doppler_agent *agent, const emp_problem *problem,
                                  const emp_doppler_options *options, uint64_t seed,
                                  int64_t budget, int32_t threads, emp_error *err);
void       emp_doppler_agent_clear(emp_doppler_agent *agent);

/** Draws \a samples episodes. */
void emp_doppler_agent_propose(emp_doppler_agent *agent, int32_t samples);

/** Does what is left of the stage of imitation: nothing for an agent that has learned from scores, or
 * begins with the weights of one. After a stop the next call goes on with the episodes that are left. */
void emp_doppler_agent_imitate(emp_doppler_agent *agent);

/** Plays the \a samples episodes drawn last once more, and sets the gradients of their mean
 * objective of imitation; returns it without entropy. */
double emp_doppler_agent_imitation(emp_doppler_agent *agent, int32_t samples,
                                   double entropy);

extern const emp_method emp_method_doppler;

#endif /* EMP_POLICY_DOPPLER_DOPPLER_H */
