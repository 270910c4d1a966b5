// SPDX-License-Identifier: GPL-3.0-or-later
/* Properties that every graph has, on random ones: the order is topological and the
 * lowest by id, rows agree with each other, pruning is reachability.
 * Every op type is tried with random and extreme inputs. */
#include "base/rng.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

enum { MAX_OPS = 120, GRAPHS = 300 };

/* Ops declared in random id order over a hidden order, so that ids are not topological.
 */
static emp_graph *random_graph(emp_rng *rng)
{
    static const char *const types[] = {"AddN",  "Neg",         "NeverHeardOf",
                                        "NoOp",  "VariableV2",  "Assign",
                                        "Const", "ConcatOffset"};
    emp_graph_builder       *b = NULL;
    emp_op_id                id[MAX_OPS];
    emp_op_attrs             attrs = {
                    .dtype = EMP_DTYPE_FLOAT, .has_shape = true, .shape = EMP_SHAPE(4)};
    int32_t ops = 2 + (int32_t)emp_rng_below(rng, MAX_OPS - 2);

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    for (int32_t i = 0; i < ops; i++) {
        const char *type = types[emp_rng_below(rng, 8)];
        char        name[16];
        int         length = snprintf(name, sizeof name, "op%d", i);
        ASSERT_OK(emp_graph_builder_declare(b, name, (size_t)length, type, strlen(type),
                                            &attrs, NULL, 0, &id[i], NULL));
    }
    for (int32_t i = ops - 1; i > 0; i--) { /* the hidden order */
        int32_t   k = (int32_t)emp_rng_below(rng, (uint32_t)i + 1);
        emp_op_id swap = id[i];
        id[i] = id[k];
        id[k] = swap;
    }
    for (int32_t i = 0; i < ops; i++) {
        const char *type = emp_graph_builder_type(b, id[i]);
        bool        reads = strcmp(type, "VariableV2") != 0 && strcmp(type, "Const") != 0;
        int32_t     edges = (int32_t)emp_rng_below(rng, 4), done = 0;
        for (int32_t e = 0; reads && i > 0 && e < 40 && done < 2 + edges; e++) {
            emp_op_id from = id[emp_rng_below(rng, (uint32_t)i)];
            if (strcmp(emp_graph_builder_type(b, from), "NoOp") == 0) continue;
            if (strcmp(emp_graph_builder_type(b, from), "ConcatOffset") == 0) continue;
            ASSERT_OK(emp_graph_builder_connect(b, (emp_port){from, 0}, id[i], NULL));
            done++;
        }
        /* An op that found too few producers becomes harmless by reading a fresh
         * constant. */
        for (int32_t e = done; reads && e < 2; e++) {
            emp_op_id fresh;
            char      name[24];
            int       length = snprintf(name, sizeof name, "fresh%d_%d", i, e);
            ASSERT_OK(emp_graph_builder_declare(b, name, (size_t)length, "Const", 5,
                                                &attrs, NULL, 0, &fresh, NULL));
            ASSERT_OK(emp_graph_builder_connect(b, (emp_port){fresh, 0}, id[i], NULL));
        }
        if (i > 0 && emp_rng_below(rng, 3) == 0)
            ASSERT_OK(emp_graph_builder_add_control(
                b, id[emp_rng_below(rng, (uint32_t)i)], id[i], NULL));
        if (emp_rng_below(rng, 10) == 0) emp_graph_builder_set_target(b, id[i]);
    }
    emp_graph_builder_set_target(b, id[emp_rng_below(rng, (uint32_t)ops)]);
    return kit_finish(b);
}

