// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/group_planner.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "policy/hdp/fixed_groups.h"

/* Room for the seeds of all groupings: of each start, then of each of refinement. */
enum { SEEDS = 2 * EMP_HDP_MAX_STARTS + EMP_MOVE_MAX_GROUPINGS };

static int32_t start_count(const emp_group_planner *p) { return p->options.starts; }

static bool is_refining(const emp_group_planner *p) { return p->at.is_refining != 0; }

/* One grouping for each start, and one without starts. */
static emp_status create_groups(emp_group_planner *p, const emp_problem *problem,
                                uint64_t seed, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_hdp_options *o = &p->options;
    size_t                 bytes = (size_t)p->agent.ops->row_count * sizeof **p->groups;

    if (o->grouping == EMP_GROUPING_LEARNED) goto cleanup;
    for (int32_t i = 0; i == 0 || i < start_count(p); i++) {
        EMP_TRY(emp_fixed_groups_create(&p->groups[i], o->grouping, problem, p->agent.ops,
                                        o->groups, o->imbalance, seed + (uint64_t)i,
                                        err));
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
    p->groups_hash = emp_hash_u64(p->groups_hash, p->refine.groups.hash);
    EMP_TRY(emp_elites_init(&p->best, 1, ops->row_count, err));
    EMP_TRY(emp_elites_init(&p->best_of_start, 1, ops->row_count, err));
    p->device_of_row = EMP_NEW_ARRAY(int32_t, (size_t)ops->row_count);
    if (p->device_of_row == NULL)
        EMP_FAIL(EMP_ENOMEM, "placement of %d ops", ops->row_count);

cleanup:
    return st;
}

/* The agent's, and what a start or refining knows. */
static void set_metrics(emp_group_planner *p)
{
    bool                    was_refining = is_refining(p);
    const emp_refine       *f = &p->refine;
    const emp_elites       *e = was_refining ? &f->elites : &p->agent.elites;
    const emp_placer_metric own[] = {
        {"stage", (double)p->at.stage},
        {"refining", was_refining},
        {"elite_worst_s", e->count > 0 ? e->step_time_s[e->count - 1] : NAN},
        {"drawn_mean_s", was_refining ? f->drawn_mean_s : NAN},
        {"chosen_mean_s", was_refining ? f->chosen_mean_s : NAN},
    };

    for (int i = 0; i < EMP_HDP_METRICS; i++) {
        p->metric[i] = p->agent.metric[i];
        if (was_refining) p->metric[i].value = NAN;
    }
    memcpy(p->metric + EMP_HDP_METRICS, own, sizeof own);
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
    set_metrics(p);

cleanup:
    if (st != EMP_OK) emp_group_planner_clear(p);
    return st;
}

void emp_group_planner_clear(emp_group_planner *p)
{
    emp_hdp_agent_clear(&p->agent);
    emp_refine_clear(&p->refine);
    for (int i = 0; i < EMP_HDP_MAX_STARTS; i++) emp_free(p->groups[i]);
    emp_elites_clear(&p->best);
    emp_elites_clear(&p->best_of_start);
    emp_free(p->device_of_row);
    *p = (emp_group_planner){0};
}

/* A restored state may come from anywhere. */
static emp_status check_state(const emp_group_planner *p, emp_error *err)
{
    int32_t devices = p->agent.net.shape.devices;

    if ((uint64_t)p->saved_hash != p->groups_hash)
        return EMP_ERROR(EMP_EFORMAT,
                         "the saved state of hdp is of other groups than those that "
                         "are made here; begin anew");
    bool is_last = p->at.stage == start_count(p) && start_count(p) > 0;
    if (p->at.stage < 0 || p->at.stage > start_count(p) || p->at.asked < 0 ||
        (is_last && !is_refining(p)) ||
        !emp_elites_are_valid(&p->agent.elites, devices) ||
        !emp_elites_are_valid(&p->refine.elites, devices) ||
        !emp_elites_are_valid(&p->best, devices) ||
        !emp_elites_are_valid(&p->best_of_start, devices) ||
        (is_refining(p) && p->refine.elites.count == 0)) {
        return EMP_ERROR(EMP_EFORMAT, "the saved state of hdp is damaged");
    }
    return EMP_OK;
}

emp_status emp_group_planner_propose(emp_group_planner *p, int32_t samples,
                                     emp_error *err)
{
    EMP_CHECK(check_state(p, err));
    p->asked = samples;
    p->at.asked += samples;
    if (is_refining(p)) {
        EMP_CHECK(emp_refine_propose(&p->refine, samples, err));
    } else {
        p->agent.fixed_groups = p->groups[p->at.stage]; /* also of a restored state */
        emp_hdp_agent_propose(&p->agent, samples, NULL, NULL);
        if (p->agent.elites.count > 0 && p->agent.elites.width != p->agent.used)
            return EMP_ERROR(EMP_EFORMAT, "the saved state of hdp is damaged");
    }
    return EMP_OK;
}

emp_device_id emp_group_planner_device(const emp_group_planner *p, int32_t sample,
                                       int32_t row)
{
    return is_refining(p) ? (emp_device_id)emp_refine_sample(&p->refine, sample)[row]
                          : emp_hdp_agent_device(&p->agent, sample, row);
}

/* Of a proposal of the agent. */
static void keep_best_of_start(emp_group_planner *p, const emp_score *scores)
{
    const emp_elites *best = &p->best_of_start;

    for (int32_t k = 0; k < p->asked; k++) {
        if (!scores[k].is_feasible) continue;
        if (best->count > 0 && scores[k].step_time_s >= best->step_time_s[0]) continue;
        for (int32_t row = 0; row < p->agent.ops->row_count; row++)
            p->device_of_row[row] = emp_hdp_agent_device(&p->agent, k, row);
        emp_elites_keep(&p->best_of_start, p->device_of_row, scores[k].step_time_s);
    }
}

static void begin_refining(emp_group_planner *p, const emp_elites *from)
{
    p->at.is_refining = 1;
    p->at.asked = 0;
    emp_refine_start(&p->refine, emp_elites_at(from, 0), from->step_time_s[0]);
}

/* The next start, or to the end the refinement of the best of all. */
static void end_start(emp_group_planner *p)
{
    const emp_elites *found = is_refining(p) ? &p->refine.elites : &p->best_of_start;

    if (found->count > 0)
        emp_elites_keep(&p->best, emp_elites_at(found, 0), found->step_time_s[0]);
    if (p->at.stage == start_count(p) - 1) {
        if (p->best.count == 0) return; /* the last start goes on */
        p->at.stage++;
        begin_refining(p, &p->best);
        return;
    }
    p->at = (emp_group_planner_at){.stage = p->at.stage + 1};
    emp_elites_restart(&p->best_of_start, p->agent.ops->row_count);
    emp_hdp_agent_restart(&p->agent, (uint32_t)p->at.stage);
}

/* What comes next, if what is under way has had its samples. */
static void move_on(emp_group_planner *p)
{
    const emp_hdp_options *o = &p->options;

    if (p->at.stage == start_count(p)) return;
    if (is_refining(p)) {
        if (p->at.asked >= o->start_refine) end_start(p);
        return;
    }
    if (p->at.asked < o->start_samples) return;
    if (o->start_refine > 0 && p->best_of_start.count > 0)
        begin_refining(p, &p->best_of_start);
    else
        end_start(p);
}

void emp_group_planner_backward(emp_group_planner *p, const emp_score *scores,
                                int32_t count, int32_t first, int32_t own)
{
    if (is_refining(p)) {
        emp_refine_learn(&p->refine, scores, count);
        return;
    }
    if (start_count(p) > 0) keep_best_of_start(p, scores);
    emp_hdp_agent_backward(&p->agent, scores, count, first, own);
}

void emp_group_planner_step(emp_group_planner *p)
{
    if (!is_refining(p)) emp_hdp_agent_step(&p->agent);
    if (start_count(p) == 0) return;
    set_metrics(p);
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
    emp_elites           *best = &p->best, *of_start = &p->best_of_start;
    size_t                rows = (size_t)p->agent.ops->row_count;
    const emp_named_array all[] = {
        {"stage", EMP_ARRAY_INT64, sizeof p->at / sizeof(int64_t), &p->at},
        {"best_count", EMP_ARRAY_INT64, 1, &best->count},
        {"best", EMP_ARRAY_INT32, rows, best->choice},
        {"best_s", EMP_ARRAY_DOUBLE, 1, best->step_time_s},
        {"start_best_count", EMP_ARRAY_INT64, 1, &of_start->count},
        {"start_best", EMP_ARRAY_INT32, rows, of_start->choice},
        {"start_best_s", EMP_ARRAY_DOUBLE, 1, of_start->step_time_s},
    };

    if (p->groups[0] != NULL)
        arrays[count++] =
            (emp_named_array){"groups_hash", EMP_ARRAY_INT64, 1, &p->saved_hash};
    if (start_count(p) == 0) return count;
    memcpy(arrays + count, all, sizeof all);
    count += (int32_t)(sizeof all / sizeof *all);
    return count + emp_refine_list_state(&p->refine, arrays + count);
}
