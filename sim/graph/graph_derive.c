// SPDX-License-Identifier: GPL-3.0-or-later
// Facts about a graph as a whole: folding, colocation, parameters, totals, hash.
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph_internal.h"

/* TensorFlow's constant folding keeps no tensor larger than this (kMaxConstantSize). */
static const int64_t MAX_FOLDED_BYTES = 10 * 1024 * 1024;

static bool has_huge_output(const emp_graph *g, emp_op_id op)
{
    for (int32_t i = g->output_offset[op]; i < g->output_offset[op + 1]; i++)
        if (g->tensor[i].bytes > MAX_FOLDED_BYTES) return true;
    return false;
}

/* Whether all data inputs are constants; of shape ops, whether the shapes are known. */
static bool has_constant_inputs(const emp_graph *g, emp_op_id op)
{
    bool shapes_suffice = (g->op[op].flags & EMP_OP_DATA_IS_SHAPE) != 0;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_tensor *input = &g->tensor[g->input[i]];
        if (g->op[input->producer].is_folded) continue;
        if (!shapes_suffice || !emp_shape_is_known(input->shape) ||
            (g->op[input->producer].flags & EMP_OP_DYNAMIC_SHAPE))
            return false;
    }
    return g->input_offset[op] < g->input_offset[op + 1];
}

static bool waits_for_stateful(const emp_graph *g, emp_op_id op)
{
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (g->op[g->control[i]].flags & EMP_OP_STATEFUL) return true;
    return false;
}

void emp_graph_fold(emp_graph *g)
{
    const uint32_t never = EMP_OP_STATEFUL | EMP_OP_UPDATES_REF | EMP_OP_IS_VARIABLE |
                           EMP_OP_CONTROL_FLOW | EMP_OP_OPEN_OUTPUTS | EMP_OP_RUNS;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        uint32_t  flags = g->op[op].flags;
        if ((flags & never) || g->type_entry[g->type[op]] == NULL ||
            g->output_offset[op] == g->output_offset[op + 1] || waits_for_stateful(g, op))
            continue;
        g->op[op].is_folded = (flags & EMP_OP_IS_CONST) ||
                              (has_constant_inputs(g, op) && !has_huge_output(g, op));
    }
}

/* The value of a variable as TensorFlow's front end reads it: "x/read". */
static bool is_snapshot(const emp_graph *g, emp_op_id op)
{
    return (g->op[op].flags & EMP_OP_ALIASES_INPUT) &&
           g->input_offset[op] < g->input_offset[op + 1] &&
           g->tensor[g->input[g->input_offset[op]]].is_ref;
}

/* Whether an op must be where input i is: it takes a reference, or it is one of the ops
 * that the front end pins to a variable, the snapshot and the look-up of rows of a
 * snapshot (embedding_lookup). Else whole tables would be sent. */
static bool is_bound_to_input(const emp_graph *g, emp_op_id op, int32_t i)
{
    const emp_op_type *type = g->type_entry[g->type[op]];
    const emp_tensor  *input = &g->tensor[g->input[g->input_offset[op] + i]];

    if (i < type->ref_inputs && (input->is_ref || input->dtype == EMP_DTYPE_RESOURCE))
        return true;
    if (i != 0) return false;
    bool is_table = is_snapshot(g, input->producer) ||
                    (g->op[input->producer].flags & EMP_OP_IS_WEIGHTS);
    return is_snapshot(g, op) || ((g->op[op].flags & EMP_OP_LOOKUP) && is_table);
}

static void join_by_references(const emp_graph *g, emp_op_id *parent)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t input_count = g->input_offset[op + 1] - g->input_offset[op];
        if (g->type_entry[g->type[op]] == NULL) continue;
        for (int32_t i = 0; i < input_count; i++) {
            if (!is_bound_to_input(g, op, i)) continue;
            emp_disjoint_join(parent, op,
                              g->tensor[g->input[g->input_offset[op] + i]].producer);
        }
    }
}

/* The number that binds an op by itself; -1 = none. */
static int32_t number_of(const emp_graph *g, emp_op_id op)
{
    if (g->stated != NULL) return g->stated[op].colocation;
    return g->colocation != NULL ? g->colocation[op] - 1 : -1;
}

static bool has_numbers(const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (number_of(g, op) >= 0) return true;
    return false;
}

