// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/area.h"

#include <glpk.h>
#include <math.h>

#include "base/lp/guard.h"

/* The highest point below planes over prices and rents. */

enum { PLANES = 60 };

/* value <= constant + sum of slope x price. */
typedef struct {
    double constant;
    double slope[EMP_AREA_PRICES];
} area_plane;

enum { HEIGHT = EMP_AREA_PRICES + 1, MAX_ENTRIES = (PLANES + 1) * HEIGHT };

typedef struct {
    const area_plane *plane;
    int32_t           count;
    const double     *capacity;
    double            most;
    double           *price, *height;
    glp_prob         *lp;
    int               row[MAX_ENTRIES + 1], column[MAX_ENTRIES + 1]; /* from 1 */
    double            entry[MAX_ENTRIES + 1];
} program;

static void add_entry(program *p, int *count, int row, int column, double value)
{
    ++*count;
    p->row[*count] = row;
    p->column[*count] = column;
    p->entry[*count] = value;
}

/* Row 1: sum of capacity x price = 1. Row 2 + j: height - slope . price <= constant. */
static void state_program(program *p)
{
    int entries = 0;

    p->lp = glp_create_prob();
    glp_set_obj_dir(p->lp, GLP_MAX);
    glp_add_cols(p->lp, HEIGHT);
    glp_add_rows(p->lp, p->count + 1);
    for (int c = 1; c <= EMP_AREA_PRICES; c++) {
        bool is_price = c <= EMP_BOUND_RESOURCES;
        glp_set_col_bnds(p->lp, c, is_price ? GLP_LO : GLP_DB, 0.0, p->most);
        if (is_price) add_entry(p, &entries, 1, c, p->capacity[c - 1]);
    }
    glp_set_col_bnds(p->lp, HEIGHT, GLP_FR, 0.0, 0.0);
    glp_set_obj_coef(p->lp, HEIGHT, 1.0);
    glp_set_row_bnds(p->lp, 1, GLP_FX, 1.0, 1.0);
    for (int j = 0; j < p->count; j++) {
        glp_set_row_bnds(p->lp, j + 2, GLP_UP, 0.0, p->plane[j].constant);
        add_entry(p, &entries, j + 2, HEIGHT, 1.0);
        for (int c = 1; c <= EMP_AREA_PRICES; c++)
            if (p->plane[j].slope[c - 1] != 0.0)
                add_entry(p, &entries, j + 2, c, -p->plane[j].slope[c - 1]);
    }
    glp_load_matrix(p->lp, entries, p->row, p->column, p->entry);
}

/* 0, or why GLPK gave up. */
static int solve(void *context)
{
    program *p = (program *)context;
    glp_smcp how;

    state_program(p);
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    int failure = glp_simplex(p->lp, &how);
    if (failure == 0 && glp_get_status(p->lp) != GLP_OPT) failure = GLP_EFAIL;
    for (int c = 1; failure == 0 && c <= EMP_AREA_PRICES; c++)
        p->price[c - 1] = glp_get_col_prim(p->lp, c);
    if (failure == 0) *p->height = glp_get_col_prim(p->lp, HEIGHT);
    return failure;
}

/* Finds the highest point below the planes. \param capacity  What prices of resources are normed by.
 * \param most  No rent is above it.
 * \param[out] price, height  Of the highest point.
 * \retval EMP_EEXTERNAL */
static emp_status solve_planes(const area_plane *plane, int32_t count,
                               const double *capacity, double most, double *price,
                               double *height, emp_error *err)
{
    program p = {.plane = plane,
                 .count = count,
                 .capacity = capacity,
                 .most = most,
                 .price = price,
                 .height = height};
    int     failure = emp_lp_guarded(solve, &p);

    if (failure != 0) {
        return EMP_ERROR(EMP_EEXTERNAL,
                         "GLPK cannot find prices below %d planes: code %d", count,
                         failure);
    }
    return EMP_OK;
}

/* ---- prices ---- */

/* Of sums; those of 80,000 rounded terms are off by far less. */
static const double ROUNDING = 1e-9;

/* No rent that helps is higher, in units of all work, unless nothing fits. */
enum { MOST_RENT = 16 };

/* ---- the dual ---- */

int32_t emp_area_cheapest(const emp_area_item *item, const double *price, double *least)
{
    int32_t best = -1;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        double cost = price[EMP_BOUND_RESOURCES + k] * item->memory_frac[k];
        if (!(item->kinds >> k & 1u)) continue;
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            cost += price[r] * item->load[k][r];
        if (best < 0 || cost < *least) best = k, *least = cost;
    }
    return best;
}

/* The bound at these prices, and the plane of the loads that attain it. */
static double value_at(const emp_area_item *item, int32_t count, const double *price,
                       double scale, area_plane *plane)
{
    double sum = 0.0;

    *plane = (area_plane){0};
    for (int32_t i = 0; i < count; i++) {
        double  least = 0.0;
        int32_t k = emp_area_cheapest(&item[i], price, &least);
        if (k < 0) continue;
        sum += least;
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            plane->slope[r] += item[i].load[k][r] / scale;
        plane->slope[EMP_BOUND_RESOURCES + k] += item[i].memory_frac[k];
    }
    sum *= 1.0 - ROUNDING;
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        sum -= price[EMP_BOUND_RESOURCES + k] * (1.0 + ROUNDING);
        plane->slope[EMP_BOUND_RESOURCES + k] -= 1.0;
    }
    return sum;
}

