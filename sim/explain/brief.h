/** \file sim/explain/brief.h
 * An explanation of a step in at most ten lines of text.
 */
#ifndef EMP_SIM_EXPLAIN_BRIEF_H
#define EMP_SIM_EXPLAIN_BRIEF_H

#include <emplace/place.h>

#include "base/text/text.h"
#include "sim/explain/explain.h"
#include "sim/explain/what_if.h"

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
