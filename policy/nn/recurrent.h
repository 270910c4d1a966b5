/** \file policy/nn/recurrent.h
 * Recurrent cells: long short-term memory and gated recurrent units.
 *
 * Long short-term memory. H cells, T steps; the gates of a step are 4H numbers in the
 * order input, forget, output, candidate:
 *
 *     (i, f, o, g) = x W_x + h_{t-1} W_h + b,    i f o through the logistic, g through
 * tanh c_t = f c_{t-1} + i g,    h_t = o tanh(c_t)
 *
 * The caller computes x W_x + b for all steps at once; only h W_h is sequential.
 * Gradients of the weights are left to the caller too: the backward pass turns stored
 * gates into gradients of their sums, from which one large product per matrix follows.
 */
#ifndef EMP_POLICY_NN_RECURRENT_H
#define EMP_POLICY_NN_RECURRENT_H

#include <stdbool.h>

#include "policy/nn/products.h"
#include "policy/nn/real.h"

/** One step of one row. \a gates: sums in, activations out. */
void emp_lstm_cell_forward(emp_real *gates, emp_real *c, emp_real *h,
                           const emp_real *c_previous, int32_t H);

/** Sequences of equal length that go through the same weights side by side. In the
 * arrays of a function, the values of sequence n start n x T positions further (cells T + 1). */
typedef struct {
    int32_t count; /**< sequences */
    int32_t T, H;
    bool    reverse; /**< from the last position to the first */
    int32_t threads; /**< that share the columns of each step */
    double  bound; /**< largest gradient of a cell or an output that the way back hands to
                        the step before, in absolute value; 0: unlimited */
} emp_lstm_shape;

/** Runs from a zero state. Row t of \a gates (T,4H) and of \a h (its stride is given)
 * belongs to position t. \a c (T+1,H) is in the order of steps: row 0 must be zero, row s
 * is the cell after s steps. \a recurrent is W_h, packed. */
void emp_lstm_forward(emp_real *gates, emp_real *c, emp_real *h, int64_t h_stride,
                      const emp_panels *recurrent, const emp_lstm_shape *shape);

/** Its gradient. \a gates: activations in, gradients of the sums out. \a dh are gradients
 * from outside, strided as h, and are overwritten. \a dc (count,H) is the gradient of the
 * cell after the last step in, of the first state's out. \a recurrent_t is W_h
 * transposed, packed. */
void emp_lstm_backward(emp_real *gates, emp_real *dh, int64_t h_stride, emp_real *dc,
                       const emp_real *c, const emp_panels *recurrent_t,
                       const emp_lstm_shape *shape);

/** dw += sum over steps of h_{t-1}' dz_t, the gradient of W_h. */
void emp_lstm_recurrent_gradient(emp_real *dw, const emp_real *h, int64_t h_stride,
                                 const emp_real *dz, int32_t T, int32_t H, bool reverse,
                                 int32_t threads);

/* Gated recurrent unit (Cho et al., 2014) in PyTorch's form. H cells; gates are 3H numbers in the
 * order reset, update, candidate:
 *
 *     a = x W_x + b_x,    u = h W_h + b_h
 *     r = s(a_r + u_r),    z = s(a_z + u_z),    n = tanh(a_n + r u_n),    s the logistic
 *     h' = (1 - z) n + z h
 *
 * The caller computes a and u, and turns their gradients into the weights'. B rows. */

/** \a gates (B,3H): a in, activations out. u (B,3H), h (B,H); \a next (B,H) is h'. */
void emp_gru_forward(emp_real *gates, emp_real *next, const emp_real *u,
                     const emp_real *h, int32_t B, int32_t H);

/** \a gates: activations in, gradients of a out. \a u: u in, its gradients out. \a dh (B,H): the
 * gradient of h' in, out the gradient of h without the part by way of u. */
void emp_gru_backward(emp_real *gates, emp_real *u, emp_real *dh, const emp_real *h,
                      int32_t B, int32_t H);

#endif /* EMP_POLICY_NN_RECURRENT_H */
