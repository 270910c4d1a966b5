// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/area.h"

#include <glpk.h>

#include "base/lp/guard.h"

enum { HEIGHT = EMP_AREA_PRICES + 1, MAX_ENTRIES = (EMP_AREA_PLANES + 1) * HEIGHT };

typedef struct {
    const emp_area_plane *plane;
    int32_t               count;
    const double         *capacity;
    double                most;
    double               *price, *height;
    glp_prob             *lp;
    int                   row[MAX_ENTRIES + 1], column[MAX_ENTRIES + 1]; /* from 1 */
    double                entry[MAX_ENTRIES + 1];
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

emp_status emp_area_lp_solve(const emp_area_plane *plane, int32_t count,
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
