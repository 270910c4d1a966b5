// SPDX-License-Identifier: GPL-3.0-or-later
/* Building: what is refused and why, order, ports, loops, and every allocation failing.
 * Collectives of PyTorch and XLA have the ranks and bytes that their sizes tell. */
#include "sim/graph/graph_builder.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

static const emp_op_attrs none;

static emp_op_id declare(emp_graph_builder *b, const char *name, const char *type,
                         const emp_op_attrs *attrs)
{
    emp_op_id op;

    ASSERT_OK(emp_graph_builder_declare(b, name, strlen(name), type, strlen(type), attrs,
                                        NULL, 0, &op, &err));
    return op;
}

static void connect(emp_graph_builder *b, emp_op_id from, int32_t index, emp_op_id to)
{
    cr_assert_eq(emp_graph_builder_connect(b, (emp_port){from, index}, to, NULL), EMP_OK);
}

Test(builder, add_refuses_bad_arguments_with_a_reason, .fini = expect_all_freed)
{
    static const struct {
        const char *name, *part;
        emp_port    input;
        emp_op_id   control;
    } cases[] = {
        {"x", "\"x\" is taken", {0, 0}, 0},
        {"y", "op \"y\", input 0: op 7 is outside 0..0", {7, 0}, 0},
        {"y", "op \"y\" reads output 1 of \"x\" (Placeholder), which has 1", {0, 1}, 0},
        {"y", "op \"y\", control input 0: op -1 is outside 0..0", {0, 0}, -1},
        {"", "name", {0, 0}, 0}};
    emp_graph_builder *b = kit_begin();
    emp_op_id          op;

    kit_tensor(b, "x", "f[3]");
    for (size_t i = 0; i < COUNT(cases); i++)
        EXPECT_REFUSED(emp_graph_builder_add(b, cases[i].name, "Relu", &none,
                                             &cases[i].input, 1, &cases[i].control, 1,
                                             &op, &err),
                       EMP_EINVAL, cases[i].part);
    cr_expect_eq(emp_graph_builder_connect(b, (emp_port){0, 0}, 5, NULL), EMP_EINVAL);
    cr_expect_eq(emp_graph_builder_add_control(b, -1, 0, NULL), EMP_EINVAL);
    cr_expect_eq(emp_graph_builder_op_count(b), 1);
    emp_graph_builder_destroy(b);
}

/* y is declared before its input; the file's shape of y is less than inference knows. */
Test(builder, declared_ops_are_inferred_in_order_and_merged_with_the_file)
{
    emp_graph_builder *b = kit_begin();
    emp_shape          from_file[] = {EMP_SHAPE(-1, 4)};
    emp_op_id          y;
    emp_op_attrs       attrs = {
              .dtype = EMP_DTYPE_FLOAT, .has_shape = true, .shape = EMP_SHAPE(3, -1)};

    ASSERT_OK(
        emp_graph_builder_declare(b, "yy", 1, "ReluX", 4, &none, from_file, 1, &y, NULL));
    emp_op_id z = declare(b, "z", "Relu", &none);
    emp_op_id x = declare(b, "x", "Placeholder", &attrs);
    connect(b, x, 0, y);
    connect(b, y, 0, z);
    OWN_GRAPH g = kit_finish(b);

    cr_expect_eq(kit_find(g, "y"), y);
    const emp_shape *shape = g->tensor[g->output_offset[z]].shape;
    cr_expect(emp_shape_equal(shape, &EMP_SHAPE(3, 4)), "z is [%lld,%lld]",
              (long long)shape->dim[0], (long long)shape->dim[1]);
    cr_expect_eq(g->tensor[g->output_offset[z]].bytes, 4 * 3 * 4);
    cr_expect_eq(g->topo[0], x);
    cr_expect_eq(g->topo[1], y);
    cr_expect_eq(g->topo[2], z);
    cr_expect_eq(g->unknown_shape_count, 1, "only x");
}

