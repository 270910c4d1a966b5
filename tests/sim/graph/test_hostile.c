// SPDX-License-Identifier: GPL-3.0-or-later
/* Any shape, value and attribute may stand in a file. Every op type is tried with random
 * ones, among them the extremes; run under the sanitizers, no arithmetic may overflow,
 * and what comes out must be in range. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/sim/graph/kit.h"

enum { ROUNDS = 40, MAX_INPUTS = 12 };

static int64_t random_number(emp_rng *rng)
{
    static const int64_t extremes[] = {
        0,  1,  2,         3,         INT64_MAX,        INT64_MIN,
        -1, -2, INT32_MAX, INT32_MIN, INT64_C(1) << 62, INT64_C(1) << 31};

    if (emp_rng_below(rng, 2) == 0) return (int64_t)emp_rng_below(rng, 5);
    return extremes[emp_rng_below(rng, sizeof extremes / sizeof extremes[0])];
}

static int32_t random_int32(emp_rng *rng)
{
    int64_t number = random_number(rng);

    return number > INT32_MAX   ? INT32_MAX
           : number < INT32_MIN ? INT32_MIN
                                : (int32_t)number;
}

static emp_shape random_shape(emp_rng *rng)
{
    emp_shape shape = {.rank = (int32_t)emp_rng_below(rng, EMP_MAX_RANK + 2) - 1};

    for (int32_t d = 0; d < shape.rank; d++) shape.dim[d] = random_number(rng);
    return shape;
}

static emp_op_attrs random_attrs(emp_rng *rng)
{
    static const emp_dtype dtypes[] = {EMP_DTYPE_NONE,  EMP_DTYPE_FLOAT,  EMP_DTYPE_INT32,
                                       EMP_DTYPE_INT64, EMP_DTYPE_STRING, (emp_dtype)77};
    emp_op_attrs           attrs = {.transpose_a = emp_rng_below(rng, 2),
                                    .transpose_b = emp_rng_below(rng, 2),
                                    .padding_is_same = emp_rng_below(rng, 2),
                                    .is_nchw = emp_rng_below(rng, 2),
                                    .keep_dims = emp_rng_below(rng, 2),
                                    .axis = random_int32(rng),
                                    .count = random_int32(rng),
                                    .num_sampled = random_int32(rng),
                                    .squeeze_dims = emp_rng_below(rng, 4) ? 0 : emp_rng_u32(rng),
                                    .begin_mask = emp_rng_u32(rng),
                                    .end_mask = emp_rng_u32(rng),
                                    .ellipsis_mask = emp_rng_below(rng, 2) ? 0 : emp_rng_u32(rng),
                                    .new_axis_mask = emp_rng_below(rng, 2) ? 0 : emp_rng_u32(rng),
                                    .shrink_axis_mask =
                              emp_rng_below(rng, 2) ? 0 : emp_rng_u32(rng),
                                    .dtype = dtypes[emp_rng_below(rng, 6)],
                                    .shape = random_shape(rng),
                                    .has_shape = true};

    for (int i = 0; i < 4; i++) {
        attrs.strides[i] = random_int32(rng);
        attrs.ksize[i] = random_int32(rng);
    }
    return attrs;
}

/* A constant vector or scalar of integers, or a tensor of any shape. */
static emp_port random_source(emp_graph_builder *b, emp_rng *rng, int32_t index)
{
    emp_op_attrs attrs = random_attrs(rng);
    emp_op_id    op = -1;
    int64_t      value[EMP_MAX_RANK + 2];
    char         name[16];
    const char  *type = emp_rng_below(rng, 5) ? "Placeholder" : "VariableV2";

    attrs.dtype = emp_rng_below(rng, 2) ? EMP_DTYPE_FLOAT : EMP_DTYPE_INT32;
    if (emp_rng_below(rng, 2)) {
        type = "Const";
        attrs.dtype = EMP_DTYPE_INT32;
        attrs.value = value;
        attrs.value_count = (int32_t)emp_rng_below(rng, EMP_MAX_RANK + 3);
        attrs.shape = attrs.value_count == 1 && emp_rng_below(rng, 2)
                          ? EMP_SHAPE_SCALAR
                          : EMP_SHAPE(attrs.value_count);
        for (int32_t i = 0; i < attrs.value_count; i++) value[i] = random_number(rng);
    }
    snprintf(name, sizeof name, "in%d", index);
    cr_assert_eq(
        emp_graph_builder_add(b, name, type, &attrs, NULL, 0, NULL, 0, &op, NULL),
        EMP_OK);
    return (emp_port){op, 0};
}

