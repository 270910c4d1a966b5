/** \file bench/compare/tasks.h
 * The tasks that methods are compared on: the tasks of the paper's Table 1, fresh ones that no constant
 * of this program was chosen on, the instances of PlaceBench, and the tasks of a file.
 *
 *     emp_task_list list = {0};
 *     EMP_TRY(emp_task_list_add(&list, "all,mine.txt", err));
 *     ...
 *     emp_task_list_clear(&list);
 *
 * A file has a line a task, `NAME SPEC|FILE MACHINE`: a name for options and columns, a workload
 * spec or a graph file, and a machine's name or file. Blank lines and what follows # are left out.
 * Paths are seen from where the program runs.
 */
#ifndef EMP_BENCH_COMPARE_TASKS_H
#define EMP_BENCH_COMPARE_TASKS_H

#include "base/mem.h"
#include "bench/placebench/placebench.h"
#include "run/jobs/jobs.h"

enum { EMP_TASK_LIST_MOST = 128, EMP_FRESH_TASKS = 21 };

/** Results on two of them are never mixed. */
typedef enum {
    EMP_TASKS_TUNED, /**< Table 1's: constants of our own methods were chosen on them */
    EMP_TASKS_FRESH,
    EMP_TASKS_OWN,   /**< of files */
    EMP_TASKS_TRAIN, /**< PlaceBench's splits, in their order */
    EMP_TASKS_VALIDATION,
    EMP_TASKS_TEST,
    EMP_TASK_SETS
} emp_task_set;

/** "table1", "fresh", "own", "placebench:train", ...; static storage. */
const char *emp_task_set_name(emp_task_set set);

typedef struct {
    emp_task     task;
    emp_task_set set;
} emp_compared_task;

/** Zero-initialise. */
typedef struct {
    int32_t           count;
    emp_compared_task task[EMP_TASK_LIST_MOST];
    emp_arena         texts;        /**< of files */
    emp_placebench    placebench;   /**< where its instances are tasks */
    int32_t           absent_count; /**< published instances that were left out, as their
                                         files are not there ... */
    const char       *absent;       /**< ... and the first of them */
} emp_task_list;

/** Variants of the four families on 2, 4 and 8 GPUs and on two hosts. All sizes that matter are
 * stated, so that a changed default changes no task. */
extern const emp_task emp_fresh_task[EMP_FRESH_TASKS];

/** Adds what the comma-separated words name: "table1", "fresh", "all" (both), a split of PlaceBench
 * ("placebench:test"), all of it ("placebench:all"), or a file. Published instances whose files are
 * not there are counted and left out. Clear the list also after a failure.
 * \retval EMP_EINVAL   A line that is no task, a name that is there already, too many tasks, or no
 *                      task at all; the message says where.
 * \retval EMP_EIO      No such file; the message says what else a word may be.
 * \retval EMP_ENOMEM */
emp_status emp_task_list_add(emp_task_list *list, const char *words, emp_error *err);
void       emp_task_list_clear(emp_task_list *list);

#endif /* EMP_BENCH_COMPARE_TASKS_H */
