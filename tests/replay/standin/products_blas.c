// SPDX-License-Identifier: GPL-3.0-or-later
#include <cblas.h>

#include "tests/replay/standin/products.h"

void standin_multiply(const standin_product *p)
{
    cblas_sgemm(CblasColMajor, p->is_a_transposed ? CblasTrans : CblasNoTrans,
                p->is_b_transposed ? CblasTrans : CblasNoTrans, p->m, p->n, p->k,
                p->alpha, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}
