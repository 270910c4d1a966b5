/** \file sim/machine/machine.h
 * Devices, links and routes, read from data/machines/NAME.yaml.
 *
 * A machine is one host or several that a network joins. A host has one CPU, whose memory
 * is the host's, and GPUs. Devices are of any models.
 *
 * Links are resources: a transfer between two devices occupies every link of its route
 * for latency + bytes / (lowest bandwidth on the route). A link carries one transfer at a
 * time; a transfer waits until all links of its route are free.
 *
 * Threads. Immutable after loading; share it freely.
 */
#ifndef EMP_SIM_MACHINE_MACHINE_H
#define EMP_SIM_MACHINE_MACHINE_H

#include <emplace/machine.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/machine/tables/tables.h"

enum {
    EMP_MAX_DEVICES = 64,
    EMP_MAX_CORES = 128,
    EMP_MAX_LINKS = 256,
    EMP_MAX_ROUTE = 12,
    EMP_MAX_MODELS = 16,
    EMP_MAX_FABRICS = 32,
    EMP_MAX_FITTED = 32,    /**< cells that the constants of one file were fitted to */
    EMP_FIT_NAME_BYTES = 32 /**< of a cell's name, "rnnlm:gpu" */
};

#define EMP_DEVICE_KINDS 2 /**< values of emp_device_kind */

/** Times of a core that a GPU does not have: the optional section `core` of a device model.
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

/** Times of a group of cores while others use the same computer: the optional section `sharing`
 * of a GPU's model that has a section `core`. docs/simulator.md says how it counts. */
typedef struct {
    double
        beside_stream; /**< factor on the time of the bytes of ops that do not fit in the
                                  cache, while another device works; at least 1 */
    double beside_clock;     /**< likewise, all other work */
    double copy_bytes_per_s; /**< at which a core copies what others read */
    double hand_over_s;      /**< of a core, for each copy besides */
} emp_sharing;

/** How many times as long as its bytes at the stream rate a kernel that is no product takes: the optional section
 * `passes` of a GPU's model. Element-wise kernels take as long. */
typedef struct {
    double reduce, move, transpose, pool, max_pool_grad, average_pool_grad, norm,
        norm_grad, softmax, loss, update;
} emp_passes;

/** Constants of a device's kernels; sim/cost/cost.h states the formulas that use them. */
typedef struct {
    char            name[32]; /**< "cpu:0", "gpu:1" */
    emp_device_kind kind;
    emp_device_id   host;  /**< CPU whose memory is its host memory; its own of a CPU */
    int32_t         model; /**< of the machine's */
    int64_t         memory_bytes; /**< what a program can allocate */
    double          time_factor;  /**< times as long as its model takes; 0 = 1 */
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
    int32_t gemm_split_least; /**< K of each part of a matrix product, at least */
    double  conv_factor;      /**< times the GEMM time of a convolution */
    /** [emp_conv_window] times that, of a convolution or the gradient of its input, and of the
     * gradient of its filter; 0 = 1 */
    double conv_window_factor[3], conv_filter_factor[3];
    double kernel_minimum_s;
    double format_flops_per_s
        [EMP_FORMATS];  /**< dense products; 0 = the model has no such rate */
    emp_tables *tables; /**< what was measured of its model, held; NULL = nothing */
    /** Rates of PyTorch's kernels on the GPU, for times measured on another one (sim/cost/transfer.h):
     * the rate of copies, and of attention in 16 bits with long sequences. 0 = not measured. */
    double reached_bytes_per_s, reached_attention_flops_per_s;
    bool   has_metal_kernels; /**< quantised weights meet Metal's kernels, not CUDA's */
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
    bool        has_core, has_sharing;
    emp_core    core;
    emp_sharing sharing;
    bool        has_passes; /**< of a GPU */
    emp_passes  passes;
} emp_device;

/** One direction of a physical channel, or a channel shared by both directions. */
typedef struct {
    char   name[32];
    double bytes_per_s;
    double latency_s;
    bool   is_network; /**< between hosts */
    bool   is_derived; /**< from the bus of a card, by a rule */
} emp_link;

typedef struct {
    int32_t link_count; /**< 0 on the diagonal */
    int32_t link[EMP_MAX_ROUTE];
    double  bytes_per_s; /**< lowest on the route */
    double  latency_s;   /**< highest on the route within hosts + sum over the network */
} emp_route;

