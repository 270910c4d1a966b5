// SPDX-License-Identifier: GPL-3.0-or-later
/* The figures of the page: the step of each placement, traced, by layer and device, its ops one by one, and moves of
 * layers and ops, estimated by the surrogate, 16 at a time, and simulated where they matter most. */
#include "bench/explore/explore.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "bench/plots/html.h"
#include "bench/report/cells.h"
#include "run/sheet/sheet.h"
#include "sim/engine/sim.h"
#include "sim/explain/brief.h"
#include "sim/explain/pictures.h"
#include "sim/machine/machine.h"
#include "sim/surrogate/surrogate.h"

/* page.css and page.js; terminated. */
extern const unsigned char emp_explore_style[], emp_explore_script[];

/* A part of a placement that can be clicked: a layer, or one op with its class. */
struct unit {
    emp_op_id op;  /* -1: the unit is a layer */
    int32_t   row; /* of the layer */
    double    blame_s;
};

/* A unit on another device. */
struct move {
    int32_t
        op_count; /* ops that change their device; 0: the unit cannot be there, or is */
    double
                estimate_frac; /* step time by the surrogate, over its estimate of the placement; NaN: none */
    bool        is_simulated;
    bool        is_feasible;  /* if simulated */
    emp_time_ns step_time_ns; /* if simulated */
};

enum { BATCH = 16 };

struct mover {
    const emp_problem  *problem;
    const emp_decision *decision;
    const int32_t      *row_of_op;
    const struct unit  *unit;
    int32_t             unit_count;
    struct move        *move;
    emp_device_id      *placement[BATCH]; /* [op] each */
    struct move        *estimated[BATCH]; /* whose step they are */
    int32_t             waiting;
    emp_surrogate      *surrogate; /* NULL: it does not know the rules */
    double              now_s;     /* its estimate of the placement */
};

/* Moves a unit in the placement; the number of ops that are elsewhere then. */
static int32_t place_unit(const struct mover *m, emp_device_id *placement,
                          const struct unit *unit, emp_device_id to)
{
    const emp_graph *g = m->problem->graph;
    const int32_t *class = m->problem->class_of_op;
    int32_t count = 0;

    memcpy(placement, m->decision->device_of_op, (size_t)g->op_count * sizeof to);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        bool is_in =
            unit->op < 0 ? m->row_of_op[op] == unit->row : class[op] == class[unit->op];
        if (is_in && class[op] >= 0) placement[op] = to;
    }
    emp_problem_legalize(m->problem, placement);
    for (emp_op_id op = 0; op < g->op_count; op++)
        count += class[op] >= 0 && placement[op] != m->decision->device_of_op[op];
    return count;
}

/* ---- moves, estimated by the surrogate ---- */

static emp_status estimate_waiting(struct mover *m, emp_error *err)
{
    double step_s[BATCH];

    if (m->waiting == 0) return EMP_OK;
    EMP_CHECK(emp_surrogate_run(m->surrogate, m->placement, m->waiting, step_s, err));
    for (int32_t i = 0; i < m->waiting; i++)
        m->estimated[i]->estimate_frac = step_s[i] / m->now_s;
    m->waiting = 0;
    return EMP_OK;
}

/* Lets the surrogate sweep in the order of the placement's own step. */
static emp_status begin_estimates(struct mover *m, emp_sim *sim, emp_error *err)
{
    emp_device_id *now[1] = {m->placement[0]};
    emp_status     st =
        emp_surrogate_create(&m->surrogate, m->problem, EMP_SURROGATE_FASTEST, NULL);

    if (st == EMP_EUNSUPPORTED) return EMP_OK;
    if (st != EMP_OK) return EMP_ERROR(st, "surrogate of %s", m->problem->workload);
    memcpy(now[0], m->decision->device_of_op,
           (size_t)m->problem->graph->op_count * sizeof **now);
    EMP_CHECK(emp_surrogate_follow(m->surrogate, sim, now, 1, err));
    return emp_surrogate_run(m->surrogate, now, 1, &m->now_s, err);
}

