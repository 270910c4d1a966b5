/** \file sim/bounds/paths/model.h
 * What the bounds see of a problem: each op on each kind of device, and what an edge
 * between two kinds delays at least. Nothing here depends on a placement.
 *
 * An op on a GPU that a host thread drives is *told* when its issue ends (those who wait
 * for it go on) and *done* when all that is queued on its stream by then is. Everywhere
 * else both are the op's end.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_MODEL_H
#define EMP_SIM_BOUNDS_PATHS_MODEL_H

#include "base/mem.h"
#include "sim/bounds/paths/proof.h"
#include "sim/problem/problem.h"

enum { EMP_BOUND_THREAD, EMP_BOUND_STREAM, EMP_BOUND_CORES, EMP_BOUND_RESOURCES };

/** An op that is not folded. */
typedef struct {
    uint32_t    kinds;                    /**< EMP_KIND_ mask of where it may still be */
    emp_time_ns issue_ns;                 /**< on the host thread of a GPU */
    emp_time_ns run_ns[EMP_DEVICE_KINDS]; /**< on the fastest for it; GPU: its kernels */
    emp_time_ns core_ns;                  /**< core time that it takes at least */
    emp_time_ns gap_ns[EMP_DEVICE_KINDS]; /**< its device is idle after it */
    emp_time_ns result_ns;                /**< msr-latency: between a GPU and the host */
    int64_t     bytes[EMP_DEVICE_KINDS];  /**< held for the whole step */
} emp_bound_op;

/** The facts about the head of an op on a GPU besides its edges (drain.h); 0 = nothing. */
typedef struct {
    emp_time_ns ready_ns, queued_ns;
} emp_bound_floor;

typedef struct {
    emp_time_ns fixed_ns;
    double      ns_per_byte;
} emp_bound_copy;

/** The kernels of `to` (without a host thread: all of it) start so long at least after those of `from` are done, both on
 * GPUs for sure: segment.c, drain.h. */
typedef struct {
    emp_op_id   from, to;
    emp_time_ns after_ns;
    bool        is_drain;
    int32_t     next_to, next_from; /**< the next link of the same end; -1 = none */
} emp_bound_link;

typedef struct {
    emp_bound_link *link;
    int32_t         count, capacity;
    int32_t        *to, *from; /**< [op] its first link; -1 = none */
} emp_bound_links;

/** The facts about an edge between an op on one kind of device and one on another. */
typedef struct {
    emp_time_ns after_told_ns; /**< the reader is ready no sooner than this after told */
    emp_time_ns after_done_ns; /**< likewise after done; -1 = that may come later */
    bool        is_in_order; /**< one stream: the reader's kernels come after all done */
} emp_bound_delay;

/** The facts about both ends besides their kinds. It is read only if both are GPUs. */
typedef enum { EMP_BOUND_ANY_TWO, EMP_BOUND_SAME, EMP_BOUND_APART } emp_bound_pair;

/** One for each pair of kinds, and two more for two GPUs. */
enum { EMP_BOUND_PAIRS = EMP_DEVICE_KINDS * EMP_DEVICE_KINDS };
enum { EMP_BOUND_WAYS = EMP_BOUND_PAIRS + 2 };

/** Later than any sum of two times. */
#define EMP_BOUND_FAR (2 * EMP_COST_LIMIT_NS)

/** The delays of an edge, by the way from its maker to its reader: see emp_bound_delay_of(). Edges alike share them, as
 * a graph has few sizes of tensors. */
typedef struct {
    emp_time_ns after_told_ns[EMP_BOUND_WAYS], after_done_ns[EMP_BOUND_WAYS];
    bool        is_in_order[EMP_BOUND_WAYS];
    bool        is_bound; /**< both ends are of one class */
    int32_t     number;   /**< 0, 1, ... of the model's delays */
    /** The same for EMP_BOUND_ANY_TWO, as numbers that are added: EMP_BOUND_FAR for pairs of kinds that a class rules out,
     * and less than nothing, -EMP_BOUND_FAR, after what may come later. In order, 0. */
    emp_time_ns told_ns[EMP_BOUND_PAIRS], done_ns[EMP_BOUND_PAIRS],
        order_ns[EMP_BOUND_PAIRS];
} emp_bound_delays;

/** An op waits for another. */
typedef struct {
    emp_op_id               from, to;
    emp_tensor_id           tensor; /**< that is read; -1 = a control edge */
    bool                    is_on_host, is_read_on_host; /**< if the op is on a GPU */
    bool                    is_bound;                    /**< both are of one class */
    const emp_bound_delays *delays;
} emp_bound_edge;

