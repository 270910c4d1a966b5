/** \file policy/nn/attention.h
 * Two kinds of attention: additive, and by dot products within segments. Results do not depend on the
 * number of threads.
 */
#ifndef EMP_POLICY_NN_ATTENTION_H
#define EMP_POLICY_NN_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/work.h"
#include "policy/nn/real.h"

/* Additive attention (Bahdanau et al., 2015) of queries over S memory rows of A numbers:
 *
 *     e_s = v' tanh(q + m_s),   a = softmax(e),   context = sum of a_s m_s
 *
 * The context is taken of the same transformed rows m that are compared with the query.
 * The S x A values tanh(q + m) are computed again in the backward pass, not stored. They
 * come from exponentials, each computed once:
 *
 *     tanh(q + m) = 1 - 2 / (1 + e^{2q} e^{2m}),   |q|, |m| limited to 43 */

/** Writes e^{2x} for \a count numbers x, of a memory or a query. */
void emp_attention_exp(emp_real *y, const emp_real *x, int64_t count);

/** Writes e_s of rows first .. end-1 for \a count queries; query n's to e
 * + n e_stride, and it starts at query + n query_stride. */
void emp_attention_score(emp_real *e, int64_t e_stride, const emp_real *query,
                         int64_t query_stride, int32_t count, const emp_real *memory_exp,
                         const emp_real *v, int32_t first, int32_t end, int32_t A);

/** Turns one query's e (S) into its weights, and writes its \a context (A). */
void emp_attention_mix(emp_real *e, emp_real *context, const emp_real *memory, int32_t S,
                       int32_t A);

/** The results of \a count queries, row by row, and the gradient of these results. */
typedef struct {
    int32_t           count, S, A;
    const emp_real   *weights;  /**< (count,S) */
    const emp_real   *dcontext; /**< (count,A) */
    int32_t           dcontext_stride;
    const emp_real   *memory, *memory_exp; /**< (S,A) */
    const emp_real   *v;                   /**< (A) */
    const atomic_int *stop; /**< OPTIONAL: once set, the results are worth nothing */
} emp_attention_past;

/** Turns \a query (count,A) into its gradient; adds to \a dmemory (S,A) and \a dv (A).
 * \a scratch holds count x S numbers. */
void emp_attention_backward(emp_real *query, emp_real *dmemory, emp_real *dv,
                            const emp_attention_past *past, emp_real *scratch,
                            int32_t threads);

/* Multi-head attention by dot products (Vaswani et al., 2017) within segments of a long
 * sequence, each with the segment before as its memory (Dai et al., 2019):
 *
 *     P = softmax(Q K' / sqrt(width / heads)),   out = P V
 *
 * for each head, where Q are the rows of a segment, and K and V the rows of it and of the
 * one before. Nothing is masked. The forward pass keeps only what normalizes the rows of P, two numbers a
 * row and head. The backward pass computes P again, so that P takes no memory. */

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

#endif /* EMP_POLICY_NN_ATTENTION_H */
