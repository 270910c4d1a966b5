/** \file policy/hsdag/parsing_net.h
 * For the files of the network alone: where its parameters are, and which of its values are kept for the gradient.
 */
#ifndef EMP_POLICY_HSDAG_PARSING_NET_H
#define EMP_POLICY_HSDAG_PARSING_NET_H

#include "policy/hsdag/hsdag.h"

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

/* Rows that go through several layers together, so that what no gradient needs stays in a near cache. */
enum { EMP_HSDAG_BLOCK = 512 };

/* Without dropout, what a ReLU lets through is known from what a layer norm keeps. */
static inline bool emp_hsdag_has_masks(const emp_hsdag_net *n)
{
    return n->shape.dropout > 0;
}

#endif /* EMP_POLICY_HSDAG_PARSING_NET_H */
