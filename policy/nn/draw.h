/** \file policy/nn/draw.h
 * How a network draws: sample k of update t uses the same random numbers on any thread.
 */
#ifndef EMP_POLICY_NN_DRAW_H
#define EMP_POLICY_NN_DRAW_H

#include <stdint.h>

typedef struct {
    uint64_t seed;
    uint32_t update;
    int32_t  threads;
} emp_draw;

#endif /* EMP_POLICY_NN_DRAW_H */
