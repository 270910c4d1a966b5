/** \file sim/problem/split.h
 * Splits as msr-fiddle/dnn-partitioning writes them, of its instances (graphs/import): nodes by id.
 *
 *     {"fpgas": [{"nodes": [1, 2]}, {"nodes": [3]}], "cpus": [{"nodes": [4]}]}
 *
 * The i-th of "fpgas" is GPU i. A node that no list has goes where its color class is, so that the
 * split of a forward pass does for a training step. Other keys are skipped.
 */
#ifndef EMP_SIM_PROBLEM_SPLIT_H
#define EMP_SIM_PROBLEM_SPLIT_H

#include "base/strmap.h"
#include "base/text/json.h"
#include "sim/problem/problem.h"

/** Whether a placement file is one. */
bool emp_split_is(const emp_json *root);

/** Fills device_of_op[op_count], which are -1, from the contents of \a path. O(V).
 * \param op_of_name  Finds ops of the graph.
 * \retval EMP_EFORMAT  A node that is not there or there twice, more lists than devices, or an op
 *                      left out; the message names it. */
emp_status emp_split_place(emp_device_id *device_of_op, const char *path,
                           const emp_problem *problem, const emp_strmap *op_of_name,
                           const emp_json *root, emp_error *err);

#endif /* EMP_SIM_PROBLEM_SPLIT_H */
