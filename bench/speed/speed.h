/** \file bench/speed/speed.h
 * The three measurements of `emplace-speed`. Each adds lines to a table, which it initializes.
 */
#ifndef EMP_BENCH_SPEED_SPEED_H
#define EMP_BENCH_SPEED_SPEED_H

#include "run/sheet/sheet.h"
#include "sim/problem/problem.h"

/* Compares how long several ways to do the same work take. In each round every way does it once, one after
 * the other, so that other work on the computer slows all of them alike. A ratio is taken within a
 * round; tables have medians and quartiles over rounds. */

typedef struct {
    double seconds; /**< for one unit of work */
    double
        answer; /**< the result of the work; NaN = it is not compared with the first way's */
} emp_speed_sample;

/** One way to do the work. */
typedef struct {
    const char *name;
    int32_t     number;    /**< for the caller */
    double      tolerance; /**< of the answer, relative to the first way's */
} emp_speed_way;

typedef struct {
    const char          *name, *variant;
    int32_t              size;
    const emp_speed_way *way; /**< the first one is the base of ratios */
    int32_t              way_count, rounds;
    /** Does the work in the way of this number. */
    emp_status (*take)(emp_speed_sample *sample, void *context, int32_t number,
                       int32_t round, emp_error *err);
    void *context;
} emp_speed_task;

typedef struct {
    emp_sheet sheet;
    double    scale; /**< seconds to the unit that people see */
} emp_speed_table;

/** Columns of EMP_SPEED_COLUMN_... in the sheet. */
enum {
    EMP_SPEED_TASK,
    EMP_SPEED_SIZE,
    EMP_SPEED_VARIANT,
    EMP_SPEED_WAY,
    EMP_SPEED_ROUNDS,
    EMP_SPEED_SECONDS,
    EMP_SPEED_TIME,
    EMP_SPEED_RATIO,
    EMP_SPEED_DIFFERENCE
};

/** \param unit  For people, as "ns/op". The sheet is to be cleared. */
void emp_speed_table_init(emp_speed_table *table, const char *unit, double scale);

/** Adds a line for each way. A way that is not the first and has taken 10 s ends with its third round, and so
 * does the task after a minute. */
emp_status emp_speed_measure(emp_speed_table *table, const emp_speed_task *task,
                             emp_error *err);

/** As emp_word_list_check(), of names up to NULL. */
emp_status emp_speed_check_words(const char *list, const char *what,
                                 const char *const *names, emp_error *err);

enum { EMP_SPEED_MAX = 12 };

typedef struct {
    int32_t value[EMP_SPEED_MAX], count;
} emp_speed_list;

/** Options of all three. Lists of words are as emp_word_list_has() reads them, NULL = all. */
typedef struct {
    const char        *machine, *runtime; /**< names or paths */
    emp_speed_list     sizes;             /**< ops of synthetic graphs */
    const char *const *source;            /**< workloads and graph files */
    int32_t            source_count;
    const char        *patterns, *profiles, *peers; /**< of the oracle's ways */
    bool has_bottom_levels; /**< levels follow the critical path; else they are random */
    const char *rows;       /**< of Table 1, instead of synthetic graphs; "all" */
    const char *methods;
    int64_t
        moves; /**< of a search; 0 = 1000 on a row, and 30 million ops on another graph */
    const char    *networks;
    emp_speed_list hidden, samples;    /**< of the placer */
    int32_t        groups, ops;        /**< of the planner */
    int32_t        nodes, sets, steps; /**< GO's; HSDAG's; DOPPLER's */
    int32_t        threads;            /**< of an update */
    int32_t        repeats;            /**< rounds */
    uint64_t       seed;
} emp_speed_params;

/** The oracle under several profiles, beside other simulators, step by step. The answer is the
 * step time. \retval EMP_EINVAL  A word of a list is unknown. \retval EMP_EUNSUPPORTED  The machine has no GPU. */
emp_status emp_speed_oracle(emp_speed_table *table, const emp_speed_params *params,
                            emp_error *err);

/** A move of a search, beside the oracle by itself on the best placement that was found.
 * \retval EMP_EINVAL  A search ended with its first batch, so that there is nothing to time. */
emp_status emp_speed_search(emp_speed_table *table, const emp_speed_params *params,
                            emp_error *err);

/** An update of a learner's networks, beside the same update in PyTorch. The answer is the loss. */
emp_status emp_speed_policy(emp_speed_table *table, const emp_speed_params *params,
                            emp_error *err);

/* Simulators that run as programs of their own: SimGrid in two usages, and Python. Each reads
 * a placed problem from a file and prints its CPU time, which starts when the file is read. */

typedef enum {
    EMP_PEER_SIMGRID_FIFO, /**< queues in callbacks of completion; the rules of `ideal` */
    EMP_PEER_SIMGRID_DAG,  /**< all activities at once, resources shared fairly */
    EMP_PEER_PYTHON        /**< the rules of `ideal` with heapq */
} emp_peer_kind;

typedef struct {
    double      cpu_s;
    emp_time_ns step_time_ns;
    int64_t     peak_bytes[EMP_MAX_DEVICES]; /**< Python only; else zeros */
} emp_peer_run;

/** NULL, or the sentence that says why the peer cannot run here; static storage. */
const char *emp_peer_absence(emp_peer_kind kind);

/** Runs a step after one to warm up. The runtime of \a problem is `ideal`, and its graph has no
 * collectives. \retval EMP_ENOMEM \retval EMP_EIO \retval EMP_EEXTERNAL */
emp_status emp_peer_measure(emp_peer_run *run, emp_peer_kind kind,
                            const emp_problem *problem, const emp_device_id *device_of_op,
                            emp_error *err);

#endif /* EMP_BENCH_SPEED_SPEED_H */
