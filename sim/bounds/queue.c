// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/queue.h"

#include <math.h>
#include <string.h>

enum {
    BEGINS = 16,        /* windows that are looked at for one end */
    ENDS = 32,          /* at first, then ... */
    REFINED_ENDS = 8,   /* ... around the best, ... */
    ROUNDS = 2,         /* ... so often */
    MOST_VISITED = 8000 /* ops that follow one */
};
/* No window is looked at with more pairs of candidates and fillers. */
static const double MOST_PAIRS = 1e8;

/* Marks of an op. */
enum { IS_LONG = 1, IS_BEFORE = 2 };

static const int32_t gpu = EMP_DEVICE_GPU;

typedef struct {
    const emp_bound_model *model;
    const emp_bound_paths *paths;
    uint8_t *
        mark; /**< [op] long: its tail is; before: an op with a long tail depends on it */
    int64_t *offset; /**< [op + 1] in `reader` */
    emp_op_id
        *reader; /**< ops whose kernels start after those of another are done, for sure */
    emp_op_id *filler;    /**< ops before long ones with short tails */
    emp_op_id *candidate; /**< long ops that may be the last of a GPU */
    int32_t    filler_count, candidate_count;
    double     fill; /**< work of all fillers */
    double *
        after; /**< [candidate] from when it is done to the end of the window, at least */
    double (*missing)
        [BEGINS];      /**< [candidate] work of the fillers that it does not depend on */
    uint64_t  *before; /**< [op] fillers of a block that it depends on, itself included */
    int32_t   *visit;  /**< [op] the last search that came here */
    int32_t    searches;
    emp_op_id *stack;
    emp_arrays arrays;
} walker;

/* ---- set up ---- */

static bool is_after_done(const emp_bound_model *model, const emp_bound_edge *edge)
{
    return emp_bound_is_on_gpu(model, edge->from) &&
           emp_bound_is_on_gpu(model, edge->to) &&
           emp_bound_delay_of(edge, gpu, gpu, EMP_BOUND_ANY_TWO).is_in_order;
}

static void list_readers(walker *w)
{
    const emp_bound_model *m = w->model;
    const int32_t          ops = m->problem->graph->op_count;
    const emp_bound_edge  *end = emp_bound_first_edge(m, ops);

    for (const emp_bound_edge *e = emp_bound_first_edge(m, 0); e < end; e++)
        if (is_after_done(m, e)) w->offset[e->from + 1]++;
    for (int32_t op = 0; op < ops; op++) w->offset[op + 1] += w->offset[op];
    for (const emp_bound_edge *e = emp_bound_first_edge(m, 0); e < end; e++)
        if (is_after_done(m, e)) w->reader[w->offset[e->from]++] = e->to;
    for (int32_t op = ops; op > 0; op--) w->offset[op] = w->offset[op - 1];
    w->offset[0] = 0;
}

static emp_status walker_init(walker *w, const emp_bound_model *model,
                              const emp_bound_paths *paths, emp_error *err)
{
    const size_t ops = (size_t)model->problem->graph->op_count;

    *w = (walker){.model = model, .paths = paths};
    w->mark = EMP_ADD_ARRAY(&w->arrays, uint8_t, ops);
    w->offset = EMP_ADD_ARRAY(&w->arrays, int64_t, ops + 1);
    w->reader = EMP_ADD_ARRAY(&w->arrays, emp_op_id, (size_t)model->edge_offset[ops] + 1);
    w->filler = EMP_ADD_ARRAY(&w->arrays, emp_op_id, ops);
    w->candidate = EMP_ADD_ARRAY(&w->arrays, emp_op_id, ops);
    w->after = EMP_ADD_ARRAY(&w->arrays, double, ops);
    w->missing = emp_arrays_add(&w->arrays, ops, sizeof *w->missing);
    w->before = EMP_ADD_ARRAY(&w->arrays, uint64_t, ops);
    w->visit = EMP_ADD_ARRAY(&w->arrays, int32_t, ops);
    w->stack = EMP_ADD_ARRAY(&w->arrays, emp_op_id, MOST_VISITED + 1);
    if (w->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "queues of %zu ops", ops);
    list_readers(w);
    return EMP_OK;
}

/* ---- one end of windows ---- */

static double run_of(const walker *w, emp_op_id op)
{
    return (double)w->model->op[op].run_ns[gpu];
}

/* Kernel time of an op that is left after a time. */
static double left(const walker *w, emp_op_id op, double begin)
{
    const emp_bound_head *head = &w->paths->head[op][gpu];
    const double          start = (double)emp_time_later(head->told_ns, head->queued_ns);

    return fmax(0.0, run_of(w, op) - fmax(0.0, begin - start));
}