/** The published values of a device model: its section `card` or `processor` (card.h). */
typedef struct {
    bool    is_there;
    double  peak_flops_per_s[EMP_FORMATS]; /**< dense; 0 = not published. CPU: of fp32 */
    int64_t memory_bytes;                  /**< of the board */
    double  rate_bytes_per_s;              /**< of its memory, nominal */
    int32_t kind_of_gpu;                   /**< its class, an index of card.c */
    bool    has_metal_kernels;             /**< of a GPU, for quantised weights */
    char    bus[24];                       /**< "PCIe 4 x16", "unified"; "" of a CPU */
    double  bus_bytes_per_s;               /**< one way, nominal; 0 = the CPU's memory */
    int32_t pcie_generation, pcie_lanes;   /**< 0 = the bus is no PCIe */
    int32_t cores;                         /**< of a CPU */
    double  clock_hz;                      /**< likewise */
} emp_card;

/** A device model that a machine has devices of. */
typedef struct {
    char            name[32];  /**< "k40"; "cpu" and "gpu" where no file says */
    char            path[512]; /**< its file; "" = none */
    emp_device_kind kind;
    emp_card        card;
    uint32_t
        derived; /**< bit i: emp_device_constants()[i] follows from the card by a rule */
} emp_machine_model;

/** Devices that reach each other beside the tree: a switch of NVLinks, a bridge, a network of GPUs.
 * Each has a port to it, which is a link for each direction, or one for both. A copy between two
 * of its devices occupies the port of either. */
typedef struct {
    char     name[16];
    bool     is_half_duplex;       /**< a port has one link, which is both */
    uint64_t members;              /**< bit d: device d has a port */
    int32_t  out[EMP_MAX_DEVICES]; /**< links of its port; -1 = no port */
    int32_t  in[EMP_MAX_DEVICES];
} emp_fabric;

/** Gives every CPU of a machine of emp_machine_create() that many cores. */
void emp_machine_set_cores(emp_machine *machine, int32_t cores);

/** <emplace/machine.h> has what programs see of it. A machine of emp_machine_create() counts a GPU
 * as ten times as fast as a CPU where a method wants to know. */
struct emp_machine {
    char       name[32];
    char       description[160];
    int32_t    core_count; /**< of the one computer whose cores devices take in turn, GPUs
                                first, beginning anew when all are taken; 0 = each device has
                                its own */
    int32_t    device_count, link_count, fabric_count;
    emp_device device[EMP_MAX_DEVICES]; /**< device 0 is a CPU */
    emp_link   link[EMP_MAX_LINKS];
    emp_fabric
        fabric[EMP_MAX_FABRICS]; /**< a copy takes the first that both ends are on */
    emp_route         route[EMP_MAX_DEVICES][EMP_MAX_DEVICES]; /**< [from][to] */
    uint64_t          hash;                                    /**< of every constant */
    int32_t           model_count;
    emp_machine_model model[EMP_MAX_MODELS];
    int32_t           fitted_constants; /**< how many of its models' were fitted */
    int32_t           fitted_count;
    char fitted_cell[EMP_MAX_MODELS * EMP_MAX_FITTED][EMP_FIT_NAME_BYTES]; /**< what its
        models say that their constants were fitted to */
    char *
        text; /**< what it was read from (config.h), for emp_machine_parse(); owned. NULL: it
                     was read from no file, or from files that a bundle cannot hold */
};

/** Makes a machine from the text of another one, whose files need not be there.
 * \retval EMP_EFORMAT  As emp_machine_load(), or the text is damaged. */
emp_status emp_machine_parse(emp_machine **out, const char *text, emp_error *err);

/** The fabric that copies between two devices take; NULL = the tree. O(fabrics). */
const emp_fabric *emp_machine_fabric_between(const emp_machine *machine, emp_device_id a,
                                             emp_device_id b);

/** A copy to be changed, so without the text; the caller destroys it. NULL: no memory. */
emp_machine *emp_machine_copy(const emp_machine *machine);

/** Computes the rates and latencies of all routes anew: after a change of links, which only
 * a machine without other readers may have. */
void emp_machine_time_routes(emp_machine *machine);

/** The first device of a kind; NULL = none. Others may be of other models. */
const emp_device *emp_machine_first(const emp_machine *machine, emp_device_kind kind);

