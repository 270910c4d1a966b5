// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/flush.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { FLUSH_RESULTS = 1 << 15, FLUSH_OPERANDS = 1 << 6 };

unsigned emp_flush_begin(void)
{
    unsigned saved = _mm_getcsr();

    _mm_setcsr(saved | FLUSH_RESULTS | FLUSH_OPERANDS);
    return saved;
}

void emp_flush_end(unsigned saved) { _mm_setcsr(saved); }

#else

unsigned emp_flush_begin(void) { return 0; }
void     emp_flush_end(unsigned saved) { (void)saved; }

#endif
