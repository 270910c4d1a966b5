/** \file bench/tables/table.h
 * Tables of "A Hierarchical Model for Device Placement" (ICLR 2018), ours beside the paper's: a
 * definition states rows, columns and budgets, and a cell has one run a seed (bench/trials). Columns
 * that ask for the same runs share them. A first table has all rows and columns, with smaller
 * budgets and fewer seeds than the full one.
 *
 * Step times are seconds of the simulated machine. In a cell, NaN means that there is no
 * figure and infinity that the model does not fit in memory.
 */
#ifndef EMP_BENCH_TABLES_TABLE_H
#define EMP_BENCH_TABLES_TABLE_H

#include <stdio.h>

#include "bench/trials/trials.h"
#include "run/sheet/sheet.h"

/** The statistic of a cell's runs that a column shows. */
typedef enum {
    EMP_SHOWN_MEDIAN, /**< over the seeds, and the range */
    EMP_SHOWN_BEST,
    EMP_SHOWN_WORST,
    EMP_SHOWN_GAIN /**< no seconds: 1 - a cell / another */
} emp_shown;

/** The dependence of our figure of a cell on the paper's. */
typedef enum {
    EMP_ORIGIN_BARE,      /**< the paper has no figure of it: not comparable */
    EMP_ORIGIN_PREDICTED, /**< nothing was chosen by the paper's figure */
    EMP_ORIGIN_FITTED,    /**< machine constants were fitted to the paper's figure */
    EMP_ORIGIN_INFERRED, /**< a size of the workload was bounded by the paper's figures */
    EMP_ORIGIN_REPEATED, /**< the placement is the same as of a fitted or inferred cell of the row */
    EMP_ORIGIN_OTHER, /**< a reported time is impossible at this size: not comparable */
    EMP_ORIGIN_COUNT
} emp_origin;

/** A method. */
typedef struct {
    const char *title; /**< "Human expert" */
    const char *method;
    const char *preset;          /**< or NULL */
    int64_t     budget;          /**< evaluations; 0 = the method ends by itself */
    int32_t     seed_count;      /**< 1 for methods that draw nothing */
    int64_t     full_budget;     /**< the full table's, ... */
    int32_t     full_seed_count; /**< ... or 0 where that is not asked */
    bool        has_paper;       /**< the paper has this column */
    bool        has_median; /**< also shows the median over all candidates of a run */
    const char *options;    /**< of the method, or NULL */
    emp_shown   shown;
} emp_table_column;

typedef struct {
    emp_summary ours_s; /**< best step time over the seeds; of a gain NaN */
    double      shown;  /**< what its column shows: one of ours_s, or a gain */
    double typical_s; /**< median over the feasible candidates of a run; if has_median */
    double paper_s;   /**< reported */
    emp_origin origin;
    int32_t    run_count;  /**< seeds that were run */
    int32_t    oom_count;  /**< of them, those that found nothing that fits */
    int64_t    peak_bytes; /**< largest of a device, in the last run */
    /** FLOP/s that the paper's time asks of the one device, and its peak; NaN in other columns. */
    double asked_flops_per_s, peak_flops_per_s;
    bool keeps_gpu_kernels; /**< the best placements of all runs keep them off the CPUs */
    uint64_t graph_hash, machine_hash, runtime_hash;
} emp_table_cell;

/** Lower bounds on the step time of a row's problem (docs/bounds.md); 0 = not known. */
typedef struct {
    double any_s;
    double gpu_kernels_s; /**< of placements that keep GPU kernels off the CPUs */
} emp_table_bound;

typedef struct {
    int32_t           row_count, column_count;
    emp_task         *row;
    emp_table_bound  *bound; /**< [row] */
    emp_table_column *column;
    emp_table_cell   *cell; /**< [row][column] */
    const char       *title;
    const char       *source;              /**< of the paper's figures */
    const char       *note;                /**< what the columns mean, or "" */
    int32_t           fitted_constants;    /**< of the machines and the runtime */
    char gain_note[EMP_RECORD_TEXT_BYTES]; /**< which columns gains lack, or "" */
    char impossible_note
        [2 * EMP_RECORD_TEXT_BYTES]; /**< sizes that reported times rule out, or "" */
    char    runtime[EMP_RECORD_NAME_BYTES];
    char    command[EMP_RECORD_TEXT_BYTES]; /**< makes this table */
    char    version[EMP_RECORD_NAME_BYTES];
    char    commit[EMP_RECORD_NAME_BYTES];
    bool    is_dirty;
    bool    is_relative; /**< times are divided: emp_table_reference() */
    int32_t runs_made,
        runs_planned; /**< of all cells; fewer were made after an interrupt */
} emp_table;

