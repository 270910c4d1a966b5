/** \file replay/plan/plan.h
 * A placed training step as a flat list for the executor: devices, ops in a topological
 * order, tensors, and one copy per tensor and memory that reads it elsewhere.
 *
 * A *place* is where an op reads: tensor t at home is place t; copy c is place
 * tensor_count + c. Memories are named by their device; a GPU's host memory belongs to
 * device[].host. Folded ops are gone: an input that one of them made has place
 * EMP_REPLAY_CONSTANT and lies in a region of constants that every memory has.
 *
 * Needs only base/ and libc, and so do all files here but plan_from_problem and
 * kernel_of_op: a bare server builds them from the folder (README.md).
 *
 * Threads. Immutable once it is made; share it freely.
 */
#ifndef EMP_REPLAY_PLAN_PLAN_H
#define EMP_REPLAY_PLAN_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "replay/plan/kernel.h"
#include "replay/plan/text_lines.h"

enum {
    EMP_REPLAY_MAX_DEVICES = 64,
    EMP_REPLAY_MAX_CORES = 128,
    EMP_REPLAY_ALIGNMENT = 256, /**< bytes that buffers are rounded up to */
    EMP_REPLAY_CONSTANT = -1    /**< place of what was computed before the step */
};

typedef struct {
    char    name[32]; /**< "cpu:0", "gpu:1" */
    bool    is_cpu;
    int32_t host; /**< device whose memory is this one's host memory */
    int32_t cores;
    int64_t memory_bytes;
} emp_replay_device;

typedef struct {
    int32_t producer;
    int32_t storage; /**< op whose variable this is, or -1: a reference needs no buffer */
    int64_t buffer_bytes; /**< of its buffer at home; 0 = none */
    int64_t bytes;        /**< of what it refers to */
    int32_t element_bytes;
    bool    on_host; /**< home is the host memory of its producer's device */
} emp_replay_tensor;

typedef struct {
    int32_t place;
    int64_t bytes; /**< of what is read */
    int32_t element_bytes;
    bool    on_host; /**< read in host memory, though the op runs on a GPU */
} emp_replay_input;

typedef struct {
    int32_t tensor;
    int32_t to; /**< memory */
    int64_t bytes;
} emp_replay_copy;

typedef struct {
    emp_kernel  kernel;
    int32_t     device;
    bool        is_alias;    /**< output 0 is input 0's buffer, where both lie together */
    bool        is_in_place; /**< output 0 may take over the buffer of an input */
    int64_t     persistent_bytes;
    int64_t     workspace_bytes;
    const char *name; /**< no white space */
    const char *type;
} emp_replay_op;

/** How fast copies may go; 0 = as fast as they can. */
typedef struct {
    double bytes_per_s;
    double latency_s;
} emp_replay_route;

/** A placed step to be replayed. */
typedef struct {
    char     workload[256], machine[64], runtime[64], placement[256];
    uint64_t graph_hash;
    double   predicted_s; /**< by the simulator; below 0 = not known */
} emp_replay_origin;

typedef struct {
    emp_replay_origin origin;
    bool              reuse_inputs;

    int32_t           device_count;
    emp_replay_device device[EMP_REPLAY_MAX_DEVICES];
    emp_replay_route *route; /**< [from * device_count + to] */

    int32_t op_count, tensor_count, copy_count, input_count, control_count;

    emp_replay_op     *op;             /**< [op] */
    int32_t           *input_offset;   /**< [op + 1] into input */
    emp_replay_input  *input;          /**< [input] */
    int32_t           *control_offset; /**< [op + 1] into control */
    int32_t           *control;        /**< op that is waited for */
    int32_t           *output_offset;  /**< [op + 1]; outputs are tensors in this range */
    emp_replay_tensor *tensor;         /**< [tensor] */
    emp_replay_copy   *copy; /**< [copy], the copies of a tensor together, in order */
    int32_t           *copy_offset; /**< [tensor + 1] into copy */

    char      *names;  /**< owns op[].name and op[].type */
    emp_arrays arrays; /**< all of these */
} emp_replay_plan;

/** Counts known, arrays empty. */
emp_status emp_replay_plan_create(emp_replay_plan **out, int32_t op_count,
                                  int32_t tensor_count, int32_t copy_count,
                                  int32_t input_count, int32_t control_count,
                                  int64_t name_bytes, emp_error *err);
void       emp_replay_plan_destroy(emp_replay_plan *plan);

/** That an executor can run it: every number in range, what is read made by an earlier op,
 * read in the memory that the reader sees, and kernels that stay within their operands.
 * O(size). \retval EMP_EFORMAT  The message names the op. */
