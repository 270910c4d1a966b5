// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/group_planner.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "policy/hdp/fixed_groups.h"

/* Room for the seeds of all groupings: of each start, then of each level of refinement. */
enum { SEEDS = 2 * EMP_HDP_MAX_STARTS + EMP_REFINE_MAX_LEVELS };

static int32_t start_count(const emp_group_planner *p)
{
    return (int32_t)p->options.starts;
}

static bool is_refining(const emp_group_planner *p)
{
    return start_count(p) > 0 && p->at.stage == start_count(p);
}

/* One grouping for each start, and one without starts. */
static emp_status create_groups(emp_group_planner *p, const emp_problem *problem,
                                uint64_t seed, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_hdp_options *o = &p->options;
    size_t                 bytes = (size_t)p->agent.ops->row_count * sizeof **p->groups;

    if ((emp_grouping)o->grouping == EMP_GROUPING_LEARNED) goto cleanup;
    for (int32_t i = 0; i == 0 || i < start_count(p); i++) {
        EMP_TRY(emp_fixed_groups_create(&p->groups[i], (emp_grouping)o->grouping, problem,
                                        p->agent.ops, (int32_t)o->groups, o->imbalance,
                                        seed + (uint64_t)i, err));
        p->groups_hash = emp_hash_bytes(p->groups_hash, p->groups[i], bytes);
    }
    p->agent.fixed_groups = p->groups[0];

cleanup:
    return st;
}