/* ---- prices ---- */

/* Solvers keep within bounds and sums only to a tolerance. */
static void norm(double *price, const double *capacity)
{
    double sum = 0.0;

    for (int32_t i = 0; i < EMP_AREA_PRICES; i++) price[i] = fmax(price[i], 0.0);
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) sum += capacity[r] * price[r];
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] /= sum;
}

/* All work on the slowest kinds: no T that is feasible need be more. */
static double most_work(const emp_area_item *item, int32_t count)
{
    double sum = 0.0;

    for (int32_t i = 0; i < count; i++) {
        double most = 0.0;
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            for (int32_t r = 0; item[i].kinds >> k & 1u && r < EMP_BOUND_RESOURCES; r++)
                most = fmax(most, item[i].load[k][r]);
        sum += most;
    }
    return sum;
}

static void keep_best(emp_area *best, double value, const double *price)
{
    if (value <= best->value) return;
    best->value = value;
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) best->price[r] = price[r];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        best->rent[k] = price[EMP_BOUND_RESOURCES + k];
}

emp_status emp_area_solve(emp_area *out, const emp_area_item *item, int32_t count,
                          const double capacity[EMP_BOUND_RESOURCES], double accuracy,
                          emp_error *err)
{
    area_plane plane[PLANES];
    double     price[EMP_AREA_PRICES] = {0}, scale = fmax(most_work(item, count), 1.0);
    double     height = 0.0;

    *out = (emp_area){.value = -1.0};
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        price[r] = 1.0 / (EMP_BOUND_RESOURCES * capacity[r]);
    for (int32_t n = 0; n < PLANES; n++) {
        double value = value_at(item, count, price, scale, &plane[n]);
        keep_best(out, value, price);
        if (n + 1 == PLANES) break;
        EMP_CHECK(solve_planes(plane, n + 1, capacity, MOST_RENT, price, &height, err));
        norm(price, capacity);
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            price[EMP_BOUND_RESOURCES + k] *= scale;
        if (height * scale - out->value <= accuracy * fabs(out->value)) break;
    }
    out->value = fmax(0.0, out->value);
    out->is_infeasible = out->value > scale * (1.0 + ROUNDING);
    return EMP_OK;
}

/* An op, with the idle time that its device has after it. */
static emp_area_item item_of_op(const emp_bound_model *model, emp_op_id op)
{
    const emp_bound_op *o = &model->op[op];
    emp_area_item       item = {.kinds = o->kinds};

    item.load[EMP_DEVICE_CPU][EMP_BOUND_CORES] =
        (double)o->core_ns + (double)o->gap_ns[EMP_DEVICE_CPU];
    item.load[EMP_DEVICE_GPU][EMP_BOUND_THREAD] = (double)o->issue_ns;
    item.load[EMP_DEVICE_GPU][EMP_BOUND_STREAM] =
        (double)o->run_ns[EMP_DEVICE_GPU] + (double)o->gap_ns[EMP_DEVICE_GPU];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (model->memory_bytes[k] > 0)
            item.memory_frac[k] = (double)o->bytes[k] / (double)model->memory_bytes[k];
    }
    return item;
}

static void add_item(emp_area_item *sum, const emp_area_item *item)
{
    sum->kinds &= item->kinds;
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        sum->memory_frac[k] += item->memory_frac[k];
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            sum->load[k][r] += item->load[k][r];
    }
}

static void sum_classes(const emp_bound_model *model, emp_area_item *item)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t c = 0; c < g->class_count; c++) item[c] = (emp_area_item){0};
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t       c = g->op[op].colocation_class;
        emp_area_item one = item_of_op(model, op);
        if (g->op[op].is_folded) continue;
        if (item[c].kinds == 0) item[c].kinds = EMP_KIND_CPU | EMP_KIND_GPU;
        add_item(&item[c], &one);
    }
}

/* A device is as large as the largest; a sum of fractions is rounded, so a class that just
 * fits must not be refused. */
static bool fits(const emp_bound_model *model, const emp_area_item *item, int32_t kind)
{
    if (model->memory_bytes[kind] < 0) return true;
    return item->memory_frac[kind] * (double)model->memory_bytes[kind] <=
           (double)model->most_bytes[kind] * (1.0 + 1e-9);
}

bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item)
{
    const emp_graph *g = model->problem->graph;
    bool             have_all_some = true;

    sum_classes(model, item);
    for (int32_t c = 0; c < g->class_count; c++)
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (!fits(model, &item[c], k)) item[c].kinds &= ~(1u << k);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        model->op[op].kinds = item[g->op[op].colocation_class].kinds;
        have_all_some &= model->op[op].kinds != 0;
    }
    return have_all_some;
}

emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item)
{
    double longest = 0.0;

    for (int32_t c = 0; c < model->problem->graph->class_count; c++) {
        double least = INFINITY;
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            double busiest = 0.0;
            if (!(item[c].kinds >> k & 1u)) continue;
            for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
                busiest = fmax(busiest, item[c].load[k][r] / model->unit[r]);
            least = fmin(least, busiest);
        }
        if (least < INFINITY) longest = fmax(longest, least);
    }
    return (emp_time_ns)ceil(longest * (1.0 - 1e-9));
}