typedef struct {
    const emp_problem *problem;    /**< borrowed */
    bool               has_paths;  /**< a step follows edges at all (not msr-load) */
    bool               has_thread; /**< host threads issue the ops of GPUs */
    bool               any_order;  /**< who comes first need not be served first */
    emp_time_ns        step_ns;    /**< fixed cost of a step */
    emp_time_ns        send_ns;
    int32_t            count[EMP_DEVICE_KINDS];   /**< devices */
    double             unit[EMP_BOUND_RESOURCES]; /**< of one device: 1, or its cores */
    double             capacity[EMP_BOUND_RESOURCES];  /**< of all devices */
    int64_t            memory_bytes[EMP_DEVICE_KINDS]; /**< of all; -1 = endless */
    int64_t            most_bytes[EMP_DEVICE_KINDS];   /**< of the largest; likewise */
    emp_bound_copy copy[EMP_DEVICE_KINDS][EMP_DEVICE_KINDS]; /**< fastest, by memories */
    emp_time_ns    message_ns[EMP_DEVICE_KINDS][EMP_DEVICE_KINDS];
    emp_bound_op  *op;      /**< [op] */
    emp_bound_floor *floor; /**< [op] */
    emp_bound_links *links;
    emp_proof       *proof;       /**< borrowed; NULL: steps are not kept */
    int64_t         *edge_offset; /**< [op + 1] */
    /** Op v's from edge_offset[v] to before edge_offset[v + 1]: inputs, then control inputs. Those
     * from folded ops are left out, and all if there are no paths. */
    emp_bound_edge    *edge;
    emp_bound_delays **delays; /**< [number] all that differ */
    int32_t            delays_count, delays_capacity;
    emp_arena          delays_room;
} emp_bound_model;

/** \param any_order  As of emp_bounds_compute(). \retval EMP_ENOMEM */
emp_status emp_bound_model_init(emp_bound_model *model, const emp_problem *problem,
                                bool any_order, emp_error *err);
void       emp_bound_model_clear(emp_bound_model *model);

/** None. \retval EMP_ENOMEM */
emp_status emp_bound_links_init(emp_bound_links **links, int32_t ops, emp_error *err);
void       emp_bound_links_clear(emp_bound_links *links); /**< NULL is legal */

/** \retval EMP_ENOMEM */
emp_status emp_bound_link_ops(emp_bound_links *links, emp_bound_link link,
                              emp_error *err);

/** Edges to an op are those from here to before emp_bound_first_edge(model, op + 1). */
static inline const emp_bound_edge *emp_bound_first_edge(const emp_bound_model *model,
                                                         emp_op_id              op)
{
    return model->edge + model->edge_offset[op];
}

static inline bool emp_bound_is_control(const emp_bound_edge *edge)
{
    return edge->tensor < 0;
}

static inline int32_t emp_bound_way(int32_t from, int32_t to, emp_bound_pair pair)
{
    const bool are_gpus = from == EMP_DEVICE_GPU && to == EMP_DEVICE_GPU;

    return EMP_DEVICE_KINDS * from + to + (are_gpus ? (int32_t)pair : 0);
}

/** \param from, to  Kinds of device. */
static inline emp_bound_delay emp_bound_delay_of(const emp_bound_edge *edge, int32_t from,
                                                 int32_t to, emp_bound_pair pair)
{
    const emp_bound_delays *d = edge->delays;
    const int32_t           way = emp_bound_way(from, to, pair);

    return (emp_bound_delay){d->after_told_ns[way], d->after_done_ns[way],
                             d->is_in_order[way]};
}

/** Whether the op may be on that kind. */
static inline bool emp_bound_may(const emp_bound_op *op, int32_t kind)
{
    return op->kinds >> kind & 1u;
}

/** Whether it is on a GPU for sure. */
static inline bool emp_bound_is_on_gpu(const emp_bound_model *model, emp_op_id op)
{
    return model->op[op].kinds == EMP_KIND_GPU;
}

/** Times stay below EMP_COST_LIMIT_NS, so that sums of two do not overflow; to cut one
 * makes a bound lower. */
static inline emp_time_ns emp_bound_add(emp_time_ns a, emp_time_ns b)
{
    return a + b < EMP_COST_LIMIT_NS ? a + b : EMP_COST_LIMIT_NS;
}

#endif /* EMP_SIM_BOUNDS_PATHS_MODEL_H */
