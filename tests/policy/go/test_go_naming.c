// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the assignment the best of all, and do matched names follow what the network expects? */
#include <criterion/criterion.h>
#include <math.h>

#include "base/rng.h"
#include "policy/go/options.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { ROWS = 5, DRAWS = 300 };

static double best_from(double gain[][EMP_MAX_DEVICES], int32_t row, unsigned taken)
{
    double best = -INFINITY;

    if (row == ROWS) return 0.0;
    for (int32_t c = 0; c < ROWS; c++)
        if (!(taken >> c & 1))
            best = fmax(best, gain[row][c] + best_from(gain, row + 1, taken | 1U << c));
    return best;
}

Test(go_naming, the_assignment_is_the_best)
{
    static double gain[EMP_MAX_DEVICES][EMP_MAX_DEVICES];
    emp_rng       rng;

    emp_rng_init(&rng, 7, 0, 0);
    for (int draw = 0; draw < DRAWS; draw++) {
        int32_t  column[ROWS];
        unsigned taken = 0;
        double   sum = 0.0;
        for (int32_t r = 0; r < ROWS; r++)
            for (int32_t c = 0; c < ROWS; c++)
                gain[r][c] = -floor(6.0 * emp_rng_uniform(&rng)) * (draw % 2 ? 1 : 0.3);
        emp_go_assign(gain, ROWS, column);
        for (int32_t r = 0; r < ROWS; r++) {
            taken |= 1U << column[r];
            sum += gain[r][column[r]];
        }
        cr_assert_eq(taken, (1U << ROWS) - 1, "each column once");
        cr_assert_float_eq(sum, best_from(gain, 0, 0), 1e-9);
    }
}

/* The network likes GPU 2 for the nodes that the example has on GPU 1. The first node stands on
 * GPU 2 of the example. */
Test(go_naming, matched_names_are_the_likeliest)
{
    task            t;
    emp_node_graph *n = NULL;
    emp_device_id   device[64];
    emp_real        p[64 * 3];
    uint8_t         name[EMP_MAX_DEVICES];

    hand_graph_layers(&t, 2);
    cr_assert_eq(t.problem->machine->device_count, 3);
    MUST(emp_node_graph_create(&n, t.problem, 0, NULL));
    for (int32_t i = 0; i < n->node_count; i++) {
        device[n->order[i]] = i == 0 ? 2 : 1;
        p[3 * i] = (emp_real)0.1;
        p[3 * i + 1] = i == 0 ? (emp_real)0.6 : (emp_real)0.2;
        p[3 * i + 2] = i == 0 ? (emp_real)0.3 : (emp_real)0.7;
    }
    const emp_go_naming naming = {t.problem->machine, n, device, p, 3};
    emp_go_name_devices(&naming, EMP_NAMES_MATCHED, name);
    cr_expect(name[0] == 0 && name[1] == 2 && name[2] == 1);
    for (int32_t i = 0; i < 3 * n->node_count; i++) p[i] = (emp_real)(i % 3 == 1);
    device[n->order[0]] = 1;
    emp_go_name_devices(&naming, EMP_NAMES_MATCHED, name);
    cr_expect(name[0] == 0 && name[1] == 1 && name[2] == 2);
    device[n->order[0]] = 2;
    emp_go_name_devices(&naming, EMP_NAMES_USED, name);
    cr_expect(name[0] == 0 && name[1] == 2 && name[2] == 1, "the first that is used");
    emp_node_graph_destroy(n);
    task_destroy(&t);
}
