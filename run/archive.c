// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/archive.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "sim/engine/sim.h"

static const char RECORD[] = ".h5", TIMING[] = ".timing.json",
                  CHECKPOINT[] = ".checkpoint.h5", REFUSED[] = ".refused.txt";

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return emp_hash_bytes(hash, text, strlen(text) + 1);
}

/* The identity of a run: the sources, too, as a placer may have changed. */
static uint64_t identity_of(const emp_record *r)
{
    uint64_t hash = EMP_HASH_SEED, budget_bits, clock_bits;

    memcpy(&budget_bits, &r->budget_s, sizeof budget_bits);
    memcpy(&clock_bits, &r->budget_cpu_s, sizeof clock_bits);
    hash = hash_text(hash, r->version);
    hash = hash_text(hash, r->commit);
    hash = emp_hash_u64(hash, r->is_dirty);
    hash = hash_text(hash, r->method);
    hash = hash_text(hash, r->preset);
    hash = hash_text(hash, r->options);
    hash = hash_text(hash, r->workload);
    hash = hash_text(hash, r->machine);
    hash = hash_text(hash, r->runtime);
    hash = emp_hash_u64(hash, r->seed);
    hash = emp_hash_u64(hash, (uint64_t)r->budget_evaluations);
    hash = emp_hash_u64(hash, budget_bits);
    hash = emp_hash_u64(hash, clock_bits);
    if (r->has_order) hash = emp_hash_u64(hash, 1);
    if (r->has_fusion) hash = emp_hash_u64(hash, 2);
    if (r->start_hash != 0) hash = emp_hash_u64(hash, r->start_hash);
    if (r->weights_hash != 0) hash = emp_hash_u64(hash, r->weights_hash);
    if (r->method_hash != 0) hash = emp_hash_u64(hash, r->method_hash);
    hash = emp_hash_u64(hash, r->graph_hash);
    hash = emp_hash_u64(hash, r->machine_hash);
    return emp_hash_u64(hash, r->runtime_hash);
}

/* Writes folder/name.suffix; a name is what a person looks for, then the hash. */
static void name_file(char path[EMP_ARCHIVE_PATH_BYTES], const char *folder,
                      const emp_record *r, const char *suffix)
{
    char workload[64], method[EMP_RECORD_NAME_BYTES];

    snprintf(workload, sizeof workload, "%.63s", r->workload);
    for (char *at = workload; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at)) *at = '_';
    }
    snprintf(method, sizeof method, "%s", r->method); /* perhaps a path or a command */
    for (char *at = method; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && *at != '-') *at = '_';
    }
    snprintf(path, EMP_ARCHIVE_PATH_BYTES,
             "%s/%s.%s.%s%s%s.seed%" PRIu64 ".%" PRId64 ".%08" PRIx32 "%s", folder,
             workload, r->machine, method, r->preset[0] == '\0' ? "" : "-", r->preset,
             r->seed, r->budget_evaluations, (uint32_t)identity_of(r), suffix);
}

/* True when the oracle still says of the record's placement what the record says. */
static emp_status check_score(const emp_record *record, bool *agrees,
                              const emp_problem *problem, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_sim           *sim = NULL;
    emp_sim_result     result;
    const emp_decision best = emp_decision_view(&record->decision);

    *agrees = false;
    if (record->decision.op_count != problem->graph->op_count ||
        record->device_count != problem->machine->device_count) {
        goto cleanup;
    }
    EMP_TRY(emp_sim_create(&sim, problem, err));
    *agrees = emp_sim_trace_decision(sim, &best, NULL, &result, NULL) == EMP_OK &&
              result.fingerprint == record->fingerprint &&
              (double)result.step_time_ns * 1e-9 == record->best_step_time_s &&
              result.is_feasible == record->is_feasible;

cleanup:
    emp_sim_destroy(sim);
    return st;
}

