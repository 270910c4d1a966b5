/** \file policy/dyna/dyna.h
 * A learner with a model: between two batches of evaluations it imagines walks over placements by the
 * surrogate (sim/surrogate/surrogate.h), from which its network learns which moves shorten a step, as
 * Dyna does (Sutton, 1990). README.md has the algorithm and the worth of each part.
 */
#ifndef EMP_POLICY_DYNA_DYNA_H
#define EMP_POLICY_DYNA_DYNA_H

#include "policy/features/node_graph.h"
#include "policy/nn/params.h"
#include "search/method.h"
#include "search/moves.h"
#include "sim/explain/explain.h"
#include "sim/surrogate/surrogate.h"

/* The proposer has two networks: the policy is a distribution over moves of a placement, and the
 * judge says how much a move gains.
 *
 * A move sends a group of ops to a device (search/moves.h). A network sees a move as
 * EMP_PROPOSER_FEATURES numbers, all of them shares or logarithms of ratios, so that one
 * network serves any graph and machine:
 *
 *     policy   logit(move) = w2 . tanh(W1 x(move) + b1),       p = softmax over the moves at hand
 *     judge    gain(move) = v2 . tanh(V1 [x(move), e] + c1),   e the gain that the surrogate expects
 *
 * The judge corrects the surrogate: it learns from the gains that the oracle measured.
 *
 * The numbers say what the group computes, how much it exchanges with either device, how busy
 * and how full both are, and the blame: the share of the critical path that the group and the devices have
 * in the last step that the oracle traced (sim/explain/explain.h).
 *
 * The scene is the placement that moves start from. It has a parent, which the oracle knows,
 * and moves away from it while a walk is imagined; blame stays the parent's. */

enum {
    EMP_PROPOSER_FEATURES = 20,
    EMP_JUDGE_INPUTS = EMP_PROPOSER_FEATURES + 1,
    EMP_PROPOSER_MOVES = 128
};

/** A network of one hidden layer with one output, and what its last pass left. */
typedef struct {
    emp_params params;
    int32_t    inputs, hidden;
    emp_real  *h, *out;   /**< [EMP_PROPOSER_MOVES][hidden], [EMP_PROPOSER_MOVES] */
    emp_real  *dh, *dout; /**< likewise */
} emp_move_net;

typedef struct {
    emp_device_id *device_of_node;           /**< [node] */
    double         load_s[EMP_MAX_DEVICES];  /**< sum of the times of its nodes */
    double         bytes[EMP_MAX_DEVICES];   /**< variables and outputs of its nodes */
    double         blame_s[EMP_MAX_DEVICES]; /**< of its nodes on the critical path */
} emp_proposer_scene;

/** The edges that leave the groups of a level: group g has first[g] .. first[g + 1] - 1. */
typedef struct {
    int32_t *first; /**< [group + 1] */
    int32_t *node;  /**< [edge] the end outside of the group */
    double  *bytes; /**< [edge] */
} emp_proposer_border;

typedef struct {
    const emp_problem *problem; /**< borrowed */
    const emp_moves   *moves;   /**< borrowed; its levels may grow */
    emp_node_graph    *nodes;   /**< each a colocation class with a choice of devices */
    int32_t            level_count;
    emp_members        nodes_of_group[EMP_MOVES_MAX_LEVELS];
    emp_proposer_border
        border[EMP_MOVES_MAX_LEVELS]; /**< edges between nodes of a group and others */

    double             step_s;                      /**< of the parent */
    double            *blame_of_node, *end_of_node; /**< [node] s, share of the step */
    double            *least_s;                     /**< [node] on its fastest device */
    double             work_s, s_per_byte;
    double             all_bytes; /**< exchanged by all nodes */
    emp_proposer_scene parent, scene;
    bool               hides_blame; /**< ablation: blame reads as 0 */

    emp_move_net policy, judge;
    emp_real *
        x; /**< [EMP_PROPOSER_MOVES][EMP_PROPOSER_FEATURES] of the last emp_proposer_weigh() */
    emp_arrays arrays;
} emp_proposer;

/** \a problem and \a moves are borrowed. \retval EMP_ENOMEM  Clear it also then.
 * \retval EMP_EINVAL  No op has a choice of devices. */
emp_status emp_proposer_init(emp_proposer *p, const emp_problem *problem,
                             const emp_moves *moves, int32_t hidden, uint64_t seed,
                             emp_error *err);
void       emp_proposer_clear(emp_proposer *p);

/** Takes in the levels that the moves have grown. \retval EMP_ENOMEM */
emp_status emp_proposer_grow(emp_proposer *p, emp_error *err);

/** Sets the parent and the scene. \a blame_s and \a end_frac are [op], or NULL if nothing is known. O(V). */
void emp_proposer_see(emp_proposer *p, const emp_device_id *device_of_op, double step_s,
                      const double *blame_s, const double *end_frac);
/** Resets the scene to the parent. O(nodes). */
void emp_proposer_return(emp_proposer *p);
/** Makes a move in the scene. O(nodes of the group). */
void emp_proposer_move(emp_proposer *p, const emp_move *move);

/** Sets x of \a count moves, at most EMP_PROPOSER_MOVES, and policy.out to their logits. O(nodes and edges of their
 * groups). */
void emp_proposer_weigh(emp_proposer *p, const emp_move *moves, int32_t count);

