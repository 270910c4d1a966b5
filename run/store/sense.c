// SPDX-License-Identifier: GPL-3.0-or-later
/* Whether what a file says can be said of a run. */
#include <inttypes.h>
#include <math.h>

#include "run/store/h5_internal.h"

static bool is_amount(double value) { return isfinite(value) && value >= 0; }

static bool is_amount_or_none(double value) { return isnan(value) || is_amount(value); }

static emp_status check_counts(const emp_record *r, const char *path, emp_error *err)
{
    const struct {
        const char *name;
        int64_t     count;
    } counts[] = {{"evaluations", r->evaluations},
                  {"feasible_count", r->feasible_count},
                  {"budget_evaluations", r->budget_evaluations},
                  {"traffic_bytes", r->traffic_bytes}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].count < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its %s is %" PRId64, path,
                             counts[i].name, counts[i].count);
    }
    if (r->feasible_count > r->evaluations)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s is damaged: %" PRId64 " of %" PRId64 " candidates fit", path,
                         r->feasible_count, r->evaluations);
    return EMP_OK;
}

static emp_status check_times(const emp_record *r, const char *path, emp_error *err)
{
    if (!is_amount(r->budget_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its budget_s is %g", path,
                         r->budget_s);
    if (!is_amount(r->best_step_time_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its best_step_time_s is %g", path,
                         r->best_step_time_s);
    if (!is_amount_or_none(r->median_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its median_s is %g", path,
                         r->median_s);
    return EMP_OK;
}

static emp_status check_devices(const emp_record *r, const char *path, emp_error *err)
{
    for (int32_t d = 0; d < r->device_count; d++) {
        if (r->peak_bytes[d] < 0 || !is_amount(r->busy_s[d]))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: device %d has %" PRId64
                             " bytes and is busy for %g s",
                             path, d, r->peak_bytes[d], r->busy_s[d]);
    }
    for (int32_t op = 0; op < r->decision.op_count; op++) {
        if (r->decision.device_of_op[op] < 0 ||
            r->decision.device_of_op[op] >= r->device_count)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d is on device %d of %d",
                             path, op, r->decision.device_of_op[op], r->device_count);
        if (r->has_order && r->decision.level_of_op[op] >= EMP_LEVELS)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d has level %d of %d", path,
                             op, r->decision.level_of_op[op], EMP_LEVELS);
        if (r->has_fusion && (r->decision.leader_of_op[op] < 0 ||
                              r->decision.leader_of_op[op] >= r->decision.op_count))
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d has leader %d of %d",
                             path, op, r->decision.leader_of_op[op],
                             r->decision.op_count);
    }
    return EMP_OK;
}

static emp_status check_curve(const emp_record *r, const char *path, emp_error *err)
{
    int64_t before = 0;

    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        if (p->evaluations < before || p->evaluations > r->evaluations ||
            p->feasible_count < 0 || p->feasible_count > p->evaluations ||
            !is_amount_or_none(p->best_s) || !is_amount_or_none(p->mean_s))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: point %d of its curve has %" PRId64
                             " evaluations, %" PRId64 " that fit, best %g s, mean %g s",
                             path, i, p->evaluations, p->feasible_count, p->best_s,
                             p->mean_s);
        before = p->evaluations;
    }
    return EMP_OK;
}

emp_status emp_h5_check_sense(const emp_record *record, const char *path, emp_error *err)
{
    EMP_CHECK(check_counts(record, path, err));
    EMP_CHECK(check_times(record, path, err));
    EMP_CHECK(check_devices(record, path, err));
    return check_curve(record, path, err);
}

emp_status emp_h5_check_progress(const emp_checkpoint *checkpoint,
                                 const emp_record *so_far, const char *path,
                                 emp_error *err)
{
    if (!is_amount(checkpoint->elapsed_s) || !is_amount_or_none(checkpoint->cpu_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: it took %g s, %g s of a CPU", path,
                         checkpoint->elapsed_s, checkpoint->cpu_s);
    for (int64_t i = 0; i < so_far->feasible_count; i++) {
        if (!is_amount(so_far->feasible_s[i]))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: candidate %" PRId64 " takes %g s", path, i,
                             so_far->feasible_s[i]);
    }
    return EMP_OK;
}
