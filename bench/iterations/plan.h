/** \file bench/iterations/plan.h
 * What the stages of a measured iteration take, from tables of its layers and of its network.
 *
 * Facts about DeepSpeed's pipelines and PyTorch that count here:
 *
 *  - A layer takes what was measured for the micro-batch, or for a larger one if that took less: what
 *    disturbs a measurement only makes it longer. A larger one need not be measured for all layers.
 *  - The GPUs of a group each send their part of an activation (pipe_partitioned), so that it crosses the
 *    network once. The receiver gathers it before the forward pass, and each stage but the last one or two
 *    tensors before a backward pass. The engine decides its time.
 *  - All GPUs of a host sum their gradients with other hosts at once, over the one network of the host, in
 *    buckets of 5e8 elements. A bucket is a ring of 2 (replicas - 1) messages; its slowest pair counts.
 *  - update_s was measured for layers 0, 1, 2 and the last together; a stage takes a part of it, by its
 *    parameters. FusedAdam reads four words a parameter and writes three, and takes what the memory does
 *    (csrc/adam/multi_tensor_adam.cu), so that update_s has the memory's rate, too.
 *  - Layers are measured with one micro-batch a step (Sailor's profile_all.py), whose backward pass leaves
 *    its gradients. Gradients of further ones are added: two words read, one written
 *    (torch/csrc/autograd/functions/accumulate_grad.h).
 *  - Gradients are copied into a bucket and back, two words each, also without replicas, and what replicas
 *    have summed is divided, two words more (DeepSpeedEngine.allreduce_bucket).
 *  - Memory: 16 bytes a parameter (Adam, fp32), a bucket of gradients, the activations of the micro-batches
 *    under way, as much again for one layer in its backward pass, and 4.14e9 bytes for CUDA, NCCL and the
 *    allocator (3.5 GiB, and 367 MiB: what aiconfigurator reserves for them).
 */
#ifndef EMP_BENCH_ITERATIONS_PLAN_H
#define EMP_BENCH_ITERATIONS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/iterations/tables.h"
#include "graphs/import/instances/layers.h"
#include "sim/machine/machine.h"

/* step.c: a pipeline as DeepSpeed runs it, simulated by the oracle: what each stage takes goes in, the time of
 * the step and the memory of its devices come out.
 *
 * A stage goes through the tasks of sim's schedule 1f1b with exchanges
 * (graphs/import/instances/layers.h). An exchange is blocking: it starts when both neighbours have
 * come to it, and keeps both for as long as it takes. A message that fits in the buffers of NCCL (4 MiB,
 * NCCL_BUFFSIZE) leaves its sender at once; it takes a wire of its own, and its receiver waits for it.
 * The first backward pass leaves its gradients, and each further one adds its own to them. When all
 * micro-batches are done a stage sums its gradients with its replicas, and updates its weights.
 *
 * Everything is ops with costs of their own in a graph, on a machine whose GPUs are the stages and the wires,
 * under the runtime `ideal`. */

/** The largest message that leaves its sender at once. */
#define EMP_BUFFERED_BYTES ((double)(4 << 20))

/** The times of a stage of a replica. A stage without a neighbour sends nothing there. */
typedef struct {
    double  forward_s, backward_s; /**< of a micro-batch */
    double  accumulate_s; /**< of each backward pass but the first: gradients add up */
    double  reduce_s, update_s;   /**< of the sum of gradients, of the weights */
    double  output_s, gradient_s; /**< sending to the next stage, to the one before */
    bool    is_output_buffered, is_gradient_buffered;
    int64_t stored_bytes; /**< of a micro-batch, from its forward to its backward pass */
    int64_t state_bytes;  /**< all the time */
} emp_stage_cost;

typedef struct {
    int32_t               stages, replicas, micro_batches; /**< at least 1 each */
    const emp_stage_cost *stage; /**< [replica * stages + stage] borrowed */
} emp_step;

typedef struct {
    double  step_s;
    int64_t peak_bytes; /**< of the device that needs most */
} emp_step_result;

