// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the graphs of the benchmark and their placements as described? */
#include "bench/speed/synthetic.h"
#include "tests/support/survive.h"

Test(synthetic, has_the_size_and_degree_that_were_asked_for)
{
    static const int32_t sizes[] = {2, 7, 64, 1000, 10000, 82944};

    for (int32_t i = 0; i < 6; i++) {
        emp_graph *g = NULL;
        ASSERT_OK(emp_synthetic_graph(&g, sizes[i], 1, NULL));
        cr_expect_eq(g->op_count, sizes[i]);
        cr_expect_eq(g->tensor_count, sizes[i]);
        double degree = (double)g->edge_count / g->op_count;
        if (sizes[i] >= 10000) cr_expect_float_eq(degree, 1.64, 0.02, "%g", degree);
        emp_graph_destroy(g);
    }
}

Test(synthetic, depends_on_the_seed_alone)
{
    emp_graph *g[3] = {NULL}, *none = NULL;

    for (int i = 0; i < 3; i++)
        ASSERT_OK(emp_synthetic_graph(&g[i], 3000, i < 2 ? 7 : 8, &err));
    cr_expect_eq(g[0]->hash, g[1]->hash);
    cr_expect_neq(g[0]->hash, g[2]->hash);
    for (int i = 0; i < 3; i++) emp_graph_destroy(g[i]);
    EXPECT_REFUSED(emp_synthetic_graph(&none, 1, 1, &err), EMP_EINVAL, "");
}

enum { OPS = 5000, DEVICES = 5 };

static int32_t count_devices(const emp_device_id *device_of_op)
{
    bool    is_used[EMP_MAX_DEVICES] = {0};
    int32_t used = 0;

    for (int32_t op = 0; op < OPS; op++) {
        cr_assert(device_of_op[op] >= 0 && device_of_op[op] < EMP_MAX_DEVICES);
        is_used[device_of_op[op]] = true;
    }
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) used += is_used[d];
    return used;
}

/* Ops whose neighbour, or whose mirror, is elsewhere. */
static int32_t count_breaks(const emp_device_id *device_of_op, bool by_mirror)
{
    int32_t breaks = 0;

    for (int32_t op = 0; op < OPS / 2 - 1; op++) {
        int32_t other = by_mirror ? OPS - 1 - op : op + 1;
        breaks += device_of_op[op] != device_of_op[other];
    }
    return breaks;
}

Test(synthetic, placements_are_what_they_are_called)
{
    static emp_device_id d[OPS], other[OPS];
    emp_machine         *m = NULL;

    ASSERT_OK(emp_machine_load(&m, "k40x4", NULL));
    cr_assert_eq(m->device_count, DEVICES);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_GPU, 1, 0);
    cr_expect_eq(count_devices(d), 1);
    cr_expect_eq(d[0], 1);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_PIPELINE, 1, 0);
    cr_expect_eq(count_devices(d), DEVICES - 1);
    cr_expect_eq(count_breaks(d, false), DEVICES - 2);
    cr_expect_eq(count_breaks(d, true), 0);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_GROUPS, 1, 0);
    cr_expect_eq(count_devices(d), DEVICES);
    cr_expect(count_breaks(d, false) < EMP_SYNTHETIC_GROUPS);
    cr_expect(count_breaks(d, false) > EMP_SYNTHETIC_GROUPS / 2);
    cr_expect_eq(count_breaks(d, true), 0);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_RANDOM, 1, 0);
    cr_expect_gt(count_breaks(d, false), OPS / 3);
    emp_synthetic_place(other, OPS, m, EMP_PLACE_RANDOM, 1, 0);
    cr_expect_arr_eq(d, other, sizeof d);
    emp_synthetic_place(other, OPS, m, EMP_PLACE_RANDOM, 1, 1);
    cr_expect_arr_neq(d, other, sizeof d);
    emp_machine_destroy(m);
    ASSERT_OK(emp_machine_load(&m, "k40x4x2", &err));
    emp_synthetic_place(d, OPS, m, EMP_PLACE_PIPELINE, 1, 0);
    cr_expect_eq(count_devices(d), 8, "the GPUs of all hosts");
    for (int32_t op = 0; op < OPS; op++)
        cr_assert_eq(m->device[d[op]].kind, EMP_DEVICE_GPU);
    emp_machine_destroy(m);
}
