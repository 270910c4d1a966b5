/** \file run/sheet/sheet_internal.h
 * A sheet as the files that print it see it.
 */
#ifndef EMP_RUN_SHEET_SHEET_INTERNAL_H
#define EMP_RUN_SHEET_SHEET_INTERNAL_H

#include "run/sheet/sheet.h"

/** Lines in rows and groups. */
typedef struct {
    const emp_sheet *sheet;
    int32_t          row_count, group_count, across; /**< column; -1 = not spread */
    int32_t         *first;                          /**< [row] first line */
    int32_t         *group;                          /**< [group] first line */
    int32_t         *line;                           /**< [row][group] or -1 */
} emp_sheet_grid;

/** \retval EMP_ENOMEM */
emp_status emp_sheet_grid_create(emp_sheet_grid *grid, const emp_sheet *sheet,
                                 emp_error *err);
void       emp_sheet_grid_clear(emp_sheet_grid *grid);

emp_status emp_sheet_print_text(FILE *out, const emp_sheet *sheet, emp_error *err);
emp_status emp_sheet_print_md(FILE *out, const emp_sheet *sheet, emp_error *err);

#endif /* EMP_RUN_SHEET_SHEET_INTERNAL_H */