static emp_status estimate(struct mover *m, emp_error *err)
{
    for (int32_t u = 0; u < m->unit_count; u++) {
        for (emp_device_id to = 0; to < m->problem->machine->device_count; to++) {
            struct move *move = &m->move[u * m->problem->machine->device_count + to];
            *move = (struct move){.estimate_frac = NAN};
            move->op_count = place_unit(m, m->placement[m->waiting], &m->unit[u], to);
            if (move->op_count == 0 || m->surrogate == NULL) continue;
            m->estimated[m->waiting++] = move;
            if (m->waiting == BATCH) EMP_CHECK(estimate_waiting(m, err));
        }
    }
    return estimate_waiting(m, err);
}

/* ---- moves, simulated by the oracle ---- */

static emp_status simulate_unit(struct mover *m, emp_sim *sim, int32_t unit,
                                int32_t *left, emp_error *err)
{
    emp_sim_result result;
    emp_decision   moved = *m->decision;

    moved.device_of_op = m->placement[0];
    for (emp_device_id to = 0; to<m->problem->machine->device_count && * left> 0; to++) {
        struct move *move = &m->move[unit * m->problem->machine->device_count + to];
        if (move->op_count == 0) continue;
        place_unit(m, m->placement[0], &m->unit[unit], to);
        EMP_CHECK(emp_sim_run_decision(sim, &moved, &result, err));
        move->is_simulated = true;
        move->is_feasible = result.is_feasible;
        move->step_time_ns = result.step_time_ns;
        --*left;
    }
    return EMP_OK;
}

/* Layers and ops get half of the steps each, those most to blame first. */
static emp_status simulate(struct mover *m, emp_sim *sim, bool is_of_layers,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    emp_keyed *rank = NULL;
    int32_t    count = 0, left = EMP_EXPLORE_TRIALS / 2;

    EMP_TRY(EMP_ALLOC(rank, (size_t)m->unit_count));
    for (int32_t u = 0; u < m->unit_count; u++)
        if ((m->unit[u].op < 0) == is_of_layers)
            rank[count++] = (emp_keyed){m->unit[u].blame_s, u};
    emp_keyed_sort_falling(rank, (size_t)count);
    for (int32_t i = 0; i < count && left > 0; i++)
        EMP_TRY(simulate_unit(m, sim, rank[i].number, &left, err));

cleanup:
    emp_free(rank);
    return st;
}

/* Fills move[unit][device].
 * \param row_of_op  [op] -1 = folded. \retval EMP_ENOMEM */
static emp_status find_moves(struct move *move, const emp_problem *problem, emp_sim *sim,
                             const emp_decision *decision, const int32_t *row_of_op,
                             const struct unit *unit, int32_t unit_count, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct mover m = {.problem = problem,
                      .decision = decision,
                      .row_of_op = row_of_op,
                      .unit = unit,
                      .unit_count = unit_count,
                      .move = move};

    for (int32_t i = 0; i < BATCH; i++)
        EMP_TRY(EMP_ALLOC(m.placement[i], (size_t)problem->graph->op_count));
    EMP_TRY(begin_estimates(&m, sim, err));
    EMP_TRY(estimate(&m, err));
    EMP_TRY(simulate(&m, sim, true, err));
    EMP_TRY(simulate(&m, sim, false, err));

cleanup:
    emp_surrogate_destroy(m.surrogate);
    for (int32_t i = 0; i < BATCH; i++) emp_free(m.placement[i]);
    return st;
}

/* ---- placements ---- */

/* The ops that are listed: the most blamed ones of each layer, then of all layers, then those that run longest. */
enum { OPS_OF_ROW = 3, OPS_BY_BLAME = EMP_EXPLORE_OPS * 3 / 4 };
_Static_assert(OPS_OF_ROW *EMP_CELLS_MAX_ROWS <= EMP_EXPLORE_OPS, "ops of each layer");

struct cell {
    emp_time_ns run_ns, wait_ns;
    double      blame_s;
    int32_t     op_count;
};

