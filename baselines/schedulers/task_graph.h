/** \file baselines/schedulers/task_graph.h
 * What list schedulers see of a problem: tasks that run on one device each, and the tensors
 * that they send to one another.
 *
 * Tasks are ops, or ops fused. Tasks of one *pin* share a device: the first to be scheduled
 * pins the others to its own, as in Baechi (Jeon et al., SoCC 2020).
 *
 *  EMP_TASKS_OPS      A task is an op, a pin is a colocation class. A task may run on every
 *                     device that has kernels for its class, the CPU included. For the
 *                     schedulers that know of heterogeneous devices (HEFT, PEFT).
 *  EMP_TASKS_GPU_OPS  The same, but pins that may use a GPU use nothing else. For the one
 *                     whose devices are all alike (ETF): it would take the CPU for no better
 *                     reason than that it is idle.
 *  EMP_TASKS_FUSED    The steps that Baechi takes first, only on GPUs, likewise. A pin is a
 *                     group of classes: a gradient op stands with its forward op, and ops
 *                     that only one group reads go into it (search/groups/colocation_groups.h,
 *                     whose layers come on top). A group with more variables than half of the
 *                     smallest GPU's memory is taken apart into its classes, which Baechi does not do. Then ops of a group are fused: u and v
 *                     become one task where u is all that v waits for, or v all that waits
 *                     for u, which closes no cycle, again and again until nothing changes.
 *
 * Tasks are numbered in a topological order, first come first served from the ops without
 * inputs; folded ops are in none. All that follows a task by control edges reads one tensor
 * of 0 bytes.
 *
 * Times, in ns. Under the rules `edges` a message takes what the graph states, if it does
 * (docs/simulator.md), and what its route takes else. A GPU runs an op in the longer of its compute and issue times: the host
 * thread issues one while the last one computes. A CPU runs one op at a time. Times and bytes
 * are cut off where sums over the graph could overflow.
 *
 * Memory, in bytes. A tensor takes home_bytes where it is made and copy_bytes where it is
 * sent to. Outputs that are the buffer of a variable take nothing at home; other aliases
 * count like new tensors. Tensors that stay inside a task count as its workspace: the most that
 * one of its ops reads from inside, makes for the inside, and works with.
 *
 * The struct is open; tests fill it by hand. Immutable after creation.
 */
#ifndef EMP_BASELINES_SCHEDULERS_TASK_GRAPH_H
#define EMP_BASELINES_SCHEDULERS_TASK_GRAPH_H

#include "base/mem.h"
#include "sim/graph/graph.h"
#include "sim/problem/problem.h"

typedef enum { EMP_TASKS_OPS, EMP_TASKS_GPU_OPS, EMP_TASKS_FUSED } emp_task_units;

typedef struct {
    int32_t producer; /**< task; tensors are sorted by it */
    int32_t reader; /**< where its row in reader[] begins; it ends at the next tensor's */
    int64_t home_bytes, copy_bytes;
    emp_time_ns stated_ns; /**< of a message with it, on every route; -1: by its bytes */
} emp_task_tensor;

typedef struct {
    const emp_machine *machine; /**< borrowed */
    int32_t            task_count, tensor_count, pin_count;
    emp_time_ns       *time_ns;          /**< [task][device] */
    int32_t           *pin_of_task;      /**< [task] */
    int64_t           *workspace_bytes;  /**< [task] held while it runs */
    int64_t           *persistent_bytes; /**< [pin] variables and slots */
    uint64_t          *devices_of_pin;   /**< [pin] bit d: may use device d; never 0 */
    uint64_t
            *all_devices_of_pin; /**< [pin] likewise, CPUs too where a GPU is preferred */
    int32_t *output_offset;      /**< [task + 1] its tensors are output_offset[v].. */
    emp_task_tensor *tensor;     /**< [tensor + 1] */
    int32_t         *reader;     /**< tasks, each once, ascending */
    int32_t         *input_offset; /**< [task + 1] */
    int32_t         *input;        /**< tensors, ascending */
    const char     **name;         /**< [task] of its first op, for messages; borrowed */
    int32_t          op_count;
    int32_t         *task_of_op;           /**< [op]; -1: folded */
    bool             has_unlimited_memory; /**< the runtime does not check that it fits */
    emp_arrays       arrays;               /**< all of these */
} emp_task_graph;

/** The caller destroys \a *out. O(V + E) for ops; fusion takes that for each of its rounds,
 * of which a graph needs a few. \retval EMP_ENOMEM */
emp_status emp_task_graph_create(emp_task_graph **out, const emp_problem *problem,
                                 emp_task_units units, emp_error *err);
void       emp_task_graph_destroy(emp_task_graph *graph);

/** The inputs of a task of \a graph from one producer. */
typedef struct {
    int32_t     producer;
    int32_t     end;       /**< index in input[] after the last of its tensors */
    int64_t     bytes;     /**< of all its tensors that the task reads */
    emp_time_ns stated_ns; /**< the longest of their stated messages; -1: by bytes */
} emp_task_edge;

/** Time to send what \a edge has over the route between two devices; 0 on one device. */
emp_time_ns emp_task_transfer_ns(const emp_task_graph *graph, emp_device_id from,
                                 emp_device_id to, const emp_task_edge *edge);

/** The edge whose first tensor is input[at], of the task's row that ends at \a row_end: for
 * (i = row; i < end; i = edge.end) walks over the producers of a task, ascending. */
emp_task_edge emp_task_edge_at(const emp_task_graph *graph, int32_t at, int32_t row_end);

/** Whether the task may run on the device, pins apart. */
static inline bool emp_task_may_use(const emp_task_graph *graph, int32_t task,
                                    emp_device_id device)
{
    return (graph->devices_of_pin[graph->pin_of_task[task]] >> device & 1) != 0;
}

/** Mean over the devices that the task may use. */
double emp_task_mean_time_ns(const emp_task_graph *graph, int32_t task);

/** Cost of an edge in the mean over pairs of devices: latency + bytes x per_byte, or what
 * is stated. */
typedef struct {
    double latency_ns, per_byte_ns;
} emp_mean_transfer;

/** Over the ordered pairs of different \a devices, a bit set; zeros where there are none. */
emp_mean_transfer emp_task_mean_transfer(const emp_task_graph *graph, uint64_t devices);

static inline double emp_mean_transfer_ns(emp_mean_transfer mean, emp_task_edge edge)
{
    return edge.stated_ns >= 0 ? (double)edge.stated_ns
                               : mean.latency_ns + (double)edge.bytes * mean.per_byte_ns;
}

#endif /* EMP_BASELINES_SCHEDULERS_TASK_GRAPH_H */
