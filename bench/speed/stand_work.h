/** \file bench/speed/stand_work.h
 * What the matrix products of an update must do, and how its arrays go into the file for a peer.
 */
#ifndef EMP_BENCH_SPEED_STAND_WORK_H
#define EMP_BENCH_SPEED_STAND_WORK_H

#include <stdio.h>

#include "policy/nn/params.h"

typedef struct {
    double large_flops; /**< products that reuse their operands */
    struct {
        double weights; /**< numbers of a matrix, read whole ... */
        double passes;  /**< ... so many times, one after another ... */
        double rows;    /**< ... for so few rows */
    } stream[2];        /**< encoder, decoder */
} emp_stand_work;

void emp_stand_write_reals(FILE *stream, const char *name, const emp_real *value,
                           int32_t rows, int32_t cols);
void emp_stand_write_ints(FILE *stream, const char *name, const int32_t *value,
                          int32_t rows, int32_t cols);
/** Rounds to 32 bits. */
void emp_stand_write_doubles(FILE *stream, const char *name, const double *value,
                             int32_t rows, int32_t cols);
/** Slices by their numbers from \a first on, "p0", "p1", ..., as names repeat. */
void emp_stand_write_parameters(FILE *stream, const emp_params *params, int32_t first);

#endif /* EMP_BENCH_SPEED_STAND_WORK_H */
