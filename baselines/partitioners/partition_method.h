/** \file baselines/partitioners/partition_method.h
 * What the methods share that cut a graph: how ops weigh, how strong devices count, and
 * whether a placement that does not fit is repaired.
 */
#ifndef EMP_BASELINES_PARTITIONERS_PARTITION_METHOD_H
#define EMP_BASELINES_PARTITIONERS_PARTITION_METHOD_H

#include "search/method.h"
#include "search/partition/partition_graph.h"

/** Values of the shared options. */
typedef struct {
    emp_op_costs     costs;
    emp_device_power power;
    bool             repair;
} emp_partition_settings;

/** Rows of a method's options; \a at is the emp_partition_settings in its struct \a type. */
#define EMP_PARTITION_OPTIONS(type, at)                                              \
    EMP_WORD_OPTION("costs", type, at.costs, EMP_OP_COSTS_WORDS,                     \
                    "weight of an op; grappler: TensorFlow's estimate",              \
                    EMP_OP_COSTS_TIME),                                              \
        EMP_WORD_OPTION("power", type, at.power, EMP_DEVICE_POWER_WORDS,             \
                        "share of a device: peak FLOP/s, or measured on the ops of " \
                        "the graph",                                                 \
                        EMP_POWER_PEAK),                                             \
        EMP_BOOL_OPTION("repair", type, at.repair,                                   \
                        "1: groups of ops leave devices that lack memory", 0)

/** Cuts as \a request says, with the costs and powers of \a settings put into it, and repairs
 * if they say so (memory_repair.h). */
emp_status emp_partition_method_place(const emp_problem            *problem,
                                      emp_partition_request         request,
                                      const emp_partition_settings *settings,
                                      emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_BASELINES_PARTITIONERS_PARTITION_METHOD_H */
