/** \file sim/exact/relax.h
 * Whether a step can take at most a given time, if each colocation class is on one of some devices.
 *
 * The bounds of sim/bounds know kinds of device. Here the devices of some classes are known, so that copies between two
 * GPUs count, and what is on one GPU takes turns there. All rules are inequalities that every schedule satisfies; no
 * step is simulated:
 *
 *  - paths (docs/bounds.md, lemma 1) by device instead of kind: an edge between two GPUs has its copy, one within a GPU
 *    its stream;
 *  - turns: ops that are on one GPU for sure take its host thread, and its stream, one after the other, each between its
 *    head and its tail; the shortest preemptive schedule is no longer than theirs (Jackson, 1955). An op on that GPU
 *    starts behind all of them that it depends on (lemma 6), and likewise from the end;
 *  - copies: a copy from a GPU waits for all kernels that are queued there when it is requested (lemma 7), among them
 *    those of ops that are ready for sure by then;
 *  - work: ops that may be on some devices only share these (lemmas 2 and 4);
 *  - memory: variables of the classes that are on a device for sure fit there.
 */
#ifndef EMP_SIM_EXACT_RELAX_H
#define EMP_SIM_EXACT_RELAX_H

#include "base/mem.h"
#include "sim/bounds/paths/model.h"
#include "sim/bounds/paths/path.h"

enum { EMP_EXACT_DEVICES = 8 }; /**< no machine with more */

/** A turn on a device: its op starts no sooner, takes that long, and so much follows. */
typedef struct {
    emp_time_ns head_ns, work_ns, tail_ns;
} emp_turn;

/** Those of a resource of one device, sorted by when they may start, or from the end. */
typedef struct {
    int32_t      count;
    emp_op_id   *op;
    emp_time_ns *from_ns, *work_ns;
} emp_turns;

typedef struct {
    const emp_bound_model *model; /**< borrowed; its floors are those of all placements */
    int32_t                device_count, class_count;
    emp_bound_head (*head)[EMP_EXACT_DEVICES]; /**< [op] where it may be */
    emp_bound_tail (*tail)[EMP_EXACT_DEVICES];
    emp_turns turns[EMP_EXACT_DEVICES]
                   [2]; /**< [device][EMP_BOUND_THREAD or EMP_BOUND_STREAM] */
    uint64_t *before;   /**< [op][words] the ops that it depends on, a bit each */
    /** [op][words] the ops that are issued before a copy of what this op makes is sent, if they are on one GPU with it and
     * with all that they wait for; no bits where the rules do not have copies wait for kernels. */
    uint64_t    *beside;
    int32_t     *depth;    /**< [op] edges on the longest way to it */
    emp_op_id   *by_depth; /**< the ops that run */
    int32_t      run_count;
    bool        *is_local; /**< [op] fixed to a GPU, with all that it waits for */
    emp_time_ns *drained_ns,
        *sent_ns; /**< [op] on its GPU: the kernels that a copy waits for are done; it may be sent */
    emp_time_ns          *
        after_ns; /**< [op] from the end: when a copy begins that waits for the kernels of the op */
    int32_t      words;
    emp_turn    *turn;         /**< [op] room for those of one device */
    int32_t     *heap;         /**< [op] likewise */
    uint32_t    *first;        /**< [class] devices that it may be on before all */
    int64_t     *class_bytes;  /**< [class] variables */
    emp_time_ns *class_weight; /**< [class] work and copies, to branch on the heaviest */
    emp_arrays   arrays;
} emp_relax;

/** \param model  Kinds of ops are those of their classes. \retval EMP_ENOMEM */
emp_status emp_relax_init(emp_relax *relax, const emp_bound_model *model, emp_error *err);
void       emp_relax_clear(emp_relax *relax); /**< legal after a failed init */

/** Takes devices from classes that cannot be there in a step of at most \a target_ns, without the fixed cost of a step.
 * \param[in,out] devices  [class] masks; 0 for classes without ops that run.
 * \return false if there is no such step. O(rounds x (V + E) devices^2). */
bool emp_relax_propagate(emp_relax *relax, uint32_t *devices, emp_time_ns target_ns);

static inline int32_t emp_relax_kind(const emp_relax *relax, int32_t device)
{
    return (int32_t)relax->model->problem->machine->device[device].kind;
}

static inline bool emp_relax_is_gpu(const emp_relax *relax, int32_t device)
{
    return emp_relax_kind(relax, device) == EMP_DEVICE_GPU;
}

/** A mask; 0 = the op is folded. */
static inline uint32_t emp_relax_devices_of(const emp_relax *relax,
                                            const uint32_t *devices, emp_op_id op)
{
    const emp_op *o = &relax->model->problem->graph->op[op];

    return o->is_folded ? 0 : devices[o->colocation_class];
}

/** Whether the second depends on the first. */
static inline bool emp_relax_is_before(const emp_relax *relax, emp_op_id first,
                                       emp_op_id second)
{
    return relax->before[(size_t)second * (size_t)relax->words + (size_t)first / 64] >>
               ((uint32_t)first % 64u) &
           1u;
}

/** Finds all heads and tails. O((V + E) devices^2 + V^2 devices). */
void emp_relax_find_paths(emp_relax *relax, const uint32_t *devices);

#endif /* EMP_SIM_EXACT_RELAX_H */