/* One placement. */
struct study {
    const emp_problem           *problem;
    const emp_labelled_decision *placement;
    emp_sim                     *sim;
    emp_cells                    cells;
    emp_explanation             *why;
    emp_op_moment               *moment;  /* [op] */
    double                      *blame_s; /* [op] */
    struct cell                 *cell;    /* [row][device] */
    struct unit                 *unit;    /* rows first, then ops */
    int32_t                      unit_count;
    struct move                 *move; /* [unit][device] */
};

/* The page: what its placements share. */
struct page {
    const emp_problem *problem;
    json_t            *names;      /* of ops that some placement lists */
    int32_t           *name_of_op; /* [op] index of names, or -1 */
};

static int32_t device_count(const struct study *s)
{
    return s->problem->machine->device_count;
}

/* ---- the step ---- */

static emp_status trace_step(struct study *s, emp_error *err)
{
    const emp_decision *decision = &s->placement->decision;
    const int32_t       ops = s->problem->graph->op_count;
    emp_sim_result      result;

    EMP_CHECK(emp_op_moments(s->moment, s->sim, s->problem, decision, &result, err));
    EMP_CHECK(emp_explain_create(&s->why, s->problem, decision, err));
    EMP_CHECK(emp_explain_blame(s->blame_s, s->problem, s->sim, decision, err));
    for (emp_op_id op = 0; op < ops; op++) {
        const int32_t row = s->cells.row_of_op[op];
        if (row < 0) continue;
        struct cell *cell = &s->cell[row * device_count(s) + decision->device_of_op[op]];
        cell->op_count++;
        cell->run_ns += s->moment[op].run_ns;
        cell->wait_ns += emp_op_wait_ns(&s->moment[op]);
        cell->blame_s += s->blame_s[op];
    }
    return EMP_OK;
}

/* ---- what can be clicked ---- */