/* A file may say more in attributes that we do not read: no reason to refuse it. */
Test(builder, declared_shapes_that_do_not_fit_are_unknown)
{
    emp_graph_builder *b = kit_begin();
    emp_port           x = kit_tensor(b, "x", "f[3]"), y = kit_tensor(b, "y", "f[4]");
    emp_op_id          z = declare(b, "z", "Add", &none);

    connect(b, x.op, 0, z);
    connect(b, y.op, 0, z);
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(g->tensor[g->output_offset[z]].shape->rank, -1);
}

static void expect_finish_refused(emp_graph_builder *b, emp_status want, const char *part)
{
    emp_graph *g = NULL;

    EXPECT_REFUSED(emp_graph_builder_finish(b, &g, &err), want, part);
    cr_expect_null(g);
    emp_graph_builder_destroy(b);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(builder, finish_refuses_edges_from_nowhere_and_too_few_inputs)
{
    emp_graph_builder *b = kit_begin();
    emp_op_id          x = declare(b, "x", "Placeholder", &none);

    connect(b, x, 3, declare(b, "y", "Relu", &none));
    expect_finish_refused(b, EMP_EFORMAT,
                          "op \"y\" reads output 3 of \"x\" (Placeholder), which has 1");
    b = kit_begin();
    declare(b, "y", "MatMul", &none);
    expect_finish_refused(b, EMP_EFORMAT, "\"y\" of type MatMul has 0 inputs, needs 2");
    expect_finish_refused(kit_begin(), EMP_EINVAL, "no op");
}

Test(builder, open_types_have_as_many_outputs_as_are_read)
{
    emp_graph_builder *b = kit_begin();
    emp_op_id          queue = declare(b, "dequeue", "QueueDequeueV2", &none);
    emp_op_id          strange = declare(b, "strange", "NeverHeardOf", &none);
    emp_op_id          y = declare(b, "y", "AddN", &none);

    connect(b, queue, 2, y);
    connect(b, strange, 1, y);
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(g->output_offset[queue + 1] - g->output_offset[queue], 3);
    cr_expect_eq(g->output_offset[strange + 1] - g->output_offset[strange], 2);
}

Test(builder, finish_names_an_op_on_a_cycle)
{
    emp_graph_builder *b = kit_begin();
    emp_op_id          behind = declare(b, "behind", "Relu", &none);
    emp_op_id p = declare(b, "p", "Relu", &none), q = declare(b, "q", "Relu", &none);

    connect(b, q, 0, p);
    connect(b, p, 0, q);
    connect(b, q, 0, behind);
    expect_finish_refused(b, EMP_ECYCLE, "\" lies on a cycle; 3 of 3 ops");
    b = kit_begin();
    p = declare(b, "p", "NoOp", &none);
    cr_assert_eq(emp_graph_builder_add_control(b, p, p, NULL), EMP_OK);
    expect_finish_refused(b, EMP_ECYCLE, "op \"p\" lies on a cycle");
}

/* Enter -> Merge -> Switch -> Exit, with the body Switch -> Square -> NextIteration. */
Test(builder, a_loop_is_cut_at_its_back_edge_and_its_body_stays_in_the_step)
{
    emp_graph_builder *b = kit_begin();
    OWN_GRAPH          step = NULL;
    emp_port           x = kit_tensor(b, "x", "f[8]"), p = kit_tensor(b, "p", "b[]");
    emp_op_id          enter = declare(b, "enter", "Enter", &none);
    emp_op_id          merge = declare(b, "merge", "Merge", &none);
    emp_op_id          branch = declare(b, "switch", "Switch", &none);
    emp_op_id          body = declare(b, "body", "Square", &none);
    emp_op_id          next = declare(b, "next", "NextIteration", &none);
    emp_op_id          leave = declare(b, "exit", "Exit", &none);

    connect(b, x.op, 0, enter);
    connect(b, next, 0, merge);
    connect(b, enter, 0, merge);
    connect(b, merge, 0, branch);
    connect(b, p.op, 0, branch);
    connect(b, branch, 1, body);
    connect(b, body, 0, next);
    connect(b, branch, 0, leave);
    emp_graph_builder_set_target(b, leave);
    OWN_GRAPH g = kit_finish(b);

    cr_expect_eq(g->back_edge_count, 1);
    cr_expect_eq(g->back_edge_from[0], next);
    cr_expect_eq(g->back_edge_to[0], merge);
    cr_expect_eq(g->input_offset[merge + 1] - g->input_offset[merge], 1);
    cr_assert_eq(emp_graph_prune(&step, g, NULL), EMP_OK);
    cr_expect_eq(step->op_count, g->op_count, "the body is part of the step");
    cr_expect_eq(step->back_edge_count, 1);
    cr_expect_eq(step->flops, 8.0, "and counts once");
}

Test(builder, is_empty_after_finish_and_can_build_again)
{
    emp_graph_builder *b = kit_begin();
    emp_graph         *g[2] = {NULL, NULL};

    for (int i = 0; i < 2; i++) {
        kit_op(b, "y", "Relu", NULL, 1, kit_tensor(b, "x", "f[3]"));
        cr_assert_eq(emp_graph_builder_finish(b, &g[i], NULL), EMP_OK);
        cr_expect_eq(emp_graph_builder_op_count(b), 0);
        cr_expect_eq(emp_graph_builder_find(b, "x", 1), -1);
    }
    emp_graph_builder_destroy(b);
    cr_expect_eq(g[0]->hash, g[1]->hash);
    cr_expect_str_eq(g[0]->name[0], "x", "names outlive the builder");
    cr_expect_str_eq(g[0]->type_name[g[0]->type[1]], "Relu");
    emp_graph_destroy(g[0]);
    emp_graph_destroy(g[1]);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(builder, hash_sees_names_types_shapes_and_edges)
{
    struct {
        const char *name, *type, *shape;
        int         swapped;
    } variants[] = {{"y", "Sub", "f[3]", 0},
                    {"z", "Sub", "f[3]", 0},
                    {"y", "Div", "f[3]", 0},
                    {"y", "Sub", "f[4]", 0},
                    {"y", "Sub", "f[3]", 1}};
    uint64_t hash[5];

    for (int i = 0; i < 5; i++) {
        emp_graph_builder *b = kit_begin();
        emp_port           in[2] = {kit_tensor(b, "a", variants[i].shape),
                                    kit_tensor(b, "b", variants[i].shape)};
        int                s = variants[i].swapped;
        kit_op(b, variants[i].name, variants[i].type, NULL, 2, in[s], in[1 - s]);
        emp_graph *g = kit_finish(b);
        hash[i] = g->hash;
        emp_graph_destroy(g);
        for (int k = 0; k < i; k++)
            cr_expect_neq(hash[i], hash[k], "variants %d and %d", i, k);
    }
}

/* A little of everything that allocates. */
static emp_status build_all(emp_graph **whole, emp_graph **step)
{
    emp_status         st = EMP_OK;
    emp_error         *err = NULL;
    emp_graph_builder *b = NULL;
    int64_t            value[] = {2, 3};
    emp_op_attrs       shaped = {
              .dtype = EMP_DTYPE_FLOAT, .has_shape = true, .shape = EMP_SHAPE(3, 2)};
    emp_op_attrs shape = {.dtype = EMP_DTYPE_INT32, .value = value, .value_count = 2};
    emp_shape    file = EMP_SHAPE(-1, -1);
    emp_op_id    w, c, r, slot, queue, late;

    *whole = *step = NULL;
    EMP_TRY(emp_graph_builder_create(&b, err));
    EMP_TRY(
        emp_graph_builder_declare(b, "late", 4, "AddN", 4, &none, &file, 1, &late, err));
    EMP_TRY(
        emp_graph_builder_add(b, "w", "VariableV2", &shaped, NULL, 0, NULL, 0, &w, err));
    EMP_TRY(emp_graph_builder_add(b, "w/Adam", "VariableV2", &shaped, NULL, 0, &w, 1,
                                  &slot, err));
    EMP_TRY(emp_graph_builder_add(b, "c", "Const", &shape, NULL, 0, NULL, 0, &c, err));
    emp_port in[] = {{w, 0}, {c, 0}};
    EMP_TRY(emp_graph_builder_add(b, "r", "Reshape", &none, in, 2, NULL, 0, &r, err));
    EMP_TRY(emp_graph_builder_declare(b, "queue", 5, "QueueDequeueV2", 14, &none, NULL, 0,
                                      &queue, err));
    EMP_TRY(emp_graph_builder_connect(b, (emp_port){r, 0}, late, err));
    EMP_TRY(emp_graph_builder_connect(b, (emp_port){queue, 1}, late, err));
    EMP_TRY(emp_graph_builder_add_control(b, slot, late, err));
    emp_graph_builder_set_target(b, late);
    EMP_TRY(emp_graph_builder_finish(b, whole, err));
    EMP_TRY(emp_graph_prune(step, *whole, err));

cleanup:
    emp_graph_builder_destroy(b);
    return st;
}

static void destroy_both(emp_graph **whole, emp_graph **step)
{
    emp_graph_destroy(*whole);
    emp_graph_destroy(*step);
}

Test(builder, survives_every_allocation_failure, .fini = expect_all_freed)
{
    emp_graph *whole = NULL, *step = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build_all(&whole, &step),
                                      destroy_both(&whole, &step));
    cr_expect_eq(step->op_count, 6);
    cr_expect_eq(step->parameter_count, 6);
    destroy_both(&whole, &step);
}

/* ---- stated costs ---- */

static emp_op_id state(emp_graph_builder *b, const char *name, int32_t colocation)
{
    emp_op_id           op;
    const emp_stated_op stated = {
        .cost = {.gpu_ns = 5, .cpu_ns = 50, .copy_ns = 7, .colocation = colocation},
        .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
        .persistent_bytes = 11,
        .held_bytes = 13,
        .copy_bytes = 17};

    ASSERT_OK(emp_graph_builder_state(b, name, "Const", &stated, &op, &err));
    return op;
}

/* Two results, and behind them inputs of other ops; then results that must not be written over these. */
Test(builder, stated_ops_may_have_many_results)
{
    enum { RESULTS = 9 };
    emp_graph_builder *b = NULL;
    OWN_GRAPH          g = NULL;

    ASSERT_OK(emp_graph_builder_create(&b, &err));
    const emp_op_id y = state(b, "y", 2), x = state(b, "x", 1);
    for (int32_t i = 1; i < RESULTS; i++) {
        ASSERT_OK(emp_graph_builder_state_result(b, x, i, 100 + i, &err));
        if (i % 2 == 0)
            ASSERT_OK(emp_graph_builder_connect(b, (emp_port){x, i}, y, &err));
    }
    ASSERT_OK(emp_graph_builder_finish(b, &g, &err));
    cr_assert_eq(g->tensor_count, RESULTS + 1);
    for (int32_t k = 0; k < RESULTS / 2; k++) /* tensor 0 is y's */
        cr_expect_eq(g->input[g->input_offset[y] + k], 1 + 2 * (k + 1));
    for (int32_t i = 1; i < RESULTS; i++)
        cr_expect_eq(g->tensor[i + 1].copy_bytes, 100 + i);
    emp_graph_builder_destroy(b);
}

Test(builder, stated_ops_are_taken_at_their_word)
{
    emp_graph_builder *b = kit_begin();
    emp_graph         *g = NULL;
    emp_op_id          x = state(b, "x", 4), y = state(b, "y", -1), z = state(b, "z", 4);

    connect(b, x, 0, y);
    connect(b, y, 0, z);
    cr_assert_eq(emp_graph_builder_finish(b, &g, NULL), EMP_OK);
    cr_expect_eq(g->stated[1].gpu_ns, 5);
    cr_expect_eq(g->stated[1].cpu_ns, 50);
    cr_expect_eq(emp_graph_stated_copy_ns(g, 1), 7);
    cr_expect_eq(g->op[1].persistent_bytes, 11);
    cr_expect_eq(g->tensor[1].bytes, 13);
    cr_expect_eq(g->tensor[1].copy_bytes, 17);
    cr_expect_not(g->op[1].is_folded);
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->class_count, 2);
    cr_expect_eq(g->op[0].colocation_class, g->op[2].colocation_class);
    emp_graph_destroy(g);
    emp_graph_builder_destroy(b);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(builder, a_graph_states_all_costs_or_none, .fini = expect_all_freed)
{
    emp_graph_builder  *b = kit_begin();
    const emp_stated_op stated = {.kinds = EMP_KIND_CPU};
    emp_op_id           op;

    state(b, "x", -1);
    EXPECT_REFUSED(
        emp_graph_builder_add(b, "y", "NoOp", &none, NULL, 0, NULL, 0, &op, &err),
        EMP_EINVAL, "op \"y\"");
    emp_graph_builder_destroy(b);
    b = kit_begin();
    declare(b, "x", "NoOp", &none);
    cr_expect_eq(emp_graph_builder_state(b, "y", "Op", &stated, &op, NULL), EMP_EINVAL);
    emp_graph_builder_destroy(b);
}

static emp_status build_stated(emp_graph **g)
{
    const emp_stated_op stated = {.cost.colocation = 1, .kinds = EMP_KIND_CPU};
    emp_status          st = EMP_OK;
    emp_error          *err = NULL;
    emp_graph_builder  *b = NULL;
    emp_op_id           x, y;

    *g = NULL;
    EMP_TRY(emp_graph_builder_create(&b, err));
    EMP_TRY(emp_graph_builder_state(b, "x", "Op", &stated, &x, err));
    EMP_TRY(emp_graph_builder_state(b, "y", "Op", &stated, &y, err));
    EMP_TRY(emp_graph_builder_connect(b, (emp_port){x, 0}, y, err));
    EMP_TRY(emp_graph_builder_finish(b, g, err));

cleanup:
    emp_graph_builder_destroy(b);
    return st;
}

Test(builder, stated_ops_survive_every_allocation_failure, .fini = expect_all_freed)
{
    emp_graph *g;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build_stated(&g), emp_graph_destroy(g));
    emp_graph_destroy(g);
}

