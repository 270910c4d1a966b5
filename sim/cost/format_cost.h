/** \file sim/cost/format_cost.h
 * The time of an op's product on a GPU of today: by its model's table, or by the formula with the
 * rate of the number format.
 *
 * The format is that of the op's first output; fp32 counts as what the runtime computes it in
 * (emp_runtime_events), if the model knows it. fp64 counts as fp32. Of a batch of products the table
 * says what one with so many times the rows takes. A convolution is the product that it comes to.
 * Tables measure products whose matrices have the format they are computed in. Quantised weights have
 * fewer bytes: with few rows the time falls in proportion to them, down to the time of the arithmetic.
 * Attention takes what the table says of its lengths and heads, times its arithmetic over that
 * of the measured kernel: so the backward pass takes 2.5 times as long, and one without a causal mask
 * twice.
 */
#ifndef EMP_SIM_COST_FORMAT_COST_H
#define EMP_SIM_COST_FORMAT_COST_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

/** Seconds of a product, convolution or attention, without its algorithm's factor and without the
 * bound by bytes. \param fp32_as  What products of fp32 are computed in. O(log points). */
double emp_format_product_s(const emp_graph *graph, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as);

#endif /* EMP_SIM_COST_FORMAT_COST_H */
