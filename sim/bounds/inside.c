// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/inside.h"

#include <assert.h>
#include <glpk.h>
#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/lp/guard.h"

/* LANES sums are kept side by side. BLOCK ops stay in the nearest cache while all windows go over
 * them, but for those that hold none of their work. */
enum { LANES = 8, BLOCK = 8 * LANES };

/* ---- ops ---- */

static int32_t count_placeable(const emp_bound_model *model)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        count += model->op[op].kinds != 0;
    return count;
}

/* The arrays are filled up to whole vectors with ops without work. */
emp_status emp_inside_init(emp_inside *s, int32_t count, emp_error *err)
{
    const size_t room = ((size_t)count + LANES - 1) / LANES * LANES;

    *s = (emp_inside){.count = count};
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
        s->of[r].work = EMP_ADD_ARRAY(&s->arrays, double, room);
        s->of[r].head = EMP_ADD_ARRAY(&s->arrays, double, room);
        s->of[r].tail = EMP_ADD_ARRAY(&s->arrays, double, room);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        s->barred[k] = EMP_ADD_ARRAY(&s->arrays, double, room);
    s->reach = emp_arrays_add(&s->arrays, room / BLOCK + 1, sizeof *s->reach);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "windows of %d ops", s->count);
    return EMP_OK;
}

static void set_work(const emp_inside_work *of, int32_t i, emp_time_ns work_ns,
                     emp_time_ns head_ns, emp_time_ns tail_ns)
{
    of->work[i] = (double)work_ns;
    of->head[i] = (double)head_ns;
    of->tail[i] = (double)tail_ns;
}

/* If the op may not be on a kind, its head and tail there are unset. Its work there stays 0. */
static void describe(const emp_inside *s, int32_t i, const emp_bound_model *model,
                     const emp_bound_paths *paths, emp_op_id op)
{
    const emp_bound_op   *o = &model->op[op];
    const emp_bound_head *head = paths->head[op];
    const emp_bound_tail *tail = paths->tail[op];
    const int32_t         cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        s->barred[k][i] = emp_bound_may(o, k) ? 0.0 : INFINITY;
    if (emp_bound_may(o, cpu))
        set_work(&s->of[EMP_BOUND_CORES], i, o->core_ns, head[cpu].ready_ns,
                 tail[cpu].told_ns);
    if (!emp_bound_may(o, gpu)) return;
    emp_time_ns start_ns = head[gpu].ready_ns;
    if (model->has_thread) {
        set_work(&s->of[EMP_BOUND_THREAD], i, o->issue_ns, start_ns,
                 emp_time_later(tail[gpu].told_ns, tail[gpu].queued_ns));
        start_ns = emp_time_later(head[gpu].told_ns, head[gpu].queued_ns);
    }
    set_work(&s->of[EMP_BOUND_STREAM], i, o->run_ns[gpu], start_ns, tail[gpu].done_ns);
}

/* An op whose work may be shared counts as long as it begins and ends inside. */
void emp_inside_find_reach(emp_inside *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        emp_inside_reach *reach = s->reach[i / BLOCK];
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
            const emp_inside_work *of = &s->of[r];
            const double           work = r == EMP_BOUND_CORES ? 1.0 : of->work[i];
            if (of->work[i] <= 0.0) continue;
            reach[r].before = fmax(reach[r].before, of->head[i] + work);
            reach[r].after = fmax(reach[r].after, of->tail[i] + work);
        }
    }
}

static bool may_hold(const emp_inside *s, int64_t block, emp_window w)
{
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        if (w.before < s->reach[block][r].before && w.after < s->reach[block][r].after)
            return true;
    return false;
}

/* O(V). \retval EMP_ENOMEM */
static emp_status describe_all(emp_inside *s, const emp_bound_model *model,
                               const emp_bound_paths *paths, emp_error *err)
{
    int32_t i = 0;

    EMP_CHECK(emp_inside_init(s, count_placeable(model), err));
    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        if (model->op[op].kinds != 0) describe(s, i++, model, paths, op);
    emp_inside_find_reach(s);
    return EMP_OK;
}

