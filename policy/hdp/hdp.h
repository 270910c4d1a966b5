/** \file policy/hdp/hdp.h
 * The Hierarchical Planner (Mirhoseini et al., ICLR 2018) as a placer: a grouper gives
 * ops to groups, a placer network gives groups to devices, and REINFORCE trains both on
 * the step times of the placements they propose. README.md says where each constant comes
 * from.
 *
 * One ask proposes a batch: one grouping and k placements of it; one tell is one update.
 * Presets: "paper", our reading of it, and "literal".
 */
#ifndef EMP_POLICY_HDP_HDP_H
#define EMP_POLICY_HDP_HDP_H

#include "base/mem.h"
#include "base/text/options.h"
#include "policy/features/op_features.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/params.h"
#include "policy/nn/products.h"
#include "policy/reinforce/learner.h"
#include "policy/seq2seq/device_net.h"
#include "search/method.h"

/* The grouper: a feed-forward network that gives every op a group.
 *
 *     hidden = f([embedding of type, 36 values] W_1 + b_1)
 *     p = softmax(hidden W_2 + b_2)
 *
 * All ops are sampled independently. With one grouping per update (m = 1) the REINFORCE
 * gradient is a number, the mean advantage, times the gradient of log p(grouping), which
 * does not depend on the rewards: sampling computes it on the way, block by block of
 * rows, and the (ops x groups) logits are never all in memory. */

typedef struct {
    int32_t        hidden, groups, type_width; /**< 64, 256, 20 */
    emp_activation activation;
} emp_grouper_shape;

typedef struct {
    emp_grouper_shape      shape;
    const emp_op_features *ops; /**< borrowed */
    double noise; /**< deviation of normal numbers that a run adds to the logits, over the
                     root mean square of all of them; 0 unless set */
    emp_params params;
    int32_t   *group_of_row; /**< the grouping drawn last */
    double     log_prob;     /**< of it, summed over ops */
    double     entropy;      /**< mean over ops, nats */
    /* Private. */
    emp_real  *type_image; /**< [type][hidden] embedding x its part of W_1, + b_1 */
    emp_panels value, out, out_t; /**< W_1 of the values, W_2 and its transpose */
    emp_real  *work; /**< for each chunk of rows: partial gradients, then one block */
    size_t     work_count; /**< reals per chunk */
} emp_grouper;

emp_status emp_grouper_init(emp_grouper *grouper, const emp_grouper_shape *shape,
                            const emp_op_features *ops, emp_error *err);
void       emp_grouper_clear(emp_grouper *grouper);

/** Glorot-uniform weights, zero biases. */
void emp_grouper_randomize(emp_grouper *grouper, emp_rng *rng);

/** Starts with equally full groups that are ranges of z, the mean of an op's 12 positions
 * (standardized). Hidden unit j is f(slope (z - q_j)) with q_j the (j + 1/2) / hidden
 * quantile of z; the logit of group g is -gain / 2 times the squared distance of the
 * hidden units to an op's at its quantile, apart from what all groups share.
 * Sizes and types get no weight, embeddings are Glorot-uniform.
 * O(V log V + hidden groups). \retval EMP_ENOMEM
 * \retval EMP_EINVAL  The features have no positions (a window of 0). */
emp_status emp_grouper_start_ranges(emp_grouper *grouper, double slope, double gain,
                                    emp_rng *rng, emp_error *err);

/** Draws a grouping, or takes \a given (row_count groups; NULL = draw), and leaves the
 * gradient of its log-probability in the parameters' gradients. Probabilities follow from
 * the noisy logits, and gradients take the noise for a constant. Allocates nothing. */
void emp_grouper_run(emp_grouper *grouper, const emp_draw *draw, const int32_t *given);

/** Leaves the gradient of the mean entropy of the ops' groups in the parameters' gradients, and sets `entropy`.
 * The grouping drawn last stays, but its log-probability is gone. Allocates nothing. */
void emp_grouper_run_entropy(emp_grouper *grouper, int32_t threads);

/* The guide of the placer where the paper is silent: the elites, which are the best placements
 * of a run so far and which the network imitates, and the heat of its draws.
 *
 * Heat. The scale of the Gumbel numbers that devices are drawn with follows a controller, so that
 * about a share h of the groups gets another device than the most probable one:
 *
 *     ln scale <- ln scale + gain (ln h - ln share moved in the update)
 *     h falls geometrically from `first` to `last` over `updates` updates, and stays
 *
 * A policy that is sure of its devices so explores as much as one that is not.
 *
 * Ranks that share a run add what note() leaves, of which only one rank has a candidate; then
 * each calls take(), with the same result. */

