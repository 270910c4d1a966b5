/** \file sim/engine/plan.h
 * Compute buffers: a runtime with `plan_tokens` packs the activations of a step into one buffer for each
 * device before it runs anything, as ggml's graph allocator does for llama.cpp (ggml-alloc.c, and the splits of
 * ggml-backend.cpp). docs/simulator.md has the rules.
 *
 * A plan is made once for a graph: nodes in the order in which ggml runs them, and the tensors between them.
 * emp_plan_run() then packs them for a placement. Threads: a plan is confined to one.
 */
#ifndef EMP_SIM_ENGINE_PLAN_H
#define EMP_SIM_ENGINE_PLAN_H

#include "base/mem.h"
#include "sim/problem/problem.h"

enum {
    EMP_PLAN_IS_LOOSE =
        1, /* reads no weights: the nodes around it decide on its device */
    EMP_PLAN_IN_PLACE = 2, /* the output may take over the buffer of an input */
    EMP_PLAN_IS_NORM = 4,  /* loose unless all layers are on GPUs */
    EMP_PLAN_FREES_REST =
        8, /* inputs but the first are free before the output is there */
    EMP_PLAN_KEEPS_INPUT =
        16 /* the first input is an output of the graph, too, and stays */
};

/** A unit of work that runs at once; an op of the graph is none, one or several of them. */
typedef struct {
    emp_op_id op;                 /**< that it is, or is a part of */
    int32_t   input, input_end;   /**< in emp_plan.input */
    int32_t   output, output_end; /**< tensors */
    uint32_t  flags;
} emp_plan_node;

/** Free bytes of a buffer. */
typedef struct {
    int64_t offset, bytes;
} emp_plan_hole;

/** ggml refuses more holes than this. */
enum { EMP_PLAN_HOLES = 256 };

typedef struct {
    emp_plan_hole hole[EMP_PLAN_HOLES]; /**< by offset; the last has no end */
    int32_t       hole_count;
    int64_t       end;     /**< bytes that were in use at most */
    emp_op_id     peak_op; /**< that made them the most */
} emp_plan_buffer;

/** A tensor on one device: its home, or a copy. */
typedef struct {
    int32_t readers;        /**< that are still to run */
    bool is_there, is_sent; /**< sent: a copy that its part of the graph has begun with */
    bool is_pinned;         /**< never free, and never taken over */
    int64_t offset;
} emp_plan_place;

typedef struct {
    const emp_problem *problem;
    emp_arrays         arrays;
    int32_t            node_count, tensor_count, input_count;
    int32_t leaf_count; /**< the first tensors are inputs of the graph, on the host */
    emp_device_id  host;
    emp_plan_node *node;
    int32_t       *input; /**< tensors */
    int64_t       *bytes; /**< [tensor] */

    /* of the run */
    emp_device_id   *device; /**< [node] */
    emp_device_id   *home;   /**< [tensor] */
    emp_plan_place  *place;  /**< [tensor * device_count + device] */
    emp_plan_buffer *buffer; /**< [device] */
    int32_t          copies; /**< of each input of a device */
} emp_plan;

/** Makes the plan of a problem whose runtime has plan_tokens. O(V + E) and some memory for each tensor and device. */
emp_status emp_plan_create(emp_plan **out, const emp_problem *problem, emp_error *err);
/** NULL is allowed. */
void emp_plan_destroy(emp_plan *plan);

/** Packs the activations under a placement: afterwards buffer[d] has the bytes of each device. O(V + E), and
 * the holes for each tensor. */
void emp_plan_run(emp_plan *plan, const emp_device_id *device_of_op);

#endif /* EMP_SIM_ENGINE_PLAN_H */
