/** \file policy/go/go.h
 * GO (Zhou et al., NeurIPS 2020; as GDP, 2019) as a placement method: a graph network and an
 * attention network give all ops their devices at once, and PPO trains both. README.md says what of
 * it is known and what was chosen.
 *
 * One ask proposes K placements; one tell is one update. Presets: "paper" and "emplace".
 */
#ifndef EMP_POLICY_GO_GO_H
#define EMP_POLICY_GO_GO_H

#include "base/mem.h"
#include "base/rng.h"
#include "base/work.h"
#include "policy/features/node_graph.h"
#include "policy/features/transferable.h"
#include "policy/go/net.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"
#include "search/room.h"

/* Mends the likeliest placement where its devices lack memory. All nodes get their devices at once,
 * so none knows what the others leave of a device.
 *
 * As long as search/room.h says that memory is missing, one node leaves a device that lacks it for
 * another one. It makes the likeliest such move after which no memory is missing, or else
 * the one that leaves the least missing. No step is simulated. Nodes should be groups of ops
 * that belong together: a variable that leaves its reader behind is copied back, so that one small
 * node by itself frees nothing. */

typedef struct {
    const emp_node_graph   *nodes; /**< borrowed, as the next two */
    const emp_transferable *features;
    const emp_problem      *problem;
    int32_t                 choices; /**< columns of p */
    const atomic_int       *stop;    /**< OPTIONAL: no more moves, once it is set */
    emp_room                room;
    emp_device_id          *device_of_node, *device_of_op; /* scratch */
    struct emp_go_move     *move;                          /* [position][choice] */
    emp_arrays              arrays;
} emp_go_fit;

/** \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_go_fit_init(emp_go_fit *fit, const emp_node_graph *nodes,
                           const emp_transferable *features, const emp_problem *problem,
                           int32_t choices, emp_error *err);
void       emp_go_fit_clear(emp_go_fit *fit);

/** Changes \a choice [position] until it fits, no move helps or 64 moves are made. A move is looked for by
 * at most 256 calls of emp_room_missing().
 * \param p  [position][choices] how likely each device is.
 * \return what is missing then, as emp_room_missing() says it. */
double emp_go_fit_mend(emp_go_fit *fit, uint8_t *choice, const emp_real *p);

/* How nodes are drawn together. A draw takes the device with the largest ln p + G, where G are
 * Gumbel numbers: each node's device then has the probability p, whoever shares G. Independent
 * draws give each node its own G. Coupled draws give one to each group of a METIS cut, so that
 * neighbours with alike distributions get one device. Each sample takes one of the cuts, which
 * have 4, 8, 16, ... groups, or none. */

enum { EMP_GO_MAX_CUTS = 20 };

typedef struct {
    int32_t    count;     /**< of nodes */
    int32_t    cut_count; /**< 0: all draws are independent */
    int32_t    group_count[EMP_GO_MAX_CUTS];
    int32_t   *group[EMP_GO_MAX_CUTS]; /**< [position] */
    emp_arrays arrays;
} emp_coupling;

/** Independent draws. */
emp_coupling emp_coupling_none(int32_t count);
/** Cuts of the nodes, fewer than half as many groups as there are nodes.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and as for METIS */
emp_status emp_coupling_init(emp_coupling *coupling, const emp_node_graph *nodes,
                             const emp_transferable *features, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err);
void       emp_coupling_clear(emp_coupling *coupling);

/** Draws \a choice [position] from \a p [position][device]; \a gumbel is scratch of as many
 * numbers as \a p. */
void emp_coupling_draw(const emp_coupling *coupling, uint8_t *choice, const emp_real *p,
                       int32_t devices, float *gumbel, emp_rng *rng);

/** The likeliest devices. */
void emp_coupling_argmax(uint8_t *choice, const emp_real *p, int32_t count,
                         int32_t devices);

/* The names of an example's GPUs.
 *
 * Which of two equal GPUs is the first says nothing, and a policy that draws all nodes at once
 * cannot learn what says nothing: so an example's GPUs are named anew, in one of two ways. Only GPUs of
 * equal costs, memory, host and routes exchange their names.
 *
 *     used     in the order in which the nodes first use them
 *     matched  so that the network finds the example as likely as it can: an assignment
 *              problem, solved anew at every step
 *
 * Matched names of several graphs agree where the network sees likeness, whatever comes first. */

typedef enum { EMP_NAMES_USED, EMP_NAMES_MATCHED } emp_go_names;

typedef struct {
    const emp_problem    *problem;
    const emp_node_graph *nodes;
    const emp_device_id  *device_of_node; /**< the example */
    const emp_real       *p;              /**< [position][choice]; of `matched` alone */
    int32_t               choices;
} emp_go_naming;