static int compare_units(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;

    if (x->blame_s != y->blame_s) return x->blame_s > y->blame_s ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* Ops of no layer, which are folded, come last. */
static void sort_ops(const struct study *s, emp_keyed *rank, bool is_by_blame)
{
    const int32_t ops = s->problem->graph->op_count;

    for (emp_op_id op = 0; op < ops; op++) {
        double value = is_by_blame ? s->blame_s[op] : (double)s->moment[op].run_ns;
        rank[op] = (emp_keyed){s->cells.row_of_op[op] < 0 ? -1.0 : value, op};
    }
    emp_keyed_sort_falling(rank, (size_t)ops);
}

/* Adds the first ops of the ranking that are not chosen yet, until there are \a most units; of each layer at most
 * \a most_of_row. */
static void add_ops(struct study *s, const emp_keyed *rank, bool *is_chosen, int32_t most,
                    int32_t most_of_row)
{
    int32_t of_row[EMP_CELLS_MAX_ROWS] = {0};

    for (int32_t i = 0; i < s->problem->graph->op_count && s->unit_count < most; i++) {
        const emp_op_id op = rank[i].number;
        if (rank[i].key <= 0.0) return;
        const int32_t row = s->cells.row_of_op[op];
        if (is_chosen[op] || of_row[row] == most_of_row) continue;
        of_row[row]++;
        is_chosen[op] = true;
        s->unit[s->unit_count++] =
            (struct unit){.op = op, .row = row, .blame_s = s->blame_s[op]};
    }
}

static emp_status choose_ops(struct study *s, emp_error *err)
{
    const int32_t ops = s->problem->graph->op_count, rows = s->cells.row_count;
    emp_status    st = EMP_OK;
    emp_keyed    *rank = NULL;
    bool         *is_chosen = NULL;

    EMP_TRY(EMP_ALLOC(rank, (size_t)ops));
    EMP_TRY(EMP_ALLOC(is_chosen, (size_t)ops));
    sort_ops(s, rank, true);
    add_ops(s, rank, is_chosen, rows + EMP_EXPLORE_OPS, OPS_OF_ROW);
    add_ops(s, rank, is_chosen, rows + OPS_BY_BLAME, ops);
    sort_ops(s, rank, false);
    add_ops(s, rank, is_chosen, rows + EMP_EXPLORE_OPS, ops);
    qsort(s->unit + rows, (size_t)(s->unit_count - rows), sizeof *s->unit, compare_units);

cleanup:
    emp_free(rank);
    emp_free(is_chosen);
    return st;
}

static emp_status choose_units(struct study *s, emp_error *err)
{
    const int32_t rows = s->cells.row_count;
    const size_t  most = (size_t)(rows + EMP_EXPLORE_OPS);

    EMP_CHECK(EMP_ALLOC(s->unit, most));
    EMP_CHECK(EMP_ALLOC(s->move, most * (size_t)device_count(s)));
    for (int32_t row = 0; row < rows; row++) {
        s->unit[row] = (struct unit){.op = -1, .row = row};
        for (emp_device_id d = 0; d < device_count(s); d++)
            s->unit[row].blame_s += s->cell[row * device_count(s) + d].blame_s;
    }
    s->unit_count = rows;
    return choose_ops(s, err);
}

static emp_status study_placement(struct study *s, emp_error *err)
{
    const emp_decision *decision = &s->placement->decision;
    const size_t        ops = (size_t)s->problem->graph->op_count;

    EMP_CHECK(EMP_ALLOC(s->moment, ops));
    EMP_CHECK(EMP_ALLOC(s->blame_s, ops));
    EMP_CHECK(emp_cells_create(&s->cells, s->problem, decision->device_of_op, err));
    EMP_CHECK(EMP_ALLOC(s->cell, (size_t)(s->cells.row_count * device_count(s))));
    EMP_CHECK(emp_sim_create(&s->sim, s->problem, err));
    EMP_CHECK(trace_step(s, err));
    EMP_CHECK(choose_units(s, err));
    return find_moves(s->move, s->problem, s->sim, decision, s->cells.row_of_op, s->unit,
                      s->unit_count, err);
}

static void clear_study(struct study *s)
{
    emp_sim_destroy(s->sim);
    emp_explain_destroy(s->why);
    emp_cells_clear(&s->cells);
    emp_free(s->moment);
    emp_free(s->blame_s);
    emp_free(s->cell);
    emp_free(s->unit);
    emp_free(s->move);
}

/* ---- as JSON; NULL: memory ran out, and what would hold it becomes NULL, too ---- */

static void append(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0) return;
    json_decref(*list);
    *list = NULL;
}

static json_int_t ns_of(double seconds) { return (json_int_t)llround(seconds * 1e9); }

/* Four values a device, null where the unit cannot go or is: ops that move, the surrogate's ratio, the step
 * by the oracle, and whether it fits. */
static json_t *moves_json(const struct study *s, int32_t unit)
{
    json_t *list = json_array();

    for (emp_device_id d = 0; d < device_count(s); d++) {
        const struct move *m = &s->move[unit * device_count(s) + d];
        if (m->op_count == 0) {
            append(&list, json_null());
            continue;
        }
        append(
            &list,
            json_pack("[i,o,o,o]", (int)m->op_count,
                      isnan(m->estimate_frac) ? json_null() : json_real(m->estimate_frac),
                      m->is_simulated ? json_integer(m->step_time_ns) : json_null(),
                      m->is_simulated ? json_boolean(m->is_feasible) : json_null()));
    }
    return list;
}

static json_t *row_json(const struct study *s, int32_t row)
{
    json_t *run = json_array(), *wait = json_array(), *blame = json_array(),
           *ops = json_array();

    for (emp_device_id d = 0; d < device_count(s); d++) {
        const struct cell *c = &s->cell[row * device_count(s) + d];
        append(&run, json_integer(c->run_ns));
        append(&wait, json_integer(c->wait_ns));
        append(&blame, json_integer(ns_of(c->blame_s)));
        append(&ops, json_integer(c->op_count));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "run_ns", run, "wait_ns", wait,
                     "blame_ns", blame, "ops", ops, "moves", moves_json(s, row));
}

