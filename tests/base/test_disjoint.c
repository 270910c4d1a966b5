// SPDX-License-Identifier: GPL-3.0-or-later
/* Are sets joined as stated, and is the lowest number the root? */
#include <criterion/criterion.h>

#include "base/collections.h"
#include "base/rng.h"

enum { COUNT = 40, JOINS = 30, ROUNDS = 200 };

/* Beside plain labels: all of one set get the label of the other. */
Test(disjoint, agrees_with_plain_labels)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        int32_t parent[COUNT], label[COUNT];
        emp_rng rng;
        emp_rng_init(&rng, seed, 0, 0);
        emp_disjoint_init(parent, COUNT);
        for (int32_t i = 0; i < COUNT; i++) label[i] = i;

        for (int32_t n = 0; n < JOINS; n++) {
            int32_t one = (int32_t)emp_rng_below(&rng, COUNT);
            int32_t other = (int32_t)emp_rng_below(&rng, COUNT);
            int32_t a = label[one], b = label[other];
            cr_expect_eq(emp_disjoint_join(parent, one, other), a != b);
            for (int32_t i = 0; i < COUNT; i++)
                if (label[i] == a || label[i] == b) label[i] = a < b ? a : b;
        }
        for (int32_t i = 0; i < COUNT; i++)
            cr_expect_eq(emp_disjoint_root(parent, i), label[i], "%d", i);
    }
}
