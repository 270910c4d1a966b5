/** \file search/groups/expert_groups.h
 * The experts of each routed layer of a language model, found by the names of their ops: "model.layers.3.mlp.experts.
 * up_proj" and "blk.3.ffn_up_exps" are of layer 3. They hold most of the bytes of such a model and do little of its
 * work, so that programs leave those of some layers to the CPU (llama.cpp's --n-cpu-moe).
 *
 * What is computed between the matrices of experts, their gradients and their optimizer are in the group as well.
 * Shared experts, which every token takes, are not.
 */
#ifndef EMP_SEARCH_GROUPS_EXPERT_GROUPS_H
#define EMP_SEARCH_GROUPS_EXPERT_GROUPS_H

#include "sim/problem/problem.h"

/** How many of the first bytes of an op's name are the layer whose experts it is of; 0 = it is of none. */
size_t emp_expert_layer_length(const char *op_name);

/** Whether some op is of experts. O(names). */
bool emp_has_experts(const emp_graph *graph);

/** Numbers the layers with experts from 0, in the graph's topological order.
 * \param[out] group_of_class  [class]; -1: no op of it is of experts, or it can only run on a CPU.
 * O(names). \retval EMP_ENOMEM */
emp_status emp_expert_groups(int32_t *group_of_class, int32_t *group_count,
                             const emp_problem *problem, emp_error *err);

#endif /* EMP_SEARCH_GROUPS_EXPERT_GROUPS_H */
