/** \file policy/giph/giph.h
 * The method "giph": a policy that moves one op after another (Hu et al., MLSys 2023).
 */
#ifndef EMP_POLICY_GIPH_GIPH_H
#define EMP_POLICY_GIPH_GIPH_H

#include "policy/giph/network.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* GiPH's episodes and what they teach.
 *
 * An episode begins at a random placement, or where the run begins if it is the first one. Then it
 * moves one node to another device, `moves` times for each node. Its reward is the drop of the
 * step time, in units of the longest path when every node takes its least time. A move is drawn
 * from the softmax of the scores of pairs (network.h). Pivots cannot be drawn, nor the node moved
 * last unless no other can move.
 *
 * Several episodes run side by side: a *round* is the next placement of each. After the last round
 *
 *     gradient = mean over episodes of sum over moves t of (G_t - b_t) grad log p(move t)
 *
 * goes up by Adam, and new episodes begin. Gradients of log p are taken as moves are drawn; they
 * are as short as the parameters, so they are kept until G is known. */

/* Every constant by name; giph.c has the table. */

/** The baseline of the return G of a move, sum of gamma^i times the i-th reward from it on. */
typedef enum {
    EMP_GIPH_BASELINE_REWARDS, /**< mean reward of the episode up to the move */
    EMP_GIPH_BASELINE_RETURNS  /**< mean G of moves of that number, over late episodes */
} emp_giph_baseline;

typedef struct {
    emp_learner_options learner; /**< Adam and the largest norm */
    int32_t             max_nodes;
    int32_t             episodes; /**< side by side; an update has all of them */
    int32_t             moves;    /**< of an episode, for each node */
    double              gamma;
    uint32_t            baseline;    /**< emp_giph_baseline */
    double              criticality; /**< share that a critical path teaches */
} emp_giph_options;

enum {
    EMP_GIPH_LOSS,
    EMP_GIPH_GAIN, /**< mean drop of an episode, all in all */
    EMP_GIPH_ENTROPY,
    EMP_GIPH_NORM,
    EMP_GIPH_METRICS
};

/** The state with which one thread draws a move. */
typedef struct {
    emp_gpnet     net;
    emp_giph_work work;
    emp_real     *p;      /**< [action] probabilities */
    int32_t      *action; /**< [action] pairs */
    int32_t       action_count;
} emp_giph_drawer;

typedef struct {
    emp_learner      learner; /**< first; its ops are NULL */
    emp_giph_options options;
    emp_node_graph  *nodes; /**< owned */
    emp_giph_world   world;
    emp_params       params;
    emp_criticality  criticality;
    int32_t          length; /**< moves of an episode */
    emp_giph_drawer *drawer; /**< [thread] */

    int32_t round;         /**< of placements asked or to be asked: 0 = the first ones */
    int32_t told;          /**< episodes whose placement of this round is scored */
    int32_t asked;         /**< of this round, by the last ask */
    emp_giph_placement at; /**< [episode][...] */
    int32_t           *last;    /**< [episode] node that moved last; -1 = none */
    double            *cost;    /**< [episode] of the placement, in units of the reward */
    double            *reward;  /**< [episode][length] */
    double            *entropy; /**< [episode] of the move drawn last */
    double            *log_p;   /**< [episode][length] */
    emp_real          *gradient; /**< [episode][length][params.count] of log p */
    double            *baseline; /**< [length], of emp_giph_baseline returns */
    emp_arrays         arrays;
} emp_giph_agent;

/** Zero-initialised before; clear it afterwards, also after a failure. \a start [op] OPTIONAL:
 * where the first episode begins.
 * \retval EMP_EINVAL  As emp_node_graph_create(). \retval EMP_ENOMEM */
emp_status emp_giph_agent_init(emp_giph_agent *agent, const emp_problem *problem,
                               const emp_giph_options  *options,
                               const emp_method_params *params, emp_error *err);
void       emp_giph_agent_clear(emp_giph_agent *agent);

/** The functions of a method. An ask gives the placements of a round that are still to be scored,
 * at most \a max.
 * \retval EMP_EINVAL   Not as many scores as were asked for, or scores without times.
 * \retval EMP_EFORMAT  A restored state is damaged. */
emp_status emp_giph_agent_ask(void *state, const emp_owned_decision *candidates,
                              int32_t max, int32_t *count, emp_error *err);
emp_status emp_giph_agent_tell(void *state, const emp_score *scores, int32_t count,
                               emp_error *err);
int32_t    emp_giph_agent_list_state(void           *state,
                                     emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/** Fills \a drawer for the present placement of an episode: probabilities of all moves. */
void emp_giph_agent_see(const emp_giph_agent *agent, emp_giph_drawer *drawer,
                        int32_t episode);

/** Makes the move to \a action, a position among those that \a drawer sees, and keeps the gradient
 * of its log-probability. */
void emp_giph_agent_move(emp_giph_agent *agent, emp_giph_drawer *drawer, int32_t episode,
                         int32_t action);

extern const emp_method emp_method_giph;

#endif /* EMP_POLICY_GIPH_GIPH_H */
