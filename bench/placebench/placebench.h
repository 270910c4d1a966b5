/** \file bench/placebench/placebench.h
 * PlaceBench: a frozen set of tasks that placements and methods are compared on.
 *
 *     emp_placebench bench = {0};
 *     EMP_TRY(emp_placebench_load(&bench, err));
 *     EMP_TRY(emp_placebench_find(&instance, &bench, "wavenet-2-p100x4", err));
 *     EMP_TRY(emp_tasks_load(&loaded, &instance->task, 1, NULL, 1, err));
 *     ...instance->bound_s...
 *     emp_placebench_clear(&bench);
 *
 * Two tables of the data folder hold it. `placebench/instances.tsv` says what an instance is.
 * `placebench/known.tsv`, which scripts/placebench makes, says what is known of it: the hashes that
 * freeze it, a lower bound, and the best step time with the run that has found it.
 *
 * Most instances are generated. Published ones are graph files that are not part of the program.
 * They lie in the folder that the environment variable EMPLACE_INSTANCES names, else in
 * `placebench/published` of the data folder.
 */
#ifndef EMP_BENCH_PLACEBENCH_PLACEBENCH_H
#define EMP_BENCH_PLACEBENCH_PLACEBENCH_H

#include "base/mem.h"
#include "base/text/csv.h"
#include "run/tasks/task.h"

enum { EMP_PLACEBENCH_MOST = 1000 /**< instances of a table */ };

/** The purpose of an instance. */
typedef enum {
    EMP_PLACEBENCH_TRAIN,      /**< to train on, and to choose constants on */
    EMP_PLACEBENCH_VALIDATION, /**< to choose between methods on */
    EMP_PLACEBENCH_TEST,       /**< to report, and nothing else */
    EMP_PLACEBENCH_SPLITS
} emp_placebench_split;

/** "train", "validation", "test"; static storage. */
const char *emp_placebench_split_name(emp_placebench_split split);

/** Texts belong to the set. */
typedef struct {
    emp_task             task;   /**< its key is the name of the instance */
    emp_frozen_task      frozen; /**< of the task */
    emp_placebench_split split;
    const char          *family;   /**< "rnnlm"; "published" */
    const char          *workload; /**< as the table has it: a spec, or a file name */
    const char          *source;   /**< where to get the file; NULL: it is generated */
    const char          *sha256;   /**< of the file, in hexadecimal; NULL likewise */
    bool                 is_there; /**< false: its file is not in the folder */
    bool                 is_known; /**< false: the table of what is known leaves it out */
    int64_t              op_count; /**< of a step; 0: not known, as what follows */
    double               bound_s;  /**< no placement that fits is below; NaN: not known */
    double               best_s;   /**< the best step time known; NaN: not known */
    const char          *method;   /**< what has found it ... */
    int64_t  budget; /**< ... with so many evaluations; 0: it needs none ... */
    uint64_t seed;   /**< ... from this seed */
} emp_placebench_instance;

/** Zero-initialise. */
typedef struct {
    int32_t                  count;
    emp_placebench_instance *instance; /**< in the order of the table */

    /* private */
    emp_csv   definitions, known;
    emp_arena paths;
} emp_placebench;

/** Reads the set of the data folder; clear it also after a failure.
 * \retval EMP_EIO      A table is not there.
 * \retval EMP_EFORMAT  A line is none of an instance; the message names file and line. */
emp_status emp_placebench_load(emp_placebench *bench, emp_error *err);

/** The same from two files, with published instances in \a folder. O(size). */
emp_status emp_placebench_read(emp_placebench *bench, const char *definitions,
                               const char *known, const char *folder, emp_error *err);
void       emp_placebench_clear(emp_placebench *bench);

/** \retval EMP_EINVAL  There is none of that name; the message has the nearest. */
emp_status emp_placebench_find(const emp_placebench_instance **instance,
                               const emp_placebench *bench, const char *name,
                               emp_error *err);

/** \retval EMP_EIO  The file of the instance is not there; the message says where to get it. */
emp_status emp_placebench_need_file(const emp_placebench_instance *instance,
                                    emp_error                     *err);

#endif /* EMP_BENCH_PLACEBENCH_PLACEBENCH_H */