/** The model of the first device of a kind; NULL = none. */
const emp_machine_model *emp_machine_first_model(const emp_machine *machine,
                                                 emp_device_kind    kind);

/** Number of devices of a kind. */
int32_t emp_machine_count(const emp_machine *machine, emp_device_kind kind);
/** Lists the devices of a kind, in order; returns their number. */
int32_t emp_machine_list(const emp_machine *machine, emp_device_kind kind,
                         emp_device_id device[EMP_MAX_DEVICES]);

/** Whether constants of a device model were fitted to that cell ("rnnlm:gpu": that task
 * on one device). */
bool emp_machine_is_fitted_to(const emp_machine *machine, const char *cell);

/** Path of a folder of the data folder. That is the environment's EMPLACE_DATA; else the one that
 * is installed beside the folder of this library or program; else the one of this build. */
void emp_data_folder(char *path, size_t size, const char *folder);

/** Names of files of a data folder. */
typedef struct {
    int32_t count;
    char    name[128][32];
} emp_data_names;

/** Finds the files NAME.yaml of a data folder, sorted. Longer names are left out, and there are none
 * without such a folder. */
void emp_data_find(emp_data_names *names, const char *folder);

/** The same of any folder. */
void emp_names_find(emp_data_names *names, const char *path);

/** Writes these names: "cpu-host, k40". "..." stands for those that do not fit in the text. */
void emp_data_list(char *text, size_t size, const char *folder);

static inline emp_time_ns emp_time_later(emp_time_ns a, emp_time_ns b)
{
    return a > b ? a : b;
}

static inline emp_time_ns emp_time_sooner(emp_time_ns a, emp_time_ns b)
{
    return a < b ? a : b;
}

/* How fast devices of a machine exchange data in a collective. A ring goes as fast as its slowest hop; where each pair has
 * links of its own, a device uses all of them at once. */

/** Seconds = latency + bytes that a GPU sends / rate. */
typedef struct {
    double bytes_per_s, latency_s;
} emp_link_rate;

/** Some devices of a machine. */
typedef struct {
    emp_device_id id[EMP_MAX_DEVICES];
    int32_t       count;
} emp_device_list;

/** All GPUs of a machine, in its order. */
emp_device_list emp_ring_gpus(const emp_machine *machine);

/** Pairs of devices, a bit each. */
enum { EMP_PAIRS_OF_ONE_HOST = 1, EMP_PAIRS_OF_TWO_HOSTS = 2, EMP_PAIRS_ALL = 3 };

/** The lowest rate and the highest latency of the routes between such pairs. The rate is INFINITY if no pair has a route.
 * O(count^2). */
emp_link_rate emp_ring_slowest(const emp_machine *machine, const emp_device_list *devices,
                               unsigned pairs);

/** Whether the routes between the devices of each host have links that no other pair of them uses, and carry both
 * directions at once: as XGMI joins eight MI300X. O(count^2 links of a route). */
bool emp_ring_is_mesh(const emp_machine *machine, const emp_device_list *devices);

/** The most devices of the list that are in one host. O(count). */
int32_t emp_ring_most_near(const emp_machine *machine, const emp_device_list *devices);

/** The greatest common divisor of the numbers of devices in each host: consecutive groups of so many lie in one host each.
 * O(count). */
int32_t emp_ring_common_near(const emp_machine *machine, const emp_device_list *devices);

/** Whether collectives that were measured with an all-to-all of the rate \a measured hold on links of the rate \a bytes_per_s:
 * an all-to-all goes as fast as the links, and half as fast is assumed to be near enough. */
static inline bool emp_ring_is_as_measured(double bytes_per_s, double measured)
{
    return bytes_per_s >= 0.5 * measured;
}

/* The colour and the letter of each device, the same in all pictures: reports, Graphviz files, Model
 * Explorer and the page to explore. */

/** "#56b4e9"; grey for CPUs, and 8 colours for GPUs in turn. Static storage. */
const char *emp_device_colour(const emp_machine *machine, emp_device_id device);

/** "A" for device 0, ...; after 52 devices "+". */
char emp_device_letter(emp_device_id device);

/** Whether white letters are readable on the device's colour; else black ones are. */
bool emp_device_is_dark(const emp_machine *machine, emp_device_id device);

#endif /* EMP_SIM_MACHINE_MACHINE_H */
