/** \file bench/speed/speed.h
 * How fast the networks of learners learn, beside PyTorch and beside what the machine can do:
 * `emplace bench policy`.
 *
 * In each round ours and PyTorch make the same update, one after the other. On one thread
 * times are CPU times, on more they are wall-clock times.
 */
#ifndef EMP_BENCH_SPEED_SPEED_H
#define EMP_BENCH_SPEED_SPEED_H

#include <stdatomic.h>

#include "bench/speed/stand.h"
#include "run/stats.h"

enum {
    EMP_SPEED_MAX = 8,
    EMP_SPEED_MAX_THREADS = 256,
    EMP_SPEED_NETWORKS = EMP_SPEED_MAX * EMP_SPEED_MAX + EMP_STAND_COUNT
};

typedef struct {
    uint32_t networks; /**< bits, by emp_stand_kind */
    int32_t  hidden[EMP_SPEED_MAX], hidden_count;
    int32_t  samples[EMP_SPEED_MAX], samples_count;
    int32_t  threads[EMP_SPEED_MAX], threads_count;
    int32_t  groups, ops; /**< of the planner */
    int32_t  nodes;       /**< of GO */
    int32_t  sets;        /**< of HSDAG */
    int32_t  steps;       /**< of an episode of Placeto, DOPPLER and GiPH */
    int32_t  repeats;     /**< rounds */
    bool     has_torch;
    uint64_t seed;
    void (*on_progress)(void *context, double done_frac); /**< or NULL */
    void             *context;
    const atomic_int *stop; /**< or NULL; non-zero ends after a round */
} emp_speed_params;

/** One network on some number of threads. */
typedef struct {
    emp_stand_params network;
    int32_t          threads;
    emp_quartiles    ours_s, torch_s; /**< per update */
    emp_quartiles    ratio;           /**< theirs to ours in the same round */
    double           flops, stream_bytes;
    double           limit_s;
    double           disagreement; /**< of losses, relative: the largest */
} emp_speed_row;

typedef struct {
    emp_speed_params params;
    bool             torch_is_absent; /**< though it was asked for */
    emp_speed_row    row[EMP_SPEED_NETWORKS * EMP_SPEED_MAX];
    int32_t          row_count;
} emp_speed_report;

/** \retval EMP_EINVAL        More steps than DOPPLER or GiPH is timed with.
 * \retval EMP_EINTERRUPTED  \a report holds the rows that are complete. */
emp_status emp_speed_measure(emp_speed_report *report, const emp_speed_params *params,
                             emp_error *err);

/** A sheet with a line a row; to be cleared. */
void emp_speed_tabulate(emp_sheet *sheet, const emp_speed_report *report);

#endif /* EMP_BENCH_SPEED_SPEED_H */
