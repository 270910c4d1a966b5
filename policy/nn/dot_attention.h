/** \file policy/nn/dot_attention.h
 * Multi-head attention by dot products (Vaswani et al., 2017) within segments of a long
 * sequence, each with the segment before as its memory (Dai et al., 2019):
 *
 *     P = softmax(Q K' / sqrt(width / heads)),   out = P V
 *
 * for each head, where Q are the rows of a segment, and K and V the rows of it and of the
 * one before. Nothing is masked. The forward pass keeps only what normalizes the rows of P, two numbers a
 * row and head. The backward pass computes P again, so that P takes no memory.
 * nn/attention.h is another attention, which adds. Results do not depend on the number of threads.
 */
#ifndef EMP_POLICY_NN_DOT_ATTENTION_H
#define EMP_POLICY_NN_DOT_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/nn/real.h"

typedef struct {
    int32_t   rows, width, heads; /**< heads divide the width */
    int32_t   segment;            /**< rows of a segment; the last may have fewer */
    bool      has_memory;         /**< false: a segment sees only itself */
    int32_t   threads;
    emp_real *scratch; /**< emp_dot_attention_scratch() numbers */
} emp_dot_attention;

size_t emp_dot_attention_scratch(const emp_dot_attention *attention);

/** Numbers that the forward pass leaves to the backward pass: of each row of weights of each
 * head the shift and the inverse of the sum. */
size_t emp_dot_attention_normalizers(const emp_dot_attention *attention);

/** \a out is (rows,width); \a qkv is (rows, 3 width), a row's query, key and value. */
void emp_dot_attention_forward(const emp_dot_attention *attention, emp_real *out,
                               emp_real *normalizers, const emp_real *qkv);

/** Sets \a dqkv (rows, 3 width) to the gradient through each row's own segment, and \a dmemory
 * (rows, 2 width) to the gradient of its key and value as memory of the next segment, from the gradient of
 * \a out and what the forward pass set. */
void emp_dot_attention_backward(const emp_dot_attention *attention, emp_real *dqkv,
                                emp_real *dmemory, const emp_real *dout,
                                const emp_real *out, const emp_real *normalizers,
                                const emp_real *qkv);

#endif /* EMP_POLICY_NN_DOT_ATTENTION_H */
