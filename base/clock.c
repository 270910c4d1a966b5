// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

static double read_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double emp_clock_now_s(void) { return read_s(CLOCK_MONOTONIC); }

static _Thread_local double elsewhere_s;

double emp_clock_thread_s(void) { return read_s(CLOCK_THREAD_CPUTIME_ID) + elsewhere_s; }

void emp_clock_count_s(double seconds) { elsewhere_s += seconds; }
