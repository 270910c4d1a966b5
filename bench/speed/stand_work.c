// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/stand_work.h"

void emp_stand_write_reals(FILE *stream, const char *name, const emp_real *value,
                           int32_t rows, int32_t cols)
{
    fprintf(stream, "%s float %d %d\n", name, rows, cols);
    fwrite(value, sizeof *value, (size_t)rows * (size_t)cols, stream);
}

void emp_stand_write_ints(FILE *stream, const char *name, const int32_t *value,
                          int32_t rows, int32_t cols)
{
    fprintf(stream, "%s int %d %d\n", name, rows, cols);
    fwrite(value, sizeof *value, (size_t)rows * (size_t)cols, stream);
}

void emp_stand_write_doubles(FILE *stream, const char *name, const double *value,
                             int32_t rows, int32_t cols)
{
    fprintf(stream, "%s float %d %d\n", name, rows, cols);
    for (int64_t i = 0; i < (int64_t)rows * cols; i++) {
        const emp_real x = (emp_real)value[i];
        fwrite(&x, sizeof x, 1, stream);
    }
}

void emp_stand_write_parameters(FILE *stream, const emp_params *p, int32_t first)
{
    enum { NAME_BYTES = 16 };
    char name[NAME_BYTES];

    for (int32_t i = 0; i < p->slice_count; i++) {
        snprintf(name, sizeof name, "p%d", first + i);
        emp_stand_write_reals(stream, name, emp_params_value(p, i), p->slice[i].rows,
                              p->slice[i].cols);
    }
}
