// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/why.h"

#include <math.h>

#include "base/mem.h"

static const emp_bound_part part_of[EMP_BOUND_RESOURCES] = {
    [EMP_BOUND_THREAD] = EMP_BOUND_PART_ISSUE,
    [EMP_BOUND_STREAM] = EMP_BOUND_PART_KERNELS,
    [EMP_BOUND_CORES] = EMP_BOUND_PART_CPU};

/* An op's loads on a kind of device at these prices. */
static emp_status add_loads(emp_bounds_why *why, emp_op_id op, const emp_area_item *item,
                            int32_t kind, const double *price, emp_error *err)
{
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        EMP_CHECK(emp_bound_shares_add(
            &why->shares,
            (emp_bound_share){op, part_of[r], price[r] * item->load[kind][r]}, err));
    return EMP_OK;
}

/* \param price  [EMP_AREA_PRICES] */
static void set_weights(emp_bounds_why *why, const emp_bound_model *model,
                        const double *price)
{
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        why->weight[r] = price[r] * model->capacity[r];
    for (int32_t i = 0; i < EMP_AREA_PRICES; i++) why->price[i] = price[i];
}

/* \param price  [EMP_AREA_PRICES] is set: prices of resources, and rents. */
static void take_prices(emp_bounds_why *why, const emp_bound_evidence *e, double *price)
{
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = e->area->price[r];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        price[EMP_BOUND_RESOURCES + k] = e->area->rent[k];
    set_weights(why, e->model, price);
}

/* Each class is where it is cheapest, also by the rent of its memory. */
static emp_status take_area(emp_bounds_why *why, const emp_bound_evidence *e,
                            emp_error *err)
{
    const emp_graph *g = e->model->problem->graph;
    double           price[EMP_AREA_PRICES], least;

    take_prices(why, e, price);
    why->value_ns = (emp_time_ns)ceil(e->area->value);
    why->rent_ns = e->area->value;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_area_item *class = &e->of_class[g->op[op].colocation_class];
        if (e->model->op[op].kinds == 0) continue;
        const emp_area_item item = emp_bound_item_of_op(e->model, op);
        const int32_t       k = emp_area_cheapest(class, price, &least);
        if (k < 0) continue;
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            why->rent_ns -= price[r] * item.load[k][r];
        EMP_CHECK(add_loads(why, op, &item, k, price, err));
    }
    return EMP_OK;
}

static emp_status take_window(emp_bounds_why *why, const emp_bound_evidence *e,
                              emp_error *err)
{
    double  price[EMP_AREA_PRICES] = {0}, least;
    int32_t i = 0;

    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = e->window->price[r];
    set_weights(why, e->model, price);
    why->value_ns = (emp_time_ns)ceil(e->window->value);
    why->window = e->window->window;
    for (emp_op_id op = 0; op < e->model->problem->graph->op_count; op++) {
        if (e->model->op[op].kinds == 0) continue;
        const emp_area_item *item = &e->of_op[i++];
        const int32_t        k = emp_area_cheapest(item, price, &least);
        if (k >= 0) EMP_CHECK(add_loads(why, op, item, k, price, err));
    }
    return EMP_OK;
}

/* The idle time of a GPU is that of its last op. */
static emp_status take_queue(emp_bounds_why *why, const emp_bound_evidence *e,
                             emp_error *err)
{
    const int32_t ops = e->model->problem->graph->op_count;

    why->value_ns = (emp_time_ns)ceil(e->queue->value);
    why->window = e->queue->window;
    for (emp_op_id op = 0; op < ops; op++)
        EMP_CHECK(emp_bound_shares_add(
            &why->shares,
            (emp_bound_share){op, EMP_BOUND_PART_KERNELS, e->queue_work[op]}, err));
    return emp_bound_shares_add(
        &why->shares,
        (emp_bound_share){e->queue->last, EMP_BOUND_PART_GAP, e->queue->idle}, err);
}

/* The resource of a kind's device that a class keeps busy for longest. */
static int32_t busiest(const emp_bound_model *model, const emp_area_item *item,
                       int32_t kind)
{
    int32_t most = 0;

    for (int32_t r = 1; r < EMP_BOUND_RESOURCES; r++)
        if (item->load[kind][r] / model->unit[r] >
            item->load[kind][most] / model->unit[most])
            most = r;
    return most;
}

