/** \file sim/surrogate/surrogate_internal.h
 * The surrogate object: the graph as a sweep walks it, and one block of 16 placements.
 */
#ifndef EMP_SIM_SURROGATE_SURROGATE_INTERNAL_H
#define EMP_SIM_SURROGATE_SURROGATE_INTERNAL_H

#include "base/mem.h"
#include "sim/surrogate/surrogate.h"

enum { EMP_SURROGATE_LANES = 16 };
/** So many readers ahead the rows of one are fetched; arrays of readers have that many more. */
enum { EMP_SURROGATE_AHEAD = 12 };

#if defined(__x86_64__) && defined(__GNUC__)
#define EMP_SURROGATE_HAS_AVX512 1
#else
#define EMP_SURROGATE_HAS_AVX512 0
#endif

/** An op of the sweep. Its rows of tensors and followers end where the next op's begin. */
typedef struct {
    float   gpu_run_ns, gpu_kernels_ns; /**< holds a GPU for as long as it runs */
    float   cpu_hold_ns, cpu_run_ns;
    int32_t tensor;
    int32_t follower; /**< ops that wait for a control edge */
} emp_surrogate_op;

/** An op on one device; where GPUs differ. */
typedef struct {
    float *hold_ns; /**< [op][device] how long the device is taken */
    float *run_ns;
    float *kernels_ns; /**< of a GPU with a host thread; 0 of others */
} emp_surrogate_unlike;

/** An output that has a reader. */
typedef struct {
    float    copy_bytes;
    uint32_t home_mask; /**< & device of the op = the memory it lies in: 0 or all ones */
    int32_t  reader;    /**< where its row begins; it ends at the next tensor's */
} emp_surrogate_tensor;

typedef struct {
    int32_t  op;          /**< position in the sweep */
    uint32_t memory_mask; /**< & device of the op = the memory it reads in */
} emp_surrogate_reader;

struct emp_surrogate {
    const emp_problem   *problem;
    emp_surrogate_kernel kernel; /**< not FASTEST */
    int32_t              device_count, link_count;
    float                send_ns, arrive_ns, step_ns; /**< arrive: poll + receive */

    /* the sweep */
    int32_t               op_count; /**< live ops */
    emp_surrogate_op     *op;       /**< [op_count + 1] */
    emp_surrogate_unlike  unlike;   /**< instead of its costs; NULLs: GPUs are alike */
    emp_surrogate_tensor *tensor;   /**< [.. + 1] */
    emp_surrogate_reader *reader;   /**< rows rise */
    int32_t              *follower;
    emp_op_id            *order; /**< [op_count] ops of the graph */
    int32_t *position;         /**< [graph's op_count] in the sweep; op_count = folded */
    int32_t *number_of_tensor; /**< [graph's tensor_count] in tensor */

    /* routes: [from * device_count + to] */
    float    *latency_ns, *ns_per_byte;
    float    *message_ns;     /**< of a control edge; 0 on the diagonal */
    uint32_t *links_of_route; /**< bit set of the first 32 links */
    int32_t  *link_of_hop;    /**< [hop][from][to]; routes repeat their last link */
    int32_t   hop_count;      /**< of the longest route */

    /* state: [..][lane], or [..] in the scalar kernel, which does one lane at a time */
    uint8_t *device;   /**< [op_count + 1]; the last row is for folded ops */
    float   *ready_ns; /**< [op_count]; zero between sweeps */
    float   *free_ns;  /**< [device_count] */
    float   *queue_ns; /**< [device_count]; the CPU's stays 0 */
    float   *link_ns;  /**< [link_count] */

    emp_arrays arrays; /**< all of these */
};

/** \retval EMP_EINVAL  An entry of an op that is not folded is no device. */
static inline emp_status emp_surrogate_check(const emp_surrogate  *s,
                                             emp_device_id *const *placements,
                                             int32_t count, emp_error *err)
{
    for (int32_t k = 0; k < count; k++) {
        for (int32_t i = 0; i < s->op_count; i++) {
            emp_op_id     id = s->order[i];
            emp_device_id device = placements[k][id];
            if (device < 0 || device >= s->device_count) {
                return EMP_ERROR(EMP_EINVAL, "op '%s' is on device %d of 0..%d",
                                 s->problem->graph->name[id], device,
                                 s->device_count - 1);
            }
        }
    }
    return EMP_OK;
}

emp_status emp_surrogate_block_avx512(emp_surrogate *s, emp_device_id *const *placements,
                                      int32_t count, float step_ns[EMP_SURROGATE_LANES],
                                      emp_error *err);

#endif /* EMP_SIM_SURROGATE_SURROGATE_INTERNAL_H */
