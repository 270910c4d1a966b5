// SPDX-License-Identifier: GPL-3.0-or-later
/* Does mixing a part move that part of whole nodes and nothing else, and do parts and the machine share out
 * all numbers? Numbers are replaced by ones that tell their node and column. */
#include "policy/features/transferable.h"

#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { LAYERS = 8, COLUMNS = EMP_TRANSFERABLE, NOBODY = -1 };
/* Some of the columns, as transferable.c lists them. */
enum { IN_DEGREE = 8, DEPTH = 12, PERSISTENT = 15 };

static task             h;
static emp_node_graph  *nodes;
static emp_transferable from, to;

static void set_up(void)
{
    hand_graph_layers(&h, LAYERS);
    MUST(emp_node_graph_create(&nodes, h.problem, 0, &why));
    MUST(emp_transferable_init(&from, nodes, h.problem, &why));
    MUST(emp_transferable_init(&to, nodes, h.problem, &why));
    for (int32_t i = 0; i < from.count * COLUMNS; i++) from.value[i] = (emp_real)(i + 1);
    for (int32_t i = 0; i < from.count; i++) from.type[i] = i;
}

static void tear_down(void)
{
    emp_transferable_clear(&from);
    emp_transferable_clear(&to);
    emp_node_graph_destroy(nodes);
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(transferable, .init = set_up, .fini = tear_down);

static void mix(emp_transferable_part part)
{
    emp_rng rng;

    emp_rng_init(&rng, 1, 2, (uint32_t)part);
    emp_transferable_mix(&to, &from, part, &rng);
}

static int32_t origin(int32_t node, int32_t column)
{
    const int32_t number = (int32_t)to.value[node * COLUMNS + column] - 1;

    cr_assert_eq(number % COLUMNS, column, "a number stays in its column");
    return number / COLUMNS;
}

static bool has_moved(int32_t column)
{
    for (int32_t i = 0; i < to.count; i++)
        if (origin(i, column) != i) return true;
    return false;
}

/* Those that move come from one node each, and from all. */
static void expect_permutation(int32_t columns[], int32_t count)
{
    OWN_EMP_FREE bool *seen = EMP_NEW_ARRAY(bool, (size_t)to.count);

    for (int32_t i = 0; i < to.count; i++) {
        const int32_t j = origin(i, columns[0]);
        for (int32_t c = 1; c < count; c++) cr_expect_eq(origin(i, columns[c]), j);
        cr_expect(!seen[j]);
        seen[j] = true;
    }
}

static void note_columns(int32_t owner[COLUMNS], emp_transferable_part part)
{
    int32_t moved[COLUMNS], count = 0;

    for (int32_t c = 0; c < COLUMNS; c++) {
        if (!has_moved(c)) continue;
        cr_expect_eq(owner[c], NOBODY, "column %d is in two parts", c);
        owner[c] = (int32_t)part;
        moved[count++] = c;
    }
    cr_expect_eq(count > 0, part != EMP_PART_NEIGHBOR, "%s",
                 emp_transferable_part_name(part));
    if (count > 0) expect_permutation(moved, count);
    if (part != EMP_PART_TYPE)
        cr_expect_arr_eq(to.type, from.type, (size_t)to.count * sizeof *to.type);
    else
        for (int32_t i = 0; i < to.count; i++)
            cr_expect_eq(to.type[i], origin(i, moved[0]), "the type goes along");
}

Test(transferable, parts_and_the_machine_share_out_all_numbers)
{
    int32_t owner[COLUMNS];

    for (int32_t c = 0; c < COLUMNS; c++) owner[c] = NOBODY;
    for (int part = 0; part < EMP_TRANSFERABLE_PARTS; part++) {
        mix((emp_transferable_part)part);
        note_columns(owner, (emp_transferable_part)part);
    }
    mix(EMP_TRANSFERABLE_PARTS);
    emp_transferable_hide_machine(&to);
    for (int32_t c = 0; c < COLUMNS; c++) {
        const bool is_hidden = to.value[c] == 0;
        cr_expect_eq(owner[c] == NOBODY, is_hidden, "column %d", c);
        for (int32_t i = 1; i < to.count; i++)
            cr_expect_eq(to.value[i * COLUMNS + c] == 0, is_hidden);
    }
}

static void expect_moved(int32_t column, bool wanted)
{
    bool is_moved = false;

    for (int32_t i = 0; i < to.count; i++)
        is_moved = is_moved ||
                   to.value[i * COLUMNS + column] != from.value[i * COLUMNS + column];
    cr_expect_eq(is_moved, wanted, "column %d", column);
}

Test(transferable, parts_are_what_they_are_called)
{
    emp_transferable_clear(&from);
    MUST(emp_transferable_init(&from, nodes, h.problem, &why));
    mix(EMP_TRANSFERABLE_PARTS);
    for (int32_t v = 0; v < nodes->node_count; v++) {
        emp_real *x = &to.value[from.position[v] * COLUMNS];
        cr_expect_eq(x[PERSISTENT] > 0, nodes->persistent_bytes[v] > 0);
        cr_expect_eq(x[DEPTH] > 0, true, "a level counts the node itself");
        cr_expect_eq(x[IN_DEGREE] > 0,
                     nodes->predecessors.first[v + 1] > nodes->predecessors.first[v]);
    }
    mix(EMP_PART_MEMORY);
    expect_moved(PERSISTENT, true);
    expect_moved(DEPTH, false);
    mix(EMP_PART_LEVEL);
    expect_moved(PERSISTENT, false);
    expect_moved(DEPTH, true);
    mix(EMP_PART_DEGREE);
    expect_moved(DEPTH, false);
    expect_moved(IN_DEGREE, true);
}

Test(transferable, neighbours_are_drawn_from_all_nodes)
{
    const int32_t edges = from.first[from.count];
    int32_t       changed = 0;

    mix(EMP_PART_NEIGHBOR);
    for (int32_t i = 0; i < edges; i++) {
        cr_expect(to.neighbor[i] >= 0 && to.neighbor[i] < to.count);
        changed += to.neighbor[i] != from.neighbor[i];
    }
    cr_expect_gt(changed, 0);
    cr_expect_arr_eq(to.first, from.first, ((size_t)from.count + 1) * sizeof *from.first);
}