static void check_facts(const emp_graph *g, const char *type)
{
    for (int32_t t = 0; t < g->tensor_count; t++) {
        const emp_shape *shape = g->tensor[t].shape;
        cr_assert(shape->rank >= -1 && shape->rank <= EMP_MAX_RANK, "%s", type);
        for (int32_t d = 0; d < shape->rank; d++)
            cr_assert_geq(shape->dim[d], -1, "%s", type);
        cr_assert_geq(g->tensor[t].bytes, 0, "%s", type);
        cr_assert_geq(g->tensor[t].copy_bytes, g->tensor[t].bytes, "%s", type);
    }
    for (emp_op_id v = 0; v < g->op_count; v++) {
        const emp_op_cost *cost = g->op[v].cost;
        cr_assert(isfinite(cost->flops) && cost->flops >= 0, "%s: %g FLOP", type,
                  cost->flops);
        cr_assert(isfinite(cost->cpu_cycles) && cost->cpu_cycles >= 0, "%s", type);
        cr_assert(cost->bytes_read >= 0 && cost->bytes_written >= 0, "%s", type);
        cr_assert(cost->workspace_bytes >= 0 && g->op[v].persistent_bytes >= 0, "%s",
                  type);
        cr_assert(cost->m >= 0 && cost->n >= 0 && cost->k >= 0 && cost->batch >= 0, "%s",
                  type);
        cr_assert(cost->kernels >= 0, "%s", type);
    }
}

/* The type once with inputs known at once (a refusal is fine), once declared. */
static void try_type(const char *type, emp_rng *rng)
{
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    emp_port           input[MAX_INPUTS];
    emp_op_id          op, declared;
    emp_op_attrs       attrs = random_attrs(rng);
    emp_shape outputs[3] = {random_shape(rng), random_shape(rng), random_shape(rng)};
    int32_t   count = (int32_t)emp_rng_below(rng, MAX_INPUTS + 1);

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    for (int32_t i = 0; i < count; i++) input[i] = random_source(b, rng, i);
    emp_graph_builder_add(b, "added", type, &attrs, input, count, NULL, 0, &op, NULL);
    cr_assert_eq(emp_graph_builder_declare(b, "declared", 8, type, strlen(type), &attrs,
                                           emp_rng_below(rng, 2) ? outputs : NULL, 3,
                                           &declared, NULL),
                 EMP_OK);
    for (int32_t i = 0; i < count; i++)
        cr_assert_eq(emp_graph_builder_connect(b, input[i], declared, NULL), EMP_OK);
    if (emp_graph_builder_finish(b, &g, NULL) == EMP_OK) check_facts(g, type);
    emp_graph_destroy(g);
    emp_graph_builder_destroy(b);
}

Test(hostile, inputs_of_every_op_type_are_survived)
{
    int32_t            count;
    const emp_op_type *table = emp_op_type_table(&count);

    for (int32_t t = 0; t < count; t++) {
        for (uint32_t round = 0; round < ROUNDS; round++) {
            emp_rng rng;
            emp_rng_init(&rng, 7, (uint32_t)t, round);
            try_type(table[t].name, &rng);
        }
        cr_assert_eq(emp_mem_live_blocks(), 0, "%s leaks", table[t].name);
    }
}

/* Totals saturate too. */
Test(hostile, sizes_beyond_64_bits_saturate)
{
    emp_graph_builder *b = NULL;

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    emp_port w = kit_tensor(b, "w", "&f[4611686018427387904,4611686018427387904]");
    emp_port v = kit_tensor(b, "v", "&f[4611686018427387904,4]");
    kit_op(b, "sum", "AddN", NULL, 2, w, w);
    kit_op(b, "product", "MatMul", NULL, 2, w, v);
    emp_graph *g = kit_finish(b);
    cr_expect_eq(g->parameter_count, INT64_MAX);
    cr_expect_eq(g->parameter_bytes, INT64_MAX);
    cr_expect_eq(g->op[2].cost->bytes_read, INT64_MAX);
    cr_expect(isfinite(g->flops) && g->flops > 1e38);
    emp_graph_destroy(g);
}
