/** \file sim/machine/machine.h
 * Devices, links and routes, read from data/machines/NAME.yaml, and runtime profiles,
 * which say how a runtime (TensorFlow r1.3, or an ideal one) drives them.
 *
 * A machine is one host or several that a network joins. A host has one CPU, whose memory
 * is the host's, and GPUs. All CPUs of a machine are of one model, and all GPUs.
 *
 * Links are resources: a transfer between two devices occupies every link of its route
 * for latency + bytes / (lowest bandwidth on the route). A link carries one transfer at a
 * time; a transfer waits until all links of its route are free.
 *
 * Threads. Immutable after loading; share it freely.
 */
#ifndef EMP_SIM_MACHINE_MACHINE_H
#define EMP_SIM_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef int32_t emp_device_id; /**< dense, 0 .. device_count-1; -1 = none */
typedef int64_t emp_time_ns;   /**< simulated time */

enum {
    EMP_MAX_DEVICES = 64,
    EMP_MAX_CORES = 128,
    EMP_MAX_LINKS = 256,
    EMP_MAX_ROUTE = 12,
    EMP_MAX_FITTED = 32,    /**< cells that the constants of one file were fitted to */
    EMP_FIT_NAME_BYTES = 32 /**< of a cell's name, "rnnlm:gpu" */
};

typedef enum { EMP_DEVICE_CPU, EMP_DEVICE_GPU, EMP_DEVICE_KINDS } emp_device_kind;

/** What a core takes that a GPU does not: the optional section `core` of a device model.
 * A clock is the rate at which Eigen's cycles of one kind of work pass. */
typedef struct {
    double  op_s;             /**< beginning and ending an op that works; of a plan's GPUs
                               only: of CPUs it is the runtime's cpu_op */
    double  kernelless_s;     /**< of an op without kernel, likewise */
    int64_t cache_bytes;      /**< what an op reads and writes in all, to stay in cache */
    double  cache_factor;     /**< times the stream rate, in cache */
    double  pack_bytes_per_s; /**< of a product's operands, on top of its arithmetic */
    double  columns_hz;       /**< elements of a convolution's column matrix */
    double  columns_input_hz; /**< likewise, of the gradient of an image */
    double  light_hz, divide_hz, exp_hz; /**< element-wise: up to 8, 20, more cycles */
    double  reduce_hz, move_hz, transpose_hz, pool_hz, pool_grad_hz, norm_hz, softmax_hz,
        loss_hz, update_hz;
} emp_core;

/** Constants of a device's kernels; sim/cost/cost.h states the formulas that use them. */
typedef struct {
    char            name[32]; /**< "cpu:0", "gpu:1" */
    emp_device_kind kind;
    emp_device_id   host; /**< CPU whose memory is its host memory; its own of a CPU */
    int64_t         memory_bytes; /**< what a program can allocate */
    double          peak_flops_per_s;
    double          memory_bytes_per_s; /**< stream rate; CPU: of all cores together */
    /* GPU */
    double  gemm_base_s; /**< GEMM time = base + per_k K + per_wave K W, at this clock */
    double  gemm_per_k_s;
    double  gemm_per_wave_s;
    int32_t multiprocessors;   /**< 64 x 64 tiles per wave W */
    int32_t gemm_tile_rows;    /**< tile of matrix products: gemm_tile_rows x 64 */
    int32_t conv_tile_rows;    /**< tile of convolutions */
    int32_t split_limit;       /**< most parts that K is split into */
    double gemm_skinny_factor; /**< times GEMM time when a dimension is <= skinny_limit */
    int32_t gemm_skinny_limit;
    double  conv_factor; /**< times the GEMM time of a convolution */
    double  kernel_minimum_s;
    /* CPU */
    int32_t cores;
    double  clock_hz;
    double  gemm_core_flops_per_s; /**< one core */
    double  conv_core_flops_per_s;
    double  scaling_exponent; /**< speed of p cores = p ^ exponent */
    double  core_bytes_per_s; /**< one core's share of memory bandwidth */
    int32_t bandwidth_cores;  /**< cores that saturate the memory */
    double  thread_cycles;    /**< work that is worth one more thread */
    double  cycles_per_byte;  /**< of loads and stores, when threads are counted */
    /* either, if its model says that it is made of cores */
    bool     has_core;
    emp_core core;
} emp_device;