/* On its best kind. */
static double time_of_class(const emp_bound_model *model, const emp_area_item *item,
                            int32_t *kind)
{
    double least = INFINITY;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        const int32_t r = busiest(model, item, k);
        if (!(item->kinds >> k & 1u) || item->load[k][r] / model->unit[r] >= least)
            continue;
        least = item->load[k][r] / model->unit[r];
        *kind = k;
    }
    return least < INFINITY ? least : 0.0;
}

static emp_status take_class(emp_bounds_why *why, const emp_bound_evidence *e,
                             emp_error *err)
{
    const emp_graph *g = e->model->problem->graph;
    int32_t          worst = -1, kind = 0;
    double           longest = 0.0, price[EMP_BOUND_RESOURCES] = {0};

    for (int32_t c = 0; c < g->class_count; c++) {
        int32_t      k = 0;
        const double time = time_of_class(e->model, &e->of_class[c], &k);
        if (time > longest) longest = time, worst = c, kind = k;
    }
    if (worst < 0) return EMP_OK;
    const int32_t r = busiest(e->model, &e->of_class[worst], kind);
    why->value_ns = emp_bound_longest_class(e->model, e->of_class);
    price[r] = 1.0 / e->model->unit[r];
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].colocation_class != worst || g->op[op].is_folded) continue;
        const emp_area_item item = emp_bound_item_of_op(e->model, op);
        EMP_CHECK(add_loads(why, op, &item, kind, price, err));
    }
    return EMP_OK;
}

/* The op, on a kind, through which the path is walked. */
typedef struct {
    emp_op_id   op; /* -1 = none */
    int32_t     kind;
    emp_time_ns ns;
} middle;

/* The shortest of the op's paths. */
static middle shortest_through(const emp_bound_evidence *e, emp_op_id op)
{
    middle least = {.op = -1, .ns = EMP_COST_LIMIT_NS};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (!emp_bound_may(&e->model->op[op], k)) continue;
        const emp_time_ns ns = emp_bound_paths_through(e->paths, op, k);
        if (least.op < 0 || ns < least.ns) least = (middle){op, k, ns};
    }
    return least;
}

static middle longest(const emp_bound_evidence *e)
{
    middle most = {.op = -1};

    for (emp_op_id v = 0; v < e->model->problem->graph->op_count; v++) {
        const middle m = shortest_through(e, v);
        if (m.op >= 0 && (most.op < 0 || m.ns > most.ns)) most = m;
    }
    return most;
}

/* The longest path through an op of a class, on the kind where that is shortest. */
static middle longest_of_class(const emp_bound_evidence *e, int32_t class)
{
    const emp_graph *g = e->model->problem->graph;
    middle           least = {.op = -1};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        middle most = {.op = -1};
        for (emp_op_id v = 0; v < g->op_count; v++) {
            if (g->op[v].colocation_class != class || !emp_bound_may(&e->model->op[v], k))
                continue;
            const emp_time_ns ns = emp_bound_paths_through(e->paths, v, k);
            if (most.op < 0 || ns > most.ns) most = (middle){v, k, ns};
        }
        if (most.op >= 0 && (least.op < 0 || most.ns < least.ns)) least = most;
    }
    return least;
}

static emp_status take_path(emp_bounds_why *why, const emp_bound_evidence *e,
                            emp_error *err)
{
    const emp_op *op = e->model->problem->graph->op;
    const middle  m =
        e->lost < 0 ? longest(e) : longest_of_class(e, op[e->lost].colocation_class);

    if (m.op < 0) return EMP_OK;
    why->value_ns = m.ns;
    return emp_bound_paths_walk(&why->shares, e->model, e->paths, m.op, m.kind, err);
}

emp_status emp_bounds_why_take(emp_bounds_why *why, const emp_bound_evidence *evidence,
                               emp_bound_lemma lemma, emp_error *err)
{
    double price[EMP_AREA_PRICES];

    emp_bounds_why_clear(why);
    why->lemma = lemma;
    switch (lemma) {
    case EMP_BOUND_BY_PATH: return take_path(why, evidence, err);
    case EMP_BOUND_BY_AREA: return take_area(why, evidence, err);
    case EMP_BOUND_BY_CLASS: return take_class(why, evidence, err);
    case EMP_BOUND_BY_WINDOW: return take_window(why, evidence, err);
    case EMP_BOUND_BY_QUEUE: return take_queue(why, evidence, err);
    case EMP_BOUND_BY_MEMORY: take_prices(why, evidence, price); return EMP_OK;
    default: return EMP_OK;
    }
}

void emp_bounds_why_clear(emp_bounds_why *why)
{
    emp_free(why->shares.share);
    emp_proof_clear(&why->proof);
    *why = (emp_bounds_why){0};
}
