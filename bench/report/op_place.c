// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/cells.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "baselines/expert.h"
#include "sim/graph/op.h"

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

    place->pass = EMP_PASS_FORWARD;
    if (emp_is_gradient_name(name)) {
        place->pass = EMP_PASS_BACKWARD;
        if (length == 0) forward = strchr(name, '/') + 1;
    } else if (strncmp(name, "clip_by_global_norm", 19) == 0) {
        place->pass = EMP_PASS_BACKWARD;
    } else if (update != NULL && is_optimizer(name)) {
        place->pass = EMP_PASS_UPDATE;
        forward = update + strlen("/update_");
    } else if (is_optimizer(name) || (leaf != NULL && is_optimizer(leaf + 1))) {
        place->pass = EMP_PASS_UPDATE;
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

void emp_op_place_scope(char scope[EMP_CELLS_NAME_BYTES], const char *forward,
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
