// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "sim/graph/graph_builder.h"

/* Random streams. */
enum { STREAM_GRAPH, STREAM_COSTS, STREAM_PLACEMENTS };

enum {
    COLUMNS = EMP_SYNTHETIC_COLUMNS,
    HUB_SPAN = 1000,    /* ops that share a hub */
    SMALL_GRAPH = 20000 /* ops; tensors of larger graphs are smaller, so that they fit */
};

/* Shares of ops: with a second input, read by their mirror, that read their hub.
 * Edges per op: 1 + SECOND_INPUT + ACTIVATION / 2 + HUB = 1.64. */
static const double SECOND_INPUT = 0.12, ACTIVATION = 0.90, HUB = 0.07;

static const double SMALLEST_TENSOR = 0x1p14, LARGEST_TENSOR = 0x1p18; /* elements */

typedef struct {
    emp_graph_builder *builder;
    emp_rng            rng;
    int32_t            op_count;
    emp_shape          shape[COLUMNS]; /* of the tensors of a column */
} draft;

static bool chance(emp_rng *rng, double share) { return emp_rng_uniform(rng) < share; }

static int32_t below(emp_rng *rng, int32_t bound)
{
    return (int32_t)emp_rng_below(rng, (uint32_t)bound);
}

static int32_t mirror_of(const draft *d, int32_t op) { return d->op_count - 1 - op; }

/* Sizes uniform in the logarithm. */
static void draw_shapes(draft *d)
{
    double shrink = fmax(1.0, (double)d->op_count / SMALL_GRAPH);

    for (int32_t c = 0; c < COLUMNS; c++) {
        double factor = pow(LARGEST_TENSOR / SMALLEST_TENSOR, emp_rng_uniform(&d->rng));
        d->shape[c] = EMP_SHAPE((int64_t)(SMALLEST_TENSOR * factor / shrink) + 1);
    }
}

/* A third of the ops may work in place. Type "Layer" is in no table and therefore costed
 * as element-wise. */
static emp_status declare_op(draft *d, int32_t op, emp_error *err)
{
    int32_t      forward = op < mirror_of(d, op) ? op : mirror_of(d, op);
    bool         has_input = op >= COLUMNS;
    const char  *type = has_input && op % 3 == 0 ? "Relu" : "Layer";
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    char         name[24];
    emp_op_id    id;
    int          length = snprintf(name, sizeof name, "op%d", op);

    return emp_graph_builder_declare(d->builder, name, (size_t)length, type, strlen(type),
                                     &attrs, &d->shape[forward % COLUMNS], 1, &id, err);
}

static emp_status connect(draft *d, int32_t from, int32_t to, emp_error *err)
{
    return emp_graph_builder_connect(d->builder, (emp_port){from, 0}, to, err);
}

/* The edge from one forward op to another, and the gradient's way back. */
static emp_status connect_both_ways(draft *d, int32_t from, int32_t to, emp_error *err)
{
    EMP_CHECK(connect(d, from, to, err));
    if (mirror_of(d, to) > to)
        EMP_CHECK(connect(d, mirror_of(d, to), mirror_of(d, from), err));
    return EMP_OK;
}

static emp_status connect_forward_op(draft *d, int32_t op, emp_error *err)
{
    int32_t mirror = mirror_of(d, op), hub = op - op % HUB_SPAN;
    int32_t above = op - op % COLUMNS - COLUMNS; /* first op of the layer above */
    int32_t second = above + below(&d->rng, COLUMNS);
    bool    is_last_layer = op + COLUMNS >= (d->op_count + 1) / 2;

    if (above >= 0) EMP_CHECK(connect_both_ways(d, op - COLUMNS, op, err));
    if (chance(&d->rng, SECOND_INPUT) && above >= 0 && second != op - COLUMNS)
        EMP_CHECK(connect_both_ways(d, second, op, err));
    if (chance(&d->rng, HUB) && hub < op) EMP_CHECK(connect(d, hub, op, err));
    if (mirror == op) return EMP_OK;
    if (chance(&d->rng, HUB)) EMP_CHECK(connect(d, hub, mirror, err));
    if (chance(&d->rng, ACTIVATION) || is_last_layer)
        EMP_CHECK(connect(d, op, mirror, err));
    return EMP_OK;
}

