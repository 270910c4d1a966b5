/** \file search/partition/grappler_cost.h
 * The time of an op by TensorFlow r1.3's own estimate, grappler's OpLevelCostEstimator,
 * which the HDP paper may have given to its partitioners:
 *
 *     t = ceil(operations / rate) + ceil((bytes of inputs + bytes of outputs) / bandwidth)
 *
 * in ns; no launch, no transfer, no efficiency. Operations: 2 for each multiply-add of
 * Conv2D, of its two gradients, of MatMul, SparseMatMul and BatchMatMul; Eigen's cost of an
 * element (AVX and FMA) times the elements of the largest of inputs and output 0 for the
 * element-wise ops that it knows; 1 an element of the largest input for all else. Identity,
 * NoOp, Reshape and variables take nothing, Rank, Shape and Size 1 ns. References count as
 * the variable behind them, sizes that are not known as 1.
 *
 * Rate and bandwidth. GPU: its peak, and its stream rate, where grappler takes that of the
 * memory bus, which machine files do not have. CPU: one operation a cycle on each core, and
 * 32 GB/s.
 */
#ifndef EMP_SEARCH_PARTITION_GRAPPLER_COST_H
#define EMP_SEARCH_PARTITION_GRAPPLER_COST_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

/** A whole number of ns, in double as it may be beyond 64 bits. O(inputs + outputs). */
double emp_grappler_cost_ns(const emp_graph *graph, emp_op_id op,
                            const emp_device *device);

#endif /* EMP_SEARCH_PARTITION_GRAPPLER_COST_H */