/* Producers come first, and no op that was ready and has a lower id was passed over. */
static void check_order(const emp_graph *g)
{
    OWN_EMP_FREE int32_t *missing = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    OWN_EMP_FREE bool    *done = EMP_NEW_ARRAY(bool, (size_t)g->op_count);

    for (emp_op_id v = 0; v < g->op_count; v++)
        missing[v] = g->input_offset[v + 1] - g->input_offset[v] +
                     g->control_offset[v + 1] - g->control_offset[v];
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id v = g->topo[i];
        cr_assert(!done[v], "op %d comes twice", v);
        cr_assert_eq(missing[v], 0, "op %d comes before a producer", v);
        for (emp_op_id u = 0; u < v; u++)
            cr_assert(done[u] || missing[u] > 0, "op %d was ready before %d", u, v);
        done[v] = true;
        for (int32_t t = g->output_offset[v]; t < g->output_offset[v + 1]; t++)
            for (int32_t c = g->consumer_offset[t]; c < g->consumer_offset[t + 1]; c++)
                missing[g->consumer[c]]--;
        for (int32_t c = g->control_out_offset[v]; c < g->control_out_offset[v + 1]; c++)
            missing[g->control_out[c]]--;
    }
}

static int32_t count_in(const int32_t *row, int32_t begin, int32_t end, int32_t value)
{
    int32_t count = 0;

    for (int32_t i = begin; i < end; i++) count += row[i] == value;
    return count;
}

/* An edge is listed as often at its producer as at its consumer. */
static void check_rows(const emp_graph *g)
{
    cr_assert_eq(g->input_offset[g->op_count], g->edge_count);
    cr_assert_eq(g->control_offset[g->op_count], g->control_edge_count);
    cr_assert_eq(g->output_offset[g->op_count], g->tensor_count);
    cr_assert_eq(g->consumer_offset[g->tensor_count], g->edge_count);
    cr_assert_eq(g->control_out_offset[g->op_count], g->control_edge_count);
    for (emp_op_id v = 0; v < g->op_count; v++) {
        for (int32_t t = g->output_offset[v]; t < g->output_offset[v + 1]; t++)
            cr_assert_eq(g->tensor[t].producer, v);
        for (int32_t i = g->input_offset[v]; i < g->input_offset[v + 1]; i++) {
            int32_t t = g->input[i];
            cr_assert_eq(
                count_in(g->input, g->input_offset[v], g->input_offset[v + 1], t),
                count_in(g->consumer, g->consumer_offset[t], g->consumer_offset[t + 1],
                         v));
        }
        for (int32_t i = g->control_offset[v]; i < g->control_offset[v + 1]; i++) {
            emp_op_id u = g->control[i];
            cr_assert_eq(
                count_in(g->control, g->control_offset[v], g->control_offset[v + 1], u),
                count_in(g->control_out, g->control_out_offset[u],
                         g->control_out_offset[u + 1], v));
        }
    }
}

/* Classes are dense, and a reference is where its reader by reference is. */
static void check_classes(const emp_graph *g)
{
    int32_t highest = -1;

    for (emp_op_id v = 0; v < g->op_count; v++) {
        cr_assert_leq(g->op[v].colocation_class, highest + 1,
                      "classes are numbered in order");
        if (g->op[v].colocation_class > highest) highest = g->op[v].colocation_class;
        if (strcmp(g->type_name[g->type[v]], "Assign") != 0) continue;
        const emp_tensor *target = &g->tensor[g->input[g->input_offset[v]]];
        if (target->is_ref)
            cr_assert_eq(g->op[target->producer].colocation_class,
                         g->op[v].colocation_class);
    }
    cr_assert_eq(highest + 1, g->class_count);
}

/* The naive definition: repeat until nothing new is reached. */
static void check_prune(const emp_graph *whole, const emp_graph *step)
{
    bool   *reached = EMP_NEW_ARRAY(bool, (size_t)whole->op_count);
    int32_t count = 0;

    for (emp_op_id v = 0; v < whole->op_count; v++) reached[v] = whole->is_target[v];
    for (bool changed = true; changed;) {
        changed = false;
        for (emp_op_id v = 0; v < whole->op_count; v++) {
            if (!reached[v]) continue;
            for (int32_t i = whole->input_offset[v]; i < whole->input_offset[v + 1];
                 i++) {
                emp_op_id u = whole->tensor[whole->input[i]].producer;
                changed |= !reached[u];
                reached[u] = true;
            }
            for (int32_t i = whole->control_offset[v]; i < whole->control_offset[v + 1];
                 i++) {
                changed |= !reached[whole->control[i]];
                reached[whole->control[i]] = true;
            }
        }
    }
    for (emp_op_id v = 0; v < whole->op_count; v++) {
        if (!reached[v]) continue;
        cr_assert_lt(count, step->op_count);
        cr_assert_str_eq(step->name[count], whole->name[v], "ids keep their order");
        cr_assert_str_eq(step->type_name[step->type[count]],
                         whole->type_name[whole->type[v]]);
        cr_assert_eq(step->op[count].is_folded, whole->op[v].is_folded);
        int32_t inputs = whole->input_offset[v + 1] - whole->input_offset[v];
        cr_assert_eq(step->input_offset[count + 1] - step->input_offset[count], inputs);
        for (int32_t i = 0; i < inputs; i++) {
            int32_t t = whole->input[whole->input_offset[v] + i];
            int32_t s = step->input[step->input_offset[count] + i];
            cr_assert_str_eq(step->name[step->tensor[s].producer],
                             whole->name[whole->tensor[t].producer]);
        }
        count++;
    }
    cr_assert_eq(count, step->op_count);
    emp_free(reached);
}

