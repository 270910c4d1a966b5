/** \file bench/iterations/transformer_plan.h
 * What the stages of a training step of a GPT take on GPUs of one model, from the tables of the model
 * (sim/cost/kernel.h) alone: no layer was measured. What is assumed of Megatron-DeepSpeed:
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
 *    precision at the end.
 */
#ifndef EMP_BENCH_ITERATIONS_TRANSFORMER_PLAN_H
#define EMP_BENCH_ITERATIONS_TRANSFORMER_PLAN_H

#include "bench/iterations/rows.h"
#include "bench/iterations/step.h"
#include "sim/machine/machine.h"

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

#endif /* EMP_BENCH_ITERATIONS_TRANSFORMER_PLAN_H */
