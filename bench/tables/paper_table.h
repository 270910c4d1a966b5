/** \file bench/tables/paper_table.h
 * Tables of "A Hierarchical Model for Device Placement" (ICLR 2018), ours beside the
 * paper's. A table is a definition (table1.c, table2.c): its rows are the paper's tasks,
 * a column says what is run and what is shown of the runs. One engine makes them all.
 *
 * A cell is one run a seed (jobs.h). Columns that ask for the same runs share them. A first
 * table has all rows and columns, with smaller budgets and fewer seeds than the full one.
 */
#ifndef EMP_BENCH_TABLES_PAPER_TABLE_H
#define EMP_BENCH_TABLES_PAPER_TABLE_H

#include "bench/tables/table.h"
#include "run/jobs/jobs.h"

/** Title, method, preset, options and budget of the runs are those of \a column; its
 * seed_count is that of the full table, 1 for methods that draw nothing. Budgets are
 * evaluations, so that a result does not depend on the speed of the host. */
typedef struct {
    emp_table_column column;
    const char      *key; /**< to choose it by; columns of one key stand together */
    int64_t          first_budget;     /**< of a first table; 0: that of the full one */
    int32_t          first_seed_count; /**< likewise; 0: one */
    bool             keeps_budget;     /**< another budget is not for it */
    /** Reported figure of a task; NULL: the paper has none. */
    double (*paper)(int32_t task);
    /** Of a gain, which has no runs of its own: the columns of this definition, by title, that
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

typedef struct {
    const char     *rows;       /**< comma-separated keys, or NULL for all */
    const char     *methods;    /**< comma-separated keys of columns, or NULL for all */
    const char     *runtime;    /**< profile name or path */
    int32_t         seed_count; /**< of all methods that draw; 0: as the table says */
    int64_t         budget;     /**< of the learners, in evaluations; 0: as it says */
    bool            is_full;    /**< not a first table */
    emp_jobs_params jobs;
} emp_paper_table_params;

/** Makes the table.
 * \retval EMP_EINVAL       An unknown row or column; the message lists what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has the cells that were ready. */
emp_status emp_paper_table_make(emp_table **out, const emp_paper_table *definition,
                                const emp_paper_table_params *params, emp_error *err);

#endif /* EMP_BENCH_TABLES_PAPER_TABLE_H */
