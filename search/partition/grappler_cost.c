// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/grappler_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double cpu_bytes_per_s = 32e9;

typedef struct {
    const char *type;
    double      cycles; /* of an element, in Eigen's loop over vectors */
} element_cost;

/* What differs from 1 cycle; sorted by type. */
static const element_cost element_costs[] = {
    {"Div", 14},   {"Exp", 14},     {"FloorDiv", 14},    {"Inv", 14},  {"Log", 27},
    {"Log1p", 27}, {"RealDiv", 14}, {"Reciprocal", 14},  {"Rsqrt", 5}, {"Sigmoid", 30},
    {"Sqrt", 14},  {"Tanh", 22},    {"TruncateDiv", 14},
};

static int by_type(const void *type, const void *entry)
{
    return strcmp(type, ((const element_cost *)entry)->type);
}

static bool is_one_of(const char *type, const char *const *list)
{
    while (*list != NULL && strcmp(*list, type) != 0) list++;
    return *list != NULL;
}

static bool is_free(const char *type)
{
    static const char *const list[] = {"Identity", "NoOp",       "Reshape", "_Recv",
                                       "Variable", "VariableV2", NULL};

    return is_one_of(type, list);
}

static bool tells_shapes(const char *type)
{
    static const char *const list[] = {"Rank", "Shape", "Size", NULL};

    return is_one_of(type, list);
}

static bool is_product(const char *type)
{
    static const char *const list[] = {
        "BatchMatMul",  "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "MatMul",
        "SparseMatMul", NULL};

    return is_one_of(type, list);
}

static double bytes_of(const emp_tensor *tensor)
{
    return (double)emp_shape_elements(&tensor->shape) *
           (double)emp_dtype_bytes(tensor->dtype);
}

/* What an op reads and makes. */
typedef struct {
    double bytes;
    double most_elements; /* of an input or of output 0 */
} operands;

static operands operands_of(const emp_graph *graph, emp_op_id op)
{
    operands all = {0.0, 0.0};
    int32_t  first_output = graph->output_offset[op];

    for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
        const emp_tensor *input = &graph->tensor[graph->input[i]];
        all.bytes += bytes_of(input);
        all.most_elements =
            fmax(all.most_elements, (double)emp_shape_elements(&input->shape));
    }
    for (int32_t t = first_output; t < graph->output_offset[op + 1]; t++)
        all.bytes += bytes_of(&graph->tensor[t]);
    return all;
}

static double operations_of(const emp_graph *graph, emp_op_id op, const operands *all)
{
    const char         *type = graph->type_name[graph->type[op]];
    int32_t             output = graph->output_offset[op];
    double              elements = all->most_elements;
    const element_cost *entry =
        bsearch(type, element_costs, sizeof element_costs / sizeof *element_costs,
                sizeof *element_costs, by_type);

    if (is_product(type)) return graph->op[op].cost.flops;
    if (output < graph->output_offset[op + 1] &&
        graph->op[op].cost.op_class == EMP_OP_ELEMENTWISE)
        elements =
            fmax(elements, (double)emp_shape_elements(&graph->tensor[output].shape));
    return elements * (entry == NULL ? 1.0 : entry->cycles);
}

double emp_grappler_cost_ns(const emp_graph *graph, emp_op_id op,
                            const emp_device *device)
{
    const char *type = graph->type_name[graph->type[op]];
    bool        is_gpu = device->kind == EMP_DEVICE_GPU;
    double rate = is_gpu ? device->peak_flops_per_s : device->cores * device->clock_hz;
    double bandwidth = is_gpu ? device->memory_bytes_per_s : cpu_bytes_per_s;

    if (is_free(type)) return 0.0;
    if (tells_shapes(type)) return 1.0;
    operands all = operands_of(graph, op);
    return ceil(operations_of(graph, op, &all) * 1e9 / rate) +
           ceil(all.bytes * 1e9 / bandwidth);
}
