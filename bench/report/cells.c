// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/cells.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "baselines/baselines.h"
#include "sim/graph/op.h"

/* ---- the place of an op in its model, by its name ---- */

/* Ranks of rows, from the input up; a decoder stands above its encoder. */
enum {
    RANK_OTHER = -1,
    RANK_EMBEDDING = 0,
    RANK_CELL = 1,
    RANK_DECODER = 1 << 20,
    RANK_ATTENTION = 1 << 21,
    RANK_OUTPUT
};

static const char *const optimizers[] = {"Adam", "Momentum", "RMSProp", "Adagrad",
                                         "GradientDescent"};

/* Whether a path component is an optimizer's, as "Adam" or "Adam_1". */
static bool is_optimizer(const char *component)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        size_t length = strlen(optimizers[i]);
        if (strncmp(component, optimizers[i], length) == 0 &&
            strchr("/_", component[length]) != NULL) /* or the end */
            return true;
    }
    return false;
}

/* The pass, and the name that stands inside. */
static void unwrap(emp_op_place *place, const char *name)
{
    const char *update = strstr(name, "/update_"), *leaf = strrchr(name, '/');
    const char *forward = name;
    size_t      length = emp_forward_of_gradient(name, &forward);

    place->pass = EMP_CELLS_FORWARD;
    if (emp_is_gradient_name(name)) {
        place->pass = EMP_CELLS_BACKWARD;
        if (length == 0) forward = strchr(name, '/') + 1;
    } else if (strncmp(name, "clip_by_global_norm", 19) == 0) {
        place->pass = EMP_CELLS_BACKWARD;
    } else if (update != NULL && is_optimizer(name)) {
        place->pass = EMP_CELLS_UPDATE;
        forward = update + strlen("/update_");
    } else if (is_optimizer(name) || (leaf != NULL && is_optimizer(leaf + 1))) {
        place->pass = EMP_CELLS_UPDATE;
    }
    snprintf(place->forward, sizeof place->forward, "%.*s",
             (int)(length > 0 ? length : strlen(forward)), forward);
}

/* Length of a component without its "_N", and N; "cell_1" is a name, "cell_1_2" is not. */
static size_t strip(const char *component, size_t length, int32_t *number)
{
    size_t digits = length;

    *number = -1;
    while (digits > 0 && isdigit((unsigned char)component[digits - 1])) digits--;
    if (digits == length || digits < 2 || component[digits - 1] != '_') return length;
    if (length - digits > 8) return length;
    if (digits == 5 && strncmp(component, "cell_", 5) == 0) return length;
    if (sscanf(component + digits, "%8d", number) != 1) return length;
    return digits - 1;
}

/* The name without numbers, and the outermost number. */
static void find_number(emp_op_place *place)
{
    const char *at = place->forward;
    char       *to = place->like;

    place->number = 0;
    for (bool is_found = false; *at != '\0';) {
        int32_t number;
        size_t  length = strcspn(at, "/"), kept = strip(at, length, &number);
        if (number >= 0 && !is_found) {
            place->number = number;
            is_found = true;
        }
        memcpy(to, at, kept);
        to += kept;
        at += length;
        if (*at == '/') *to++ = *at++;
    }
    *to = '\0';
}

static void name_cell(emp_op_place *place, int32_t cell, bool has_decoder)
{
    bool        is_decoder = emp_name_is_in_decoder(place->forward);
    const char *side = !has_decoder ? "" : is_decoder ? "decoder " : "encoder ";
    bool        is_left_to_right = strstr(place->forward, "/fw/") != NULL;

    place->is_right_to_left = strstr(place->forward, "/bw/") != NULL;
    place->is_cell = true;
    place->rank =
        RANK_CELL + 2 * cell + place->is_right_to_left + (is_decoder ? RANK_DECODER : 0);
    snprintf(place->row, sizeof place->row, "%slayer %d%s", side, cell + 1,
             place->is_right_to_left ? ", right to left"
             : is_left_to_right      ? ", left to right"
                                     : "");
}