void emp_inside_clear(emp_inside *s)
{
    emp_arrays_clear(&s->arrays);
    *s = (emp_inside){0};
}

/* ---- windows ---- */

static inline double inside(const emp_inside_work *of, int64_t i, emp_window w)
{
    double before = w.before - of->head[i], after = w.after - of->tail[i];
    double left =
        of->work[i] - (before > 0.0 ? before : 0.0) - (after > 0.0 ? after : 0.0);

    return left > 0.0 ? left : 0.0;
}

static inline double inside_cores(const emp_inside_work *of, int64_t i, emp_window w)
{
    bool is_inside = (of->head[i] >= w.before) & (of->tail[i] >= w.after);

    return is_inside ? of->work[i] : 0.0;
}

/* \param[out] work  All of it, wherever the op is. */
static emp_area_item item_inside(const emp_inside *s, int32_t i, emp_window w,
                                 double *work)
{
    emp_area_item item = {0};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        if (s->barred[k][i] == 0.0) item.kinds |= 1u << k;
    *work = item.load[EMP_DEVICE_CPU][EMP_BOUND_CORES] =
        inside_cores(&s->of[EMP_BOUND_CORES], i, w);
    for (int32_t r = EMP_BOUND_THREAD; r <= EMP_BOUND_STREAM; r++)
        *work += item.load[EMP_DEVICE_GPU][r] = inside(&s->of[r], i, w);
    return item;
}

int32_t emp_inside_items(const emp_inside *s, emp_window w, emp_area_item *item)
{
    int32_t count = 0;

    for (int32_t i = 0; i < s->count; i++) {
        double work = 0.0;
        if (i % BLOCK == 0 && !may_hold(s, i / BLOCK, w)) {
            i += BLOCK - 1;
            continue;
        }
        item[count] = item_inside(s, i, w, &work);
        count += work > 0.0;
    }
    return count;
}

static inline double cost_of(const emp_inside *s, int64_t i, const double *price,
                             emp_window w)
{
    const emp_inside_work *of = s->of;
    double cpu = price[EMP_BOUND_CORES] * inside_cores(&of[EMP_BOUND_CORES], i, w);
    double gpu = price[EMP_BOUND_THREAD] * inside(&of[EMP_BOUND_THREAD], i, w) +
                 price[EMP_BOUND_STREAM] * inside(&of[EMP_BOUND_STREAM], i, w);

    cpu += s->barred[EMP_DEVICE_CPU][i];
    gpu += s->barred[EMP_DEVICE_GPU][i];
    return cpu < gpu ? cpu : gpu;
}

/* Adds the costs of ops from `first` to `end` to the sums of a window. */
EMP_CLONES static void add_costs_inside(const emp_inside *s, int64_t first, int64_t end,
                                        const double *price, emp_window w, double *sum)
{
    /* Copies, so that the compiler knows that no store changes them. */
    const emp_inside local = *s;
    const double     p[EMP_BOUND_RESOURCES] = {price[0], price[1], price[2]};
    double           lane[LANES] = {0};

    for (int64_t i = first; i < end; i += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) lane[l] += cost_of(&local, i + l, p, w);
    }
    for (int l = 0; l < LANES; l++) sum[l] += lane[l];
}

void emp_inside_costs(const emp_inside *s, const double *price, const emp_window *window,
                      int32_t count, double *cost)
{
    double sum[EMP_INSIDE_WINDOWS][LANES];

    assert(count <= EMP_INSIDE_WINDOWS);
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int64_t first = 0; first < s->count; first += BLOCK) {
        const int64_t end = first + BLOCK < s->count ? first + BLOCK : s->count;
        for (int32_t w = 0; w < count; w++)
            if (may_hold(s, first / BLOCK, window[w]))
                add_costs_inside(s, first, end, price, window[w], sum[w]);
    }
    for (int32_t w = 0; w < count; w++) {
        cost[w] = 0.0;
        for (int l = 0; l < LANES; l++) cost[w] += sum[w][l];
    }
}

