/** \file policy/hsdag/strips.h
 * The affine maps of HSDAG's network, each with the operations before and after it. Rows go through all of these strip
 * by strip, so that they are in a near cache for the next operation. Rows that BLAS multiplies faster (emp_tall_suits())
 * are multiplied at once, and only the other operations go by strips.
 *
 * Operations that add rows up or draw random numbers take the strips in order, so that results do not depend on
 * the number of threads. W is the width; arrays of rows have W columns unless a map has others.
 */
#ifndef EMP_POLICY_HSDAG_STRIPS_H
#define EMP_POLICY_HSDAG_STRIPS_H

#include "policy/hsdag/hsdag.h"

/** y = affine(x), and then, each if it is there: y = D(y); out = LN(y + plus); out = D(out). */
typedef struct {
    int32_t map;  /**< slice of the matrix; the bias is the slice behind it */
    int32_t norm; /**< slice of the gain; the shift is the slice behind it */
    int32_t rows;
    const emp_hsdag_level *level;
    const emp_real        *mixes; /**< OPTIONAL: x = S mixes is written first */
    const emp_real
        *of_ends; /**< OPTIONAL: so is x, the product of both ends of a row of edges */
    const emp_real       *x;
    emp_real             *x_out; /**< x, if one of these writes it */
    emp_real             *y;
    bool                  drops; /**< y = D(y) */
    const emp_hsdag_norm *to;    /**< OPTIONAL: what LN keeps */
    const emp_real       *plus;  /**< OPTIONAL */
    emp_real             *out;
    bool                  drops_out; /**< out = D(out) */
} emp_hsdag_map;

void emp_hsdag_apply(emp_hsdag_net *net, const emp_hsdag_map *map, emp_rng *rng);

/** The way back through these operations, in dy: dy = S mixes or the rows of \a spread by group; through D to \a out;
 * through LN; copy = dy; total += dy; through D to \a y; dx = start + dy w'. Adds to the gradients of the parameters.
 * dx is no array that is read. */
typedef struct {
    int32_t                map, norm, rows;
    const emp_hsdag_level *level;
    const emp_real        *mixes, *spread; /**< OPTIONAL */
    emp_real              *dy;             /**< overwritten */
    const emp_real        *out;            /**< OPTIONAL */
    const emp_hsdag_norm  *from;           /**< OPTIONAL */
    emp_real              *copy, *total;   /**< OPTIONAL */
    const emp_real        *y;              /**< OPTIONAL */
    const emp_real        *x;              /**< of the map */
    const emp_real        *start;          /**< OPTIONAL */
    emp_real              *dx;             /**< OPTIONAL */
} emp_hsdag_map_back;

void emp_hsdag_apply_backward(emp_hsdag_net *net, const emp_hsdag_map_back *map);

/** product[r] = x_u * x_v for rows \a first .. \a first + \a count - 1 of nodes u and v, (end[2 r], end[2 r + 1]);
 * row \a first is product's first. */
void emp_hsdag_multiply_ends(emp_real *product, const emp_real *x, const int32_t *end,
                             int32_t first, int32_t count, int32_t W);

#endif /* EMP_POLICY_HSDAG_STRIPS_H */