emp_status emp_archive_find(emp_record *record, bool *is_found, const char *folder,
                            const emp_problem *problem, const emp_run_params *params,
                            emp_error *err)
{
    char       path[EMP_ARCHIVE_PATH_BYTES];
    emp_record wanted;
    emp_error  why = {0};
    char       difference[EMP_RECORD_DIFFERENCE_BYTES];

    *is_found = false;
    memset(record, 0, sizeof *record);
    emp_run_describe(&wanted, problem, params);
    name_file(path, folder, &wanted, RECORD);
    const emp_status st = emp_record_load(record, path, &why);
    if (st == EMP_EFORMAT)
        return EMP_ERROR(st, "%s; remove the file, or name another folder", why.msg);
    if (st != EMP_OK && access(path, F_OK) != 0) return EMP_OK;
    if (st != EMP_OK) return EMP_ERROR(st, "%s", why.msg);
    if (emp_record_differs(difference, record, &wanted))
        return EMP_ERROR(
            EMP_EINVAL,
            "%s has the name of this run's record, and is that of another run: "
            "%s; move it away, or name another folder",
            path, difference);
    if (strcmp(record->stopped_by, "interrupt") == 0) return EMP_OK;
    return check_score(record, is_found, problem, err);
}

bool emp_archive_has(const char *folder, const emp_problem *problem,
                     const emp_run_params *params)
{
    char       record[EMP_ARCHIVE_PATH_BYTES], reason[EMP_ARCHIVE_PATH_BYTES];
    emp_record run;

    emp_run_describe(&run, problem, params);
    name_file(record, folder, &run, RECORD);
    name_file(reason, folder, &run, REFUSED);
    return access(record, F_OK) == 0 || access(reason, F_OK) == 0;
}

emp_status emp_archive_check(const char *folder, const emp_problem *problem,
                             const emp_run_params *params, emp_error *err)
{
    char       path[EMP_ARCHIVE_PATH_BYTES];
    emp_record run;

    emp_run_describe(&run, problem, params);
    name_file(path, folder, &run, RECORD);
    EMP_CHECK(emp_folder_make(folder, err));
    return emp_output_check(path, err);
}

emp_status emp_archive_lock(emp_file_lock *lock, bool *is_taken, const char *folder,
                            const emp_problem *problem, const emp_run_params *params,
                            emp_error *err)
{
    char       path[EMP_ARCHIVE_PATH_BYTES];
    emp_record run;

    emp_run_describe(&run, problem, params);
    name_file(path, folder, &run, RECORD);
    EMP_CHECK(emp_folder_make(folder, err));
    return emp_file_lock_try(lock, is_taken, path, err);
}

/* Only for a run that owns a checkpoint, of which there is one at a time. */
static emp_status sweep(const char *folder, const emp_record *run, emp_error *err)
{
    char path[EMP_ARCHIVE_PATH_BYTES];

    name_file(path, folder, run, TIMING);
    EMP_CHECK(emp_atomic_file_sweep(path, err));
    name_file(path, folder, run, RECORD);
    return emp_atomic_file_sweep(path, err);
}

emp_status emp_archive_run(emp_record *record, const char *folder,
                           const emp_problem *problem, const emp_run_params *params,
                           emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_run_params      own = *params;
    emp_run_checkpoint *checkpoint = &own.checkpoint;
    char                path[EMP_ARCHIVE_PATH_BYTES];

    if (params->method->list_state == NULL || params->budget_cpu_s > 0)
        return emp_run(record, problem, params, err);
    emp_run_describe(record, problem, params);
    EMP_CHECK(emp_folder_make(folder, err));
    EMP_CHECK(sweep(folder, record, err));
    name_file(path, folder, record, CHECKPOINT);
    checkpoint->path = path;
    checkpoint->is_resumed = access(path, F_OK) == 0;
    st = emp_run(record, problem, &own, err);
    if (checkpoint->is_resumed && st == EMP_EFORMAT) {
        emp_record_clear(record); /* a damaged checkpoint is as good as none */
        if (err != NULL) *err = (emp_error){0};
        remove(path);
        checkpoint->is_resumed = false;
        st = emp_run(record, problem, &own, err);
    }
    return st;
}

