/** \file sim/machine/cluster/cluster.h
 * Clusters that train one model on many GPUs: data/clusters/NAME.yaml, and the kernels of training that were measured on
 * their GPUs.
 *
 * A cluster is GPUs of one model in domains, each of which is joined by NVLink, and a network with one card a GPU. Unlike a
 * machine it has no tree of links and no limit on the number of devices: a collective takes what its rate within a domain
 * and the rate of the network say.
 *
 * Threads. Immutable after loading; share it freely.
 */
#ifndef EMP_SIM_MACHINE_CLUSTER_CLUSTER_H
#define EMP_SIM_MACHINE_CLUSTER_CLUSTER_H

#include "sim/machine/machine.h"

/** The three products of a matrix product in training, of which attention has the first two. */
typedef enum {
    EMP_PASS_FORWARD,
    EMP_PASS_INPUT,       /**< gradient of the input */
    EMP_PASS_WEIGHT,      /**< gradient of the weights, added to fp32 */
    EMP_PASS_WEIGHT_HALF, /**< likewise to half precision */
    EMP_PASSES
} emp_pass;

typedef enum {
    EMP_KERNEL_PRODUCT,
    EMP_KERNEL_GROUPED,   /**< products of experts, with so many tokens each */
    EMP_KERNEL_ATTENTION, /**< causal; tokens of one sequence, groups = query heads, in and
                               out = size of a query's and of a value's head */
    EMP_KERNELS
} emp_kernel_kind;

/** Sizes of a kernel. */
typedef struct {
    double tokens, in, out, groups;
} emp_kernel_size;

/** FLOPs of a kernel: attention counts the whole square, as if it had no mask. */
double emp_cluster_kernel_flops(emp_kernel_kind kind, emp_pass pass,
                                const emp_kernel_size *size);

/** Measured kernels of one GPU model. */
typedef struct {
    emp_kernel_kind kind;
    double          log_size[4]; /**< of emp_kernel_size, in order */
    double          flops[EMP_PASSES];
    double          flops_per_s[EMP_PASSES]; /**< 0 = not measured */
} emp_kernel_point;

/** Bytes of kernels that move data, by what they do. */
typedef enum {
    EMP_STREAM_PLAIN,
    EMP_STREAM_PERMUTE, /**< tokens to experts and back */
    EMP_STREAM_LOSS,    /**< fused cross entropy */
    EMP_STREAMS
} emp_stream_kind;

typedef enum {
    EMP_LINK_ALL_REDUCE,
    EMP_LINK_ALL_GATHER,
    EMP_LINK_REDUCE_SCATTER,
    EMP_LINK_ALL_TO_ALL,
    EMP_LINK_SEND,
    EMP_LINKS
} emp_link_kind;

/** A GPU's share of its host while all GPUs of that host use it. */
typedef struct {
    int64_t       memory_bytes; /**< 0 = nothing is known of hosts */
    double        bytes_per_s;  /**< of the host's memory */
    emp_link_rate link;         /**< to the host, in either direction */
} emp_host_share;

typedef struct {
    char          name[32], description[160], path[512];
    emp_device    gpu;             /**< its name is its model's */
    emp_device    measured;        /**< of the model whose tables count; holds them */
    int32_t       gpus;            /**< at most */
    int32_t       domain;          /**< GPUs that NVLink joins */
    bool          has_own_kernels; /**< the measured ones; else ratios of theirs count */
    double        kernel_rate;     /**< times as fast as what was measured */
    double        weight_factor;   /**< times as long: gradients of weights in fp32, where
                                          the product comes from the table of products */
    double        stream_bytes_per_s[EMP_STREAMS], stream_latency_s;
    emp_link_rate link[EMP_LINKS]; /**< within a domain */
    bool is_mesh; /**< link[] is between two GPUs, and each pair has such links */
    emp_link_rate  network;  /**< of a GPU, one way, between domains */
    double         launch_s; /**< of the host, for a kernel */
    emp_host_share host;
    double
        sustained; /**< FLOP/s of bf16 products of the tables that take a millisecond and
                           more; 0 = none */
    int32_t           point_count;
    emp_kernel_point *point; /**< owned */
} emp_cluster;

/** Loads a cluster by its name or path, or makes one of a machine by its name or path. A machine's cluster has its GPUs, their
 * tables and memory, and its routes: the slowest one between two GPUs of a host counts within a host, and that between two hosts
 * between them. Where a cluster has that GPU model, its kernels and ratios count, and its measured rates within a host if the
 * machine's route there has at least half of the all-to-all's; else ratios are taken from the cluster h100. A domain is as many
 * GPUs as divide those of each host.
 * \retval EMP_EIO          There is neither; the message lists the clusters.
 * \retval EMP_EINVAL       The machine has no GPU. \retval EMP_EUNSUPPORTED  Its GPUs are of several models.
 * \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_cluster_load(emp_cluster **out, const char *name_or_path, emp_error *err);
void       emp_cluster_destroy(emp_cluster *cluster);

enum { EMP_FLEET_MAX = 8 };

/** The GPUs of a machine, of whatever models. Zero-initialise; emp_fleet_clear() releases it, also after a failure. */
typedef struct {
    emp_cluster *all; /**< all GPUs; where they differ, their slowest links */
    emp_cluster *kind[EMP_FLEET_MAX]; /**< the GPUs of each model */
    int32_t      count;               /**< of models; 0 and 1 = all are alike */
} emp_fleet;

/** Loads a cluster, or the GPUs of a machine. \retval as emp_cluster_load(); EMP_EUNSUPPORTED: more models than EMP_FLEET_MAX. */
emp_status emp_fleet_load(emp_fleet *out, const char *name_or_path, emp_error *err);
void       emp_fleet_clear(emp_fleet *fleet);

/** FLOP/s of a kernel, from measured ones of its kind and pass near it: the mean of their logarithms, weighted by the fourth
 * power of the inverse distance in the logarithms of sizes; 0 = none was measured. O(points).
 *
 * Products and attention have at most the sustained rate: the rate of all measured products, or attentions with such heads, that
 * take a millisecond and more. A shorter one is over before the GPU comes to its limit of power, at which a step runs. */
double emp_cluster_kernel_rate(const emp_cluster *cluster, emp_kernel_kind kind,
                               emp_pass pass, const emp_kernel_size *size);

#endif /* EMP_SIM_MACHINE_CLUSTER_CLUSTER_H */