/** \param[out] name_of_device  [EMP_MAX_DEVICES]; other devices than GPUs keep theirs. */
void emp_go_name_devices(const emp_go_naming *naming, emp_go_names how,
                         uint8_t *name_of_device);

/** The assignment of rows to columns with the greatest sum, by the Hungarian method, O(count^3).
 * \param gain  [row][EMP_MAX_DEVICES]
 * \param[out] column_of_row  [count] */
void emp_go_assign(double gain[][EMP_MAX_DEVICES], int32_t count, int32_t *column_of_row);

typedef enum { EMP_NODES_ROWS, EMP_NODES_GROUPS } emp_go_nodes;
typedef enum { EMP_DRAWS_INDEPENDENT, EMP_DRAWS_COUPLED } emp_go_draws;
typedef enum { EMP_FAILURE_FIXED, EMP_FAILURE_GRADED } emp_go_failure;
typedef enum { EMP_EDGES_GRAPH, EMP_EDGES_SHUFFLED } emp_go_edges;

/** Every constant by name; the table in go.c has their defaults. */
typedef struct {
    emp_learner_options learner; /**< its entropy is the first update's */
    int32_t             epochs, rounds;
    double              clip_ratio, entropy_last, head_gain;
    emp_go_draws        draws;
    emp_go_failure      failure;
    emp_modulate        modulate;
    emp_go_names        names;
    emp_go_nodes        nodes;
    emp_go_edges        edges;
    bool                memory, fit, machine;
    int32_t             type_width, width, graph_layers, layers, heads, hidden, segment;
    int32_t             max_nodes, groups, max_devices, levels;
} emp_go_options;

/* The steps of an update: some epochs of PPO (reinforce/learner.h) on decisions that were
 * drawn once, of all tasks together. The objectives of tasks are added. */

/** Decisions of one kind, of all nodes. */
typedef struct {
    emp_decides     what;
    bool            is_kept;  /**< they stay as they are, and teach nothing */
    const emp_real *p;        /**< [position][choice] of the network; borrowed */
    emp_real       *d_logits; /**< likewise */
    emp_row_ppo     ppo;
    emp_real       *drawn_from; /**< [position][choice] */
    uint8_t        *choice;     /**< [sample][position] */
} emp_go_task;

typedef struct {
    int32_t  samples; /**< that the advantages of the tasks were gathered of */
    int32_t  epochs;
    double   clip;    /**< largest norm of a gradient */
    double   entropy; /**< weight */
    emp_adam adam;
} emp_go_climb;

/** Makes the steps. The network's last forward pass is the drawing. Sets \a gradient_norm to the
 * last step's, before clipping. Once the network's `stop` is set, it ends early, and the parameters
 * are worth nothing.
 * \return minus the objective before the last step, without entropy. */
double emp_go_climb_run(const emp_go_climb *climb, emp_go_net *net,
                        const emp_go_task *task, int32_t task_count,
                        double *gradient_norm);

/* Rounds: each but the first decides anew and sees what the one before has drawn (policies
 * of Zhou et al. 2020 are iterative). The devices of the last round are proposed.
 *
 *     y_1 ~ p(. | none),   y_t ~ p(. | y_{t-1}),   t = 2 .. T
 *
 * Within a round nodes are drawn as with one round. An update adds up the objectives of all rounds,
 * with one advantage: the proposal's. In the first round all samples share a pass. In
 * each other one a sample has a pass of its own, forward and backward, in every epoch.
 *
 * With one round nothing is allocated, and emp_go_rounds_zero(), emp_go_rounds_add() and
 * emp_go_rounds_give() do nothing. The other functions are for several rounds. */

/** The inputs and draws of the rounds behind the first: arrays are [round - 1][sample][position]. */
typedef struct {
    int32_t   count; /**< T, at least 1 */
    int32_t   rows, samples;
    uint8_t  *seen;       /**< what the round before has drawn */
    emp_real *likelihood; /**< of what the round has drawn itself */
    emp_real *drawn_from; /**< [position][device] scratch: likelihoods of one sample */
    emp_real *sum;        /**< of the gradients of passes */
} emp_go_rounds;

/** Leaves memory that was out to the arrays. \a net has the rounds' input. */
void emp_go_rounds_allocate(emp_go_rounds *rounds, const emp_go_net *net, int32_t samples,
                            emp_arrays *arrays);

/** Begins a round behind the first: that many \a choice [sample][position] become what is seen. */
void emp_go_rounds_begin(emp_go_rounds *rounds, int32_t round, const uint8_t *choice,
                         int32_t samples);
