/** \file baselines/partitioners/partition_method.h
 * What the methods share that cut a graph: how ops weigh, how strong devices count, and
 * whether a placement that does not fit is repaired.
 */
#ifndef EMP_BASELINES_PARTITIONERS_PARTITION_METHOD_H
#define EMP_BASELINES_PARTITIONERS_PARTITION_METHOD_H

#include "search/method_options.h"
#include "search/partition/partition_graph.h"
#include "search/placer.h"

/** Values of the shared options; 0 is the default of each. */
typedef struct {
    int64_t costs; /**< emp_op_costs */
    int64_t power; /**< emp_device_power */
    int64_t repair;
} emp_partition_settings;

enum { EMP_PARTITION_IMBALANCE_LIMIT = 1000 /**< thousandths */ };

/** Their entries in a table of options; settings is an emp_partition_settings. */
/* clang-format off */
#define EMP_PARTITION_OPTIONS(settings)                         \
    {"costs", 0, 0, &(settings).costs, EMP_OP_COSTS_WORDS},     \
    {"power", 0, 0, &(settings).power, EMP_DEVICE_POWER_WORDS}, \
    {"repair", 0, 1, &(settings).repair, NULL}
/* clang-format on */

/** Their lines in the list of a method's options. */
#define EMP_PARTITION_OPTION_LINES                                                     \
    "costs\ttime\tweight of an op: time | flops | grappler (TensorFlow's estimate)\n"  \
    "power\tpeak\tshare of a device: peak FLOP/s | measured on the ops of the graph\n" \
    "repair\t0\t1: groups of ops leave devices that lack memory\n"

/** Cuts as \a request says, with the costs and powers of \a settings put into it, and repairs
 * if they say so (memory_repair.h). */
emp_status emp_partition_method_place(const emp_problem            *problem,
                                      emp_partition_request         request,
                                      const emp_partition_settings *settings,
                                      emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_BASELINES_PARTITIONERS_PARTITION_METHOD_H */
