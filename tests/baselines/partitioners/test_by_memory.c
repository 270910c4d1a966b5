// SPDX-License-Identifier: GPL-3.0-or-later
/* Do methods that know only memory follow the layers, and keep what is tied to a layer with it? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "tests/baselines/fixture.h"

enum { LAYERS = 8, BYTES = 100, GPUS = 4 };

/* A chain of layers; each holds so many bytes. Op LAYERS holds nothing and reads the last layer. */
static fixture *create_chain(void)
{
    fixture *f = fixture_create(GPUS);

    for (int32_t i = 0; i < LAYERS; i++) {
        fixture_op(f, NULL, 1);
        f->op[i].persistent_bytes = BYTES;
        if (i > 0) fixture_edge(f, i - 1, i);
    }
    fixture_op(f, NULL, 1);
    fixture_edge(f, LAYERS - 1, LAYERS);
    for (int32_t d = 1; d <= GPUS; d++) f->machine->device[d].memory_bytes = 250;
    return f;
}

Test(by_memory, layers_are_split_in_proportion)
{
    fixture      *f = create_chain();
    emp_device_id device[FIXTURE_MAX_OPS];

    fixture_place(&emp_method_memory_split, fixture_problem(f), 1, NULL, device);
    for (int32_t i = 0; i < LAYERS; i++)
        cr_expect_eq(device[i], 1 + i / 2, "layer %d", i);
    cr_expect_eq(device[LAYERS], GPUS, "it follows what it reads");
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Before, all layers between a table and the head that is tied to it were one block. */
Test(by_memory, a_tied_head_stands_with_its_table)
{
    OWN_FIXTURE   f = create_chain();
    emp_device_id device[FIXTURE_MAX_OPS];

    fixture_colocate(f, LAYERS, 0);
    fixture_place(&emp_method_memory_split, fixture_problem(f), 1, NULL, device);
    for (int32_t i = 0; i < LAYERS; i++)
        cr_expect_eq(device[i], 1 + i / 2, "layer %d", i);
    cr_expect_eq(device[LAYERS], 1);
}

Test(by_memory, first_fit_fills_gpus_and_leaves_the_rest_to_the_cpu)
{
    OWN_FIXTURE   f = create_chain();
    emp_device_id device[FIXTURE_MAX_OPS];

    f->machine->device[GPUS].memory_bytes = 150;
    fixture_place(&emp_method_first_fit, fixture_problem(f), 1, "results=0", device);
    for (int32_t i = 0; i < 7; i++) cr_expect_eq(device[i], 1 + i / 2, "layer %d", i);
    cr_expect_eq(device[7], 0);
}

/* The table can only be on the CPU; a gate reads it and the second layer, and a state reads nothing. */
Test(by_memory, nothing_follows_a_table_to_the_cpu)
{
    static const emp_method *const methods[] = {&emp_method_memory_split,
                                                &emp_method_first_fit};
    OWN_FIXTURE                    f = fixture_create(GPUS);
    emp_device_id                  device[FIXTURE_MAX_OPS];

    enum { TABLE, LAYER, LAST = LAYER + LAYERS - 1, GATE, STATE };
    fixture_op(f, NULL, 1000);
    fixture_cpu_only(f, TABLE);
    f->op[TABLE].persistent_bytes = 1000;
    for (int32_t i = LAYER; i <= LAST; i++) {
        fixture_op(f, NULL, 1);
        f->op[i].persistent_bytes = BYTES;
        if (i > LAYER) fixture_edge(f, i - 1, i);
    }
    fixture_op(f, NULL, 1);
    fixture_edge(f, TABLE, GATE);
    fixture_edge(f, LAYER + 2, GATE);
    fixture_op(f, NULL, 1);
    for (int32_t d = 1; d <= GPUS; d++) f->machine->device[d].memory_bytes = 250;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        fixture_place(methods[m], fixture_problem(f), 1, "results=0", device);
        cr_expect_eq(device[TABLE], 0);
        for (int32_t i = 0; i < LAYERS; i++)
            cr_expect_eq(device[LAYER + i], 1 + i / 2, "layer %d", i);
        cr_expect_eq(device[GATE], device[LAYER + 2], "it follows what may use a GPU");
        cr_expect_gt(device[STATE], 0, "it follows a layer");
    }
}
