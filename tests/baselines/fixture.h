/** \file tests/baselines/fixture.h
 * Small problems with exact weights, put together by hand: every op has one output, takes
 * 1 ms on a GPU and 4 ms on the CPU, and is a colocation class of its own by
 * default.
 */
#ifndef EMP_TESTS_BASELINES_FIXTURE_H
#define EMP_TESTS_BASELINES_FIXTURE_H

#include "search/method.h"
#include "tests/support/problems.h"

enum { FIXTURE_MAX_OPS = 128, FIXTURE_MAX_EDGES = 2048 };

typedef struct {
    emp_machine       *machine;
    emp_graph_builder *builder;
    emp_graph         *graph; /* since fixture_problem() */
    emp_problem       *problem;
    int32_t            op_count, edge_count;
    int32_t            from[FIXTURE_MAX_EDGES], to[FIXTURE_MAX_EDGES]; /* data edges */
    /* Facts and costs, [op]: what is stated, and then those of the problem. */
    emp_op       *op, stated_op[FIXTURE_MAX_OPS];
    emp_op_cost   cost[FIXTURE_MAX_OPS];
    emp_tensor   *tensor, stated_tensor[FIXTURE_MAX_OPS];
    emp_gpu_cost *gpu_cost, stated_gpu_cost[FIXTURE_MAX_OPS];
    emp_cpu_cost *cpu_cost, stated_cpu_cost[FIXTURE_MAX_OPS];
} fixture;

/* A machine of one CPU and \a gpu_count GPUs of equal power and links. */
fixture *fixture_create(int32_t gpu_count);
void     fixture_destroy(fixture *f);
EMP_OWNS(fixture, fixture_destroy)
#define OWN_FIXTURE EMP_OWNER(fixture)

/* Ids are given in order; edges may only lead to higher ids. NULL names it "op<id>". */
emp_op_id fixture_op(fixture *f, const char *name, int64_t output_bytes);
void      fixture_edge(fixture *f, emp_op_id from, emp_op_id to);
void      fixture_control(fixture *f, emp_op_id from, emp_op_id to);
/* Puts \a op into the class of \a leader, a lower id. */
void fixture_colocate(fixture *f, emp_op_id op, emp_op_id leader);
void fixture_cpu_only(fixture *f, emp_op_id op);
/* Every pair of \a count new ops is linked by \a bytes; returns the first. */
emp_op_id fixture_clique(fixture *f, int32_t count, int64_t bytes);

/* The problem, which the first call builds, after the last of the above. */
const emp_problem *fixture_problem(fixture *f);

/* Creates, asks once, destroys; device_of_op[op_count]. Fails the test on an error. */
void fixture_place(const emp_method *type, const emp_problem *problem, uint64_t seed,
                   const char *options, emp_device_id *device_of_op);

#endif /* EMP_TESTS_BASELINES_FIXTURE_H */