enum { SAMPLES = 12, IMPROVED = 3 };
_Static_assert((int)EMP_INSIDE_WINDOWS >= SAMPLES * SAMPLES, "windows of a grid");

/* A window without work may be empty. */
static double value_of(emp_window w, double work)
{
    return work > 0.0 ? w.before + w.after + work * (1.0 - 1e-9) : 0.0;
}

/* The best of a grid of windows. Work inside a window is on a path that sticks out at both ends. So
 * windows that leave no room on the longest path hold none, and are left out. */
static emp_window look_around(const emp_inside *inside, const double *price,
                              double longest, emp_window centre, double width,
                              int32_t samples, double *best)
{
    emp_window found = centre, window[EMP_INSIDE_WINDOWS];
    double     work[EMP_INSIDE_WINDOWS];
    int32_t    count = 0;

    for (int32_t i = 0; i < samples; i++) {
        for (int32_t j = 0; j < samples; j++) {
            emp_window w = {floor(centre.before + width * (i - samples / 2) / samples),
                            floor(centre.after + width * (j - samples / 2) / samples)};
            if (w.before < 0.0 || w.after < 0.0) continue;
            if (w.before + w.after < longest) window[count++] = w;
        }
    }
    emp_inside_costs(inside, price, window, count, work);
    for (int32_t i = 0; i < count; i++) {
        double value = value_of(window[i], work[i]);
        if (value > *best) *best = value, found = window[i];
    }
    return found;
}

/* Other prices for this window. */
static emp_status price_again(const emp_inside *inside, const double *capacity,
                              emp_area_item *item, emp_window w, double *price,
                              double *best, emp_error *err)
{
    emp_area area;

    const int32_t count = emp_inside_items(inside, w, item);
    EMP_CHECK(emp_area_solve(&area, item, count, capacity, 1e-4, err));
    if (area.value > 0.0) *best = fmax(*best, w.before + w.after + area.value);
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = area.price[r];
    return EMP_OK;
}

/* Keeps the window and the prices if they have raised the bound. */
static void keep_proof(emp_window_proof *proof, double best, emp_window w,
                       const double *price)
{
    if (best <= proof->value) return;
    proof->value = best;
    proof->window = w;
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) proof->price[r] = price[r];
}

emp_status emp_bound_window(double *best, emp_window_proof *proof,
                            const emp_bound_model *model, const emp_bound_paths *paths,
                            emp_time_ns longest_ns, emp_area_item *item,
                            const double *price, double enough, emp_error *err)
{
    emp_status       st = EMP_OK;
    const double     longest = (double)longest_ns;
    double           width = longest, now[EMP_BOUND_RESOURCES];
    emp_window       w = {width / 2, width / 2};
    emp_inside       inside;
    emp_window_proof found = {0};

    *best = 0.0;
    EMP_TRY(describe_all(&inside, model, paths, err));
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) now[r] = price[r];
    w = look_around(&inside, now, longest, w, width, SAMPLES, best);
    keep_proof(&found, *best, w, now);
    for (int32_t i = 0; i < IMPROVED && *best < enough; i++) {
        EMP_TRY(price_again(&inside, model->capacity, item, w, now, best, err));
        keep_proof(&found, *best, w, now);
        width /= SAMPLES / 2;
        w = look_around(&inside, now, longest, w, width, SAMPLES / 2, best);
        keep_proof(&found, *best, w, now);
    }
    for (int32_t i = 0; proof != NULL && i < inside.count; i++) {
        double work;
        item[i] = item_inside(&inside, i, found.window, &work);
    }
    if (proof != NULL) *proof = found;

cleanup:
    emp_inside_clear(&inside);
    return st;
}

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

/* The rounding of sums, which is far less for 80,000 rounded terms. */
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
        emp_area_item one = emp_bound_item_of_op(model, op);
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
