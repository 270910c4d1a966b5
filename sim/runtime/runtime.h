/** \file sim/runtime/runtime.h
 * Runtime profiles: how a runtime (TensorFlow r1.3, an ideal one, another simulator's) drives
 * the devices of a machine. Read from data/runtimes/NAME.yaml.
 *
 * Threads. Plain data; share it freely.
 */
#ifndef EMP_SIM_RUNTIME_RUNTIME_H
#define EMP_SIM_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include <emplace/machine.h>

#include "base/error.h"
#include "sim/machine/tables/tables.h"

/** The rules that a step follows: the model of docs/simulator.md, or another simulator's
 * as that page states them. */
#define EMP_RULES_LIST(X)         \
    X(EVENTS, "events")           \
    X(PLACETO, "placeto")         \
    X(BAECHI, "baechi")           \
    X(MSR_LATENCY, "msr-latency") \
    X(MSR_LOAD, "msr-load")       \
    X(EDGES, "edges")

typedef enum {
#define X(name, text) EMP_RULES_##name,
    EMP_RULES_LIST(X)
#undef X
        EMP_RULES_COUNT
} emp_rules;

/** The word for \a rules in runtime files; static storage. */
const char *emp_rules_str(emp_rules rules);

/** The rules `events`: every mechanism is a switch or a cost; docs/simulator.md says what each
 * one changes. */
typedef struct {
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
    bool caching_allocator; /**< GPU memory is handed out as blocks of segments, as
                                 PyTorch's allocator does; never with the other one */
    bool shared_memory;     /**< tasks that run on the cores of a pool together have the
                                    rate of the CPU's memory once, not each for itself */
    double issue_s;         /**< host time per launching op */
    double issue_kernel_s;  /**< per kernel after the first */
    double issue_kernelless_s;  /**< per kernel-less op, on GPU and CPU */
    double cpu_op_s;            /**< scheduling cost of any other op on the CPU */
    double send_s, receive_s;   /**< host time at the two ends of a transfer */
    double poll_s;              /**< delay until the host sees a copy done */
    double step_s;              /**< fixed cost of a step (Session.run) */
    double pageable_s_per_byte; /**< of what the step is fed, copied from memory that is
                                    not pinned; 0 = as fast as all else */
    /** The memory of each GPU that its driver and libraries keep, at most an eighth. */
    int64_t gpu_context_bytes;
    /** Likewise the buffers of a library of collectives, if the graph has collectives and the machine several
     * GPUs. */
    int64_t collective_bytes;
    int32_t plan_tokens; /**< activations are packed into a buffer for each device before
                            the step, for a micro-batch of this many tokens of a prompt at
                            least; 0 = they take memory while they live */
    int32_t plan_copies; /**< of the inputs of each device if several micro-batches are on
                            their way at once */
    double  host_hop_s;  /**< of a copy to another host, besides what the route takes */
    bool client; /**< one program on the first host drives all hosts: copies between two
                      others pass through it, and it waits for each copy between hosts
                      before it issues later micro-batches */
    int32_t cpu_slots; /**< ops that the CPU pool runs at once; 0 = one per core */
    emp_format
        fp32_products; /**< that GPUs compute products of fp32 in, where their model
                                 knows it */
} emp_runtime_events;

/** The rules `placeto`. */
typedef struct {
    double op_gap_s;        /**< after an op that takes time, before the next one */
    double bus_bytes_per_s; /**< of a device's bus; rounded to whole bytes, at least 1 */
    double bus_gap_s;       /**< after a transfer, before the next one */
    double early_release_s; /**< outputs go this long before their last reader ends */
} emp_runtime_placeto;

/** The rules `baechi`. */
typedef struct {
    double  byte_s;        /**< of a transfer, per byte; rounded to 10^-18 s */
    double  transfer_s;    /**< ... plus this */
    int64_t control_bytes; /**< that a control edge carries to another device */
} emp_runtime_baechi;

/** The rules `msr-latency` and `msr-load`. */
typedef struct {
    double host_bytes_per_s; /**< between a GPU and the host; rounded likewise */
} emp_runtime_msr;

/** A profile: what its rules need, and nothing else. */
struct emp_runtime {
    char      name[32];
    char      path[512]; /**< of its file */
    char      description[160];
    bool      check_memory; /**< an allocation that does not fit gives an OOM verdict */
    int32_t   fitted_constants; /**< how many of its constants were fitted */
    emp_rules rules;            /**< which member of the union holds */
    union {
        emp_runtime_events  events;
        emp_runtime_placeto placeto;
        emp_runtime_baechi  baechi;
        emp_runtime_msr     msr;
    };
};

/** The mechanisms of \a runtime. Under other rules than `events` all are off and cost nothing;
 * static storage. */
const emp_runtime_events *emp_runtime_events_of(const emp_runtime *runtime);

/** The profiles that come with the program, for messages. */
#define EMP_RUNTIME_NAMES                                                       \
    "tf-r1.3, ideal, torch-eager, torch-cached, graph-launch, llama-cpp, exo, " \
    "traced, placeto, "                                                         \
    "baechi, msr-latency, msr-load, edges, replay-cpu, replay-cuda"

/** Fills \a runtime from a profile, as emp_runtime_load() does; it needs no release.
 * \retval EMP_EIO      No such profile; the message lists the known ones.
 * \retval EMP_EFORMAT  The message names the file, the line, the key and what is
 * expected. */
emp_status emp_runtime_init(emp_runtime *runtime, const char *name_or_path,
                            emp_error *err);

/** The hash of the rules and of every switch and constant that they use, not of the name. */
uint64_t emp_runtime_hash(const emp_runtime *runtime);

#endif /* EMP_SIM_RUNTIME_RUNTIME_H */
