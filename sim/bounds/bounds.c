// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/bounds.h"

#include "base/work/stage.h"
#include "sim/bounds/refute.h"

/* Of the refuted time. */
static const double ACCURACY = 4e-3;

static emp_time_ns or_none(emp_time_ns bound_ns, emp_time_ns step_ns)
{
    return bound_ns > 0 ? emp_bound_add(bound_ns, step_ns) : 0;
}

/* Of the ops before one, those that joins look at. */
static int32_t near_of(int32_t effort) { return 10 << 2 * effort; }

static emp_status refute(emp_time_ns *best_ns, const emp_bound_model *model,
                         emp_error *err)
{
    const char *before = emp_stage_set("refuting step times");
    emp_status  st = emp_bound_refute(best_ns, model, ACCURACY, err);

    (void)emp_stage_set(before);
    return st;
}

emp_status emp_bounds_compute(emp_bounds *out, const emp_problem *problem, int32_t effort,
                              emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_bound_model model = {0};
    emp_bound_facts facts;
    emp_time_ns     best_ns = 0;

    *out = (emp_bounds){0};
    EMP_TRY(emp_bound_model_init(&model, problem, err));
    EMP_TRY(emp_bound_facts_find(&facts, &model, near_of(effort), err));
    out->is_infeasible = facts.is_infeasible;
    facts.drained_ns = emp_time_later(facts.drained_ns, facts.joined_ns);
    best_ns = emp_time_later(emp_time_later(facts.drained_ns, facts.area_ns),
                             emp_time_later(facts.class_ns, facts.window_ns));
    out->path_ns = or_none(facts.path_ns, model.step_ns);
    out->joined_ns = or_none(facts.joined_ns, model.step_ns);
    out->drained_ns = or_none(facts.drained_ns, model.step_ns);
    out->area_ns = or_none(facts.area_ns, model.step_ns);
    out->class_ns = or_none(facts.class_ns, model.step_ns);
    out->window_ns = or_none(facts.window_ns, model.step_ns);
    if (best_ns > 0 && !facts.is_infeasible) EMP_TRY(refute(&best_ns, &model, err));
    out->refuted_ns = or_none(best_ns, model.step_ns);
    out->best_ns = emp_bound_add(best_ns, model.step_ns);

cleanup:
    emp_bound_model_clear(&model);
    return st;
}

double emp_bounds_gap(const emp_bounds *bounds, emp_time_ns step_time_ns)
{
    if (bounds->best_ns <= 0) return 0.0;
    return (double)step_time_ns / (double)bounds->best_ns - 1.0;
}
