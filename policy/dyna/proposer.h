/** \file policy/dyna/proposer.h
 * The two networks of dyna: a distribution over moves of a placement, and what a move is worth.
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
 * and moves away from it while a walk is imagined; blame stays the parent's.
 */
#ifndef EMP_POLICY_DYNA_PROPOSER_H
#define EMP_POLICY_DYNA_PROPOSER_H

#include "policy/features/node_graph.h"
#include "policy/nn/params.h"
#include "search/moves.h"

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

/** Runs the network and adds the gradient of sum_i weight[i] out(x_i) to its parameters' gradient. For the policy,
 * weights that sum to 0 give the gradient of sum_i weight[i] log p(i). */
void emp_move_net_learn(emp_move_net *net, const emp_real *x, const double *weight,
                        int32_t count);

#endif /* EMP_POLICY_DYNA_PROPOSER_H */
