/** \file search/partition/partition_graph.h
 * What the graph partitioners see of a problem: an undirected weighted graph in
 * compressed rows, and the parts that it is to be cut into.
 *
 * Vertices are the colocation classes that have an op which is not folded. The weight of
 * a vertex is what its ops cost on a GPU (emp_op_costs): the oracle's time, kernels and issue,
 * unless other costs are asked for. For a class that can only run on the CPU it is the time
 * there in units of GPU work (times CPU power / GPU power), or its FLOPs.
 * The weight of an edge is the number of bytes that would be sent if its ends were apart:
 * each tensor counts once per reading vertex; a control edge counts like a tensor of no
 * bytes. If the graph states how long copies take, these times stand in place of bytes. Both
 * are scaled into 32-bit integers of at least 1, whose sums stay below the
 * limits below.
 *
 * Partitioners know nothing of time and memory: a part may overflow a device.
 */
#ifndef EMP_SEARCH_PARTITION_PARTITION_GRAPH_H
#define EMP_SEARCH_PARTITION_PARTITION_GRAPH_H

#include <stdatomic.h>

#include "base/mem.h"
#include "sim/graph/graph.h"
#include "sim/machine/machine.h"
#include "sim/problem/problem.h"

/* The cost of an op to partitioners. The papers that used them do not say what they counted. */

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

enum {
    EMP_PARTITION_LOAD_LIMIT = 1 << 28,    /**< of all vertices, less one per vertex */
    EMP_PARTITION_TRAFFIC_LIMIT = 1 << 24, /**< of all edges, less one per edge */
};

typedef enum {
    EMP_POWER_PEAK,    /**< of FLOP/s: a property of only the machine */
    EMP_POWER_MEASURED /**< speed on the ops of this graph */
} emp_device_power;
#define EMP_DEVICE_POWER_WORDS "peak|measured"

/** How a problem becomes a graph and parts; 0 is the default of each. */
typedef struct {
    bool             with_cpu; /**< the CPUs are parts, too, unless they are forbidden */
    emp_op_costs     costs;
    emp_device_power power;
} emp_partition_params;

/** The devices to cut for: part p is device[p]. */
typedef struct {
    const emp_machine *machine; /**< borrowed */
    int32_t            count;
    emp_device_id      device[EMP_MAX_DEVICES];
    double             power[EMP_MAX_DEVICES]; /**< share of the speed; sum 1 */
} emp_partition_target;

typedef struct {
    int32_t    vertex_count;
    int32_t   *vertex_of_class; /**< [class]; -1 = has no vertex */
    int32_t   *class_of_vertex; /**< [vertex] ascending */
    int32_t   *load;            /**< [vertex] */
    bool      *is_cpu_only;     /**< [vertex] */
    int32_t   *row;             /**< [vertex + 1] into neighbor and traffic */
    int32_t   *neighbor;        /**< ascending in a row; every edge is in two rows */
    int32_t   *traffic;         /**< beside neighbor */
    emp_arrays arrays;          /**< all of these */
} emp_partition_graph;

/** Cuts \a graph into the parts of \a target, at least 2: fills part_of_vertex with
 * 0 .. target->count-1. Equal seeds give equal parts. \a options are the partitioner's own.
 * The cut ends when \a stop is set; NULL: nothing ends it. */
typedef emp_status emp_partitioner(const emp_partition_graph  *graph,
                                   const emp_partition_target *target,
                                   const void *options, uint64_t seed,
                                   const atomic_int *stop, int32_t *part_of_vertex,
                                   emp_error *err);

/** A placement to be made by a partitioner. */
typedef struct {
    const char          *method; /**< for messages */
    emp_partition_params params;
    emp_partitioner     *partitioner;
    const void          *options; /**< passed on to it */
    uint64_t             seed;
    const atomic_int    *stop; /**< as an emp_partitioner's */
} emp_partition_request;

/** Places a problem with a partitioner: target and graph, cut, then every op where its
 * class is. Classes that are left out of the graph go to device 0, a CPU. */
emp_status emp_partition_place(const emp_problem           *problem,
                               const emp_partition_request *request,
                               emp_device_id *device_of_op, emp_error *err);

/** All GPUs of the machine, and its CPUs if \a with_cpu.
 * \retval EMP_EUNSUPPORTED  The machine has no GPU; the message names \a method. */
