/** \file sim/cost/transfer.h
 * Times of kernels that were measured on one GPU, scaled to another.
 *
 *     time on B = time on A x model of the kernel on B / model of the kernel on A
 *
 * The models:
 *
 *     product, convolution   emp_product_time() of its sizes (kernel.h)
 *     attention              kernel_minimum + waves x tiles of keys x the time of a tile: a block has 128 queries of
 *                            a head, a wave one block for each multiprocessor, a tile 64 keys. A tile takes
 *                            4 x 128 x 64 x head size FLOPs at the multiprocessor's share of what attention reaches
 *                            with long sequences (`reached` of the model's file; else a third of the peak, as
 *                            FlashAttention 2 on an H100). The backward pass has 2.5 times the FLOPs.
 *     norm, other bytes      kernel_minimum + bytes / rate of copies
 *     unknown                the bytes that its time beyond kernel_minimum moves at A's rate
 *     copy over the link     the ratio of the buses' rates
 *     collective             stays as it was: its time is that of its ranks and links
 *
 * A kernel that takes the time of its bytes, and that took longer than its model, is slower than the memory for
 * a reason of its own; its excess is scaled only by the ratio of the rates, so that a longer kernel_minimum does
 * not multiply it.
 *
 * The interval: what A's time had beyond A's model is a property of the kernel, or of A's library. The
 * first gives the time above, the second B's model itself. The interval has both, and is widened by
 * the errors of the two models, EMP_TRANSFER_*.
 */
#ifndef EMP_SIM_COST_TRANSFER_H
#define EMP_SIM_COST_TRANSFER_H

#include "sim/cost/cost.h"

/** Mean absolute logarithms of measured over modelled times: of products by tables (scripts/device-tables
 * --check), by formulas with measured constants (data/machines/models/mi300x.yaml), and by constants
 * that follow from data sheets (the same measurements with those). The others are assumed. */
#define EMP_TRANSFER_TABLE   0.08
#define EMP_TRANSFER_FORMULA 0.16
#define EMP_TRANSFER_DERIVED 0.5
#define EMP_TRANSFER_BYTES   0.15
#define EMP_TRANSFER_OTHER   0.3

typedef struct {
    double seconds, least_s, most_s;
} emp_transfer_time;

/** The time of a kernel on \a to that took kernel_ns on \a from. Two GPUs of the same constants have the same time. */
emp_transfer_time emp_transfer_kernel(const emp_traced_kernel *kernel,
                                      const emp_device *from, const emp_device *to);

/** All kernels of a kind on one device model. */
typedef struct {
    int32_t           count;
    double            measured_s;
    emp_transfer_time time;
} emp_transfer_sum;

/** The outcome for a trace's kernels: a column for each column of GPUs in the cost table. */
typedef struct {
    const char      *from; /**< the measured model; borrowed */
    int32_t          column_count;
    const char      *model[EMP_MAX_DEVICES]; /**< [column] borrowed from the machine */
    emp_transfer_sum sum[EMP_MAX_DEVICES][EMP_TRACED_KINDS];
} emp_transfer;

/** "product", "convolution", ... */
const char *emp_traced_kernel_name(emp_traced_kernel_kind kind);

/** The sum over all kinds. */
emp_transfer_sum emp_transfer_total(const emp_transfer *transfer, int32_t column);

/** Gives the kernels of a traced graph their times on the machine's GPUs. An op's time to dispatch
 * its kernel stays; so do waits and the host's work.
 * \param name  Of the model that the trace is of; borrowed by \a out.
 * \param from  A GPU of that model.
 * \retval EMP_EINVAL  The graph is no trace with kernels. */
emp_status emp_transfer_apply(emp_transfer *out, emp_cost_table *table,
                              const emp_graph *graph, const emp_machine *machine,
                              const char *name, const emp_device *from, emp_error *err);

#endif /* EMP_SIM_COST_TRANSFER_H */