enum { EMP_GUIDE_MAX_ELITES = 4 };

typedef struct {
    double  first, last; /**< shares of the groups; first 0: there is no controller */
    int32_t updates;
    double  gain;
} emp_heat_rule;

typedef struct {
    emp_heat_rule heat;
    int32_t       rows, capacity; /**< elites at most; 0 = none */
    int32_t      *device;         /**< [capacity][row] the best first */
    double       *step_s;         /**< [capacity] 0: there is no such elite */
    double        scale;          /**< of Gumbel numbers */
    /* The values that an update leaves for take(). */
    int32_t   *candidate;    /**< [row] its best placement; 0 without one */
    double     candidate_s;  /**< 0 = none */
    double     drawn, moved; /**< groups of its samples, and those that moved */
    int32_t   *votes;        /**< scratch of project() */
    emp_arrays arrays;       /**< all of these */
} emp_guide;

/** \a devices, \a steps: the largest that project() gets. \retval EMP_ENOMEM */
emp_status emp_guide_init(emp_guide *guide, const emp_heat_rule *heat, int32_t capacity,
                          int32_t rows, int32_t devices, int32_t steps, emp_error *err);
void       emp_guide_clear(emp_guide *guide);

int32_t emp_guide_count(const emp_guide *guide); /**< of elites */

/** The index of the best of \a count scores that fits in memory; -1: none does. */
int32_t emp_guide_find_best(const emp_score *scores, int32_t count);

/** Ends update number \a update: the candidate becomes an elite if it is good enough and new, and
 * the scale changes. */
void emp_guide_take(emp_guide *guide, int64_t update);

/** Gives each step the device that most of its rows have in an elite, the lowest of equals.
 * \a target [elite][steps]. O(elites x (rows + steps x devices)). */
void emp_guide_project(const emp_guide *guide, int32_t *target,
                       const int32_t *group_of_row, const int32_t *step_of_group,
                       int32_t steps, int32_t devices);

/** As list_state(), behind \a count arrays. */
int32_t emp_guide_list_state(emp_guide *guide, emp_named_array *arrays, int32_t count);
/** The same of what ranks add before take(). */
int32_t emp_guide_list_sums(emp_guide *guide, emp_named_array *arrays, int32_t count);

/** Whether a restored guide makes sense. \retval EMP_EFORMAT */
emp_status emp_guide_check(const emp_guide *guide, int32_t devices, emp_error *err);

/* Groups that are given once and not learned, to compare the grouper with. */

/** In the order of the option `grouping`; only those that are fixed can be created. */
typedef enum {
    EMP_GROUPING_LEARNED, /**< none of these */
    EMP_GROUPING_RANDOM,  /**< each op uniformly (Table 2 of the paper) */
    EMP_GROUPING_CHUNKS,  /**< equally many ops in the order of the features' numbering */
    EMP_GROUPING_METIS,   /**< search/groups/class_groups.h */
    EMP_GROUPING_SCOTCH,  /**< the same */
    EMP_GROUPING_NAMES,   /**< search/groups/class_groups.h */
    EMP_GROUPING_COLOCATION, /**< the same; of more than are asked for, neighbours are
                                joined */
    EMP_GROUPING_NONE        /**< no groups at all: emp_op_agent */
} emp_grouping;

/** A group of 0 .. *group_count-1 for each row of \a ops; the caller frees it. The largest
 * of METIS or Scotch has about \a imbalance times the mean load. On a machine of several
 * CPUs, rows that only a CPU can run are no part of the graph that METIS, Scotch and the
 * rules cut: they share the last group. With EMP_GROUPING_COLOCATION \a group_count may be 0 before and is then
 * set to as many as the rules make. Equal seeds give equal groups. \a problem is the problem of \a ops.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and as for metis_cut.h and scotch_cut.h */
emp_status emp_fixed_groups_create(int32_t **out, emp_grouping grouping,
                                   const emp_problem *problem, const emp_op_features *ops,
                                   int32_t *group_count, double imbalance,
                                   const emp_method_params *params, emp_error *err);

typedef enum { EMP_OBJECTIVE_TIME, EMP_OBJECTIVE_BALANCE } emp_hdp_objective;
typedef enum { EMP_NOISE_GUMBEL, EMP_NOISE_GAUSSIAN } emp_noise_form;

