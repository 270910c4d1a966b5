/** \file tests/sim/engine/tiny_problem.h
 * Problems small enough to compute by hand. The machine: cpu:0 with 4 cores, gpu:0
 * (device 1), gpu:1 (device 2); every GPU has a link in and a link out, 1 byte per ns
 * after 5 ns. Every op makes one tensor of 256 bytes, takes 10 ns on a GPU and 20 ns on
 * one core.
 */
#ifndef EMP_TESTS_SIM_ENGINE_TINY_PROBLEM_H
#define EMP_TESTS_SIM_ENGINE_TINY_PROBLEM_H

#include "sim/problem/problem.h"

enum { TINY_MAX_OPS = 24, TINY_MAX_INPUTS = 3 };

typedef struct {
    int  device;
    int  input_count;
    int  input[TINY_MAX_INPUTS];
    int  control; /**< number of the op it waits for, plus 1; 0 = none */
    int  weight;  /**< times its time on a GPU; 0 = 1 */
    int  lanes;   /**< on the CPU; 0 = 1 */
    bool is_kernelless, is_alias, is_in_place, is_on_host, is_variable, is_folded;
} tiny_op;

typedef struct {
    emp_graph     *graph;
    emp_machine   *machine;
    emp_problem   *problem;
    emp_device_id *device_of_op;
} tiny_problem;

/** Everything off: list scheduling. */
emp_runtime tiny_list_scheduling(void);
/** Everything on: issue 3, send 2, receive 4, poll 7, step 100 ns. */
emp_runtime tiny_serial(void);

/** Aborts by assert() when memory is out. */
void tiny_problem_create(tiny_problem *t, const tiny_op *ops, int op_count,
                         const emp_runtime *runtime);

/** Before a simulator is made: lets the machine be two hosts, cpu:0 with gpu:0 (device 1),
 * and cpu:1 (device 2) with gpu:1 and gpu:2 (devices 3 and 4). Each host has a link to
 * the network and one from it, half a byte per ns after 10 ns. */
void tiny_problem_split(tiny_problem *t);
void tiny_problem_destroy(tiny_problem *t);

#endif /* EMP_TESTS_SIM_ENGINE_TINY_PROBLEM_H */
