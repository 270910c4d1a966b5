/** \file sim/explain/brief.h
 * A step explained in brief: what bounds it, what would shorten it, and both in at most ten lines of text.
 */
#ifndef EMP_SIM_EXPLAIN_BRIEF_H
#define EMP_SIM_EXPLAIN_BRIEF_H

#include <emplace/place.h>

#include "base/text/text.h"
#include "sim/explain/explain.h"

/* Changes of the machine and of the placement that would shorten a step, each of which is simulated. Nothing is estimated.
 *
 *     emp_what_if what_if;
 *     EMP_TRY(emp_what_if_find(&what_if, problem, &decision, why, err));
 *
 * Changes of the machine: a link that copies never wait for, or that also takes no time, for
 * the links on which the critical path spends most; GPUs, host threads or CPUs twice as fast;
 * twice the memory, if the step does not fit. Changes of the placement: all ops of one name
 * scope on one device, for the scopes that are most to blame for the step (explain.h); where fewer than
 * three of these help, one op with its colocation class, for the ops that are most to blame.
 *
 * A change is listed if it takes off at least 0.5 % of the step, or lets a step fit that does
 * not. An infinitely fast link has to take off 0.5 % more than one without a queue. The three
 * best moves that fit are reported, each of a different scope. The best of those that
 * do not fit follows, if it is faster than all that do. */

/** Kinds of changes: name, key in JSON. */
#define EMP_WHAT_IF_LIST(X)                                                           \
    X(LINK_QUEUE, "link_queue") /**< no copy waits for the link */                    \
    X(LINK, "link")             /**< and it has no latency and unlimited bandwidth */ \
    X(GPU, "gpu")               /**< kernels take half of their time */               \
    X(HOST, "host")             /**< issues, sends and receives take half */          \
    X(CPU, "cpu")               /**< ops on CPUs take half of their time */           \
    X(MEMORY, "memory")         /**< of every device, twice as much */                \
    X(MOVE, "move")             /**< all ops of a scope on one device */              \
    X(OP, "op")                 /**< an op and its class on another device */

typedef enum {
#define X(name, key) EMP_WHAT_IF_##name,
    EMP_WHAT_IF_LIST(X)
#undef X
        EMP_WHAT_IF_KINDS
} emp_what_if_kind;

typedef struct {
    emp_what_if_kind kind;
    int32_t          link;     /**< of the machine; -1 = none */
    int32_t          scope;    /**< of the explanation's scopes; -1 = none */
    emp_op_id        op;       /**< that is moved with its class; -1 = none */
    emp_device_id    to;       /**< where the scope or op goes; else -1 */
    int32_t          op_count; /**< ops that change their device */
    emp_time_ns      step_time_ns;
    bool             is_feasible;
} emp_what_if_change;

enum { EMP_WHAT_IF_LINKS = 3, EMP_WHAT_IF_MOVES = 4, EMP_WHAT_IF_TRIALS = 96 };
enum { EMP_WHAT_IF_TOLD_MOVES = EMP_WHAT_IF_MOVES - 1 }; /* that fit */
enum { EMP_WHAT_IF_CHANGES = 2 * EMP_WHAT_IF_LINKS + 4 + EMP_WHAT_IF_MOVES };

/** Plain data; changes of the machine first, moves behind them, the best first. */
typedef struct {
    int32_t            trial_count; /**< steps that were simulated */
    int32_t            count;
    emp_what_if_change change[EMP_WHAT_IF_CHANGES];
} emp_what_if;

/** Simulates at most 10 changed machines and twice EMP_WHAT_IF_TRIALS placements.
 *
 * \param[in]  why  Explains \a decision on \a problem.
 * \param[out] out  Written on success only. */
emp_status emp_what_if_find(emp_what_if *out, const emp_problem *problem,
                            const emp_decision *decision, const emp_explanation *why,
                            emp_error *err);

/** The JSON key of a kind; static storage. */
const char *emp_what_if_key(emp_what_if_kind kind);

/** Kinds of limits: X(name, key in JSON). */
#define EMP_LIMIT_LIST(X)                                                              \
    X(LOAD, "load")                   /**< one device works nearly all the time */     \
    X(SERIALISATION, "serialisation") /**< ops run, and other devices wait for them */ \
    X(HOST, "host")                   /**< host threads issue ops */                   \
    X(COPIES, "copies")               /**< copies between memories */                  \
    X(MESSAGES, "messages")           /**< control messages between devices */         \
    X(STEP, "step")                   /**< the fixed cost of the step */

typedef enum {
#define X(name, key) EMP_LIMIT_##name,
    EMP_LIMIT_LIST(X)
#undef X
        EMP_LIMIT_KINDS
} emp_limit_kind;

/** Returns what bounds a step: one device, if it works at least 90 % of the step; else the part of the critical path
 * that takes most time, where both ops that run and the time queued behind others are serialisation. */
emp_limit_kind emp_explain_limit(const emp_explanation *why);

/** The JSON key of a kind; static storage. */
const char *emp_limit_key(emp_limit_kind kind);

enum { EMP_PATH_GROUPS = 6 };

/** The time of the critical path by groups of causes, which add up to the step; and what a group is called:
 * "queued behind other ops". Static storage. */
void emp_explain_path(emp_time_ns time_ns[EMP_PATH_GROUPS], const emp_explanation *why);
const char *emp_explain_path_words(int32_t group);
/** The words for an idle time, of EMP_IDLE_COUNT, of a device: "for copies"; static storage. */
const char *emp_explain_idle_words(int32_t idle, emp_device_kind of);

/** The device that works longest; ties: the lowest id. */
emp_device_id emp_explain_busiest(const emp_explanation *why);

/** Adds the lines: what bounds the step, shares of its critical path, the devices that work longest, moves
 * of \a what_if that shorten it, and the fullest memory. EMP_EXPLANATION_BYTES are enough. */
void emp_explain_brief(emp_text *text, const emp_problem *problem,
                       const emp_explanation *why, const emp_what_if *what_if);

/** Adds "without the queue of link X", "scope Y to gpu:1": the words of a change. */
void emp_what_if_add_words(emp_text *text, const emp_problem *problem,
                           const emp_explanation *why, const emp_what_if_change *change);

#endif /* EMP_SIM_EXPLAIN_BRIEF_H */