static emp_status join_by_numbers(const emp_graph *g, emp_op_id *parent, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_keyed *bound = EMP_NEW_ARRAY(emp_keyed, (size_t)g->op_count);

    if (bound == NULL) EMP_FAIL(EMP_ENOMEM, "colocation of %d ops", g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++)
        bound[op] = (emp_keyed){number_of(g, op), op};
    emp_keyed_sort(bound, (size_t)g->op_count);
    for (int32_t i = 1; i < g->op_count; i++) {
        if (bound[i].key >= 0 && bound[i].key == bound[i - 1].key)
            emp_disjoint_join(parent, bound[i].number, bound[i - 1].number);
    }

cleanup:
    emp_free(bound);
    return st;
}

static emp_status derive_classes(emp_graph *g, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_op_id *parent = EMP_NEW_ARRAY(emp_op_id, (size_t)g->op_count);

    if (parent == NULL) EMP_FAIL(EMP_ENOMEM, "colocation of %d ops", g->op_count);
    emp_disjoint_init(parent, g->op_count);
    if (g->stated == NULL) join_by_references(g, parent);
    if (has_numbers(g)) EMP_TRY(join_by_numbers(g, parent, err));
    /* A root has the lowest id of its class, so it is numbered before its members. */
    g->class_count = 0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_op_id root = emp_disjoint_root(parent, op);
        g->op[op].colocation_class =
            root == op ? g->class_count++ : g->op[root].colocation_class;
    }

cleanup:
    emp_free(parent);
    return st;
}

/* Length of the variable's name that a slot's name starts with, or 0: "w/Adam_1" -> 1. */
static size_t slot_prefix(const char *name)
{
    static const char *const slots[] = {
        "Adam",   "Momentum", "Adagrad",  "RMSProp",         "Ftrl",           "Adadelta",
        "AdaMax", "Nadam",    "Nesterov", "ProximalAdagrad", "GradientDescent"};
    const char *last = strrchr(name, '/');

    if (last == NULL) return 0;
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        size_t length = strlen(slots[i]);
        if (strncmp(last + 1, slots[i], length) != 0) continue;
        const char *rest = last + 1 + length;
        if (*rest == '_') rest += 1 + strspn(rest + 1, "0123456789");
        if (*rest == '\0') return (size_t)(last - name);
    }
    return 0;
}

/* Marks the variables that optimizers update, also through pass-throughs such as
 * RefSwitch. variable_of[op]: the variable that output 0 of op refers to, or -1. */
static emp_status mark_optimized(const emp_graph *g, bool *is_parameter, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_op_id *variable_of = EMP_NEW_ARRAY(emp_op_id, (size_t)g->op_count);

    if (variable_of == NULL) EMP_FAIL(EMP_ENOMEM, "variables of %d ops", g->op_count);
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        variable_of[op] = (g->op[op].flags & EMP_OP_IS_VARIABLE) ? op : -1;
        if (variable_of[op] >= 0 || g->input_offset[op] == g->input_offset[op + 1])
            continue;
        const emp_tensor *input = &g->tensor[g->input[g->input_offset[op]]];
        if (input->is_ref || input->dtype == EMP_DTYPE_RESOURCE)
            variable_of[op] = variable_of[input->producer];
        if ((g->op[op].flags & EMP_OP_IS_OPTIMIZER) && variable_of[op] >= 0)
            is_parameter[variable_of[op]] = true;
    }

cleanup:
    emp_free(variable_of);
    return st;
}

/* A variable with a slot is trained, even if its update is made of Assign and Scatter. */
static emp_status mark_slot_owners(const emp_graph *g, bool *is_parameter, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap variables = {0};

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].flags & EMP_OP_IS_VARIABLE)
            EMP_TRY(
                emp_strmap_set(&variables, g->name[op], strlen(g->name[op]), op, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (!(g->op[op].flags & EMP_OP_IS_VARIABLE)) continue;
        size_t length = slot_prefix(g->name[op]);
        if (length == 0) continue;
        emp_op_id owner = emp_strmap_get(&variables, g->name[op], length);
        if (owner >= 0) is_parameter[owner] = true;
    }

cleanup:
    emp_strmap_clear(&variables);
    return st;
}

static void sum_parameters(emp_graph *g, const bool *is_parameter, bool all)
{
    g->parameter_count = g->parameter_bytes = 0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (!(g->op[op].flags & EMP_OP_IS_VARIABLE) || !(all || is_parameter[op]) ||
            (g->op[op].flags & EMP_OP_IS_STATE))
            continue;
        g->parameter_count =
            emp_add_saturating(g->parameter_count,
                               emp_shape_elements(g->tensor[g->output_offset[op]].shape));
        g->parameter_bytes =
            emp_add_saturating(g->parameter_bytes, g->op[op].persistent_bytes);
    }
}