Test(random_graphs, keep_every_promise)
{
    for (uint32_t k = 0; k < GRAPHS; k++) {
        emp_rng    rng;
        emp_graph *step = NULL, *again = NULL;

        emp_rng_init(&rng, 2026, k, 0);
        OWN_GRAPH whole = random_graph(&rng);
        check_order(whole);
        check_rows(whole);
        check_classes(whole);
        cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
        check_order(step);
        check_rows(step);
        check_classes(step);
        check_prune(whole, step);
        cr_assert_eq(emp_graph_prune(&again, step, NULL), EMP_OK);
        cr_assert_eq(again->hash, step->hash, "pruning twice changes nothing");
        emp_graph_destroy(step);
        emp_graph_destroy(again);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- extreme inputs ---- */

enum { ROUNDS = 40, MAX_INPUTS = 12 };

static int64_t random_number(emp_rng *rng)
{
    static const int64_t extremes[] = {
        0,  1,  2,         3,         INT64_MAX,        INT64_MIN,
        -1, -2, INT32_MAX, INT32_MIN, INT64_C(1) << 62, INT64_C(1) << 31};

    if (emp_rng_below(rng, 2) == 0) return (int64_t)emp_rng_below(rng, 5);
    return extremes[emp_rng_below(rng, COUNT(extremes))];
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
    ASSERT_OK(emp_graph_builder_add(b, name, type, &attrs, NULL, 0, NULL, 0, &op, NULL));
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
    OWN_GRAPH          g = NULL;
    emp_port           input[MAX_INPUTS];
    emp_op_id          op, declared;
    emp_op_attrs       attrs = random_attrs(rng);
    emp_shape outputs[3] = {random_shape(rng), random_shape(rng), random_shape(rng)};
    int32_t   count = (int32_t)emp_rng_below(rng, MAX_INPUTS + 1);

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    for (int32_t i = 0; i < count; i++) input[i] = random_source(b, rng, i);
    emp_graph_builder_add(b, "added", type, &attrs, input, count, NULL, 0, &op, NULL);
    ASSERT_OK(emp_graph_builder_declare(b, "declared", 8, type, strlen(type), &attrs,
                                        emp_rng_below(rng, 2) ? outputs : NULL, 3,
                                        &declared, NULL));
    for (int32_t i = 0; i < count; i++)
        cr_assert_eq(emp_graph_builder_connect(b, input[i], declared, NULL), EMP_OK);
    if (emp_graph_builder_finish(b, &g, NULL) == EMP_OK) check_facts(g, type);
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

Test(hostile, sizes_beyond_64_bits_saturate)
{
    emp_graph_builder *b = NULL;

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    emp_port w = kit_tensor(b, "w", "&f[4611686018427387904,4611686018427387904]");
    emp_port v = kit_tensor(b, "v", "&f[4611686018427387904,4]");
    kit_op(b, "sum", "AddN", NULL, 2, w, w);
    kit_op(b, "product", "MatMul", NULL, 2, w, v);
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(g->parameter_count, INT64_MAX);
    cr_expect_eq(g->parameter_bytes, INT64_MAX);
    cr_expect_eq(g->op[2].cost->bytes_read, INT64_MAX);
    cr_expect(isfinite(g->flops) && g->flops > 1e38);
}
