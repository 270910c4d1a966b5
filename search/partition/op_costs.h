/** \file search/partition/op_costs.h
 * What partitioners take an op to cost. The papers that used them do not say.
 */
#ifndef EMP_SEARCH_PARTITION_OP_COSTS_H
#define EMP_SEARCH_PARTITION_OP_COSTS_H

#include "sim/problem/problem.h"

typedef enum {
    EMP_OP_COSTS_TIME,    /**< the oracle's: kernels and issue on a GPU; on a CPU with all
                               the cores it can use */
    EMP_OP_COSTS_FLOPS,   /**< arithmetic alone, the same on every device */
    EMP_OP_COSTS_GRAPPLER /**< TensorFlow's estimate (grappler_cost.h) */
} emp_op_costs;
#define EMP_OP_COSTS_WORDS "time|flops|grappler"

/** Of an op on a kind of device that the machine has: ns, or FLOPs; of devices of several models
 * the mean, of EMP_OP_COSTS_GRAPPLER the first. O(inputs + devices). */
double emp_op_costs_of(const emp_problem *problem, emp_op_id op, emp_op_costs costs,
                       emp_device_kind kind);

/** Speed of a CPU over that of a GPU, by the oracle's times: what all ops that have kernels
 * for both take on the GPU over what they take on the CPU. 1 if there is nothing to
 * measure. O(V). */
double emp_op_costs_cpu_speed(const emp_problem *problem);

/** Speed of a device over the mean GPU, likewise. O(V devices). */
double emp_op_costs_speed(const emp_problem *problem, emp_device_id device);

#endif /* EMP_SEARCH_PARTITION_OP_COSTS_H */
