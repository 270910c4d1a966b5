/** \file bench/iterations/engine.h
 * Engines that run pipelines, as far as they differ: how a stage puts together a tensor that its GPUs have
 * received in parts.
 *
 *  - deepspeed (0.16, PartitionedTensor.full): a buffer on the GPU takes the gathered parts. Before a backward
 *    pass the stage gathers its own output and the gradient.
 *  - sailor (github.com/eth-easl/sailor, deepspeed/utils.py, reconstruct_tensor): the buffer is zeros of the
 *    host, copied to the GPU, which waits for it. A single thread makes them, because torchrun sets
 *    OMP_NUM_THREADS to 1. Before a backward pass the stage gathers the gradient alone.
 *
 * Rates: a core writes 37 GB/s (Neoverse V2, the core of Grace; learn.arm.com, "memory-subsystem", on
 * Graviton4). A copy to the GPU has 346 GB/s over NVLink-C2C (GPUs "GH..." and "GB...";
 * github.com/NVIDIA/nvbandwidth/issues/23), and else 4.5 GB/s from pageable memory over PCIe
 * (github.com/tensorflow/tensorflow/issues/17233). Faults of fresh pages are not counted.
 */
#ifndef EMP_BENCH_ITERATIONS_ENGINE_H
#define EMP_BENCH_ITERATIONS_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { EMP_ENGINE_DEEPSPEED, EMP_ENGINE_SAILOR } emp_engine;

/** The engine of that name. \return false if there is none. */
bool emp_engine_find(emp_engine *out, const char *name);

/** Seconds in which a GPU of that name waits for a buffer of so many bytes. */
double emp_engine_fill_s(emp_engine engine, const char *gpu, double bytes);

/** How many tensors a stage gathers before a backward pass. */
int32_t emp_engine_count_gathers(emp_engine engine);

#endif /* EMP_BENCH_ITERATIONS_ENGINE_H */