/** Simulates a step. O(tasks log devices).
 * \retval EMP_EUNSUPPORTED  More stages and wires than a machine has devices.
 * \retval EMP_EINVAL        A time that is negative. \retval EMP_ENOMEM */
emp_status emp_step_simulate(emp_step_result *out, const emp_step *step, emp_error *err);

/* Engines that run pipelines, as far as they differ: how a stage puts together a tensor that its GPUs have
 * received in parts.
 *
 *  - deepspeed (0.16, PartitionedTensor.full): a buffer on the GPU takes the gathered parts. Before a backward
 *    pass the stage gathers its own output and the gradient.
 *  - sailor (github.com/eth-easl/sailor, deepspeed/utils.py, reconstruct_tensor): the buffer is zeros of the
 *    host, copied to the GPU, which waits for it. A single thread makes them, because torchrun sets
 *    OMP_NUM_THREADS to 1. Before a backward pass the stage gathers only the gradient.
 *
 * Rates: a core writes 37 GB/s (Neoverse V2, the core of Grace; learn.arm.com, "memory-subsystem", on
 * Graviton4). A copy to the GPU has 346 GB/s over NVLink-C2C (GPUs "GH..." and "GB...";
 * github.com/NVIDIA/nvbandwidth/issues/23), and else 4.5 GB/s from pageable memory over PCIe
 * (github.com/tensorflow/tensorflow/issues/17233). Faults of fresh pages are not counted. */

typedef enum { EMP_ENGINE_DEEPSPEED, EMP_ENGINE_SAILOR } emp_engine;

/** The engine of that name. \return false if there is none. */
bool emp_engine_find(emp_engine *out, const char *name);

/** The memory that a process needs besides tensors. */
#define EMP_PROCESS_BYTES INT64_C(4140000000)

/** Fills the stages of an iteration. Replicas that are all alike become one.
 * \param[out] step  Its stages are the caller's, to be released by emp_free().
 * \retval EMP_EINVAL        The layers are not in the table, or not as many as the row says.
 * \retval EMP_EUNSUPPORTED  The network has no such pair. \retval EMP_ENOMEM */
emp_status emp_layers_plan(emp_step *step, emp_stage_cost **stages,
                           const emp_iteration *iteration, const emp_layer_table *layers,
                           const emp_network *network, emp_engine engine, emp_error *err);

/* The times of the stages of a GPT's training step on GPUs of one model, only from the tables of the
 * model (sim/cost/kernel.h): no layer was measured. Assumptions about Megatron-DeepSpeed:
 *
 *  - half precision with Adam in fp32; blocks of attention and of a feed-forward network of 4 hidden sizes;
 *    scores of attention are written to memory, 51,200 words in the vocabulary;
 *  - products take what the table says; all else takes its bytes at 0.8 of the rate of memory (what
 *    aiconfigurator found), a backward pass half as many again as a forward pass;
 *  - activations are recomputed: a backward pass is a forward pass and two products for each one of it;
 *  - the GPUs that share a layer sum its activations twice in each pass. Within a host that takes what the
 *    table of collectives says; beyond it there is a ring of hosts on top;
 *  - a host has one network, whose rate all its GPUs share; activations between stages cross it in parts;
 *  - gradients are added up within the products (gradient_accumulation_fusion), and summed in half
 *    precision at the end. */

/** The computers. */
typedef struct {
    const emp_device *gpu; /**< borrowed */
    int32_t           gpus_per_host;
    double            host_bytes_per_s; /**< of a host's network, each way */
} emp_hosts;

/** Fills the stages of an iteration of a transformer, whose replicas are all alike and so one.
 * \param[out] step  Its stages are the caller's, to be released by emp_free().
 * \retval EMP_EUNSUPPORTED  The device model knows no half precision, or no such collective.
 * \retval EMP_EINVAL        More stages than layers.
 * \retval EMP_ENOMEM */
emp_status emp_transformer_plan(emp_step *step, emp_stage_cost **stages,
                                const emp_iteration *iteration, const emp_hosts *hosts,
                                emp_error *err);

#endif /* EMP_BENCH_ITERATIONS_PLAN_H */