static void name_embedding(emp_op_place *place, bool has_decoder)
{
    bool is_target =
        emp_name_is_in_decoder(place->forward) || strstr(place->forward, "tgt") != NULL;

    place->rank = RANK_EMBEDDING + (has_decoder && is_target ? RANK_DECODER : 0);
    snprintf(place->row, sizeof place->row, "%sembedding",
             !has_decoder ? ""
             : is_target  ? "decoder "
                          : "encoder ");
}

void emp_op_place_read(emp_op_place *place, const char *name, bool has_decoder)
{
    int32_t cell = -1;

    memset(place, 0, sizeof *place);
    unwrap(place, name);
    find_number(place);
    place->rank = RANK_OTHER;
    snprintf(place->row, sizeof place->row, "other ops");
    switch (emp_role_of_name(place->forward, &cell)) {
    case EMP_ROLE_CELL: name_cell(place, cell, has_decoder); break;
    case EMP_ROLE_EMBEDDING: name_embedding(place, has_decoder); break;
    case EMP_ROLE_OUTPUT:
        if (strstr(place->forward, "attention") != NULL ||
            strstr(place->forward, "memory_layer") != NULL) {
            place->rank = RANK_ATTENTION;
            snprintf(place->row, sizeof place->row, "attention");
        } else {
            place->rank = RANK_OUTPUT;
            snprintf(place->row, sizeof place->row, "softmax");
        }
        break;
    case EMP_ROLE_NONE: break;
    }
}

/* The first \a depth scopes of a forward name, after \a model and its repetitions ("" =
 * there is none); "(top)" if it has none. */
static void take_scopes(char scope[EMP_CELLS_NAME_BYTES], const char *forward,
                        const char *model, int32_t depth)
{
    size_t length = 0, skip = strlen(model);

    while (skip > 0 && strncmp(forward, model, skip) == 0 && forward[skip] == '/')
        forward += skip + 1;
    for (size_t i = 0; forward[i] != '\0' && depth > 0; i++) {
        if (forward[i] != '/') continue;
        length = i;
        depth--;
    }
    if (length == 0)
        snprintf(scope, EMP_CELLS_NAME_BYTES, "(top)");
    else
        snprintf(scope, EMP_CELLS_NAME_BYTES, "%.*s", (int)length, forward);
}

enum { MAX_DEPTH = 2, LEAST_STEPS = 2 };

struct row {
    char    name[EMP_CELLS_NAME_BYTES];
    int32_t rank;
};

/* Facts about ops while rows and steps are being found. */
struct builder {
    const emp_problem *problem;
    emp_op_place      *place; /* [op] */
    int32_t           *like;  /* [op] class of ops that differ in their number */
    int32_t           *last;  /* [class] highest number */
    int32_t            like_count;
    int32_t           *row; /* [op] */
    struct row         rows[EMP_CELLS_MAX_ROWS];
    int32_t            row_count;
    int32_t            step_count;
    emp_strmap         map;
};

static bool is_shown(const struct builder *b, emp_op_id op)
{
    return !b->problem->graph->op[op].is_folded;
}

/* ---- steps --------------------------------------------------------------------------- */

static emp_status find_likes(struct builder *b, emp_error *err)
{
    const emp_graph *g = b->problem->graph;
    bool             is_translation = false;

    for (emp_op_id op = 0; op < g->op_count; op++)
        is_translation |= strncmp(g->name[op], "decoder/", 8) == 0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_op_place *place = &b->place[op];
        emp_op_place_read(place, g->name[op], is_translation);
        size_t  length = strlen(place->like);
        int32_t like = emp_strmap_get(&b->map, place->like, length);
        if (like < 0) {
            like = b->like_count++;
            EMP_CHECK(emp_strmap_set(&b->map, place->like, length, like, err));
        }
        b->like[op] = like;
        if (place->number > b->last[like]) b->last[like] = place->number;
    }
    return EMP_OK;
}

/* A recurrent layer has one matrix product a step. */
static int32_t count_steps(const struct builder *b)
{
    int32_t steps = 0;

    for (emp_op_id op = 0; op < b->problem->graph->op_count; op++) {
        const char *leaf = strrchr(b->place[op].like, '/');
        if (!is_shown(b, op) || !b->place[op].is_cell || leaf == NULL) continue;
        if (strcmp(leaf, "/MatMul") != 0) continue;
        if (b->last[b->like[op]] + 1 > steps) steps = b->last[b->like[op]] + 1;
    }
    return steps >= LEAST_STEPS ? steps : 0;
}

