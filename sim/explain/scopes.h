/** \file sim/explain/scopes.h
 * The name scopes of a graph as a tree. An op belongs to the scope that its name has but for
 * the last part: "softmax/MatMul_3" to "softmax". A gradient op belongs to the scope of the op
 * that it differentiates: "gradients/softmax/MatMul_3_grad/MatMul" to "softmax", too.
 */
#ifndef EMP_SIM_EXPLAIN_SCOPES_H
#define EMP_SIM_EXPLAIN_SCOPES_H

#include "sim/graph/graph.h"

typedef struct {
    const char *name; /**< not terminated; borrowed from the graph */
    int32_t     length;
    int32_t     parent;   /**< lower than its own number; -1 of the root */
    int32_t     op_count; /**< in it and in all scopes below it */
} emp_scope;

/** Read its members; zero-initialise before emp_scopes_init(). */
typedef struct {
    int32_t    count;
    emp_scope *scope;  /**< [count]; scope 0 is the root, whose name is empty */
    int32_t   *of_op;  /**< [op]; -1 = folded */
    int32_t    limit_; /**< private */
} emp_scopes;

/** \a graph must outlive it. O(bytes of all names). \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_scopes_init(emp_scopes *scopes, const emp_graph *graph, emp_error *err);
void       emp_scopes_clear(emp_scopes *scopes);

/** Whether \a scope is \a outer or below it. O(depth). */
bool emp_scopes_is_in(const emp_scopes *scopes, int32_t scope, int32_t outer);

#endif /* EMP_SIM_EXPLAIN_SCOPES_H */