/** An empty table of that size; fill in the rows and columns. */
emp_status emp_table_create(emp_table **out, int32_t row_count, int32_t column_count,
                            emp_error *err);
void       emp_table_destroy(emp_table *table);

emp_table_cell *emp_table_at(const emp_table *table, int32_t row, int32_t column);

/** Sums up the runs of one cell, one record a seed, at most EMP_TRIALS_SEEDS. */
void emp_table_fill(emp_table *table, int32_t row, int32_t column,
                    const emp_record *const *records, int32_t count);

/** Says of every cell without an origin which one it has: bare, repeated or predicted. To
 * be called when all cells are filled, and the fitted and inferred ones are marked. */
void emp_table_trace_origins(emp_table *table);

/** True when both ask for the same runs; a gain has none. */
bool emp_table_has_same_runs(const emp_table_column *a, const emp_table_column *b);

/** Our figure over the paper's; NaN unless both are numbers of seconds. */
double emp_table_ratio(const emp_table_cell *cell);

/** Lets a table show people each time of a row divided by another time of that row, ours by ours and the paper's by
 * the paper's, because a factor that all times of a machine share cancels there. */
void emp_table_relate(emp_table *table);

/** The column whose time divides the times of a row: the human expert's, or one GPU's if ours or the paper's expert
 * has no time. -1: neither has. */
int32_t emp_table_reference(const emp_table *table, int32_t row);

/** A cell with its times divided by the row's reference; NaN if the row has none. */
emp_table_cell emp_table_divide(const emp_table *table, int32_t row, int32_t column);

/** A cell as people see it: divided in a relative table. */
emp_table_cell emp_table_seen(const emp_table *table, int32_t row, int32_t column);

/** How near the predicted cells are that have two times, as people see them; in a relative table references
 * are left out, and placements that repeat one, as they are 1 by construction. */
typedef struct {
    int32_t cells, near; /**< near: at most EMP_TABLE_NEAR percent above or below */
    double  error_frac;  /**< mean of |ratio - 1|; NaN without cells */
} emp_table_agreement;
enum { EMP_TABLE_NEAR = 20 };
emp_table_agreement emp_table_agree(const emp_table *table);

/** Pairs of columns within a row, predicted both and by different runs, that the paper puts in
 * an order, and how many of them we put in the same order. */
typedef struct {
    int32_t pairs, same;
} emp_table_order;
emp_table_order emp_table_compare_order(const emp_table *table);

/** Writes the table. \retval EMP_ENOMEM */
emp_status emp_table_print(FILE *out, const emp_table *table, emp_sheet_format format,
                           emp_error *err);

/* ---- the paper's tables ---- */

/** Title, method, preset, options and budget of the runs come from \a column;
 * its seed_count is the full table's, 1 for methods that draw nothing. Budgets are
 * evaluations, so that a result does not depend on the speed of the host. */
typedef struct {
    emp_table_column column;
    const char      *key; /**< to choose it by; columns of one key stand together */
    int64_t          first_budget;     /**< of a first table; 0: the full one's */
    int32_t          first_seed_count; /**< likewise; 0: one */
    bool             keeps_budget;     /**< another budget is not for it */
    /** Reported figure of a task; NULL: the paper has none. */
    double (*paper)(int32_t task);
    /** For a gain, which has no runs of its own: the columns of this definition, by title, that
     * it compares. */
    const char *of, *over;
} emp_paper_column;

enum { EMP_PAPER_MAX_COLUMNS = 16 };

typedef struct {
    const char             *name; /**< "1" */
    const char             *title, *source;
    const char             *note; /**< what the columns mean, or "" */
    const emp_task         *row;  /**< the paper's tasks, or variants with their keys */
    int32_t                 row_count;
    const emp_paper_column *column;
    int32_t                 column_count;
} emp_paper_table;

/** Methods by hand, by partitioners, at random, and by the planner. */
extern const emp_paper_table emp_paper_table1;
/** Groups drawn at random against groups that are learned. */
extern const emp_paper_table emp_paper_table2;

/** Table 1 under other sizes of its workloads. */
extern const emp_paper_table emp_paper_sensitivity;

/** The table of that name; NULL: there is none. */
const emp_paper_table *emp_paper_table_find(const char *name);

/** Makes the table.
 * \retval EMP_EINVAL       An unknown row or column; the message lists what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has the cells that were ready. */
emp_status emp_paper_table_make(emp_table **out, const emp_paper_table *definition,
                                const emp_trials_params *params, emp_error *err);

#endif /* EMP_BENCH_TABLES_TABLE_H */