/** One direction of a physical channel, or a channel shared by both directions. */
typedef struct {
    char   name[32];
    double bytes_per_s;
    double latency_s;
    bool   is_network; /**< between hosts */
} emp_link;

typedef struct {
    int32_t link_count; /**< 0 on the diagonal */
    int32_t link[EMP_MAX_ROUTE];
    double  bytes_per_s; /**< lowest on the route */
    double  latency_s;   /**< highest on the route within hosts + sum over the network */
} emp_route;

/** Whose rules a step follows: those of docs/simulator.md, or of another simulator as
 * docs/profiles.md states them. */
#define EMP_RULES_LIST(X)         \
    X(EVENTS, "events")           \
    X(PLACETO, "placeto")         \
    X(BAECHI, "baechi")           \
    X(MSR_LATENCY, "msr-latency") \
    X(MSR_LOAD, "msr-load")

typedef enum {
#define X(name, text) EMP_RULES_##name,
    EMP_RULES_LIST(X)
#undef X
        EMP_RULES_COUNT
} emp_rules;

/** The word for \a rules in runtime files; static storage. */
const char *emp_rules_str(emp_rules rules);

/** How the runtime behaves. Profiles: "ideal", "tf-r1.3" (rules `events`; every mechanism
 * is a switch, docs/simulator.md says what each one changes), "placeto", "baechi",
 * "msr-latency", "msr-load". What the rules do not use is 0. */
typedef struct {
    char      name[32];
    char      path[512]; /**< of its file */
    char      description[160];
    emp_rules rules;
    /* all rules */
    bool check_memory; /**< an allocation that does not fit gives an OOM verdict */
    /* events */
    bool serial_issue; /**< a host thread per GPU issues ops to its stream; else no host
                          costs */
    bool drain_copies; /**< a copy waits for compute queued at both ends */
    bool release_at_issue; /**< a GPU op's inputs are released when it is issued, else at
                              its end */
    bool reuse_inputs;     /**< in-place ops take over the buffer of an input that dies */
    bool cpu_pool;         /**< CPU ops share cores; else the CPU runs one op at a time */
    bool control_latency;  /**< a control edge between devices costs a message of no bytes
                            */
    bool share_copies;     /**< a tensor crosses to a memory once, whoever reads it there;
                              else once per edge */
    bool copy_streams;  /**< copies of one direction of a GPU run one after the other */
    bool shared_links;  /**< a link carries one transfer at a time */
    bool copy_memory;   /**< a copy takes memory where it arrives */
    bool workspace;     /**< convolutions take workspace while they run */
    bool addn_waits;    /**< AddN holds all its inputs until the last is there; else it
                              adds them as they come, and only the first takes memory */
    bool bfc_allocator; /**< GPU memory is handed out as chunks of one region, as
                              TensorFlow's allocator does; else it is a sum of bytes */
    double  issue_s;    /**< host time per launching op */
    double  issue_kernel_s;      /**< per kernel after the first */
    double  issue_kernelless_s;  /**< per kernel-less op, on GPU and CPU */
    double  cpu_op_s;            /**< scheduling cost of any other op on the CPU */
    double  send_s, receive_s;   /**< host time at the two ends of a transfer */
    double  poll_s;              /**< delay until the host sees a copy done */
    double  step_s;              /**< fixed cost of a step (Session.run) */
    double  pageable_s_per_byte; /**< of what the step is fed, copied from memory that is
                                    not pinned; 0 = as fast as all else */
    int32_t cpu_slots; /**< ops that the CPU pool runs at once; 0 = one per core */
    /* placeto */
    double op_gap_s;        /**< after an op that takes time, before the next one */
    double bus_bytes_per_s; /**< of a device's bus; rounded to whole bytes, at least 1 */
    double bus_gap_s;       /**< after a transfer, before the next one */
    double early_release_s; /**< outputs go this long before their last reader ends */
    /* baechi */
    double  byte_s;        /**< of a transfer, per byte; rounded to 10^-18 s */
    double  transfer_s;    /**< ... plus this */
    int64_t control_bytes; /**< that a control edge carries to another device */
    /* msr-latency, msr-load */
    double host_bytes_per_s; /**< between a GPU and the host; rounded likewise */
} emp_runtime;