static double tail_of(const walker *w, emp_op_id op)
{
    return (double)w->paths->tail[op][gpu].done_ns;
}

/* Marks ops, and lists fillers and candidates. */
static void mark_ops(walker *w, double end)
{
    const emp_graph *g = w->model->problem->graph;

    w->fill = 0.0;
    memset(w->mark, 0, (size_t)g->op_count);
    w->filler_count = w->candidate_count = 0;
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id       op = g->topo[i];
        const emp_bound_edge *last = emp_bound_first_edge(w->model, op + 1);
        if (emp_bound_is_on_gpu(w->model, op) && tail_of(w, op) >= end)
            w->mark[op] |= IS_LONG;
        if (w->mark[op] == 0) continue;
        if (w->mark[op] == IS_BEFORE && emp_bound_is_on_gpu(w->model, op) &&
            run_of(w, op) > 0.0) {
            w->filler[w->filler_count++] = op;
            w->fill += run_of(w, op);
        }
        for (const emp_bound_edge *e = emp_bound_first_edge(w->model, op); e < last; e++)
            w->mark[e->from] |= IS_BEFORE;
    }
    for (emp_op_id op = 0; op < g->op_count; op++)
        if ((w->mark[op] & IS_LONG) && tail_of(w, op) - end < w->fill)
            w->candidate[w->candidate_count++] = op;
}

/* The work of long ops that start after a long op is done; all are on other GPUs. Much more than \a enough is not
 * looked for. */
static double work_after(walker *w, emp_op_id op, double enough)
{
    int32_t count = 0, visited = 0;
    double  sum = 0.0;

    w->visit[op] = ++w->searches;
    w->stack[count++] = op;
    while (count > 0 && sum < enough) {
        const emp_op_id from = w->stack[--count];
        for (int64_t i = w->offset[from]; i < w->offset[from + 1]; i++) {
            const emp_op_id to = w->reader[i];
            if (w->visit[to] == w->searches || !(w->mark[to] & IS_LONG)) continue;
            if (visited++ == MOST_VISITED) return sum;
            w->visit[to] = w->searches;
            w->stack[count++] = to;
            sum += run_of(w, to);
        }
    }
    return sum;
}

static void find_afters(walker *w, double end)
{
    const double others = w->model->count[gpu] - 1;

    for (int32_t i = 0; i < w->candidate_count; i++) {
        const emp_op_id op = w->candidate[i];
        w->after[i] =
            fmax(tail_of(w, op) - end, work_after(w, op, w->fill * others) / others);
    }
}

/* Finds the fillers of a block on which each op depends. */
static void find_before(walker *w, int32_t first, int32_t count)
{
    const emp_graph *g = w->model->problem->graph;

    memset(w->before, 0, (size_t)g->op_count * sizeof *w->before);
    for (int32_t i = 0; i < count; i++)
        w->before[w->filler[first + i]] = UINT64_C(1) << i;
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id       op = g->topo[i];
        const emp_bound_edge *last = emp_bound_first_edge(w->model, op + 1);
        for (const emp_bound_edge *e = emp_bound_first_edge(w->model, op); e < last; e++)
            w->before[op] |= w->before[e->from];
    }
}

static void find_missing(walker *w, const double *begin)
{
    memset(w->missing, 0, (size_t)w->candidate_count * sizeof *w->missing);
    for (int32_t first = 0; first < w->filler_count; first += 64) {
        const int32_t count = w->filler_count - first < 64 ? w->filler_count - first : 64;
        double        work[64][BEGINS];
        for (int32_t i = 0; i < count; i++)
            for (int32_t k = 0; k < BEGINS; k++)
                work[i][k] = left(w, w->filler[first + i], begin[k]);
        find_before(w, first, count);
        for (int32_t c = 0; c < w->candidate_count; c++) {
            const uint64_t known = w->before[w->candidate[c]];
            for (int32_t i = 0; i < count; i++)
                for (int32_t k = 0; k < BEGINS && !(known >> i & 1u); k++)
                    w->missing[c][k] += work[i][k];
        }
    }
}

