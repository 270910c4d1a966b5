/** \file bench/micro/oracle.h
 * How fast the oracle is, and how its peers are: `emplace bench oracle`.
 *
 * The graphs are synthetic, of given sizes, or sources of the caller's. Blocks of a
 * placement are ranges of op numbers. On a source it is made legal.
 *
 * In each round every series runs the same placements, so that what else the machine does
 * hits all alike. Times are CPU times of the thread (peers: of their process). A ratio is
 * that of a series to the oracle under `ideal` in the same round.
 */
#ifndef EMP_BENCH_MICRO_ORACLE_H
#define EMP_BENCH_MICRO_ORACLE_H

#include <stdatomic.h>

#include "bench/micro/synthetic.h"
#include "run/stats.h"

typedef enum {
    EMP_SERIES_IDEAL,        /**< the oracle */
    EMP_SERIES_TF,           /**< the oracle under tf-r1.3 */
    EMP_SERIES_IDEAL_LEVELS, /**< both again, with an order of ops by levels: random ones, or the
                                  bottom levels of the first placement under `ideal` */
    EMP_SERIES_TF_LEVELS,
    EMP_SERIES_IDEAL_MODELS, /**< both again, as if each device were of a model of its own */
    EMP_SERIES_TF_MODELS,
    EMP_SERIES_TEXTBOOK,
    EMP_SERIES_SIMGRID_FIFO,
    EMP_SERIES_SIMGRID_DAG,
    EMP_SERIES_PYTHON,
    EMP_SERIES_COUNT
} emp_series;

/** "ideal", "tf-r1.3", "textbook", "simgrid-fifo", ...; static storage. */
const char *emp_series_name(emp_series series);

#define EMP_ORACLE_MACHINE "k40x4"

enum { EMP_ORACLE_MAX_GRAPHS = 12, EMP_ORACLE_MAX_THREADS = 256 };

typedef struct {
    const char        *machine; /**< with a GPU; NULL = EMP_ORACLE_MACHINE */
    int32_t            size[EMP_ORACLE_MAX_GRAPHS]; /**< ops of synthetic graphs */
    int32_t            size_count;
    const char *const *source; /**< [source_count] of emp_graph_load(); borrowed, also by
                                    the report */
    int32_t            source_count; /**< with size_count at most EMP_ORACLE_MAX_GRAPHS */
    bool     has_bottom_levels; /**< levels are bottom levels; else they are random */
    uint32_t placements;        /**< bits, by emp_synthetic_kind */
    uint32_t series;            /**< bits, by emp_series */
    int32_t  repeats;           /**< rounds */
    int32_t  threads;           /**< > 1: measure batches of placements on so many, too */
    uint64_t seed;
    void (*on_progress)(void *context, double done_frac); /**< or NULL */
    void             *context;
    const atomic_int *stop; /**< or NULL; non-zero ends after a round */
} emp_oracle_params;

/** One graph and placement. */
typedef struct {
    const char *source;   /**< NULL: synthetic */
    int32_t     op_count; /**< that are not folded */
    bool
        has_collectives; /**< the graph has collectives, which other simulators do not know */
    emp_synthetic_kind placement;
    double             events_per_op; /**< of emp_oracle_leading(): starts and ends */
    emp_quartiles      ns_per_op[EMP_SERIES_COUNT]; /**< NaN = not measured */
    emp_quartiles      ratio[EMP_SERIES_COUNT];
    int32_t            disagreements; /**< runs whose step time is not the oracle's */
    /* A batch of placements on all threads against one thread: wall clock, which other
     * work on the machine spoils, and processor time per run, which it does not. */
    emp_quartiles speedup, cpu_ratio;
} emp_oracle_row;

typedef struct {
    emp_oracle_params params;
    emp_oracle_row    row[EMP_ORACLE_MAX_GRAPHS * EMP_PLACE_COUNT];
    int32_t           row_count;
} emp_oracle_report;

/** Whether there are ratios. */
static inline bool emp_oracle_has_ideal(const emp_oracle_params *params)
{
    return params->series >> EMP_SERIES_IDEAL & 1u;
}

/** Whether ops have an order in one of the series. */
static inline bool emp_oracle_has_levels(const emp_oracle_params *params)
{
    return (params->series &
            (1u << EMP_SERIES_IDEAL_LEVELS | 1u << EMP_SERIES_TF_LEVELS)) != 0;
}

/** What steps per second and events are of: the oracle under `ideal`, or under tf-r1.3 where
 * only that was asked for. */
static inline emp_series emp_oracle_leading(const emp_oracle_params *params)
{
    return emp_oracle_has_ideal(params) ? EMP_SERIES_IDEAL : EMP_SERIES_TF;
}

/** The largest graphs that a series is measured on: beyond, a run takes minutes. */
int32_t emp_oracle_most_ops(emp_series series);

/** \retval EMP_EUNSUPPORTED  The machine has no GPU. \retval EMP_ENOMEM
 * Else as emp_graph_load() and emp_machine_load().
 * \retval EMP_EINTERRUPTED  \a report holds the rows that are complete. */
emp_status emp_oracle_measure(emp_oracle_report *report, const emp_oracle_params *params,
                              emp_error *err);

/** A sheet with a line per graph, placement and series; to be cleared. */
void emp_oracle_tabulate(emp_sheet *sheet, const emp_oracle_report *report);

#endif /* EMP_BENCH_MICRO_ORACLE_H */
