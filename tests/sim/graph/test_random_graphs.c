// SPDX-License-Identifier: GPL-3.0-or-later
/* Properties that every graph has, on random ones: the order is topological and the
 * lowest by id, rows agree with each other, pruning is reachability. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/sim/graph/kit.h"

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
        cr_assert_eq(emp_graph_builder_declare(b, name, (size_t)length, type,
                                               strlen(type), &attrs, NULL, 0, &id[i],
                                               NULL),
                     EMP_OK);
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
            cr_assert_eq(emp_graph_builder_connect(b, (emp_port){from, 0}, id[i], NULL),
                         EMP_OK);
            done++;
        }
        /* An op that found too few producers becomes harmless by reading a fresh
         * constant. */
        for (int32_t e = done; reads && e < 2; e++) {
            emp_op_id fresh;
            char      name[24];
            int       length = snprintf(name, sizeof name, "fresh%d_%d", i, e);
            cr_assert_eq(emp_graph_builder_declare(b, name, (size_t)length, "Const", 5,
                                                   &attrs, NULL, 0, &fresh, NULL),
                         EMP_OK);
            cr_assert_eq(emp_graph_builder_connect(b, (emp_port){fresh, 0}, id[i], NULL),
                         EMP_OK);
        }
        if (i > 0 && emp_rng_below(rng, 3) == 0)
            cr_assert_eq(emp_graph_builder_add_control(
                             b, id[emp_rng_below(rng, (uint32_t)i)], id[i], NULL),
                         EMP_OK);
        if (emp_rng_below(rng, 10) == 0) emp_graph_builder_set_target(b, id[i]);
    }
    emp_graph_builder_set_target(b, id[emp_rng_below(rng, (uint32_t)ops)]);
    return kit_finish(b);
}

/* Producers come first, and no op that was ready and has a lower id was passed over. */
static void check_order(const emp_graph *g)
{
    int32_t *missing = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    bool    *done = EMP_NEW_ARRAY(bool, (size_t)g->op_count);

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
    emp_free(missing);
    emp_free(done);
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
        emp_graph *whole = random_graph(&rng);
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
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
        emp_graph_destroy(again);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