typedef struct {
    char       name[32];
    char       description[160];
    int32_t    device_count, link_count;
    emp_device device[EMP_MAX_DEVICES]; /**< device 0 is a CPU */
    emp_link   link[EMP_MAX_LINKS];
    emp_route  route[EMP_MAX_DEVICES][EMP_MAX_DEVICES]; /**< [from][to] */
    uint64_t   hash;                                    /**< of every constant */
    char       model_path[EMP_DEVICE_KINDS][512];       /**< files of its device models */
    int32_t    fitted_count;
    char fitted_cell[EMP_DEVICE_KINDS * EMP_MAX_FITTED][EMP_FIT_NAME_BYTES]; /**< what its
        models say that their constants were fitted to */
} emp_machine;

/** Loads a machine by name ("k40x2": data/machines/k40x2.yaml beside the program's data
 * folder) or by path (anything with a slash or ending in .yaml).
 * \retval EMP_EIO      No such machine; the message lists the known ones.
 * \retval EMP_EFORMAT  The message names the file, the line, the key and what is
 * expected. */
emp_status emp_machine_load(emp_machine **out, const char *name_or_path, emp_error *err);
/** The same without its gpu_channel: copies between GPUs take the links of the tree. */
emp_status emp_machine_load_tree(emp_machine **out, const char *name_or_path,
                                 emp_error *err);
/** A machine for graphs that state their costs: \a cpu_count CPUs, and GPUs, all with the first
 * CPU as their host, of so much memory each. Links carry 2^31 B/s; a GPU counts as ten times as
 * fast as a CPU where a method wants to know.
 * \retval EMP_EUNSUPPORTED  No CPU, or more than EMP_MAX_DEVICES in all. */
emp_status emp_machine_create(emp_machine **out, const char *name, int32_t cpu_count,
                              int32_t gpu_count, int64_t gpu_memory_bytes,
                              emp_error *err);
void       emp_machine_destroy(emp_machine *machine);

/** Computes the rates and latencies of all routes anew: after a change of links, which only
 * a machine that nobody else reads may have. */
void emp_machine_time_routes(emp_machine *machine);

/** The first device of a kind, for what all of the kind have in common; NULL = none. */
const emp_device *emp_machine_first(const emp_machine *machine, emp_device_kind kind);

/** Number of devices of a kind. */
int32_t emp_machine_count(const emp_machine *machine, emp_device_kind kind);

/** Whether constants of a device model were fitted to that cell ("rnnlm:gpu": that task
 * on one device). */
bool emp_machine_is_fitted_to(const emp_machine *machine, const char *cell);

/** The device of that name ("gpu:1"), or -1. */
emp_device_id emp_machine_find(const emp_machine *machine, const char *name);

/** Names of the machines that come with the program; sets \a *count. Static storage. */
const char *const *emp_machine_names(int32_t *count);

/** The profiles that come with the program, for messages. */
#define EMP_RUNTIME_NAMES \
    "tf-r1.3, ideal, placeto, baechi, msr-latency, msr-load, replay-cpu"

/** Loads a runtime profile, by name ("tf-r1.3": data/runtimes/tf-r1.3.yaml) or path.
 * \retval EMP_EIO      No such profile; the message lists the known ones.
 * \retval EMP_EFORMAT  The message names the file, the line, the key and what is
 * expected. */
emp_status emp_runtime_load(emp_runtime *runtime, const char *name_or_path,
                            emp_error *err);

/** Of the rules and of every switch and constant that they use, not of the name. */
uint64_t emp_runtime_hash(const emp_runtime *runtime);

#endif /* EMP_SIM_MACHINE_MACHINE_H */
