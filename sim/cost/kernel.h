/** \file sim/cost/kernel.h
 * The time of one kernel on a device model, in a number format: from the model's table where it
 * has one (sim/machine/tables/tables.h), else by formula. No time has the host's launch in it.
 *
 * Formula of a product: as in sim/cost/cost.h, with per_wave times the peak of fp32 over the peak
 * of the format, and tiles with no more rows than the product needs (at least 8) if the model knows formats. The time of attention: kernel_minimum, and the longer of flops / (0.8 peak) and bytes /
 * stream; flops are 4 length^2 / 2 a head of a context, 4 length a head of a decoded token, times
 * the size of heads. Beyond a table's greatest size the time goes on as in its last cell. No time by a table of products or
 * attention is less than flops / peak, nor less than bytes / stream where the bytes are more than any cache holds.
 */
#ifndef EMP_SIM_COST_KERNEL_H
#define EMP_SIM_COST_KERNEL_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

/** Where a time comes from. */
typedef enum {
    EMP_FORM_TABLE,
    EMP_FORM_BEYOND, /**< a table, beyond its greatest or below its least size */
    EMP_FORM_FORMULA,
    EMP_FORM_BOUND, /**< what bytes or FLOPs take at the stream rate or the peak, longer than table or formula */
    EMP_FORM_LIKE   /**< the table of another collective, by the bytes that GPUs send */
} emp_form;

/** "table", "beyond", "formula", "bound", "like" */
const char *emp_form_name(emp_form form);

/** A kernel of each kind. All sizes are above zero. */
typedef struct {
    emp_format format;
    double     m, n, k;
    double     batch; /**< products of these sizes at once; 0 = 1 */
} emp_product;

typedef struct {
    emp_phase  phase;
    emp_format format;
    double     length, kv_heads, group; /**< as in the table */
    double     head_size;               /**< times are in proportion to it */
} emp_attention;

typedef struct {
    emp_collective op;
    emp_format     format;
    double         gpus, bytes;
} emp_exchange;

/** Whether the model says anything of formats; the K40's and others of its age do not. */
bool emp_has_formats(const emp_device *gpu);

/** Seconds of a product on a GPU; the formula of sim/cost/cost.h, without the bound by bytes. */
double emp_cost_gemm_s(const emp_device *gpu, int64_t m, int64_t n, int64_t k,
                       int64_t batch, bool is_conv);

/** Seconds of a product C[m,n] = A[m,k] B[k,n] on a GPU.
 * \retval EMP_EUNSUPPORTED  The model has neither table nor peak of the format. */
emp_status emp_product_time(double *seconds, emp_form *form, const emp_device *gpu,
                            const emp_product *product, emp_error *err);

/** Seconds of the forward pass of attention. \retval EMP_EUNSUPPORTED  Likewise. */
emp_status emp_attention_time(double *seconds, emp_form *form, const emp_device *gpu,
                              const emp_attention *attention, emp_error *err);

/** Seconds of a collective in one host. fp16 and bf16 are the same, as are fp8 and int8. Without a table
 * of its own it takes what another collective takes, times the bytes that each GPU sends: an
 * all-reduce is a reduce-scatter and an all-gather, and sends twice as many as any other.
 * \retval EMP_EUNSUPPORTED  The model has no table of collectives, or the table not that many GPUs. */
emp_status emp_exchange_time(double *seconds, emp_form *form, const emp_device *gpu,
                             const emp_exchange *exchange, emp_error *err);

/** Whether the model's measured collectives hold among so many GPUs whose slowest route has that rate. They do not where
 * that is far below the rate of the measured all-to-all: the GPUs lack the switch that joined the measured ones.
 * true: there is no table. O(log points). */
bool emp_exchange_counts(const emp_device *gpu, int32_t gpus, double bytes_per_s);

/* The time of a collective on a machine.
 *
 * A rank on a GPU takes what the table of its device model says, where that has so
 * many GPUs and emp_exchange_counts() on the machine's routes. Else it is a ring over the slowest route between two GPUs, or
 * between the only GPU and the host. If one host has as many GPUs as there are ranks, routes between hosts do not count; where
 * each pair of GPUs in a host has links of its own, the rate is ranks - 1 times that of one:
 *
 *     t = rounds (bytes / ranks / rate + latency)
 *
 * with 2 (ranks - 1) rounds of an all-reduce, and ranks - 1 of any other: each rank sends a part on in
 * each round (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009). A rank on a CPU is
 * such a ring over the slowest route between two devices, or at the rate of one core if the machine
 * has none. The times of half precision in a table count. */

/** Seconds that a rank on \a device takes once all ranks are ready; 0 with one rank, and without bytes.
 * O(devices squared). */
double emp_collective_s(const emp_collective_part *part, const emp_machine *machine,
                        const emp_device *device);

/* The time of an op's product on a GPU of today: by its model's table, or by the formula with the
 * rate of the number format.
 *
 * The format is the op's first output's, or its operands' where those have fewer bytes: tensor cores multiply bf16 or
 * int8 and sum up in fp32 or int32 (PTX ISA 8.5, section 9.7.14). fp32 counts as what the runtime computes it in
 * (emp_runtime_events), if the model knows it. A batch of products takes the table's
 * time of one product with so many times the rows. A convolution is the product that it comes to.
 * Tables measure products whose matrices have the format they are computed in. Quantised weights have
 * fewer bytes: with few rows the time falls in proportion to them, down to the time of the arithmetic.
 * Attention takes what the table says of its lengths and heads, times its arithmetic over
 * the measured kernel's: so the backward pass takes 2.5 times as long, and one without a causal mask
 * twice. */

/** Seconds of a product, convolution or attention, without its algorithm's factor and without the
 * bound by bytes. \param fp32_as  What products of fp32 are computed in. O(log points). */
double emp_format_product_s(const emp_graph *graph, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as);

/** The GPU's peak in the format that it computes the op in, in FLOP/s; of a model without formats its only peak.
 * \param fp32_as  What products of fp32 are computed in. */
double emp_format_peak_flops_per_s(const emp_graph *graph, emp_op_id op,
                                   const emp_device *gpu, emp_format fp32_as);

#endif /* EMP_SIM_COST_KERNEL_H */
