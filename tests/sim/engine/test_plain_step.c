// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a problem handed to the plain simulators as it is? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "tests/support/plain/plain_step.h"
#include "tests/support/problems.h"

/* Op 0 is folded; op 2 reads ops 0 and 1, and 1 twice, and waits for 1; op 1 is on the
 * CPU, where it takes 20, op 2 on a GPU, where it takes 10. */
Test(plain_step, leaves_out_folded_ops_and_repeated_edges)
{
    task          t;
    plain_step    s;
    const tiny_op ops[] = {
        {.device = 1, .is_folded = true},
        {.device = 0},
        {.device = 1, .input_count = 3, .input = {0, 1, 1}, .control = 2}};
    emp_runtime runtime = tiny_list_scheduling();

    task_create_tiny(&t, ops, 3, &runtime);
    plain_step_create(&s, t.problem, t.device_of_op);
    cr_expect_eq(s.op_count, 2);
    cr_expect_eq(s.device_count, 3);
    cr_expect(s.is_cpu[0] && !s.is_cpu[1] && !s.is_cpu[2]);
    cr_expect_eq(s.tensor_count, 2);
    cr_assert_eq(s.edge_count, 2);
    cr_expect(s.edge[0].producer == 0 && s.edge[0].consumer == 1 &&
              s.edge[0].tensor == 0);
    cr_expect_eq(s.edge[1].tensor, PLAIN_CONTROL);
    cr_expect_eq(s.tensor[0].memory_bytes, 256);
    cr_expect_eq(s.tensor[0].transfer_bytes, 256);
    cr_expect_eq(plain_step_cost_ns(&s, 0), 20);
    cr_expect_eq(plain_step_cost_ns(&s, 1), 10);
    plain_step_destroy(&s);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(plain_step, scales_without_overflow)
{
    cr_expect_eq(plain_scale(7, 5, 38), 1);
    cr_expect_eq(plain_scale(INT64_MAX, 1, 1), INT64_MAX);
    cr_expect_eq(plain_scale(INT64_C(1) << 60, 1953125, INT64_C(1) << 22),
                 INT64_C(1953125) << 38);
}
