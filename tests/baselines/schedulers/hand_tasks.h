/** \file tests/baselines/schedulers/hand_tasks.h
 * Graphs of tasks put together by hand or at random, for the tests of list schedulers. All
 * arrays are within the struct.
 */
#ifndef EMP_TESTS_BASELINES_SCHEDULERS_HAND_TASKS_H
#define EMP_TESTS_BASELINES_SCHEDULERS_HAND_TASKS_H

#include "baselines/schedulers/task_graph.h"

enum { HAND_TASKS = 16, HAND_TENSORS = 64, HAND_DEVICES = 4, HAND_EDGES = 256 };

typedef struct {
    emp_task_graph  graph;
    emp_machine     machine;
    emp_time_ns     time[HAND_TASKS * HAND_DEVICES];
    int32_t         pin[HAND_TASKS];
    int64_t         workspace[HAND_TASKS], persistent[HAND_TASKS];
    uint64_t        devices[HAND_TASKS];
    int32_t         output_offset[HAND_TASKS + 1], input_offset[HAND_TASKS + 1];
    emp_task_tensor tensor[HAND_TENSORS + 1];
    int32_t         reader[HAND_EDGES], input[HAND_EDGES];
    const char     *name[HAND_TASKS];
    /* Members that are set before hand_tasks_finish(): */
    bool    reads[HAND_TENSORS][HAND_TASKS];
    int32_t latency_ns, byte_ns; /**< of every route */
} hand_tasks;

/** \a devices of which the first is a CPU; every task may use all, in a pin of its own, and
 * memory is ample. \a time [task * devices + device]. */
void hand_tasks_init(hand_tasks *h, int32_t tasks, int32_t devices, const int *time);

/** A tensor for some tasks with higher numbers, a bit set. Tensors come in the order of
 * producers. */
void hand_tasks_tensor(hand_tasks *h, int32_t producer, int64_t bytes, uint32_t readers);

/** Fills the rows; call it once, last. */
void hand_tasks_finish(hand_tasks *h);

/** Any graph, machine, pins and memory, of small whole numbers; the same for a seed. Memory
 * is tight in one of three. */
void hand_tasks_draw(hand_tasks *h, uint64_t seed);

#endif /* EMP_TESTS_BASELINES_SCHEDULERS_HAND_TASKS_H */
