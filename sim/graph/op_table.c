// SPDX-License-Identifier: GPL-3.0-or-later
// The one table of op types, in the order of their names.
//
// Sources: kernel registrations of TensorFlow r1.3 (which device, which element types,
// which operands in host memory), Eigen's functor costs with AVX and FMA (cycles per
// element).
#include "sim/graph/op_internal.h"

#define BIT(dtype) (1U << EMP_DTYPE_##dtype)
#define FLOATS     (BIT(HALF) | BIT(FLOAT) | BIT(DOUBLE))
#define COMPLEX    (FLOATS | BIT(COMPLEX64))
#define NUMBERS    (COMPLEX | BIT(INT64) | BIT(UINT8) | BIT(INT8) | BIT(INT16) | BIT(UINT16))

/* Columns; those left out are 0. */
#define FLAGS(flag_bits) .flags = (flag_bits)
#define CPU_ONLY         .kinds = EMP_KIND_CPU
#define ANY              .kinds = EMP_KIND_CPU | EMP_KIND_GPU
#define GPU(dtypes)      .kinds = EMP_KIND_CPU | EMP_KIND_GPU, .gpu_dtypes = (dtypes)
#define HOST_IN(mask)    .host_input_mask = (mask)
#define HOST_OUT(mask)   .host_output_mask = (mask)
#define TAKES(count)     .min_inputs = (count)
#define REFS(count)      .ref_inputs = (count)
#define RATE(per_element, cycles_per_element) \
    .rates = {.flops = (per_element), .cycles = (cycles_per_element)}
#define KERNELS(per_element, cycles_per_element, count) \
    .rates = {.flops = (per_element), .cycles = (cycles_per_element), .kernels = (count)}
#define UPDATE(per_element, cycles_per_element, count, read, written) \
    .rates = {.flops = (per_element),                                 \
              .cycles = (cycles_per_element),                         \
              .kernels = (count),                                     \
              .reads = (read),                                        \
              .writes = (written)}
#define RUN(name) .infer = emp_op_infer_##name
#define PAY(name) .cost = emp_op_cost_##name

/* Sets of flags. */
#define ALIAS      EMP_OP_ALIASES_INPUT
#define MAY_ALIAS  EMP_OP_MAY_ALIAS
#define IN_PLACE   EMP_OP_IN_PLACE
#define STATEFUL   EMP_OP_STATEFUL
#define INT32_HOST EMP_OP_INT32_ON_HOST
#define OPTIMIZER  (EMP_OP_UPDATES_REF | EMP_OP_IS_OPTIMIZER)

/* clang-format off */
static const emp_op_type table[] = {
    {"Add", FLAGS(IN_PLACE | INT32_HOST), GPU(NUMBERS), TAKES(2), RATE(1, 1), RUN(add), PAY(elementwise)},
    {"AddN", FLAGS(IN_PLACE | MAY_ALIAS | INT32_HOST), GPU(COMPLEX), TAKES(1), RATE(1, 1), RUN(add_n), PAY(add_n)},
    {"ApplyGradientDescent", FLAGS(OPTIMIZER), GPU(FLOATS), TAKES(3), REFS(1), UPDATE(2, 2, 1, 2, 1), RUN(update), PAY(optimizer)},
    {"Assign", FLAGS(EMP_OP_UPDATES_REF), GPU(FLOATS), TAKES(2), REFS(1), UPDATE(0, 1, 1, 1, 1), RUN(assign), PAY(optimizer)},
    {"BroadcastGradientArgs", ANY, HOST_IN(3), HOST_OUT(3), TAKES(2), RUN(broadcast_gradient_args), PAY(free_)},
    {"Const", FLAGS(EMP_OP_IS_CONST), ANY, RUN(constant), PAY(free_)},
    {"Identity", FLAGS(ALIAS), ANY, TAKES(1), RUN(pass), PAY(free_)},
    {"MatMul", GPU(COMPLEX), TAKES(2), RUN(mat_mul), PAY(mat_mul)},
    {"Mul", FLAGS(IN_PLACE | INT32_HOST), GPU(NUMBERS), TAKES(2), RATE(1, 1), RUN(mul), PAY(elementwise)},
    {"NoOp", ANY, RUN(nothing), PAY(free_)},
    {"Placeholder", FLAGS(STATEFUL), ANY, RUN(placeholder), PAY(free_)},
    {"Reshape", FLAGS(ALIAS), ANY, HOST_IN(2), TAKES(2), RUN(reshape), PAY(free_)},
    {"Sigmoid", FLAGS(IN_PLACE), GPU(COMPLEX), TAKES(1), RATE(1, 30), RUN(same), PAY(elementwise)},
    {"Sum", FLAGS(MAY_ALIAS | INT32_HOST), GPU(COMPLEX), HOST_IN(2), TAKES(2), RATE(1, 1), RUN(sum), PAY(reduce)},
    {"Tanh", FLAGS(IN_PLACE), GPU(COMPLEX), TAKES(1), RATE(1, 22), RUN(same), PAY(elementwise)},
    {"VariableV2", FLAGS(STATEFUL | EMP_OP_IS_VARIABLE), GPU(FLOATS), RUN(variable), PAY(free_)},
};
/* clang-format on */

const emp_op_type *emp_op_type_table(int32_t *count)
{
    *count = (int32_t)(sizeof table / sizeof table[0]);
    return table;
}