emp_status emp_partition_target_init(emp_partition_target *target,
                                     const emp_machine *machine, bool with_cpu,
                                     const char *method, emp_error *err);

/** Sets the shares of \a target to measured speeds. O(V devices^2). */
void emp_partition_target_measure(emp_partition_target *target,
                                  const emp_problem    *problem);

/** Without the CPU, classes that can only run there have no vertex. The other params have
 * their defaults. O(V + E log E). */
emp_status emp_partition_graph_create(emp_partition_graph **out,
                                      const emp_problem *problem, bool with_cpu,
                                      emp_error *err);
emp_status emp_partition_graph_create_with(emp_partition_graph       **out,
                                           const emp_problem          *problem,
                                           const emp_partition_params *params,
                                           emp_error                  *err);
void       emp_partition_graph_destroy(emp_partition_graph *graph);

/** The vertex that an op is in; -1 if it is folded, or its class is left out. */
static inline int32_t emp_partition_vertex_of_op(const emp_partition_graph *g,
                                                 const emp_graph *graph, emp_op_id op)
{
    return graph->op[op].is_folded ? -1
                                   : g->vertex_of_class[graph->op[op].colocation_class];
}

/** Fills memory [vertex] with the bytes of variables, slots and all outputs of a vertex's
 * live ops, as if each output lived through the whole step, scaled like loads. O(V).
 * \retval EMP_ENOMEM */
emp_status emp_partition_graph_memory(const emp_partition_graph *graph,
                                      const emp_problem *problem, int32_t *memory,
                                      emp_error *err);

/* A placement as a graph partitioner judges it: how much traffic it cuts, and how far the
 * fullest device is over its share of the load.
 * 
 * The graph is partition_graph.h's with the CPU, and shares follow the peak FLOP/s: the
 * objective of the method "scotch". Time, order and memory play no part. */

typedef struct {
    emp_partition_target target;
    emp_partition_graph *graph;
    const emp_op_id     *leader_of_class;    /**< borrowed from the problem */
    int32_t part_of_device[EMP_MAX_DEVICES]; /**< every device is one of the parts */
    double  total_load, total_traffic;
} emp_balance;

typedef struct {
    double cut_frac;  /**< weight of the edges between devices over the weight of all */
    double imbalance; /**< largest load / (share x all load) of a device, minus 1; >= 0 */
} emp_balance_score;

/** \a problem is borrowed and must outlive \a balance. O(V + E log E).
 * \retval EMP_ENOMEM \retval EMP_EUNSUPPORTED  The machine has no GPU. */
emp_status emp_balance_init(emp_balance *balance, const emp_problem *problem,
                            emp_error *err);
void       emp_balance_clear(emp_balance *balance); /**< legal after a failed init */

/** Judges a legal placement. O(V + E), allocates nothing. */
emp_balance_score emp_balance_judge(const emp_balance   *balance,
                                    const emp_device_id *device_of_op);

/** One number to minimise: cut_frac + what imbalance is above the tolerance of 5 % that
 * is Scotch's custom. 0 for one device that is the whole machine. */
double emp_balance_cost(emp_balance_score score);

/* bundles.c: the graph in fewer vertices, so that many cuts of a large graph cost little more than one. */

/** Matches each vertex with the free neighbour that it exchanges most with, and the matched graph again, until there are
 * at most \a most vertices or a round saves few (heavy-edge matching; Karypis and Kumar, SIAM J. Sci. Comput. 20, 1998).
 * Leaves of one hub are matched as well. No bundle of two has more than twice the mean load of \a most vertices, and
 * what can only run on the CPU stays apart. Loads and traffic of a bundle are those of its vertices, and traffic inside it is dropped.
 *
 * \param[out] out  Its vertices are of no class: vertex_of_class and class_of_vertex are NULL.
 * \param[out] bundle_of_vertex  [vertex of \a graph]
 * O((V + E) rounds). \retval EMP_ENOMEM */
emp_status emp_partition_graph_bundle(emp_partition_graph      **out,
                                      const emp_partition_graph *graph, int32_t most,
                                      int32_t *bundle_of_vertex, emp_error *err);

#endif /* EMP_SEARCH_PARTITION_PARTITION_GRAPH_H */
