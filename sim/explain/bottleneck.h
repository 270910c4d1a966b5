/** \file sim/explain/bottleneck.h
 * What bounds a step most: the kind of thing on which its critical path (explain.h) spends
 * most time, and the device that has most of that time.
 */
#ifndef EMP_SIM_EXPLAIN_BOTTLENECK_H
#define EMP_SIM_EXPLAIN_BOTTLENECK_H

#include "sim/explain/explain.h"

/** Kinds: name, key in JSON. */
#define EMP_BOTTLENECK_LIST(X)                                                     \
    X(COMPUTE, "compute")   /**< ops run, or something waits until they have */    \
    X(HOST, "host")         /**< host threads issue, or something waits for one */ \
    X(COPIES, "copies")     /**< copies between memories */                        \
    X(MESSAGES, "messages") /**< control messages between devices */               \
    X(STEP, "step")         /**< the fixed cost of the step */

typedef enum {
#define X(name, key) EMP_BOTTLENECK_##name,
    EMP_BOTTLENECK_LIST(X)
#undef X
        EMP_BOTTLENECK_KINDS
} emp_bottleneck_kind;

typedef struct {
    emp_bottleneck_kind kind;    /**< ties: the first of the list */
    emp_time_ns         time_ns; /**< of the critical path */
    emp_device_id       device; /**< with most of this time; of copies and messages: where
                                      they come from; -1 = the fixed cost has none */
    emp_device_id       to;     /**< where copies and messages go; else -1 */
    emp_time_ns         device_ns; /**< its part of time_ns; ties: the lowest ids */
} emp_bottleneck;

/** O(segments + devices^2) time. */
emp_bottleneck emp_explain_bottleneck(const emp_explain *why);

/** The JSON key of a kind; static storage. */
const char *emp_bottleneck_key(emp_bottleneck_kind kind);

#endif /* EMP_SIM_EXPLAIN_BOTTLENECK_H */
