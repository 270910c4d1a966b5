// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/area.h"

#include <glpk.h>
#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/lp/guard.h"

/* Items that are priced together. */
enum { BLOCK = EMP_AREA_BLOCK };

/* ---- tables ---- */

emp_status emp_area_table_init(emp_area_table *t, int32_t count, bool has_memory,
                               emp_error *err)
{
    const size_t room = ((size_t)count + BLOCK - 1) / BLOCK * BLOCK;

    *t = (emp_area_table){.count = count};
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
        t->load[r] = EMP_ADD_ARRAY(&t->arrays, double, room);
        t->frac[r] = EMP_ADD_ARRAY(&t->arrays, double, room);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        t->barred[k] = EMP_ADD_ARRAY(&t->arrays, double, room);
        if (has_memory) t->memory_frac[k] = EMP_ADD_ARRAY(&t->arrays, double, room);
    }
    if (t->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "a table of %d items", count);
    return EMP_OK;
}

void emp_area_table_clear(emp_area_table *t)
{
    emp_arrays_clear(&t->arrays);
    *t = (emp_area_table){0};
}

void emp_area_table_set(emp_area_table *t, int32_t i, const emp_area_item *item)
{
    t->load[EMP_BOUND_CORES][i] = item->load[EMP_DEVICE_CPU][EMP_BOUND_CORES];
    t->load[EMP_BOUND_THREAD][i] = item->load[EMP_DEVICE_GPU][EMP_BOUND_THREAD];
    t->load[EMP_BOUND_STREAM][i] = item->load[EMP_DEVICE_GPU][EMP_BOUND_STREAM];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        t->memory_frac[k][i] = item->memory_frac[k];
    emp_area_table_bar(t, i, item->kinds);
}

/* ---- the highest point below planes over prices and rents ---- */

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

/* ---- the dual ---- */

/* The rounding of sums, which is far less for 80,000 rounded terms. */
static const double ROUNDING = 1e-9;

/* No rent that helps is higher, in units of all work, unless nothing fits. */
enum { MOST_RENT = 16 };

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

/* Sums over items: the bound, and the slopes of its plane. */
enum { COST, SLOPES, PARTS = SLOPES + EMP_AREA_PRICES };

static const double no_memory[BLOCK];

static const double *memory_of(const emp_area_table *t, int32_t kind, int64_t first)
{
    return t->memory_frac[kind] != NULL ? t->memory_frac[kind] + first : no_memory;
}

/* The parts of the items of a block, each where it is cheapest, or nowhere if it may be on no kind. */
EMP_CLONES static void price_block(const emp_area_table *t, int64_t first,
                                   const double *price, double (*part)[BLOCK])
{
    const int32_t cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;
    const double  cores_price = price[EMP_BOUND_CORES];
    const double  thread_price = price[EMP_BOUND_THREAD];
    const double  stream_price = price[EMP_BOUND_STREAM];
    const double  cpu_rent = price[EMP_BOUND_RESOURCES + EMP_DEVICE_CPU];
    const double  gpu_rent = price[EMP_BOUND_RESOURCES + EMP_DEVICE_GPU];
    const double *cores = t->load[EMP_BOUND_CORES] + first;
    const double *thread = t->load[EMP_BOUND_THREAD] + first;
    const double *stream = t->load[EMP_BOUND_STREAM] + first;
    const double *cores_frac = t->frac[EMP_BOUND_CORES] + first;
    const double *thread_frac = t->frac[EMP_BOUND_THREAD] + first;
    const double *stream_frac = t->frac[EMP_BOUND_STREAM] + first;
    const double *cpu_memory = memory_of(t, cpu, first);
    const double *gpu_memory = memory_of(t, gpu, first);
    const double *not_cpu = t->barred[cpu] + first, *not_gpu = t->barred[gpu] + first;

#pragma omp simd
    for (int32_t i = 0; i < BLOCK; i++) {
        const double on_cpu =
            cpu_rent * cpu_memory[i] + cores_price * cores[i] + not_cpu[i];
        const double on_gpu = gpu_rent * gpu_memory[i] + thread_price * thread[i] +
                              stream_price * stream[i] + not_gpu[i];
        const bool   is_gpu = on_gpu < on_cpu, is_cpu = !is_gpu & (on_cpu < INFINITY);
        const double least = is_gpu ? on_gpu : on_cpu;
        part[COST][i] = least < INFINITY ? least : 0.0;
        part[SLOPES + EMP_BOUND_CORES][i] = is_cpu ? cores_frac[i] : 0.0;
        part[SLOPES + EMP_BOUND_THREAD][i] = is_gpu ? thread_frac[i] : 0.0;
        part[SLOPES + EMP_BOUND_STREAM][i] = is_gpu ? stream_frac[i] : 0.0;
        part[SLOPES + EMP_BOUND_RESOURCES + EMP_DEVICE_CPU][i] =
            is_cpu ? cpu_memory[i] : 0.0;
        part[SLOPES + EMP_BOUND_RESOURCES + EMP_DEVICE_GPU][i] =
            is_gpu ? gpu_memory[i] : 0.0;
    }
}