emp_status emp_archive_put(const char *folder, const emp_record *record,
                           const emp_timing *timing, emp_error *err)
{
    char path[EMP_ARCHIVE_PATH_BYTES];

    EMP_CHECK(emp_folder_make(folder, err));
    name_file(path, folder, record, TIMING);
    EMP_CHECK(emp_timing_save(timing, path, record->evaluations, err));
    name_file(path, folder, record, RECORD); /* last: with it, all is there */
    return emp_record_save(path, record, err);
}

emp_status emp_archive_forget(const char *folder, const emp_problem *problem,
                              const emp_run_params *params, emp_error *err)
{
    static const char *const suffixes[] = {RECORD, TIMING, CHECKPOINT, REFUSED};
    char                     path[EMP_ARCHIVE_PATH_BYTES];
    emp_record               run;

    emp_run_describe(&run, problem, params);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        name_file(path, folder, &run, suffixes[i]);
        if (remove(path) != 0 && errno != ENOENT)
            return EMP_ERROR(EMP_EIO, "cannot remove %s: %s", path, strerror(errno));
    }
    return EMP_OK;
}

emp_status emp_archive_timing(emp_timing *timing, const char *folder,
                              const emp_record *record)
{
    char path[EMP_ARCHIVE_PATH_BYTES];

    name_file(path, folder, record, TIMING);
    emp_status st = emp_timing_load(timing, path, NULL);
    if (st == EMP_OK || st == EMP_ENOMEM) return st;
    emp_timing_clear(timing);
    timing->elapsed_s = timing->cpu_s = NAN;
    return EMP_OK;
}

/* ---- runs without a placement ---- */

emp_status emp_archive_put_refusal(const char *folder, const emp_problem *problem,
                                   const emp_run_params *params, const char *reason,
                                   emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    char            path[EMP_ARCHIVE_PATH_BYTES], there[EMP_ERROR_MSG_BYTES];
    bool            is_own = false;
    emp_record      run;

    emp_run_describe(&run, problem, params);
    EMP_TRY(emp_folder_make(folder, err));
    name_file(path, folder, &run, REFUSED);
    emp_archive_find_refusal(there, &is_own, folder, problem, params);
    if (!is_own && access(path, F_OK) == 0)
        EMP_FAIL(
            EMP_EINVAL,
            "%s has the name of the reason why this run has no record, and is another "
            "file; move it away, or name another folder",
            path);
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    fprintf(file.stream, "%016" PRIx64 "\n%s\n", identity_of(&run), reason);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

void emp_archive_find_refusal(char reason[EMP_ERROR_MSG_BYTES], bool *is_found,
                              const char *folder, const emp_problem *problem,
                              const emp_run_params *params)
{
    char       path[EMP_ARCHIVE_PATH_BYTES], wanted[32], identity[32];
    emp_record run;

    *is_found = false;
    emp_run_describe(&run, problem, params);
    name_file(path, folder, &run, REFUSED);
    FILE *file = fopen(path, "r");
    if (file == NULL) return;
    if (fgets(identity, sizeof identity, file) != NULL &&
        fgets(reason, EMP_ERROR_MSG_BYTES, file) != NULL) {
        snprintf(wanted, sizeof wanted, "%016" PRIx64 "\n", identity_of(&run));
        *is_found = strcmp(identity, wanted) == 0;
        reason[strcspn(reason, "\n")] = '\0';
    }
    fclose(file);
}

void emp_archive_drop_checkpoint(const char *folder, const emp_record *record)
{
    char path[EMP_ARCHIVE_PATH_BYTES];

    name_file(path, folder, record, CHECKPOINT);
    remove(path);
}
