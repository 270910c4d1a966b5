/** \file emplace/graph_builder.h
 * A graph made op by op, each with costs that the caller states.
 *
 *     emp_graph_builder *b = NULL;
 *     emp_stated_op      op = {.cost = {.gpu_ns = 1000000, .cpu_ns = 8000000, .copy_ns = -1,
 *                                       .colocation = -1},
 *                              .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
 *                              .held_bytes = 4096, .copy_bytes = 4096};
 *     emp_op_id          first, second;
 *     emp_graph_builder_create(&b, &err);
 *     emp_graph_builder_state(b, "first", "Work", &op, &first, &err);
 *     emp_graph_builder_state(b, "second", "Work", &op, &second, &err);
 *     emp_port           result = {first, 0};
 *     emp_graph_builder_connect(b, result, second, &err);
 *     emp_graph_builder_finish(b, &graph, &err);
 *     emp_graph_builder_destroy(b);
 *
 * Threads. A builder is confined to one thread at a time.
 */
#ifndef EMP_EMPLACE_GRAPH_BUILDER_H
#define EMP_EMPLACE_GRAPH_BUILDER_H

#include <emplace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Output \a index of an op under construction. An op with costs of its own has only output 0.
 * Frozen. */
typedef struct {
    emp_op_id op;
    int32_t   index;
} emp_port;

/** The costs of an op. Frozen. */
typedef struct {
    int64_t gpu_ns, cpu_ns; /**< time on a GPU and on a core of a CPU; from 0 */
    int64_t copy_ns;        /**< of its result between a GPU and host memory, one way;
                                 -1: as long as its bytes take on the machine, as under
                                 all runtimes but msr-latency, msr-load and edges */
    int32_t colocation;     /**< ops of one number share a device; -1 = none binds it */
} emp_stated_cost;

/** An op of which everything is stated. Frozen. */
typedef struct {
    emp_stated_cost cost;
    uint32_t        flags;            /**< 0; other values are the library's own */
    uint32_t        kinds;            /**< mask of EMP_KIND_CPU and EMP_KIND_GPU, not 0 */
    int64_t         persistent_bytes; /**< held on its device for the whole step */
    int64_t held_bytes; /**< memory of its result, from its start to its last reader */
    int64_t copy_bytes; /**< what a copy of the result carries */
} emp_stated_op;

typedef struct emp_graph_builder emp_graph_builder;

/** \param[out] out  The caller's, who destroys it. O(1). \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_graph_builder_create(emp_graph_builder **out, emp_error *err);

/** Adds an op with one output. Its type is a word for people. Both texts are copied. O(1).
 * \param[out] op  Its number: 0 for the first op, then 1, 2, ...
 * \retval EMP_EINVAL  The name is taken, a time or a size is negative, or \a kinds is no such mask.
 * \retval EMP_ENOMEM */
EMP_API emp_status emp_graph_builder_state(emp_graph_builder *b, const char *name,
                                           const char *type, const emp_stated_op *stated,
                                           emp_op_id *op, emp_error *err);

/** Lets \a consumer read the result of \a from. O(1) amortised.
 * \retval EMP_EINVAL  There is no such op. \retval EMP_ENOMEM */
EMP_API emp_status emp_graph_builder_connect(emp_graph_builder *b, emp_port from,
                                             emp_op_id consumer, emp_error *err);

/** Lets \a consumer wait for \a from. O(1) amortised.
 * \retval EMP_EINVAL  There is no such op. \retval EMP_ENOMEM */
EMP_API emp_status emp_graph_builder_add_control(emp_graph_builder *b, emp_op_id from,
                                                 emp_op_id consumer, emp_error *err);

/** Makes the graph, whose step runs all its ops. The builder is empty afterwards. O(V + E).
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \retval EMP_ECYCLE   The message names an op on the cycle.
 * \retval EMP_EFORMAT  An edge from an output that the op does not have.
 * \retval EMP_EINVAL, EMP_EUNSUPPORTED, EMP_ENOMEM */
EMP_API emp_status emp_graph_builder_finish(emp_graph_builder *b, emp_graph **out,
                                            emp_error *err);

/** NULL is allowed. */
EMP_API void emp_graph_builder_destroy(emp_graph_builder *b);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_GRAPH_BUILDER_H */
