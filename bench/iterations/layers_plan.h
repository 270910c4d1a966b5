/** \file bench/iterations/layers_plan.h
 * What the stages of a measured iteration take, from tables of its layers and of its network.
 *
 * What is known of DeepSpeed's pipelines and of PyTorch, and counts here:
 *
 *  - A layer takes what was measured for the micro-batch, or for a larger one if that took less: what
 *    disturbs a measurement only makes it longer. A larger one need not be measured for all layers.
 *  - The GPUs of a group each send their part of an activation (pipe_partitioned), so that it crosses the
 *    network once. The receiver gathers it before the forward pass, and each stage but the last one or two
 *    tensors before a backward pass. What that takes is told by the engine.
 *  - All GPUs of a host sum their gradients with other hosts at once, over the one network of the host, in
 *    buckets of 5e8 elements. A bucket is a ring of 2 (replicas - 1) messages; its slowest pair counts.
 *  - update_s was measured for layers 0, 1, 2 and the last together; a stage takes a part of it, by its
 *    parameters. FusedAdam reads four words a parameter and writes three, and takes what the memory does
 *    (csrc/adam/multi_tensor_adam.cu), so that update_s has the memory's rate, too.
 *  - Layers are measured with one micro-batch a step (Sailor's profile_all.py), whose backward pass leaves
 *    its gradients. Those of further ones are added: two words read, one written
 *    (torch/csrc/autograd/functions/accumulate_grad.h).
 *  - Gradients are copied into a bucket and back, two words each, also without replicas, and what replicas
 *    have summed is divided, two words more (DeepSpeedEngine.allreduce_bucket).
 *  - Memory: 16 bytes a parameter (Adam, fp32), a bucket of gradients, the activations of the micro-batches
 *    under way, as much again for one layer in its backward pass, and 4.14e9 bytes for CUDA, NCCL and the
 *    allocator (3.5 GiB, and 367 MiB: what aiconfigurator reserves for them).
 */
#ifndef EMP_BENCH_ITERATIONS_LAYERS_PLAN_H
#define EMP_BENCH_ITERATIONS_LAYERS_PLAN_H

#include "bench/iterations/engine.h"
#include "bench/iterations/network.h"
#include "bench/iterations/step.h"
#include "graphs/import/instances/layers.h"

/** What a process needs besides tensors. */
#define EMP_PROCESS_BYTES INT64_C(4140000000)

/** Fills the stages of an iteration. Replicas that are all alike become one.
 * \param[out] step  Its stages are the caller's, to be released by emp_free().
 * \retval EMP_EINVAL        The layers are not in the table, or not as many as the row says.
 * \retval EMP_EUNSUPPORTED  The network has no such pair. \retval EMP_ENOMEM */
emp_status emp_layers_plan(emp_step *step, emp_stage_cost **stages,
                           const emp_iteration *iteration, const emp_layer_table *layers,
                           const emp_network *network, emp_engine engine, emp_error *err);

#endif /* EMP_BENCH_ITERATIONS_LAYERS_PLAN_H */
