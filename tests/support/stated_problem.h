/** \file tests/support/stated_problem.h
 * Small problems whose ops state their costs, put together by hand: times in microseconds, on
 * CPUs and GPUs of a machine made for them, by the rules of one of the msr profiles.
 */
#ifndef EMP_TESTS_SUPPORT_STATED_PROBLEM_H
#define EMP_TESTS_SUPPORT_STATED_PROBLEM_H

#include "sim/graph/graph_builder.h"
#include "sim/problem/problem.h"

enum { STATED_MAX_OPS = 64, STATED_MAX_EDGES = 512 };

typedef struct {
    const char *name; /**< NULL: "node<number>" */
    int64_t     gpu_us, cpu_us, copy_us;
    int64_t     bytes;
    int32_t     color; /**< 0: of no class */
    bool        is_cpu_only;
} stated_op;

typedef struct {
    int32_t from, to;
} stated_edge;

typedef struct {
    emp_graph   *graph;
    emp_machine *machine;
    emp_problem *problem;
} stated_problem;

/** Fails the test on an error. */
void stated_problem_init(stated_problem *p, const stated_op *ops, int32_t op_count,
                         const stated_edge *edges, int32_t edge_count, int32_t cpu_count,
                         int32_t gpu_count, int64_t gpu_bytes, const char *runtime);
void stated_problem_clear(stated_problem *p);

#endif /* EMP_TESTS_SUPPORT_STATED_PROBLEM_H */
