/** \file search/partition/op_costs.h
 * What partitioners take an op to cost. The papers that used them do not say.
 */
#ifndef EMP_SEARCH_PARTITION_OP_COSTS_H
#define EMP_SEARCH_PARTITION_OP_COSTS_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"
#include "sim/problem/problem.h"

/* The time of an op by TensorFlow r1.3's own estimate, grappler's OpLevelCostEstimator,
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
 * Rate and bandwidth. GPU: its peak, and its stream rate, where grappler takes the rate of
 * the memory bus, which machine files do not have. CPU: one operation a cycle on each core, and
 * 32 GB/s. */

/** A whole number of ns, in double as it may be beyond 64 bits. O(inputs + outputs). */
double emp_grappler_cost_ns(const emp_graph *graph, emp_op_id op,
                            const emp_device *device);

typedef enum {
    EMP_OP_COSTS_TIME,    /**< the oracle's: kernels and issue on a GPU; on a CPU with all
                               the cores it can use */
    EMP_OP_COSTS_FLOPS,   /**< arithmetic alone, the same on every device */
    EMP_OP_COSTS_GRAPPLER /**< TensorFlow's estimate, emp_grappler_cost_ns() */
} emp_op_costs;
#define EMP_OP_COSTS_WORDS "time|flops|grappler"

/** The cost of an op on a kind of device that the machine has: ns, or FLOPs; for devices of
 * several models the mean, with EMP_OP_COSTS_GRAPPLER the first. O(inputs + devices). */
double emp_op_costs_of(const emp_problem *problem, emp_op_id op, emp_op_costs costs,
                       emp_device_kind kind);

/** Speed of a CPU over a GPU's, by the oracle's times: what all ops that have kernels
 * for both take on the GPU over what they take on the CPU. 1 if there is nothing to
 * measure. O(V). */
double emp_op_costs_cpu_speed(const emp_problem *problem);

/** Speed of a device over the mean GPU, likewise. O(V devices). */
double emp_op_costs_speed(const emp_problem *problem, emp_device_id device);

#endif /* EMP_SEARCH_PARTITION_OP_COSTS_H */