static int32_t name_of(struct page *page, emp_op_id op)
{
    if (page->name_of_op[op] < 0) {
        page->name_of_op[op] = (int32_t)json_array_size(page->names);
        append(&page->names, json_string(page->problem->graph->name[op]));
    }
    return page->name_of_op[op];
}

static json_t *op_json(const struct study *s, struct page *page, int32_t unit)
{
    const struct unit   *u = &s->unit[unit];
    const emp_graph     *g = s->problem->graph;
    const emp_op_moment *m = &s->moment[u->op];
    const emp_device_id  device = s->placement->decision.device_of_op[u->op];

    return json_pack("{s:i, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
                     (int)name_of(page, u->op), "type", g->type_name[g->type[u->op]],
                     "row", (int)u->row, "device", (int)device, "ready_ns",
                     (json_int_t)m->ready_ns, "start_ns", (json_int_t)m->start_ns,
                     "wait_ns", (json_int_t)emp_op_wait_ns(m), "run_ns",
                     (json_int_t)m->run_ns, "alone_ns",
                     (json_int_t)emp_problem_op_time_ns(s->problem, u->op, device),
                     "blame_ns", ns_of(u->blame_s), "moves", moves_json(s, unit));
}

static json_t *devices_of_step(const struct study *s, const char *key)
{
    json_t *list = json_array();

    for (emp_device_id d = 0; d < device_count(s); d++)
        append(&list,
               json_integer(strcmp(key, "busy_ns") == 0 ? s->why->result.busy_ns[d]
                                                        : s->why->result.peak_bytes[d]));
    return list;
}

static json_t *placement_json(const struct study *s, struct page *page)
{
    const emp_sim_result *r = &s->why->result;
    emp_time_ns           path_ns[EMP_PATH_GROUPS];
    json_t               *rows = json_array(), *ops = json_array(), *path = json_array();
    char                  fingerprint[17];

    emp_explain_path(path_ns, s->why);
    for (int32_t i = 0; i < EMP_PATH_GROUPS; i++) append(&path, json_integer(path_ns[i]));
    for (int32_t row = 0; row < s->cells.row_count; row++)
        append(&rows, row_json(s, row));
    for (int32_t u = s->cells.row_count; u < s->unit_count; u++)
        append(&ops, op_json(s, page, u));
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    return json_pack(
        "{s:s, s:I, s:b, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "label",
        s->placement->label, "step_ns", (json_int_t)r->step_time_ns, "fits",
        (int)r->is_feasible, "fingerprint", fingerprint, "traffic_bytes",
        (json_int_t)r->traffic_bytes, "copies", (json_int_t)r->transfer_count, "busy_ns",
        devices_of_step(s, "busy_ns"), "peak_bytes", devices_of_step(s, "peak_bytes"),
        "path_ns", path, "rows", rows, "ops", ops);
}

static json_t *devices_json(const emp_machine *machine)
{
    json_t *list = json_array();

    for (emp_device_id d = 0; d < machine->device_count; d++) {
        const emp_device *device = &machine->device[d];
        append(&list, json_pack("{s:s, s:s, s:I, s:s, s:b}", "name", device->name,
                                "model", machine->model[device->model].name,
                                "memory_bytes", (json_int_t)device->memory_bytes,
                                "colour", emp_device_colour(machine, d), "is_dark",
                                (int)emp_device_is_dark(machine, d)));
    }
    return list;
}

/* The page without its placements. */
static json_t *begin_data(const emp_problem *problem, json_t *rows)
{
    const emp_manifest manifest = emp_manifest_get();
    json_t            *words = json_array();

    for (int32_t i = 0; i < EMP_PATH_GROUPS; i++)
        append(&words, json_string(emp_explain_path_words(i)));
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:[]}", "workload",
                     problem->workload, "machine", problem->machine->name, "runtime",
                     problem->runtime.name, "op_count", (int)problem->graph->op_count,
                     "version", manifest.version, "command", manifest.command, "devices",
                     devices_json(problem->machine), "rows", rows, "path_words", words,
                     "placements");
}

/* ---- all placements ---- */