/* The length of the window [k] in which the work can be done, at least; sets all but the window of a proof. */
static double length(const walker *w, int32_t k, double long_work, double fill,
                     emp_queue_proof *proof)
{
    const double n = w->model->count[gpu];
    double       least = (long_work + fill) / n;

    proof->last = -1;
    proof->idle = 0.0;
    proof->shared = n;
    if (long_work / (n - 1) < least) {
        least = long_work / (n - 1);
        proof->shared = n - 1;
    }
    for (int32_t c = 0; c < w->candidate_count; c++) {
        const double work = long_work + fill - w->missing[c][k], after = w->after[c];
        const bool   is_early = work <= (n - 1) * after;
        const double x = is_early ? work / (n - 1) : (work + after) / n;
        if (x >= least) continue;
        least = x;
        proof->last = w->candidate[c];
        proof->idle = is_early ? 0.0 : after / n;
        proof->shared = is_early ? n - 1 : n;
    }
    return least;
}

/* Windows that end before the same time. \a first, \a step: of their begins. */
static void look_at(walker *w, double end, double first, double step, double enough,
                    emp_queue_proof *best)
{
    const double n = w->model->count[gpu];
    double       begin[BEGINS], long_work[BEGINS] = {0}, fill[BEGINS] = {0}, most = 0.0;

    mark_ops(w, end);
    if ((double)w->filler_count * w->candidate_count > MOST_PAIRS) return;
    for (int32_t k = 0; k < BEGINS; k++) {
        begin[k] = floor(fmax(0.0, first + step * k));
        for (emp_op_id op = 0; op < w->model->problem->graph->op_count; op++)
            if (w->mark[op] & IS_LONG) long_work[k] += left(w, op, begin[k]);
        for (int32_t i = 0; i < w->filler_count; i++)
            fill[k] += left(w, w->filler[i], begin[k]);
        most = fmax(most, begin[k] + end +
                              fmin((long_work[k] + fill[k]) / n, long_work[k] / (n - 1)));
    }
    if (most <= fmax(enough, best->value)) return;
    find_afters(w, end);
    find_missing(w, begin);
    for (int32_t k = 0; k < BEGINS; k++) {
        emp_queue_proof proof = {.window = {begin[k], end}};
        if (long_work[k] <= 0.0) continue;
        const double x = length(w, k, long_work[k], fill[k], &proof);
        proof.value = begin[k] + end + x * (1.0 - 1e-9);
        if (proof.value > fmax(enough, best->value)) *best = proof;
    }
}

/* ---- all ---- */

/* Sets the work of each op that the bound counts: all long ops, and the ancestors of the last one. */
static void set_work(walker *w, const emp_queue_proof *proof, double *work)
{
    const emp_graph *g = w->model->problem->graph;
    const bool       all = proof->last < 0 && proof->shared == w->model->count[gpu];

    mark_ops(w, proof->window.after);
    memset(work, 0, (size_t)g->op_count * sizeof *work);
    memset(w->before, 0, (size_t)g->op_count * sizeof *w->before);
    if (proof->last >= 0) w->before[proof->last] = 1;
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id       op = g->topo[i];
        const emp_bound_edge *last = emp_bound_first_edge(w->model, op + 1);
        for (const emp_bound_edge *e = emp_bound_first_edge(w->model, op); e < last; e++)
            w->before[e->from] |= w->before[op];
        const bool is_inside =
            (w->mark[op] & IS_LONG) || (w->mark[op] != 0 && (all || w->before[op] != 0));
        if (is_inside && emp_bound_is_on_gpu(w->model, op))
            work[op] = left(w, op, proof->window.before) / proof->shared;
    }
}

emp_status emp_bound_queue(emp_queue_proof *out, const emp_bound_model *model,
                           const emp_bound_paths *paths, double enough, double *work,
                           emp_error *err)
{
    emp_status   st = EMP_OK;
    const double longest = (double)emp_bound_paths_longest(paths, model);
    double       width = longest / ENDS;
    walker       w;

    *out = (emp_queue_proof){0};
    if (!model->has_thread || model->count[gpu] < 2) return EMP_OK;
    EMP_TRY(walker_init(&w, model, paths, err));
    for (int32_t j = 0; j < ENDS; j++)
        look_at(&w, floor(width * j), 0.0, (longest - width * j) / BEGINS, enough, out);
    for (int32_t i = 0; i < ROUNDS && out->value > 0.0; i++) {
        const emp_window centre = out->window;
        const double     step = 2 * width / REFINED_ENDS;
        for (int32_t j = 0; j < REFINED_ENDS; j++)
            look_at(&w, floor(fmax(0.0, centre.after + step * (j - REFINED_ENDS / 2))),
                    centre.before - width, 2 * width / BEGINS, enough, out);
        width = step;
    }
    if (work != NULL && out->value > 0.0) set_work(&w, out, work);

cleanup:
    emp_arrays_clear(&w.arrays);
    return st;
}