emp_status emp_synthetic_graph(emp_graph **out, int32_t op_count, uint64_t seed,
                               emp_error *err)
{
    emp_status st = EMP_OK;
    draft      d = {.op_count = op_count};

    *out = NULL;
    if (op_count < 2) EMP_FAIL(EMP_EINVAL, "a graph of %d ops; at least 2", op_count);
    emp_rng_init(&d.rng, seed, STREAM_GRAPH, 0);
    EMP_TRY(emp_graph_builder_create(&d.builder, err));
    draw_shapes(&d);
    for (int32_t op = 0; op < op_count; op++) EMP_TRY(declare_op(&d, op, err));
    for (int32_t op = 0; op <= mirror_of(&d, op); op++)
        EMP_TRY(connect_forward_op(&d, op, err));
    emp_graph_builder_set_target(d.builder, op_count - 1);
    EMP_TRY(emp_graph_builder_finish(d.builder, out, err));

cleanup:
    emp_graph_builder_destroy(d.builder);
    return st;
}

static emp_time_ns vary(emp_time_ns time_ns, double share, uint32_t extra_ns)
{
    return (emp_time_ns)((double)time_ns * (0.9 + 0.2 * share)) + 1 + extra_ns;
}

void emp_synthetic_vary_costs(emp_problem *problem, uint64_t seed)
{
    emp_cost_table *c = problem->costs;
    const int32_t   gpus = c->column_count[EMP_DEVICE_GPU];
    const int32_t   cpus = c->column_count[EMP_DEVICE_CPU];
    emp_rng         rng;

    emp_rng_init(&rng, seed, STREAM_COSTS, 0);
    for (emp_op_id op = 0; op < c->op_count; op++) {
        double   share = emp_rng_uniform(&rng);
        uint32_t extra_ns = emp_rng_below(&rng, 1000);
        for (int32_t row = op; row < gpus * c->op_count; row += c->op_count)
            c->gpu[row].compute_ns = vary(c->gpu[row].compute_ns, share, extra_ns);
        for (int32_t row = op; row < cpus * c->op_count; row += c->op_count) {
            int32_t      lanes = c->cpu[row].lanes;
            emp_time_ns *task_ns = &c->task_ns[c->cpu_offset[row]];
            for (int32_t p = 0; p < lanes; p++)
                task_ns[p] = vary(task_ns[p], share, extra_ns);
            c->cpu[row].compute_ns = task_ns[lanes - 1] * emp_cost_rounds(lanes);
        }
    }
}

const char *emp_synthetic_kind_name(emp_synthetic_kind kind)
{
    static const char *const names[] = {"gpu", "pipeline", "groups", "random"};

    return names[kind];
}

/* In blocks by distance from the ends of the graph: an op and its mirror stay together. */
static int32_t block_of(int32_t op, int32_t op_count, int32_t block_count)
{
    int32_t half = (op_count + 1) / 2, forward = op < half ? op : op_count - 1 - op;

    return (int32_t)((int64_t)forward * block_count / half);
}

void emp_synthetic_place(emp_device_id *device_of_op, int32_t op_count,
                         const emp_machine *machine, emp_synthetic_kind kind,
                         uint64_t seed, uint32_t draw)
{
    emp_device_id device_of_group[EMP_SYNTHETIC_GROUPS], gpu[EMP_MAX_DEVICES];
    int32_t       device_count = machine->device_count;
    int32_t       gpu_count = emp_machine_list(machine, EMP_DEVICE_GPU, gpu);
    emp_rng       rng;

    emp_rng_init(&rng, seed, STREAM_PLACEMENTS, draw);
    for (int32_t g = 0; g < EMP_SYNTHETIC_GROUPS; g++)
        device_of_group[g] = below(&rng, device_count);
    for (int32_t op = 0; op < op_count; op++) {
        switch (kind) {
        case EMP_PLACE_PIPELINE:
            device_of_op[op] = gpu[block_of(op, op_count, gpu_count)];
            break;
        case EMP_PLACE_GROUPS:
            device_of_op[op] =
                device_of_group[block_of(op, op_count, EMP_SYNTHETIC_GROUPS)];
            break;
        case EMP_PLACE_RANDOM: device_of_op[op] = below(&rng, device_count); break;
        default: device_of_op[op] = gpu[0]; break;
        }
    }
}