/** Sets net->out of \a count rows of inputs, at most EMP_PROPOSER_MOVES. */
void emp_move_net_forward(emp_move_net *net, const emp_real *x, int32_t count);

/** Runs the network and adds the gradient of sum_i weight[i] out(x_i) to \a gradient, which is as long as its parameters.
 * For the policy, weights that sum to 0 give the gradient of sum_i weight[i] log p(i), times the temperature. */
void emp_move_net_learn(emp_move_net *net, emp_real *gradient, const emp_real *x,
                        const double *weight, int32_t count);

/* Imagined walks over placements: the policy chooses their moves and models rate them, without the
 * oracle.
 *
 * A walk begins at the parent, the best placement so far. In each step of it the policy chooses
 * EMP_IMAGINED_BLOCK of some random moves, the surrogate estimates them, the policy learns from their
 * ranks, and the walk makes the best one. It ends after its length, or when no move is expected to
 * help. Where it ends, the oracle has not been.
 *
 * The best move of a step is the one with the least estimate, or the one that the judge rates
 * highest: near a good placement the surrogate no longer ranks moves as the oracle does. */

enum {
    EMP_IMAGINED_BLOCK = 16,   /* moves that are estimated at once */
    EMP_IMAGINED_LONGEST = 16, /* moves of a walk */
    EMP_IMAGINED_KNOWN =
        1 << 14 /* slots for hashes; of two that share one the later stays */
};

typedef enum {
    EMP_IMAGINE_BLIND,    /**< one move by the policy, which no model sees */
    EMP_IMAGINE_ESTIMATE, /**< by the surrogate */
    EMP_IMAGINE_JUDGE     /**< by the judge, who sees the surrogate's estimates */
} emp_imagine_rule;

typedef struct {
    emp_move_options moves;
    int32_t          picks;       /**< moves among which the policy chooses, per step */
    double           temperature; /**< of the policy's softmax */
    double           alike;       /**< share of moves of any group; others go by blame */
    double           elite;       /**< share of estimated moves that count as good */
    double           estimate;    /**< weight of these ranks in the policy's gradient */
    bool             blame;       /**< groups are drawn by blame, and networks see it */
} emp_imagine_options;

typedef struct {
    emp_imagine_rule rule;
    int32_t          count; /**< moves made */
    emp_move         move[EMP_IMAGINED_LONGEST];
    emp_real
        x[EMP_IMAGINED_LONGEST]
         [EMP_JUDGE_INPUTS]; /**< the judge's inputs; the policy's are their first ones */
    double guess_s;          /**< the surrogate's step time at the end; NaN = none */
    /** [parameters of the policy] borrowed: the gradient of the sum over its moves of log p, the probability that the
     * policy had the move among the picks of its step. */
    emp_real *score;
} emp_imagined_walk;

typedef struct {
    const emp_problem  *problem; /**< borrowed */
    emp_imagine_options options;
    uint64_t            seed;
    emp_moves           moves;
    emp_proposer        proposer;
    emp_sim            *sim; /**< NULL: these rules cannot be explained */
    emp_blamer         *blamer;
    emp_surrogate      *surrogate;          /**< NULL: nothing can be estimated */
    double             *blame_s, *end_frac; /**< [op] */
    emp_device_id      *here;               /**< [op] the parent */
    double              here_s;             /**< its score */
    emp_device_id      *block;              /**< [EMP_IMAGINED_BLOCK][op] */
    int64_t *known; /**< [hash % EMP_IMAGINED_KNOWN] of where the oracle has been, or 0 */
    int64_t  steps; /**< of all walks so far: numbers of random streams */
    uint64_t here_hash;
    double   here_guess_s;
    bool     is_seen; /**< the parent is the one that was traced last */
    double   insight; /**< sum over `blocks` of how well the policy ranks them */
    int32_t  blocks;
} emp_imagination;

/** \a problem is borrowed; \a hidden units a network.
 * \retval EMP_EUNSUPPORTED  No op may run on a GPU. \retval EMP_ENOMEM, and as for emp_moves_init(). */
emp_status emp_imagination_init(emp_imagination *im, const emp_problem *problem,
                                const emp_imagine_options *options, int32_t hidden,
                                uint64_t seed, emp_error *err);
void       emp_imagination_clear(emp_imagination *im); /**< legal after a failed init */

/** Makes levels of groups until \a grown of them are there. \retval EMP_ENOMEM, and as for emp_moves_grow(). */
emp_status emp_imagination_grow(emp_imagination *im, int64_t grown, emp_error *err);

/** Has the oracle trace the parent, if that is new. O(V + E). */
emp_status emp_imagination_see(emp_imagination *im, emp_error *err);

/** Notes that the oracle sees a placement. O(V). */
void emp_imagination_know(emp_imagination *im, const emp_device_id *device_of_op);

/** A log gain as the judge sees it: in fiftieths, within +-3. */
double emp_imagined_units(double log_gain);

/** Imagines a walk of at most \a most moves from the parent, adds what ranks teach to the policy's gradient, and sets
 * \a walk, whose score it fills, and \a device_of_op [op] to where it ends, which becomes known. */
emp_status emp_imagine(emp_imagination *im, emp_imagined_walk *walk,
                       emp_imagine_rule rule, int32_t most, emp_device_id *device_of_op,
                       emp_error *err);

extern const emp_method emp_method_dyna;

#endif /* EMP_POLICY_DYNA_DYNA_H */
