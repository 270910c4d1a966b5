/** \file policy/hdp/guide.h
 * Guides the planner's placer where the paper is silent: the elites, which are the best placements
 * of a run so far and which the network imitates, and the heat of its draws.
 *
 * Heat. The scale of the Gumbel numbers that devices are drawn with follows a controller, so that
 * about a share h of the groups gets another device than the most probable one:
 *
 *     ln scale <- ln scale + gain (ln h - ln share moved in the update)
 *     h falls geometrically from `first` to `last` over `updates` updates, and stays
 *
 * A policy that is sure of its devices so explores as much as one that is not.
 *
 * Ranks that share a run add what note() leaves, of which only one rank has a candidate; then
 * each calls take(), with the same result.
 */
#ifndef EMP_POLICY_HDP_GUIDE_H
#define EMP_POLICY_HDP_GUIDE_H

#include "base/mem.h"
#include "policy/features/op_features.h"
#include "search/method.h"

enum { EMP_GUIDE_MAX_ELITES = 4 };

typedef struct {
    double  first, last; /**< shares of the groups; first 0: there is no controller */
    int32_t updates;
    double  gain;
} emp_heat_rule;

typedef struct {
    emp_heat_rule heat;
    int32_t       rows, capacity; /**< elites at most; 0 = none */
    int32_t      *device;         /**< [capacity][row] the best first */
    double       *step_s;         /**< [capacity] 0: there is no such elite */
    double        scale;          /**< of Gumbel numbers */
    /* The values that an update leaves for take(). */
    int32_t   *candidate;    /**< [row] its best placement; 0 without one */
    double     candidate_s;  /**< 0 = none */
    double     drawn, moved; /**< groups of its samples, and those that moved */
    int32_t   *votes;        /**< scratch of project() */
    emp_arrays arrays;       /**< all of these */
} emp_guide;

/** \a devices, \a steps: the largest that project() gets. \retval EMP_ENOMEM */
emp_status emp_guide_init(emp_guide *guide, const emp_heat_rule *heat, int32_t capacity,
                          int32_t rows, int32_t devices, int32_t steps, emp_error *err);
void       emp_guide_clear(emp_guide *guide);

int32_t emp_guide_count(const emp_guide *guide); /**< of elites */

/** The index of the best of \a count scores that fits in memory; -1: none does. */
int32_t emp_guide_find_best(const emp_score *scores, int32_t count);

/** Ends update number \a update: the candidate becomes an elite if it is good enough and new, and
 * the scale changes. */
void emp_guide_take(emp_guide *guide, int64_t update);

/** Gives each step the device that most of its rows have in an elite, the lowest of equals.
 * \a target [elite][steps]. O(elites x (rows + steps x devices)). */
void emp_guide_project(const emp_guide *guide, int32_t *target,
                       const int32_t *group_of_row, const int32_t *step_of_group,
                       int32_t steps, int32_t devices);

/** As list_state(), behind \a count arrays. */
int32_t emp_guide_list_state(emp_guide *guide, emp_named_array *arrays, int32_t count);
/** The same of what ranks add before take(). */
int32_t emp_guide_list_sums(emp_guide *guide, emp_named_array *arrays, int32_t count);

/** Whether a restored guide makes sense. \retval EMP_EFORMAT */
emp_status emp_guide_check(const emp_guide *guide, int32_t devices, emp_error *err);

#endif /* EMP_POLICY_HDP_GUIDE_H */
