/** \file run/store/store.h
 * Run records: what one method found for one problem, as an HDF5 file (docs/formats.md).
 *
 * A record holds no time of day, no duration and no number of threads: with a budget in
 * evaluations the same run gives the same file, byte for byte. How long it took stands
 * beside it in a `.timing.json` file that the runner's caller writes.
 *
 * Threads. emp_record_save() and emp_record_load() may be called from any thread; calls
 * take turns, as the HDF5 library is not thread-safe.
 */
#ifndef EMP_RUN_STORE_STORE_H
#define EMP_RUN_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "run/store/h5.h"
#include "sim/problem/problem.h"

enum { EMP_RECORD_NAME_BYTES = 64, EMP_RECORD_TEXT_BYTES = 256, EMP_MAX_METRICS = 16 };

/** One run. Zero-initialise; emp_record_clear() releases the arrays. */
typedef struct {
    /* The run's inputs. */
    char     method[EMP_RECORD_NAME_BYTES];
    char     preset[EMP_RECORD_NAME_BYTES];   /**< "" = none */
    char     options[EMP_RECORD_TEXT_BYTES];  /**< of the method; "" = none */
    char     workload[EMP_RECORD_TEXT_BYTES]; /**< spec or path */
    char     machine[EMP_RECORD_NAME_BYTES];
    char     runtime[EMP_RECORD_NAME_BYTES];
    uint64_t seed;
    int64_t  budget_evaluations; /**< 0 = no limit */
    double   budget_s;           /**< 0 = no limit */
    double   budget_cpu_s; /**< of one thread; 0 = no limit, and its file says nothing */
    uint64_t graph_hash, machine_hash, runtime_hash;
    /* The program that ran it. */
    char version[EMP_RECORD_NAME_BYTES];
    char commit[EMP_RECORD_NAME_BYTES];
    bool is_dirty;
    /* Who shared it. */
    int32_t ranks; /**< programs that did; 0: it was alone, and its file says nothing */
    bool    is_async; /**< with a parameter server: who was faster counted */
    /* Its decisions, and its start; a file has these only if they are not 0. */
    bool     has_order;    /**< levels, too */
    bool     has_fusion;   /**< leaders, too */
    uint64_t start_hash;   /**< of the placement where it began */
    uint64_t weights_hash; /**< of the weights with which it began */
    uint64_t method_hash;  /**< of the code of a method from outside (emp_method) */
    char     overrides
        [EMP_RECORD_TEXT_BYTES]; /**< of the problem (emp_problem); "" = none, and
                                              its file says nothing */
    /* The result. */
    char    stopped_by[EMP_RECORD_NAME_BYTES]; /**< "budget", "method", "interrupt",
                                                   "failure"; "" = under way */
    int64_t evaluations;
    int64_t feasible_count;   /**< candidates that fit in memory */
    double  median_s;         /**< step time of the feasible candidates; NaN = none, or
                                    under way */
    double  best_step_time_s; /**< if infeasible: what it would have taken */
    bool    is_feasible;
    char winner[EMP_RECORD_NAME_BYTES]; /**< the member of a portfolio that made the best;
                                               "" = none, and its file says nothing */
    char oom_device[EMP_RECORD_NAME_BYTES]; /**< "" = none */
    int64_t  traffic_bytes;                 /**< of the best, like all below */
    uint64_t fingerprint;
    int32_t  device_count;
    char     device_name[EMP_MAX_DEVICES][32];
    int64_t  peak_bytes[EMP_MAX_DEVICES];
    double   busy_s[EMP_MAX_DEVICES];
    /** The best decision; its levels are there if has_order, its leaders if has_fusion. */
    emp_owned_decision decision;
    /** [op] Names of the ops, borrowed from the graph, which must be there while the record is
     * saved. NULL: the file says none. No load sets it: see emp_record_load_names(). */
    const char *const *op_name;
    /** The text that the machine was read from (emp_machine), borrowed likewise; NULL: the file does not
     * say. No load sets it: see emp_record_load_machine(). */
    const char *machine_text;

    int32_t          point_count;
    emp_curve_point *curve; /**< [point]; owned */
    int32_t          metric_count;
    char             metric_name[EMP_MAX_METRICS][32];
    double          *metric; /**< [point][metric]; owned */

    /** Step time of each feasible candidate, owned: of a run under way, for the median in
     * the end. No part of the file of a record. */
    double *feasible_s;
} emp_record;