/* The bound at these prices, and the plane of the loads that attain it. Items are added one after another, so that
 * sums do not depend on the length of vectors. */
static double value_at(const emp_area_table *t, const double *price, area_plane *plane)
{
    double part[PARTS][BLOCK], sum[PARTS] = {0};

    for (int64_t first = 0; first < t->count; first += BLOCK) {
        price_block(t, first, price, part);
        for (int32_t i = 0; i < BLOCK; i++)
            for (int32_t p = 0; p < PARTS; p++) sum[p] += part[p][i];
    }
    double value = sum[COST] * (1.0 - ROUNDING);
    *plane = (area_plane){0};
    for (int32_t i = 0; i < EMP_AREA_PRICES; i++) plane->slope[i] = sum[SLOPES + i];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        value -= price[EMP_BOUND_RESOURCES + k] * (1.0 + ROUNDING);
        plane->slope[EMP_BOUND_RESOURCES + k] -= 1.0;
    }
    return value;
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
static double most_work(const emp_area_table *t)
{
    double sum = 0.0;

    for (int32_t i = 0; i < t->count; i++) {
        const double on_cpu = t->load[EMP_BOUND_CORES][i];
        const double on_gpu =
            fmax(t->load[EMP_BOUND_THREAD][i], t->load[EMP_BOUND_STREAM][i]);
        sum += fmax(t->barred[EMP_DEVICE_CPU][i] > 0.0 ? 0.0 : on_cpu,
                    t->barred[EMP_DEVICE_GPU][i] > 0.0 ? 0.0 : on_gpu);
    }
    return sum;
}

static void find_fractions(const emp_area_table *t, double scale)
{
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        for (int32_t i = 0; i < t->count; i++) t->frac[r][i] = t->load[r][i] / scale;
}

static void keep_best(emp_area *best, double value, const double *price)
{
    if (value <= best->value) return;
    best->value = value;
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) best->price[r] = price[r];
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        best->rent[k] = price[EMP_BOUND_RESOURCES + k];
}

emp_status emp_area_solve(emp_area *out, const emp_area_table *table,
                          const double capacity[EMP_BOUND_RESOURCES], double accuracy,
                          double enough, emp_error *err)
{
    area_plane plane[PLANES];
    double     price[EMP_AREA_PRICES] = {0}, scale = fmax(most_work(table), 1.0);
    double     height = 0.0;

    *out = (emp_area){.value = -1.0};
    find_fractions(table, scale);
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        price[r] = 1.0 / (EMP_BOUND_RESOURCES * capacity[r]);
    for (int32_t n = 0; n < PLANES; n++) {
        double value = value_at(table, price, &plane[n]);
        keep_best(out, value, price);
        if (n + 1 == PLANES || out->value > enough) break;
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

emp_area_item emp_bound_item_of_op(const emp_bound_model *model, emp_op_id op)
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
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        sum->memory_frac[k] += item->memory_frac[k];
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            sum->load[k][r] += item->load[k][r];
    }
}

void emp_bound_sum_classes(const emp_bound_model *model, emp_area_item *item)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t c = 0; c < g->class_count; c++) item[c] = (emp_area_item){0};
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_area_item one = emp_bound_item_of_op(model, op);
        if (!g->op[op].is_folded) add_item(&item[g->op[op].colocation_class], &one);
    }
}

static void find_kinds(const emp_bound_model *model, emp_area_item *item)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t c = 0; c < g->class_count; c++) item[c].kinds = 0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        uint32_t *kinds = &item[g->op[op].colocation_class].kinds;
        if (g->op[op].is_folded) continue;
        if (*kinds == 0) *kinds = EMP_KIND_CPU | EMP_KIND_GPU;
        *kinds &= model->op[op].kinds;
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

    find_kinds(model, item);
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