static emp_status derive_parameters(emp_graph *g, const emp_held_weights *held,
                                    emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_parameter = EMP_NEW_ARRAY(bool, (size_t)g->op_count);

    if (is_parameter == NULL) EMP_FAIL(EMP_ENOMEM, "marks of %d ops", g->op_count);
    EMP_TRY(mark_optimized(g, is_parameter, err));
    EMP_TRY(mark_slot_owners(g, is_parameter, err));
    sum_parameters(g, is_parameter, false);
    if (g->parameter_count == 0) {
        sum_parameters(g, is_parameter, true);
        g->parameter_count = emp_add_saturating(g->parameter_count, held->elements);
        g->parameter_bytes = emp_add_saturating(g->parameter_bytes, held->bytes);
    }

cleanup:
    emp_free(is_parameter);
    return st;
}

static void derive_totals(emp_graph *g)
{
    g->unknown_op_count = g->unknown_shape_count = 0;
    g->flops = 0.0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        g->unknown_op_count += g->stated == NULL && g->type_entry[g->type[op]] == NULL;
        if (!g->op[op].is_folded) g->flops += g->op[op].cost->flops;
    }
    for (int32_t t = 0; t < g->tensor_count; t++)
        g->unknown_shape_count += !emp_shape_is_known(g->tensor[t].shape);
}

/* Times, bindings and bytes, which elsewhere follow from what is hashed anyway. */
static uint64_t hash_stated(uint64_t hash, const emp_graph *g, emp_op_id op)
{
    const emp_stated_cost *stated = &g->stated[op];

    hash = emp_hash_u64(hash, (uint64_t)stated->gpu_ns);
    hash = emp_hash_u64(hash, (uint64_t)stated->cpu_ns);
    hash = emp_hash_u64(hash, (uint64_t)stated->copy_ns);
    hash = emp_hash_u64(hash, (uint64_t)g->op[op].colocation_class);
    hash = emp_hash_u64(hash, g->op[op].kinds);
    hash = emp_hash_u64(hash, (uint64_t)g->op[op].persistent_bytes);
    return emp_hash_u64(hash, (uint64_t)g->tensor[g->output_offset[op]].bytes);
}

static void derive_hash(emp_graph *g)
{
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, (uint64_t)g->op_count);

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *type = g->type_name[g->type[op]];
        hash = emp_hash_bytes(hash, g->name[op], strlen(g->name[op]) + 1);
        hash = emp_hash_bytes(hash, type, strlen(type) + 1);
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
            hash = emp_hash_u64(hash, (uint64_t)g->input[i]);
        hash = emp_hash_u64(hash, UINT64_MAX);
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
            hash = emp_hash_u64(hash, (uint64_t)g->control[i]);
        hash = emp_hash_u64(hash, g->is_target[op]);
        if (g->stated != NULL) hash = hash_stated(hash, g, op);
        if (!(g->op[op].flags & EMP_OP_IS_VARIABLE) && g->op[op].persistent_bytes > 0)
            hash = emp_hash_u64(hash, (uint64_t)g->op[op].persistent_bytes);
        if (g->colocation != NULL && g->colocation[op] > 0)
            hash = emp_hash_u64(hash, (uint64_t)g->op[op].colocation_class);
        for (int32_t i = g->output_offset[op]; i < g->output_offset[op + 1]; i++) {
            const emp_tensor *tensor = &g->tensor[i];
            hash = emp_hash_u64(hash, (uint64_t)tensor->dtype);
            hash = emp_hash_u64(hash, (uint64_t)(int64_t)tensor->shape->rank);
            for (int32_t d = 0; d < tensor->shape->rank; d++)
                hash = emp_hash_u64(hash, (uint64_t)tensor->shape->dim[d]);
        }
    }
    g->hash = emp_collectives_hash(emp_stated_hash(hash, g), g);
}

void emp_graph_set_targets(emp_graph *graph, const bool *is_target)
{
    memcpy(graph->is_target, is_target, (size_t)graph->op_count * sizeof *is_target);
    derive_hash(graph);
}

emp_status emp_graph_derive(emp_graph *g, const emp_held_weights *held, bool with_hash,
                            emp_error *err)
{
    EMP_CHECK(derive_classes(g, err));
    EMP_CHECK(derive_parameters(g, held, err));
    derive_totals(g);
    if (with_hash) derive_hash(g);
    return EMP_OK;
}
