// SPDX-License-Identifier: GPL-3.0-or-later
/* When a run saves its state, and how it goes on from there (run/store/checkpoint.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/blas/openblas.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/work.h"
#include "run/loop_internal.h"
#include "run/sheet/sheet.h"
#include "run/store/checkpoint.h"

/* Without a wish of the user checkpoints are that far apart, and at least so many times
 * what the last one took, which is 0.5 % of the time. */
enum { CHECKPOINT_PAUSE_S = 10, CHECKPOINT_COST_RATIO = 200 };

/* After a failure, so that a full disk is not asked all the time. */
enum { RETRY_PAUSE_S = 1 };

static emp_checkpoint describe_state(emp_run_state *run)
{
    emp_checkpoint checkpoint = {.record = run->record};
    const char    *kernels = emp_openblas_is_open() ? emp_openblas_core_name() : "";

    snprintf(checkpoint.code, sizeof checkpoint.code, "%s", emp_manifest_get().code);
    snprintf(checkpoint.kernels, sizeof checkpoint.kernels, "%s", kernels);
    checkpoint.elapsed_s = emp_clock_now_s() - run->start_s;
    checkpoint.cpu_s = emp_clock_thread_s() - run->start_cpu_s;
    checkpoint.array_count =
        run->params->method->list_state(run->placer, checkpoint.array);
    return checkpoint;
}

emp_status emp_run_checkpoint_save(emp_run_state *run, emp_error *err)
{
    const emp_run_checkpoint *c = &run->params->checkpoint;
    const double              before_s = emp_clock_now_s();

    if (c->path == NULL || !run->is_first) return EMP_OK;
    const emp_checkpoint checkpoint = describe_state(run);
    EMP_CHECK(emp_checkpoint_save(c->path, &checkpoint, err));
    double now_s = emp_clock_now_s();
    double pause_s = fmax(CHECKPOINT_PAUSE_S, CHECKPOINT_COST_RATIO * (now_s - before_s));
    run->next_checkpoint_s = now_s + (c->every_s > 0 ? c->every_s : pause_s);
    return EMP_OK;
}

static void warn(const emp_run_state *run, const char *why, const char *next)
{
    char sentence[EMP_ERROR_MSG_BYTES + 80];

    snprintf(sentence, sizeof sentence, "%s; the checkpoint before it stays%s", why,
             next);
    run->params->warn(run->params->context, sentence);
}

/* Whether a run is worth more than the checkpoint that could not be written. */
static bool may_go_on(const emp_run_state *run, emp_status st)
{
    return run->params->warn != NULL && (st == EMP_EIO || st == EMP_ENOMEM);
}

emp_status emp_run_checkpoint_save_if_due(emp_run_state *run, emp_error *err)
{
    emp_error why = {0};

    if (emp_clock_now_s() < run->next_checkpoint_s) return EMP_OK;
    const emp_status st = emp_run_checkpoint_save(run, &why);
    if (st != EMP_OK && !may_go_on(run, st)) return EMP_ERROR(st, "%s", why.msg);
    if (st != EMP_OK) {
        if (!run->is_checkpoint_late) warn(run, why.msg, ", and the run tries again");
        run->next_checkpoint_s =
            emp_clock_now_s() + fmax(run->params->checkpoint.every_s, RETRY_PAUSE_S);
    }
    run->is_checkpoint_late = st != EMP_OK;
    return EMP_OK;
}

emp_status emp_run_checkpoint_save_last(emp_run_state *run, emp_error *err)
{
    emp_error        why = {0};
    const emp_status st = emp_run_checkpoint_save(run, &why);

    if (st != EMP_OK && !may_go_on(run, st)) return EMP_ERROR(st, "%s", why.msg);
    if (st != EMP_OK) warn(run, why.msg, "");
    return EMP_OK;
}

/* A cluster's computers differ, so the run goes on; its user may have it end as it would have. */
static void warn_of_kernels(const emp_run_state *run, const char *there, const char *here)
{
    char sentence[EMP_ERROR_MSG_BYTES];

    if (run->params->warn == NULL || there[0] == '\0' || here[0] == '\0' ||
        strcmp(there, here) == 0)
        return;
    snprintf(
        sentence, sizeof sentence,
        "the run began with OpenBLAS's kernels for %s and goes on with those for %s, "
        "which sum in another order: its record will be that of neither; "
        "OPENBLAS_CORETYPE=%s takes the first where the CPU has their instructions",
        there, here, there);
    run->params->warn(run->params->context, sentence);
}

static emp_status resume(emp_run_state *run, emp_error *err)
{
    emp_record          *record = run->record;
    emp_checkpoint       checkpoint = describe_state(run);
    const emp_checkpoint own = checkpoint;

    EMP_CHECK(emp_checkpoint_load(&checkpoint, run->params->checkpoint.path, err));
    warn_of_kernels(run, checkpoint.kernels, own.kernels);
    run->start_s = emp_clock_now_s() - checkpoint.elapsed_s;
    if (!isnan(run->start_cpu_s))
        run->start_cpu_s = emp_clock_thread_s() - checkpoint.cpu_s;
    run->feasible_capacity = (size_t)record->feasible_count;
    run->point_capacity = run->metric_capacity = (size_t)record->point_count;
    memset(record->stopped_by, 0, sizeof record->stopped_by); /* all bytes are stored */
    run->resumed = record->evaluations;
    emp_run_report(run);
    return EMP_OK;
}

static emp_status check_file(const emp_run_state *run, emp_error *err)
{
    const emp_run_checkpoint *c = &run->params->checkpoint;

    if (run->params->method->list_state == NULL) {
        return EMP_ERROR(EMP_EINVAL,
                         "method %s has no state that a checkpoint could hold",
                         run->params->method->name);
    }
    bool is_there = access(c->path, F_OK) == 0;
    if (is_there && !c->is_resumed) {
        return EMP_ERROR(
            EMP_EINVAL,
            "%s is left from a run that has not ended; go on with --resume, or "
            "remove it to start anew",
            c->path);
    }
    if (!is_there && c->is_resumed)
        return EMP_ERROR(
            EMP_EIO,
            "there is no checkpoint %s to go on from: the run has not begun, or has "
            "ended and left its record",
            c->path);
    return EMP_OK;
}

/* The first rank looks before, and writes after, all others. */
emp_status emp_run_checkpoint_begin(emp_run_state *run, emp_error *err)
{
    const emp_run_checkpoint *c = &run->params->checkpoint;

    if (c->path == NULL) return EMP_OK;
    EMP_CHECK(emp_run_agree(run, run->is_first ? check_file(run, err) : EMP_OK, err));
    if (run->params->method->complete != NULL)
        EMP_CHECK(run->params->method->complete(run->placer, err));
    EMP_CHECK(emp_run_agree(run, c->is_resumed ? resume(run, err) : EMP_OK, err));
    if (run->is_first) EMP_CHECK(emp_atomic_file_sweep(c->path, err));
    return emp_run_checkpoint_save(run, err);
}
