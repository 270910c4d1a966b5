/** \file graphs/import/pytorch/execution/hierarchy.h
 * Which operators of an execution trace did the work. A trace has every call with the calls within it:
 *
 *     aten::linear                 a container
 *       aten::t                    a view
 *       aten::addmm                did the work
 *         aten::empty              an allocation within it
 *
 * - An operator that the op table knows did its work itself, unless an operator within it did some. Calls within it
 *   that only fill, move or convert data are then part of its own work.
 * - A kernel of Triton did its work, which no operator within it did. Its name is what the compiler called it.
 * - A look-up of rows in a table stands for the gather within it, as its operand is the table.
 * - An operator that multiplies matrices did so itself, unless an operator within it multiplies: oneDNN's recurrent layer
 *   adds its biases by aten::add.
 * - An operator in place, "aten::mul_", stands for the "aten::mul" within it, which does not say what it writes.
 * - An unknown operator with a schema and without such an operator within it did its work, too.
 * - An allocation is taken unless it lies within an operator that is taken.
 * - Of several steps of the profiler ("ProfilerStep#4") the middle one is taken: what began in it, on whatever thread.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_HIERARCHY_H
#define EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_HIERARCHY_H

#include "base/text/json.h"

/** An operator of the file. */
typedef struct {
    const emp_json *json; /**< borrowed */
    const char     *name; /**< "aten::addmm" */
    const char     *schema;
    int64_t         id;
    int32_t         parent; /**< its place in the list, before its own; -1 = none */
    bool            is_taken;
    bool            is_update; /**< it lies within the step of an optimizer */
    bool            is_triton; /**< a kernel, which names no results */
    int32_t         ranks;     /**< of a collective's group; 0: the trace does not say */
} emp_execution_call;

/** Zero-initialise; emp_execution_calls_clear() releases it, also after a failure. */
typedef struct {
    emp_execution_call *call; /**< by id, which is the order in which they began */
    int32_t             count;
    const char         *step; /**< the step of the profiler that is taken; NULL: all */
    int32_t             step_count; /**< of the profiler */
} emp_execution_calls;

/** Reads both schemas. O(size + n log n + names of the op table).
 * \retval EMP_EFORMAT  A node without name or id, or two with one id; the message names the node.
 * \retval EMP_ENOMEM */
emp_status emp_execution_calls_read(emp_execution_calls *out, const emp_json *root,
                                    emp_error *err);

void emp_execution_calls_clear(emp_execution_calls *calls);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_HIERARCHY_H */
