/** \file tests/support/problems.h
 * Problems for tests: by the names of their parts, put together op by op, or with costs that
 * are easy to add up. Whatever fails aborts the test with a sentence.
 *
 * | function            | graph                             | machine and costs               |
 * | ------------------- | --------------------------------- | ------------------------------- |
 * | task_create()       | a workload or a file              | all by name                     |
 * | task_chain()        | element-wise ops, one tensor size | k40x2, tf-r1.3                  |
 * | task_create_tiny()  | any, of ops as tiny_op says       | 10 ns on a GPU, 20 ns on a core |
 * | task_create_stated()| any, of ops that state costs      | uniform, one of the msr rules   |
 * | hand_graph_begin()  | any, of real op types, by name    | CPU and 2 GPUs, cost model      |
 */
#ifndef EMP_TESTS_SUPPORT_PROBLEMS_H
#define EMP_TESTS_SUPPORT_PROBLEMS_H

#include "sim/engine/sim.h"
#include "sim/explain/explain.h"
#include "sim/graph/graph_builder.h"
#include "sim/problem/problem.h"
#include "tests/support/survive.h"

/* Variables that release what they hold at the end of their block:
 *
 *     OWN_GRAPH g = kit_finish(b);
 *
 * One declares one variable a line, and gives it a value before the block can be left. */
EMP_OWNS(emp_graph, emp_graph_destroy)
EMP_OWNS(emp_machine, emp_machine_destroy)
EMP_OWNS(emp_problem, emp_problem_destroy)
EMP_OWNS(emp_sim, emp_sim_destroy)
EMP_OWNS(emp_explanation, emp_explain_destroy)

#define OWN_GRAPH       EMP_OWNER(emp_graph)
#define OWN_MACHINE     EMP_OWNER(emp_machine)
#define OWN_PROBLEM     EMP_OWNER(emp_problem)
#define OWN_SIM         EMP_OWNER(emp_sim)
#define OWN_EXPLANATION EMP_OWNER(emp_explanation)

/* ---- tasks ---- */

typedef struct {
    emp_graph_builder *builder; /**< between hand_graph_begin() and hand_graph_finish() */
    emp_graph         *graph;
    emp_machine       *machine;
    emp_problem       *problem;
    emp_device_id     *device_of_op; /**< all on device 0 if nothing else is said */
} task;

/** Releases everything and zeroes \a t. */
void task_destroy(task *t);
/** A task that is released at the end of its block. */
#define OWN_TASK SCOPED(task, task_destroy)

/* ---- by name ---- */

/** \a source: a spec, or the path of a graph file. */
void task_create(task *t, const char *source, const char *machine, const char *runtime);

enum { CHAIN_OPS = 4 };
/** A placeholder of so many floats, then CHAIN_OPS element-wise ops. With a big tensor it fits
 * the CPU of k40x2 but none of its GPUs. */
task task_chain(int64_t elements);

/* ---- with exact times ---- */

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

/** Everything off: list scheduling. */
emp_runtime tiny_list_scheduling(void);
/** Everything on: issue of 3, send 2, receive 4, poll 7, step 100 ns. */
emp_runtime tiny_serial(void);

/** Small enough to compute by hand. The machine: cpu:0 with 4 cores, gpu:0 (device 1), gpu:1
 * (device 2); every GPU has a link in and a link out, 1 byte per ns after 5 ns. Every op makes
 * one tensor of 256 bytes, takes 10 ns on a GPU and 20 ns on one core. */
void task_create_tiny(task *t, const tiny_op *ops, int op_count,
                      const emp_runtime *runtime);

/** Ops as a text, with semicolons between: a device, and behind it
 *
 *     <0,2  inputs     !1  the op it waits for     *5  weight     |4  lanes
 *     k kernelless     a alias     p in place     h on the host     v variable     f folded
 *
 * "1*5; 1; 2<1!0" is a long op and a short one on gpu:0, and one on gpu:1 that reads the second and
 * waits for the first. Returns how many. */
int tiny_parse(tiny_op *ops, const char *text);
/** The problem of such a text. */
void task_create_ops(task *t, const char *text, const emp_runtime *runtime);

/** Before a simulator is made: lets the machine of a tiny problem be two hosts, cpu:0 with
 * gpu:0 (device 1), and cpu:1 (device 2) with gpu:1 and gpu:2 (devices 3 and 4). Each host has
 * a link to the network and one from it, half a byte per ns after 10 ns. */
void task_split_hosts(task *t);

/* ---- with stated costs ---- */

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

/** \a runtime: one of the msr profiles. */
void task_create_stated(task *t, const stated_op *ops, int32_t op_count,
                        const stated_edge *edges, int32_t edge_count, int32_t cpu_count,
                        int32_t gpu_count, int64_t gpu_bytes, const char *runtime);

/* ---- op by op ---- */

/** An empty graph, and a CPU and two GPUs. */
void hand_graph_begin(task *t);

/** Inputs are the first outputs of ops that exist. A result without one is a tensor of (8,16), of
 * (16,16) if it is a variable, or of (3,3,3,3) if its name ends in "image". */
emp_op_id hand_graph_add(task *t, const char *name, const char *type,
                         const emp_op_id *inputs, int32_t count);

/** An op of one input; -1: of none. */
emp_op_id hand_graph_op(task *t, const char *name, const char *type, emp_op_id input);

/** The last op is the step's target. */
void hand_graph_finish(task *t);

/** A stem of layers on one input: layer i is
 *
 *     product = MatMul(relu of layer i-1, read of variable w_i), relu
 */
void hand_graph_layers(task *t, int32_t layers);
/** Layers that each have a reader = Relu(relu), so that by the rules of colocation each layer
 * is a group and each reader is one. */
void hand_graph_comb(task *t, int32_t layers);

/* ---- what a task gives ---- */

/** A simulator of the problem, which the caller destroys. */
emp_sim *task_sim(const task *t);
/** The step of a placement. */
emp_sim_result problem_step(const emp_problem   *problem,
                            const emp_device_id *device_of_op);
/** The step with all ops on one device, but for those that cannot be there. */
emp_sim_result problem_step_on(const emp_problem *problem, emp_device_id device);
/** The step of the task's placement; \a trace may be NULL. */
emp_sim_result task_run(const task *t);
emp_sim_result task_trace(const task *t, const emp_sim_trace *trace);
/** Likewise explained; the caller destroys it. */
emp_explanation *task_explain(const task *t);

/** Expects of a decision what the textbook simulator says, by runs that are specialised for a
 * profile and by traced ones, which also have a fingerprint. */
void task_expect_textbook(const task *t, emp_sim *sim, const emp_decision *decision,
                          int number);

/* ---- parts ---- */

/** A CPU of 4 cores or a GPU that does 10^12 FLOP/s, "cpu:0" or "gpu:<number>". */
emp_device task_device(emp_device_kind kind, int32_t number);
/** A CPU and so many GPUs; any two exchange data at the same speed, over no link. */
emp_machine *task_machine(int32_t gpu_count, double bytes_per_s, double latency_s);
/** The problem, once there are graph and machine. */
void task_pose(task *t, const emp_runtime *runtime, const char *workload);
/** Room for times on all cores, to be filled in: those of op i begin at i x cores. */
void task_make_room(task *t);
/** Gives each device a column of costs of its own, with the times of the first of its kind and room
 * as task_make_room() makes it: row r begins at r x cores of the first CPU. */
void task_split_columns(task *t);

#endif /* EMP_TESTS_SUPPORT_PROBLEMS_H */