/** Writes \a record to a temporary file beside \a path and renames it.
 * \retval EMP_ENOMEM
 * \retval EMP_EIO  The message names the path and the reason. */
emp_status emp_record_save(const char *path, const emp_record *record, emp_error *err);

/** Reads a record, also of a run under way from its checkpoint (checkpoint.h); clear
 * it afterwards, also after a failure.
 * \retval EMP_EIO      No such file.
 * \retval EMP_EFORMAT  Not a record, of another version, or torn; the message says so. */
emp_status emp_record_load(emp_record *record, const char *path, emp_error *err);

/** The problem of a record's best decision. */
emp_decision_origin emp_record_origin(const emp_record *record);

/** The run's decisions, in the words of the option --decide: "devices,order"; static storage. */
const char *emp_record_decides(const emp_record *record);

/** Names of the ops of a record. Zero-initialise; emp_op_names_clear() releases it. */
typedef struct {
    int32_t      count;
    const char **name; /**< [count] */
    char        *text; /**< private */
} emp_op_names;

/** Reads the names from the file of a record, whose load leaves them out: a study that holds
 * thousands of records has no use for them.
 * \retval EMP_EUNSUPPORTED  The file has none, as it is from an older program.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_record_load(). */
emp_status emp_record_load_names(emp_op_names *names, const char *path, emp_error *err);
void       emp_op_names_clear(emp_op_names *names);

/** Reads the text of the machine from the file of a record, for emp_machine_parse(); the caller
 * frees it by emp_free().
 * \retval EMP_EUNSUPPORTED  The file has none.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_record_load(). */
emp_status emp_record_load_machine(char **text, const char *path, emp_error *err);

/** A number of the run that a record is of: what was run and by which program, as
 * emp_record_check_replaced() compares it. Never 0. */
uint64_t emp_record_identity(const emp_record *record);

enum { EMP_RECORD_DIFFERENCE_BYTES = 3 * EMP_RECORD_TEXT_BYTES };

/** Whether two records are of different runs. \param[out] text  The first difference, as "seed 5 there,
 * 6 here". */
bool emp_record_differs(char text[EMP_RECORD_DIFFERENCE_BYTES], const emp_record *there,
                        const emp_record *here);

/** Looks whether a record of \a run (emp_run_describe()) may be saved at \a path: there is no
 * file, or one of this very run.
 * \retval EMP_EINVAL  Another file would be lost; the message says how its run differs. */
emp_status emp_record_check_replaced(const char *path, const emp_record *run,
                                     emp_error *err);

/** Releases the arrays and zeroes the rest. */
void emp_record_clear(emp_record *record);

/* merge.c: folders of run records (run/archive.h) joined into one, as when several computers have made parts of a
 * study. */

/** The findings of a merge in the folders. */
typedef struct {
    int32_t copied;    /**< records and refusals that were not in the folder yet */
    int32_t there;     /**< that were, equal byte for byte */
    int32_t under_way; /**< runs of which there is only a checkpoint; they are left out */
} emp_merge_counts;

/** Copies all records of a folder, with their times, and weights that were trained there, into another, which is made if it is not there. A
 * file appears whole or not at all. O(bytes).
 * \param[in,out] counts  Added to.
 * \retval EMP_EFORMAT  A file is no record, or torn.
 * \retval EMP_EINVAL   Two records of one run differ; the message names both.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_merge(const char *into, const char *folder, emp_merge_counts *counts,
                     emp_error *err);

/** Removes the temporary files that writers which were killed left in a folder of runs. A file that is
 * not named as one of a run's stays. O(files). */
void emp_runs_sweep(const char *folder);

#endif /* EMP_RUN_STORE_STORE_H */
