/** \file policy/hsdag/parsing_net_internal.h
 * What the two passes of the network share: where its parameters are, and its layers.
 */
#ifndef EMP_POLICY_HSDAG_PARSING_NET_INTERNAL_H
#define EMP_POLICY_HSDAG_PARSING_NET_INTERNAL_H

#include "policy/hsdag/parsing_net.h"

/* Affine maps: a matrix, and the bias in the slice behind it. */
enum {
    INPUT_1 = 0,
    INPUT_2 = 2,
    CONVOLVE_1 = 4,
    CONVOLVE_2 = 6,
    SINGLE = 8,
    EDGE = 10,
    SCORE = 12,
    MEMBER = 14,
    POOL = 16,
    CODE_1 = 18,
    CODE_2 = 20,
    DEVICE_1 = 22,
    DEVICE_2 = 24
};
/* Layer norms: a gain, and the shift in the slice behind it. */
enum {
    INPUT_1_NORM = 26,
    INPUT_2_NORM = 28,
    G_NORM = 30,
    Q_NORM = 32,
    EDGE_NORM = 34,
    MEMBER_NORM = 36,
    POOL_NORM = 38,
    SLICES = 40
};

/** y += x. */
void emp_hsdag_add(emp_real *y, const emp_real *x, int64_t count);

/** product[e] = g_u * g_v for each edge e of u and v. */
void emp_hsdag_multiply_ends(emp_real *product, const emp_real *g,
                             const emp_hsdag_graph *graph, int32_t width);

/** Columns of the matrix of a map; its rows. */
int32_t emp_hsdag_outputs(const emp_hsdag_net *net, int32_t map);
int32_t emp_hsdag_inputs(const emp_hsdag_net *net, int32_t map);

#endif /* EMP_POLICY_HSDAG_PARSING_NET_INTERNAL_H */