static emp_status create_refinement(emp_group_planner *p, const emp_problem *problem,
                                    uint64_t seed, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_op_features *ops = p->agent.ops;

    if (start_count(p) == 0) goto cleanup;
    EMP_TRY(emp_refine_init(&p->refine, problem, ops, &p->options,
                            seed + EMP_HDP_MAX_STARTS, err));
    p->groups_hash = emp_hash_u64(p->groups_hash, p->refine.groups_hash);
    p->best = EMP_NEW_ARRAY(int32_t, (size_t)ops->row_count);
    if (p->best == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %d ops", ops->row_count);

cleanup:
    return st;
}

/* The agent's, and what a start or the refinement knows. */
static void set_metrics(emp_group_planner *p, int64_t stage)
{
    const emp_elites *e = stage == start_count(p) ? &p->refine.elites : &p->agent.elites;

    for (int i = 0; i < EMP_HDP_METRICS; i++) {
        p->metric[i] = p->agent.metric[i];
        if (stage == start_count(p)) p->metric[i].value = NAN;
    }
    p->metric[EMP_HDP_METRICS] = (emp_placer_metric){"stage", (double)stage};
    p->metric[EMP_HDP_METRICS + 1] = (emp_placer_metric){
        "elite_worst_s", e->count > 0 ? e->step_time_s[e->count - 1] : NAN};
}

emp_status emp_group_planner_init(emp_group_planner *p, const emp_problem *problem,
                                  emp_op_features *ops, const emp_hdp_options *options,
                                  const emp_placer_params *params, emp_error *err)
{
    emp_status st = EMP_OK;

    *p = (emp_group_planner){.options = *options, .groups_hash = EMP_HASH_SEED};
    EMP_TRY(emp_hdp_agent_init(&p->agent, ops, problem->machine->device_count, options,
                               params->seed, params->threads, err));
    p->agent.draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    uint64_t seed = start_count(p) > 0 ? params->seed * SEEDS : params->seed;
    EMP_TRY(create_groups(p, problem, seed, err));
    EMP_TRY(create_refinement(p, problem, seed, err));
    p->saved_hash = (int64_t)p->groups_hash;
    set_metrics(p, 0);

cleanup:
    if (st != EMP_OK) emp_group_planner_clear(p);
    return st;
}

void emp_group_planner_clear(emp_group_planner *p)
{
    emp_hdp_agent_clear(&p->agent);
    emp_refine_clear(&p->refine);
    for (int i = 0; i < EMP_HDP_MAX_STARTS; i++) emp_free(p->groups[i]);
    emp_free(p->best);
    *p = (emp_group_planner){0};
}

/* A restored state may come from anywhere. */
static emp_status check_state(const emp_group_planner *p, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    devices = p->agent.net.shape.devices;

    if ((uint64_t)p->saved_hash != p->groups_hash)
        EMP_FAIL(EMP_EFORMAT, "the saved state of hdp is of other groups than those that "
                              "are made here; begin anew");
    if (p->at.stage < 0 || p->at.stage > start_count(p) || p->at.asked < 0 ||
        !emp_elites_are_valid(&p->agent.elites, devices) ||
        !emp_elites_are_valid(&p->refine.elites, devices) ||
        (is_refining(p) && p->refine.elites.count == 0) ||
        (p->best != NULL &&
         !emp_choices_are_valid(p->best, p->agent.ops->row_count, devices))) {
        EMP_FAIL(EMP_EFORMAT, "the saved state of hdp is damaged");
    }

cleanup:
    return st;
}

emp_status emp_group_planner_propose(emp_group_planner *p, int32_t samples,
                                     emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(check_state(p, err));
    p->asked = samples;
    p->at.asked += samples;
    if (is_refining(p)) {
        emp_refine_propose(&p->refine, samples);
    } else {
        p->agent.fixed_groups = p->groups[p->at.stage]; /* also of a restored state */
        emp_hdp_agent_propose(&p->agent, samples, NULL, NULL);
        if (p->agent.elites.count > 0 && p->agent.elites.width != p->agent.used)
            EMP_FAIL(EMP_EFORMAT, "the saved state of hdp is damaged");
    }

cleanup:
    return st;
}

emp_device_id emp_group_planner_device(const emp_group_planner *p, int32_t sample,
                                       int32_t row)
{
    return is_refining(p) ? (emp_device_id)emp_refine_sample(&p->refine, sample)[row]
                          : emp_hdp_agent_device(&p->agent, sample, row);
}

/* Of a start's proposal. */
static void keep_best(emp_group_planner *p, const emp_score *scores)
{
    for (int32_t k = 0; k < p->asked; k++) {
        if (!scores[k].is_feasible) continue;
        if (p->at.has_best != 0 && scores[k].step_time_s >= p->best_s) continue;
        p->at.has_best = 1;
        p->best_s = scores[k].step_time_s;
        for (int32_t row = 0; row < p->agent.ops->row_count; row++)
            p->best[row] = emp_hdp_agent_device(&p->agent, k, row);
    }
}

/* The next start, or refinement, if this start has had its samples. */
static void move_on(emp_group_planner *p)
{
    bool is_last = p->at.stage == start_count(p) - 1;

    if (is_refining(p) || p->at.asked < (int64_t)p->options.start_samples) return;
    if (is_last && p->at.has_best == 0) return;
    p->at.stage++;
    p->at.asked = 0;
    if (is_last)
        emp_refine_start(&p->refine, p->best, p->best_s);
    else
        emp_hdp_agent_restart(&p->agent, (uint32_t)p->at.stage);
}

void emp_group_planner_backward(emp_group_planner *p, const emp_score *scores,
                                int32_t count, int32_t first, int32_t own)
{
    if (is_refining(p)) {
        emp_refine_learn(&p->refine, scores, count);
        return;
    }
    if (start_count(p) > 0) keep_best(p, scores);
    emp_hdp_agent_backward(&p->agent, scores, count, first, own);
}

void emp_group_planner_step(emp_group_planner *p)
{
    int64_t stage = p->at.stage;

    if (!is_refining(p)) emp_hdp_agent_step(&p->agent);
    if (start_count(p) == 0) return;
    set_metrics(p, stage);
    move_on(p);
}

const emp_placer_metric *emp_group_planner_metrics(const emp_group_planner *p,
                                                   int32_t                 *count)
{
    *count = start_count(p) > 0 ? EMP_GROUP_PLANNER_METRICS : EMP_HDP_METRICS;
    return start_count(p) > 0 ? p->metric : p->agent.metric;
}

int32_t emp_group_planner_list_state(emp_group_planner *p,
                                     emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS])
{
    int32_t               count = emp_hdp_agent_list_state(&p->agent, arrays);
    const emp_named_array all[] = {
        {"stage", EMP_ARRAY_INT64, sizeof p->at / sizeof(int64_t), &p->at},
        {"best", EMP_ARRAY_INT32, (size_t)p->agent.ops->row_count, p->best},
        {"best_s", EMP_ARRAY_DOUBLE, 1, &p->best_s},
    };

    if (p->groups[0] != NULL)
        arrays[count++] =
            (emp_named_array){"groups_hash", EMP_ARRAY_INT64, 1, &p->saved_hash};
    if (start_count(p) == 0) return count;
    memcpy(arrays + count, all, sizeof all);
    count += (int32_t)(sizeof all / sizeof *all);
    return count + emp_refine_list_state(&p->refine, arrays + count);
}