/* ---- collectives ---- */

static emp_op_id declare_sized(emp_graph_builder *b, const char *name, const char *type,
                               int64_t elements)
{
    emp_op_attrs attrs = {
        .dtype = EMP_DTYPE_FLOAT, .has_shape = true, .shape = EMP_SHAPE(elements)};
    emp_op_id op = -1;

    ASSERT_OK(emp_graph_builder_declare(b, name, strlen(name), type, strlen(type), &attrs,
                                        &attrs.shape, 1, &op, NULL));
    emp_graph_builder_set_target(b, op);
    return op;
}

static emp_collective_part read_part(const char *type, int64_t in, int64_t out,
                                     const emp_collective_part *said)
{
    emp_graph_builder  *b = NULL;
    emp_graph          *whole = NULL, *step = NULL;
    emp_collective_part part = {0};

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    emp_op_id x = declare_sized(b, "x", "Placeholder", in),
              y = declare_sized(b, "y", type, out);
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
    expect_part("_c10d_functional.all_reduce_", 100, 100, EMP_COLLECTIVE_ALL_REDUCE,
                EMP_RANKS_ALL, 100);
    expect_part("c10d.allreduce_", 100, 100, EMP_COLLECTIVE_ALL_REDUCE, EMP_RANKS_ALL,
                100);
    expect_part("_c10d_functional.all_gather_into_tensor", 100, 800,
                EMP_COLLECTIVE_ALL_GATHER, 8, 800);
    expect_part("_c10d_functional.all_gather_into_tensor", 100, 0,
                EMP_COLLECTIVE_ALL_GATHER, EMP_RANKS_ALL_GATHER, 100);
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
    emp_op_id x = declare_sized(b, "x", "Placeholder", 4);
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_eq(emp_graph_builder_set_collective(b, x, &bad[i], NULL), EMP_EINVAL);
    EXPECT_REFUSED(emp_graph_builder_set_collective(b, 1, &bad[0], &err), EMP_EINVAL,
                   "as op 1");
    emp_graph_builder_destroy(b);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