/* The step of an op; step_count = none. The last ops whose results are not read may
 * have been pruned, so there may be fewer of a class than its share of steps. */
static int32_t step_of(const struct builder *b, emp_op_id op)
{
    const emp_op_place *place = &b->place[op];
    int32_t             made = b->last[b->like[op]] + 1, steps = b->step_count;

    if (steps == 0 || made < LEAST_STEPS || made < steps - 1) return steps;
    int32_t step = place->number / ((made + steps - 1) / steps);
    return place->is_right_to_left ? steps - 1 - step : step;
}

/* ---- rows ---------------------------------------------------------------------------- */

/* The row of that name, made if it is new; -1 = there are too many. */
static int32_t find_row(struct builder *b, const char *name, int32_t rank)
{
    for (int32_t r = b->row_count - 1; r >= 0; r--) {
        if (strcmp(b->rows[r].name, name) == 0) return r;
    }
    if (b->row_count == EMP_CELLS_MAX_ROWS) return -1;
    memcpy(b->rows[b->row_count].name, name, EMP_CELLS_NAME_BYTES);
    b->rows[b->row_count].rank = rank;
    return b->row_count++;
}

static int compare_ranks(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Rows by layer; false = there are too many. */
static bool find_layers(struct builder *b)
{
    int32_t op_count = b->problem->graph->op_count;

    for (emp_op_id op = 0; op < op_count; op++) {
        if (is_shown(b, op) && find_row(b, b->place[op].row, b->place[op].rank) < 0)
            return false;
    }
    qsort(b->rows, (size_t)b->row_count, sizeof *b->rows, compare_ranks);
    for (emp_op_id op = 0; op < op_count; op++) {
        if (is_shown(b, op)) b->row[op] = find_row(b, b->place[op].row, 0);
    }
    return true;
}

/* The top scope of more than half of the ops, as "resnet_v1_152"; "" = there is none. */
static void find_model(const struct builder *b, char *model)
{
    int32_t votes = 0, shown = 0, count = 0;
    char    scope[EMP_CELLS_NAME_BYTES];
    int32_t op_count = b->problem->graph->op_count;

    model[0] = '\0';
    for (int round = 0; round < 2;
         round++) { /* majority vote of Boyer and Moore, then count */
        for (emp_op_id op = 0; op < op_count; op++) {
            if (!is_shown(b, op)) continue;
            take_scopes(scope, b->place[op].forward, "", 1);
            bool is_same = strcmp(scope, model) == 0;
            if (round == 1) {
                shown++;
                count += is_same;
            } else if (votes == 0) {
                memcpy(model, scope, EMP_CELLS_NAME_BYTES);
                votes = 1;
            } else {
                votes += is_same ? 1 : -1;
            }
        }
    }
    if (2 * count <= shown || strcmp(model, "(top)") == 0) model[0] = '\0';
}

/* Rows by scopes to a depth, in the order of the graph; false = there are too many. */
static bool find_scopes(struct builder *b, const char *model, int32_t depth)
{
    char scope[EMP_CELLS_NAME_BYTES];

    b->row_count = 0;
    for (int32_t pass = 0; pass < EMP_CELLS_PASSES;
         pass++) { /* forward ops set the order */
        for (emp_op_id op = 0; op < b->problem->graph->op_count; op++) {
            if (!is_shown(b, op) || (int32_t)b->place[op].pass != pass) continue;
            memset(scope, 0, sizeof scope);
            take_scopes(scope, b->place[op].forward, model, depth);
            b->row[op] = find_row(b, scope, 0);
            if (b->row[op] < 0) return false;
        }
    }
    return true;
}

/* The deepest scopes that give few enough rows; else the first rows, and the rest. */
static void find_rows(struct builder *b)
{
    char    model[EMP_CELLS_NAME_BYTES];
    int32_t depth = MAX_DEPTH;

    b->step_count = count_steps(b);
    if (b->step_count > 0 && find_layers(b)) return;
    b->step_count = 0;
    find_model(b, model);
    while (depth > 0 && !find_scopes(b, model, depth)) depth--;
    if (depth > 0) return;
    find_scopes(b, model, 1);
    memset(b->rows[EMP_CELLS_MAX_ROWS - 1].name, 0, EMP_CELLS_NAME_BYTES);
    strcpy(b->rows[EMP_CELLS_MAX_ROWS - 1].name, "all others");
    for (emp_op_id op = 0; op < b->problem->graph->op_count; op++) {
        char scope[EMP_CELLS_NAME_BYTES] = "";
        if (!is_shown(b, op)) continue;
        take_scopes(scope, b->place[op].forward, model, 1);
        b->row[op] = find_row(b, scope, 0);
        if (b->row[op] < 0) b->row[op] = EMP_CELLS_MAX_ROWS - 1;
    }
}

/* ---- cells --------------------------------------------------------------------------- */

static size_t offset_of(const emp_cells *c, int32_t row, emp_cells_pass pass,
                        int32_t step)
{
    size_t cell = ((size_t)row * EMP_CELLS_PASSES + pass) * (size_t)(c->step_count + 1);

    return (cell + (size_t)step) * (size_t)c->device_count;
}

const int32_t *emp_cells_at(const emp_cells *cells, int32_t row, emp_cells_pass pass,
                            int32_t step)
{
    return &cells->op_count[offset_of(cells, row, pass, step)];
}

static emp_status count_ops(emp_cells *c, const struct builder *b,
                            const emp_device_id *device_of_op, emp_error *err)
{
    c->row_count = b->row_count;
    c->step_count = b->step_count;
    c->device_count = b->problem->machine->device_count;
    c->row_name = emp_calloc((size_t)c->row_count, EMP_CELLS_NAME_BYTES);
    c->op_count =
        EMP_NEW_ARRAY(int32_t, offset_of(c, c->row_count, EMP_CELLS_FORWARD, 0));
    if (c->row_name == NULL || c->op_count == NULL)
        return EMP_ERROR(EMP_ENOMEM, "grid of %d rows, %d steps", c->row_count,
                         c->step_count);
    for (int32_t r = 0; r < c->row_count; r++)
        memcpy(c->row_name[r], b->rows[r].name, EMP_CELLS_NAME_BYTES);
    for (emp_op_id op = 0; op < b->problem->graph->op_count; op++) {
        if (!is_shown(b, op)) {
            b->row[op] = -1;
            continue;
        }
        size_t cell = offset_of(c, b->row[op], b->place[op].pass, step_of(b, op));
        c->op_count[cell + (size_t)device_of_op[op]]++;
    }
    return EMP_OK;
}

emp_status emp_cells_create(emp_cells *cells, const emp_problem *problem,
                            const emp_device_id *device_of_op, emp_error *err)
{
    emp_status      st = EMP_OK;
    size_t          op_count = (size_t)problem->graph->op_count;
    struct builder *b = EMP_NEW(struct builder);

    *cells = (emp_cells){0};
    if (b == NULL) EMP_FAIL(EMP_ENOMEM, "grid of %zu ops", op_count);
    b->problem = problem;
    EMP_TRY(EMP_ALLOC(b->place, op_count));
    EMP_TRY(EMP_ALLOC(b->like, op_count));
    EMP_TRY(EMP_ALLOC(b->last, op_count));
    EMP_TRY(EMP_ALLOC(b->row, op_count));
    EMP_TRY(find_likes(b, err));
    find_rows(b);
    EMP_TRY(count_ops(cells, b, device_of_op, err));
    cells->row_of_op = b->row;
    b->row = NULL;
    EMP_TRY(EMP_ALLOC(cells->pass_of_op, op_count));
    for (size_t op = 0; op < op_count; op++)
        cells->pass_of_op[op] = (uint8_t)b->place[op].pass;

cleanup:
    if (b != NULL) {
        emp_strmap_clear(&b->map);
        emp_free(b->place);
        emp_free(b->like);
        emp_free(b->last);
        emp_free(b->row);
        emp_free(b);
    }
    return st;
}

void emp_cells_clear(emp_cells *cells)
{
    emp_free(cells->row_name);
    emp_free(cells->row_of_op);
    emp_free(cells->pass_of_op);
    emp_free(cells->op_count);
    *cells = (emp_cells){0};
}