emp_status emp_replay_plan_check(const emp_replay_plan *plan, emp_error *err);

/** Writes the text form (README.md), by a temporary file and a rename. */
emp_status emp_replay_plan_save(const char *path, const emp_replay_plan *plan,
                                emp_error *err);
/** Reads and checks it. \retval EMP_EFORMAT  The message names the line. */
emp_status emp_replay_plan_load(emp_replay_plan **out, const char *path, emp_error *err);

/** The lines that files of plans and of results begin with; without predicted_s. */
void emp_replay_origin_lines(emp_lines *io, emp_replay_origin *origin);

/** The hash of all that an executor does, without names. */
uint64_t emp_replay_plan_hash(const emp_replay_plan *plan);

/** Memory that an op's outputs (\a on_host or not) lie in. */
static inline int32_t emp_replay_memory(const emp_replay_plan *plan, int32_t device,
                                        bool on_host)
{
    return on_host ? plan->device[device].host : device;
}

/** Memory of a place; not of EMP_REPLAY_CONSTANT. */
static inline int32_t emp_replay_memory_of_place(const emp_replay_plan *plan,
                                                 int32_t                place)
{
    if (place >= plan->tensor_count) return plan->copy[place - plan->tensor_count].to;
    const emp_replay_tensor *t = &plan->tensor[place];
    return emp_replay_memory(plan, plan->op[t->producer].device, t->on_host);
}

/** Tensor of a place; not of EMP_REPLAY_CONSTANT. */
static inline int32_t emp_replay_tensor_of_place(const emp_replay_plan *plan,
                                                 int32_t                place)
{
    return place < plan->tensor_count ? place
                                      : plan->copy[place - plan->tensor_count].tensor;
}

static inline int64_t emp_replay_round_up(int64_t bytes)
{
    return (bytes + EMP_REPLAY_ALIGNMENT - 1) / EMP_REPLAY_ALIGNMENT *
           EMP_REPLAY_ALIGNMENT;
}

/** For tests: breaks one dependency, to show that a checked run sees it. */
typedef struct {
    int32_t early_op;    /**< does not wait for its input early_input; -1 = none */
    int32_t early_input; /**< counted from 0 */
    int32_t lost_tensor; /**< whose buffer is freed one reader too soon; -1 = none */
} emp_replay_fault;

typedef struct {
    int32_t warmup, steps; /**< steps that are not counted, and that are */
    bool    is_checked;    /**< poison, checksums and reference results; slow */
    bool    is_timed;      /**< one more step, in which every op is timed */
    bool    keeps_rates;   /**< copies take no less time than the plan's routes say */
    int64_t host_bytes;    /**< of this computer's memory, for all devices that lie in it;
                              0 = what is available */
    /** Cores of each device that is a group of them; a count of 0 = chosen by the
     * backend. */
    int32_t core_count[EMP_REPLAY_MAX_DEVICES];
    int16_t core[EMP_REPLAY_MAX_DEVICES][EMP_REPLAY_MAX_CORES];
    /** Which of the computer's GPUs a GPU of the plan is; -1 = by its number, modulo those
     * that there are. */
    int32_t physical[EMP_REPLAY_MAX_DEVICES];

    const atomic_int *stop; /**< nonzero: end early; NULL = never */
    void (*progress)(void *context, int32_t done, int32_t count); /**< or NULL */
    void            *progress_context;
    emp_replay_fault fault;
} emp_replay_options;

/** Two warm-up steps, five that count, nothing else. */
emp_replay_options emp_replay_options_default(void);

/** Refuses a map of GPUs (NULL = none), and copies at the rates of routes, for a backend that has no use for them. */
emp_status emp_replay_options_check(const emp_replay_options *options, const char *gpus,
                                    const char *backend, emp_error *err);

/** Parses "gpu:0=2,3 gpu:1=4-7" (cores; groups are parted by blanks) into \a options, which have cores of none of these
 * devices. \retval EMP_EINVAL  The message names the part; a device, or a core of a device, stands there twice. */
emp_status emp_replay_options_cores(emp_replay_options    *options,
                                    const emp_replay_plan *plan, const char *text,
                                    emp_error *err);

/** Parses "gpu:0=1 gpu:1=1" (GPUs of the computer), likewise. \retval EMP_EINVAL */
emp_status emp_replay_options_gpus(emp_replay_options    *options,
                                   const emp_replay_plan *plan, const char *text,
                                   emp_error *err);

#endif /* EMP_REPLAY_PLAN_PLAN_H */