/** Every constant by name. A preset gives all of them; a text "lr=0.01,groups=64" changes single
 * ones. emp_hdp_option_list has the meaning, range and presets of each. */
typedef struct {
    emp_learner_options learner;
    int32_t             groups, grouper_hidden, type_width, hidden, updates_noise, window;
    int32_t             elites;
    emp_heat_rule       heat;
    double temperature, tanh_constant, noise, run_shortest, run_longest, placer_gain,
        imbalance, gradient_bound, imitation, stretches, stretch_longest, grouper_lr;
    bool               ranges, empty_groups, redraw, costs, standardize, aligned;
    emp_noise_form     noise_form;
    emp_absent         absent;
    emp_grouping       grouping;
    emp_group_sequence order;
    emp_hdp_objective  objective;
} emp_hdp_options;

extern const emp_option emp_hdp_option_list[];
/** "paper": the paper as we read it. "literal": without our choices, as far as the paper or
 * the code that its authors released later says what to do instead. */
#define EMP_HDP_PRESETS "paper|literal"

/** Fills \a options from \a preset (NULL = "paper") and then from \a text (NULL =
 * nothing more).
 * \retval EMP_EINVAL  Unknown preset or key, or a value out of range; the message lists
 *                     what would be right. */
emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err);

/* The agent has both networks, and makes one REINFORCE update of them.
 *
 *     grad J = 1/k sum_j (R_j - b) [grad log p(d_j | g) + grad log p(g)]
 *
 * for one grouping g and k placements d_j, R = -sqrt(step time in s), b a moving average
 * of the rewards of placements that ran. Placements are drawn near the policy, not from
 * it (device_net.h), so that grad J is an estimate with a bias. The update uses the very
 * actions that were scored, and the features of that grouping. */

typedef struct {
    emp_learner     learner; /**< first */
    emp_hdp_options options;
    const int32_t  *fixed_groups; /**< [row] borrowed; NULL = the grouper decides */
    emp_grouper     grouper;
    emp_device_net  net;
    int32_t         used;  /**< groups that have members */
    int32_t        *order; /**< [step] group */
    int32_t        *step_of_group;
    double         *group_sums; /**< scratch */
    emp_real       *x;          /**< (used, features) of the last grouping */
    emp_guide       guide;
    int32_t         told;   /**< scores of the last update */
    int32_t        *target; /**< [elite][step] their devices, of groups */
} emp_hdp_agent;

/** Takes \a ops over, even on failure. */
emp_status emp_hdp_agent_init(emp_hdp_agent *agent, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err);
void       emp_hdp_agent_clear(emp_hdp_agent *agent);

/** Draws a grouping and \a samples placements of it. For tests, both may be given:
 * \a groups [row], \a devices [sample][step], where steps are the used groups in order. */
void emp_hdp_agent_propose(emp_hdp_agent *agent, int32_t samples, const int32_t *groups,
                           const int32_t *devices);

/* The planner without groups, which the paper compares with: one feed-forward network
 * gives each op a device, independently of all others.
 *
 *     grad J = 1/k sum_j (R_j - b) grad log p(d_j) + e grad H
 *
 * where H is the mean entropy of an op's device and e the option `entropy`. The network is the grouper with devices for
 * groups and Glorot-uniform weights. Each of the k placements of an update is a draw of its own; as the network is
 * small, the gradient of each one's log-probability is kept until its score is known. */

typedef struct {
    emp_learner learner;  /**< first */
    emp_grouper net;      /**< groups are devices */
    int32_t    *device;   /**< [sample][row] */
    emp_real   *gradient; /**< [sample][parameter] of log p */
    double      log_prob[EMP_MAX_BATCH];
    double      entropy; /**< mean over ops, nats */
} emp_op_agent;

/** Takes \a ops over, even on failure. */
emp_status emp_op_agent_init(emp_op_agent *agent, emp_op_features *ops,
                             int32_t device_count, const emp_hdp_options *options,
                             uint64_t seed, int32_t threads, emp_error *err);
void       emp_op_agent_clear(emp_op_agent *agent); /**< legal after a failed init */

/** Draws \a samples placements, at most as many as the option says; allocates nothing. */
void emp_op_agent_propose(emp_op_agent *agent, int32_t samples);

extern const emp_method emp_method_hdp;

#endif /* EMP_POLICY_HDP_HDP_H */
