/** \file graphs/import/traces/execution.h
 * PyTorch's execution traces (ET): every operator of a run with the tensors that it reads and
 * makes, and without times. Of schema 1.0.x
 *
 *     {"schema": "1.0.1", "nodes": [{"name": "aten::add", "id": 5, "rf_id": 3,
 *      "inputs": [[11, 12, 0, 65536, 4, "cuda:0"], 1], "outputs": [[13, 14, 0, ...]]}, ...]}
 *
 * and 1.1.x, where "inputs" and "outputs" are objects with "values", and rf_id is one of "attrs".
 * A tensor is [id, storage, offset, elements, bytes of one, device]. rf_id is the "Record
 * function id" of the profiler's event of that operator; in old traces it is the "External id".
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_EXECUTION_H
#define EMP_GRAPHS_IMPORT_TRACES_EXECUTION_H

#include "base/text/json.h"

typedef struct {
    int64_t storage;
    int64_t bytes;
} emp_execution_tensor;

typedef struct {
    int64_t record; /**< rf_id */
    int32_t first;  /**< its tensors: inputs, then outputs */
    int32_t input_count, output_count;
} emp_execution_op;

/** Zero-initialise; emp_execution_clear() releases it, also after a failure. */
typedef struct {
    emp_execution_op     *op; /**< by record */
    emp_execution_tensor *tensor;
    int32_t               op_count, tensor_count, tensor_capacity;
} emp_execution;

/** O(size + n log n). \retval EMP_EFORMAT  A tensor of a negative size; the message names the node.
 * \retval EMP_ENOMEM */
emp_status emp_execution_read(emp_execution *out, const emp_json *root, emp_error *err);

void emp_execution_clear(emp_execution *trace);

/** The operator of that record; NULL = there is none. O(log n). */
const emp_execution_op *emp_execution_find(const emp_execution *trace, int64_t record);

#endif /* EMP_GRAPHS_IMPORT_TRACES_EXECUTION_H */