/** Has the network see what it has drawn for the sample in the round before. */
void emp_go_rounds_show(const emp_go_rounds *rounds, int32_t round, int32_t sample,
                        emp_go_net *net);
/** Notes how likely the \a choice [position] of the sample was. */
void emp_go_rounds_note(emp_go_rounds *rounds, int32_t round, int32_t sample,
                        const emp_go_net *net, const uint8_t *choice);

/** Passes of one step: begins, adds the gradient of each pass, and gives their sum to the network. */
void emp_go_rounds_zero(emp_go_rounds *rounds, const emp_go_net *net);
void emp_go_rounds_add(emp_go_rounds *rounds, const emp_go_net *net);
void emp_go_rounds_give(const emp_go_rounds *rounds, emp_go_net *net);

/** As emp_go_climb_run(), of the only task, for several rounds. The samples 1 .. climb->samples have
 * the advantages 0 .. climb->samples - 1. */
double emp_go_rounds_climb(emp_go_rounds *rounds, const emp_go_climb *climb,
                           emp_go_net *net, const emp_go_task *task,
                           const double *advantage, double *gradient_norm);

/* The policy and its updates. An ask proposes the likeliest placement and K - 1 placements
 * drawn from the network's distributions. A tell is one update: some steps of PPO
 * (reinforce/learner.h) on the drawn ones. The likeliest one was not drawn, and teaches nothing.
 *
 *     R = -sqrt(t), -10 if out of memory                      failure=fixed
 *     R = -sqrt(t / t0) - 3 (memory missing over a device's)  failure=graded
 *
 * t is the step time in s, t0 the step time of the first placement proposed.
 *
 * Where the order or the fusion is decided, too, each is a task of its own (net.h), with the same
 * draws, advantages and objective; the objectives are added. A policy with a start
 * keeps those devices, and learns the rest. Several rounds decide only devices. */

enum { EMP_GO_METRICS = 6, EMP_GO_TASKS = 1 + EMP_TAIL_MAX_TASKS };

typedef struct {
    emp_learner        learner; /**< first; its ops are NULL */
    emp_go_options     options;
    const emp_problem *problem; /**< borrowed */
    emp_node_graph    *nodes;   /**< owned */
    emp_transferable   features;
    emp_coupling       coupling;
    emp_go_fit         fit; /**< with that option */
    emp_go_net         net;
    emp_go_rounds      rounds;
    int32_t            task_count;
    emp_go_task        task[EMP_GO_TASKS]; /**< the first decides devices */
    emp_device_id     *start;   /**< [op] devices that stay; NULL: they are decided */
    uint8_t           *decided; /**< [position] likewise */
    float             *gumbel;  /**< [thread][position][choice] scratch */
    emp_device_id     *device_of_node; /**< scratch */
    int64_t            budget;         /**< 0: unknown */
    int64_t            told;
    double             reference_s; /**< t0; 0: none yet */
    emp_rewards        rewards;
    emp_params_copy    before; /**< the parameters before the update that is being made */
    emp_arrays         arrays;
} emp_go_agent;

/** \a agent is zeroed. \retval EMP_EINVAL  No op has a choice, there is a start and nothing to
 * decide but devices, or there are several rounds and more to decide. \retval EMP_ENOMEM */
emp_status emp_go_agent_init(emp_go_agent *agent, const emp_problem *problem,
                             const emp_go_options    *options,
                             const emp_method_params *params, emp_error *err);
void       emp_go_agent_clear(emp_go_agent *agent);

/** Draws that many decisions into the choices of all tasks. \retval EMP_EINTERRUPTED */
emp_status emp_go_agent_propose(emp_go_agent *agent, int32_t samples);
/** Writes a drawn one. */
void emp_go_agent_write(emp_go_agent *agent, int32_t sample,
                        const emp_owned_decision *to);
/** One step of Adam up the mean log-likelihood of an example's decisions. GPUs of an example are
 * named anew (emp_go_naming), and a node's is the GPU of most of its ops. The level of an
 * op becomes the nearest choice, and a leader that is not the op itself "joins".
 * \param[out] loss  The mean negative log-likelihood of a decision before, in nats.
 * \retval EMP_EINTERRUPTED  No step was made. */
emp_status emp_go_agent_imitate(emp_go_agent *agent, const emp_owned_decision *example,
                                double *loss);

/** One update from their scores. \retval EMP_EINTERRUPTED  There was none. */
emp_status emp_go_agent_learn(emp_go_agent *agent, const emp_score *scores);

extern const emp_method emp_method_go;

#endif /* EMP_POLICY_GO_GO_H */
