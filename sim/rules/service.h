/** \file sim/rules/service.h
 * Ops served one after another by ready time, over all devices together: what the rules
 * `baechi` and `edges` share. docs/profiles.md states the order.
 */
#ifndef EMP_SIM_RULES_SERVICE_H
#define EMP_SIM_RULES_SERVICE_H

#include "sim/rules/rules_internal.h"

/** When what an edge of \a op carries is there on its consumer's device. The op has been served. */
typedef emp_time_ns emp_rules_deliver(emp_rules_sim *p, int32_t op, emp_rules_edge edge);

typedef struct {
    int64_t      number;         /**< of the op in service, over all runs */
    int32_t     *consumer_count; /**< [op] distinct */
    int32_t     *missing;        /**< [op] edges from ops that are not served */
    int32_t     *reading;        /**< [op] consumers that are not served */
    emp_time_ns *ready_ns;       /**< [op] */
    emp_time_ns  free_ns[EMP_MAX_DEVICES];
} emp_rules_service;

/** Adds the arrays to those of the simulator; a rule set asks for memory afterwards. */
void emp_rules_service_add(emp_rules_service *s, emp_rules_sim *p);

/** Counts consumers, once there is memory. O(E). */
void emp_rules_service_count(emp_rules_service *s, const emp_rules_sim *p);

/** Serves every op of the placement. Fills all of the result but transfers. O((V + E) log V). */
void emp_rules_service_run(emp_rules_service *s, emp_rules_sim *p,
                           emp_rules_deliver *deliver);

#endif /* EMP_SIM_RULES_SERVICE_H */