static bool is_before(const json_t *a, const json_t *b)
{
    const bool a_fits = json_is_true(json_object_get(a, "fits"));
    const bool b_fits = json_is_true(json_object_get(b, "fits"));

    if (a_fits != b_fits) return a_fits;
    return json_integer_value(json_object_get(a, "step_ns")) <
           json_integer_value(json_object_get(b, "step_ns"));
}

/* Puts a placement in its place, behind equal ones; -1: out of memory. */
static int32_t insert(json_t *placements, json_t *one)
{
    size_t at = 0;

    while (at < json_array_size(placements) &&
           !is_before(one, json_array_get(placements, at)))
        at++;
    return json_array_insert_new(placements, at, one) == 0 ? (int32_t)at : -1;
}

static emp_status add_placement(json_t **data, struct page *page,
                                const emp_labelled_decision *placement, bool is_shown,
                                emp_error *err)
{
    emp_status   st = EMP_OK;
    struct study s = {.problem = page->problem, .placement = placement};
    json_t      *rows = NULL;
    int32_t      at = -1;

    EMP_TRY(study_placement(&s, err));
    if (*data == NULL) {
        rows = json_array();
        for (int32_t row = 0; row < s.cells.row_count; row++)
            append(&rows, json_string(s.cells.row_name[row]));
        *data = begin_data(page->problem, rows);
    }
    if (*data != NULL)
        at = insert(json_object_get(*data, "placements"), placement_json(&s, page));
    if (at < 0) EMP_FAIL(EMP_ENOMEM, "figures of placement %s", placement->label);
    const json_int_t shown = json_integer_value(json_object_get(*data, "shown"));
    if (is_shown || (json_object_get(*data, "shown") != NULL && at <= shown))
        json_object_set_new(*data, "shown", json_integer(is_shown ? at : shown + 1));

cleanup:
    clear_study(&s);
    return st;
}

emp_status emp_explore_data(json_t **out, const emp_problem *problem,
                            const emp_labelled_decision *placement, int32_t count,
                            int32_t shown, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct page page = {.problem = problem, .names = json_array()};
    json_t     *data = NULL;

    *out = NULL;
    EMP_TRY(EMP_ALLOC(page.name_of_op, (size_t)problem->graph->op_count));
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) page.name_of_op[op] = -1;
    for (int32_t i = 0; i < count; i++)
        EMP_TRY(add_placement(&data, &page, &placement[i], i == shown, err));
    if (data == NULL || json_object_set(data, "names", page.names) != 0)
        EMP_FAIL(EMP_ENOMEM, "figures of %d placements", count);
    *out = data;
    data = NULL;

cleanup:
    json_decref(data);
    json_decref(page.names);
    emp_free(page.name_of_op);
    return st;
}

/* ---- the page around the figures: its script builds all that is seen ---- */

/* JSON inside an element: neither HTML nor XML sees markup in it. */
static void write_json(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, file);
    }
}

static void write_script(FILE *file)
{
    fprintf(file, "<script>\n//<![CDATA[\n%s//]]>\n</script>\n",
            (const char *)emp_explore_script);
}

emp_status emp_explore_write(FILE *file, const json_t *data, emp_error *err)
{
    const char *workload = json_string_value(json_object_get(data, "workload"));
    const char *machine = json_string_value(json_object_get(data, "machine"));
    char       *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(6));
    char        title[512];

    if (text == NULL) return EMP_ERROR(EMP_ENOMEM, "page of %s", workload);
    snprintf(title, sizeof title, "Explore placements: %s on %s", workload, machine);
    emp_html_begin(file, title);
    fprintf(file, "<style>\n%s</style>\n", (const char *)emp_explore_style);
    emp_html_put(file, "<h1>", title, "</h1>\n");
    fputs("<div id=\"page\"><p class=\"note\">This page needs JavaScript, and no "
          "network.</p></div>\n"
          "<script type=\"application/json\" id=\"data\">",
          file);
    write_json(file, text);
    fputs("</script>\n", file);
    write_script(file);
    emp_html_end(file);
    free(text);
    return EMP_OK;
}
