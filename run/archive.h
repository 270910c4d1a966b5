/** \file run/archive.h
 * A folder of run records, one file a run, named for what was run:
 *
 *     runs/nmt_layers_2.k40x2.hdp-paper.seed1.8000.1f0c5d9a.h5      the record
 *     runs/nmt_layers_2.k40x2.hdp-paper.seed1.8000.1f0c5d9a.timing.json
 *     runs/nmt_layers_2.k40x2.hdp-paper.seed1.8000.1f0c5d9a.checkpoint.h5
 *
 * The last of them is there while a learner's run is under way or was interrupted. A run whose
 * method found no placement at all may leave a `.refused.txt` instead, with its reason.
 * The last part is a hash of sources (version, commit, whether they had changes), method,
 * inputs, seed and budget.
 */
#ifndef EMP_RUN_ARCHIVE_H
#define EMP_RUN_ARCHIVE_H

#include "base/io/output.h"
#include "run/loop.h"
#include "run/timing.h"

enum { EMP_ARCHIVE_PATH_BYTES = 1024 };

/** Looks for the record of exactly this run: same sources, method, options, inputs, seed
 * and budget, not interrupted, and its placement still gets its step time and fingerprint
 * from the oracle.
 *
 * \param[out] record  Filled if found; clear it afterwards in any case.
 * \retval EMP_EFORMAT  A file of its name is no record, or a damaged one: it stays.
 * \retval EMP_EINVAL   It is the record of another run, and stays, too.
 * \retval EMP_EIO      It cannot be read. \retval EMP_ENOMEM */
emp_status emp_archive_find(emp_record *record, bool *is_found, const char *folder,
                            const emp_problem *problem, const emp_run_params *params,
                            emp_error *err);

/** Whether the folder has a file for the record of exactly this run, or for the reason why it has none. It
 * has not been read. */
bool emp_archive_has(const char *folder, const emp_problem *problem,
                     const emp_run_params *params);

/** Fails now, before the run, if its record cannot be put into the folder, which is made if it is not there.
 * \retval EMP_ENOMEM \retval EMP_EIO  The message names the record. */
emp_status emp_archive_check(const char *folder, const emp_problem *problem,
                             const emp_run_params *params, emp_error *err);

/** Locks exactly this run, so that one program at a time makes it: its record has to be looked for again
 * under the lock. Makes the folder if it is not there.
 * \param[out] is_taken  false: another program is making the run.
 * \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_archive_lock(emp_file_lock *lock, bool *is_taken, const char *folder,
                            const emp_problem *problem, const emp_run_params *params,
                            emp_error *err);

/** emp_run(), where a method that has state to save gets a checkpoint in the folder, which
 * is made if it is not there, and goes on from one that is. A damaged checkpoint counts as
 * absent; one of another run, or of another build of the program, stays and is refused. A run with a
 * budget in CPU seconds has none: it starts anew.
 *
 * \param[out] record  Clear it afterwards, also after a failure.
 * \param[in]  params  Without a checkpoint.
 * \retval EMP_EIO  Also when the folder cannot be made; else as emp_run(). */
emp_status emp_archive_run(emp_record *record, const char *folder,
                           const emp_problem *problem, const emp_run_params *params,
                           emp_error *err);

/** Saves a record and, beside it, how long it took. Makes the folder if it is not there.
 * \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_archive_put(const char *folder, const emp_record *record,
                           const emp_timing *timing, emp_error *err);

/** Removes all that the folder has of exactly this run, so that it starts anew. A folder that
 * is not there has nothing.
 * \retval EMP_EIO */
emp_status emp_archive_forget(const char *folder, const emp_problem *problem,
                              const emp_run_params *params, emp_error *err);

/** Reads how long the run of a record in the folder took. Without a timing file that can be read
 * all its times are NaN, and it has no points. Clear it afterwards.
 * \retval EMP_ENOMEM */
emp_status emp_archive_timing(emp_timing *timing, const char *folder,
                              const emp_record *record);

/** Keeps the reason why the method of this run found no placement.
 * \retval EMP_EINVAL  Another file has its name, and stays. \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_archive_put_refusal(const char *folder, const emp_problem *problem,
                                   const emp_run_params *params, const char *reason,
                                   emp_error *err);

/** Looks for such a reason of exactly this run. */
void emp_archive_find_refusal(char reason[EMP_ERROR_MSG_BYTES], bool *is_found,
                              const char *folder, const emp_problem *problem,
                              const emp_run_params *params);

/** Removes the checkpoint of a run whose record is in the folder, if there is one: after
 * the record was put there, and when it is found, as a kill may have come between. One
 * that cannot be removed stays, and does no harm. */
void emp_archive_drop_checkpoint(const char *folder, const emp_record *record);

#endif /* EMP_RUN_ARCHIVE_H */
