// SPDX-License-Identifier: GPL-3.0-or-later
/* Are ops of PyTorch and XLA the collectives that they are, with the ranks and bytes that their sizes
 * tell? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_builder.h"
#include "tests/support/expect.h"

static emp_op_id declare(emp_graph_builder *b, const char *name, const char *type,
                         int64_t elements)
{
    emp_op_attrs attrs = {
        .dtype = EMP_DTYPE_FLOAT, .has_shape = true, .shape = EMP_SHAPE(elements)};
    emp_op_id op = -1;

    cr_assert_eq(emp_graph_builder_declare(b, name, strlen(name), type, strlen(type),
                                           &attrs, &attrs.shape, 1, &op, NULL),
                 EMP_OK);
    emp_graph_builder_set_target(b, op);
    return op;
}

/* An op of a type that reads so many floats and makes so many. */
static emp_collective_part read_part(const char *type, int64_t in, int64_t out,
                                     const emp_collective_part *said)
{
    emp_graph_builder  *b = NULL;
    emp_graph          *whole = NULL, *step = NULL;
    emp_collective_part part = {0};

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    emp_op_id x = declare(b, "x", "Placeholder", in), y = declare(b, "y", type, out);
    cr_assert_eq(emp_graph_builder_connect(b, (emp_port){x, 0}, y, NULL), EMP_OK);
    if (said != NULL)
        cr_assert_eq(emp_graph_builder_set_collective(b, y, said, NULL), EMP_OK);
    ASSERT_OK(emp_graph_builder_finish(b, &whole, &err));
    ASSERT_OK(emp_graph_prune(&step, whole, &err));
    y = emp_graph_find(step, "y");
    if (step->collective != NULL) part = step->collective[y];
    cr_expect_eq(emp_graph_is_collective(step, y), part.ranks != 0);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
    emp_graph_builder_destroy(b);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return part;
}

static void expect_part(const char *type, int64_t in, int64_t out, emp_collective op,
                        int32_t ranks, int64_t floats)
{
    emp_collective_part part = read_part(type, in, out, NULL);

    cr_expect_eq(part.op, op, "%s", type);
    cr_expect_eq(part.ranks, ranks, "%s: %d ranks", type, part.ranks);
    cr_expect_eq(part.bytes, 4 * floats, "%s", type);
    cr_expect_eq(part.set, 0);
}

Test(collectives, sizes_tell_ranks_where_they_can)
{
    expect_part("_c10d_functional.all_reduce", 100, 100, EMP_COLLECTIVE_ALL_REDUCE,
                EMP_RANKS_ALL, 100);
    expect_part("_c10d_functional.all_gather_into_tensor", 100, 800,
                EMP_COLLECTIVE_ALL_GATHER, 8, 800);
    expect_part("_c10d_functional.reduce_scatter_tensor", 800, 100,
                EMP_COLLECTIVE_REDUCE_SCATTER, 8, 800);
    expect_part("_c10d_functional.all_to_all_single", 64, 64, EMP_COLLECTIVE_ALL_TO_ALL,
                EMP_RANKS_ALL, 64);
    expect_part("hlo.all-gather", 100, 250, EMP_COLLECTIVE_ALL_GATHER, EMP_RANKS_ALL,
                250);
    /* in place: it is given what it writes to, too */
    expect_part("c10d._reduce_scatter_base", 900, 100, EMP_COLLECTIVE_REDUCE_SCATTER, 8,
                800);
    expect_part("_c10d_functional.all_gather_into_tensor_out", 900, 800,
                EMP_COLLECTIVE_ALL_GATHER, 8, 800);
}

Test(collectives, other_types_are_none)
{
    cr_expect_eq(read_part("_c10d_functional.broadcast", 8, 8, NULL).ranks, 0);
    cr_expect_eq(read_part("Relu", 8, 8, NULL).ranks, 0);
}

Test(collectives, what_is_said_counts)
{
    const emp_collective_part said = {EMP_COLLECTIVE_ALL_REDUCE, 3, 7, 2};
    emp_collective_part       part = read_part("hlo.all-reduce", 8, 8, &said);

    cr_expect_eq(part.ranks, 3);
    cr_expect_eq(part.bytes, 7);
    cr_expect_eq(part.set, 2);
    cr_expect_eq(read_part("Relu", 8, 8, &said).ranks, 3);
}

Test(collectives, nonsense_is_refused)
{
    static const emp_collective_part bad[] = {{EMP_COLLECTIVE_ALL_REDUCE, 0, 8, 0},
                                              {EMP_COLLECTIVE_ALL_REDUCE, -2, 8, 0},
                                              {EMP_COLLECTIVE_ALL_REDUCE, 2, -1, 0},
                                              {EMP_COLLECTIVE_ALL_REDUCE, 2, 8, 2}};
    emp_graph_builder               *b = NULL;

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    emp_op_id x = declare(b, "x", "Placeholder", 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(emp_graph_builder_set_collective(b, x, &bad[i], NULL), EMP_EINVAL);
    EXPECT_REFUSED(emp_graph_builder_set_collective(b, 1, &bad[0], &err), EMP_EINVAL,
                   "as op 1");
    emp_graph_builder_destroy(b);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
