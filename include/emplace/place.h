/** \file emplace/place.h
 * Searches for a placement, bounds the step time from below, explains a step, and groups ops.
 *
 *     emp_place_params params = EMP_PLACE_PARAMS;
 *     params.method = "anneal";
 *     params.budget_evaluations = 1000;
 *     if (emp_place(device_of_op, result, problem, &params, &err) == EMP_OK &&
 *         emp_explain(text, sizeof text, problem, device_of_op, &err) == EMP_OK)
 *         puts(text);
 *
 * These functions may change until version 1.0. Each overwrites \a err, so an emp_error need not be
 * zeroed before it is passed to one of them.
 *
 * The wheel for Python is built without the libraries that emp_place() and emp_bound() need (GSL, GLPK,
 * METIS, Scotch), and lacks both functions and emp_problem_group().
 */
#ifndef EMP_EMPLACE_PLACE_H
#define EMP_EMPLACE_PLACE_H

#include <stddef.h>

#include <emplace/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The state of a search after a batch of evaluations. */
typedef struct {
    int64_t     evaluations;
    int64_t     budget_evaluations; /**< 0: unlimited */
    double      elapsed_s;
    emp_time_ns best_ns; /**< the best step time so far; -1: no placement fits yet */
} emp_place_progress;

/** Parameters of emp_place(). Begin with EMP_PLACE_PARAMS, so that members that a later version
 * appends have their defaults. */
typedef struct {
    size_t      size;   /**< sizeof(emp_place_params) */
    const char *method; /**< a name that `emplace methods` lists, "./mine.so" or "cmd:..."
                                         (docs/extending.md); NULL: "portfolio" */
    const char *preset; /**< a set of the method's constants ("paper"), or NULL */
    const char *options; /**< "key=value,key=value" of the method, or NULL */
    int64_t
        budget_evaluations; /**< 0: unlimited if there is a budget in seconds, else 400 for
                                         methods that search or learn */
    double   budget_s;      /**< 0: unlimited */
    uint64_t seed;
    int32_t  threads; /**< results do not depend on it */
    /** OPTIONAL [op count]. The placement at which a search begins, which is made legal. */
    const emp_device_id *start;
    /** OPTIONAL. Called after each batch of evaluations, at most 64 of them; false ends the search
     * with the best placement so far. */
    bool (*progress)(void *context, const emp_place_progress *progress);
    void *context; /**< passed to progress() */
} emp_place_params;

/** The defaults: the portfolio, seed 1, one thread. */
#define EMP_PLACE_PARAMS                                                           \
    {                                                                              \
        sizeof(emp_place_params), NULL, NULL, NULL, 0, 0.0, 1, 1, NULL, NULL, NULL \
    }

/** Searches for a placement as `emplace place` does: with equal parameters, and a budget in evaluations,
 * both find the same one. Where no op has a choice, a learner is refused, and `emplace place` gives the only placement.
 * \param[out] device_of_op  [op count] The fastest placement that fits in memory, or the fastest of all
 *                           where none fits; legal, and written on success only.
 * \param[out] result        OPTIONAL. The step under it.
 * \param      params        NULL: EMP_PLACE_PARAMS.
 * \retval EMP_EINVAL        An unknown method, preset or option, or a value out of range.
 * \retval EMP_EINFEASIBLE   The method proposed no placement.
 * \retval EMP_EUNSUPPORTED  The method cannot begin at \a start; or \a size is that of a later version.
 * \retval EMP_ENOMEM, EMP_EEXTERNAL, EMP_EIO */
EMP_API emp_status emp_place(emp_device_id *device_of_op, emp_sim_result *result,
                             const emp_problem *problem, const emp_place_params *params,
                             emp_error *err);

/** Computes a time that the step of no placement that fits in memory can beat, as `emplace bound` does
 * (docs/bounds.md). It is one of placements without an order of their own, on devices that serve first who comes
 * first. Takes seconds on graphs of 100,000 ops.
 * \param[out] bound_ns  0: no bound is known under the rules of the runtime.
 * \retval EMP_EINFEASIBLE  No placement fits: the variables exceed the memories.
 * \retval EMP_ENOMEM, EMP_EEXTERNAL */
EMP_API emp_status emp_bound(emp_time_ns *bound_ns, const emp_problem *problem,
                             emp_error *err);

enum { EMP_EXPLANATION_BYTES = 4096 }; /**< enough for any explanation */

/** Explains in at most ten lines why the step under a placement takes as long as it does: what bounds it,
 * what its critical path consists of, how busy the devices are, the moves of name scopes that shorten it
 * most, each verified by a simulation, and the fullest memory. `emplace simulate --why` prints the same.
 * Simulates about 50 steps.
 * \param[out] text  Lines, each with its newline, cut after \a size bytes.
 * \retval EMP_EINVAL        An entry is no device, or not one that the op may use.
 * \retval EMP_EUNSUPPORTED  The rules of this runtime do not say what waits for what (docs/simulator.md). */
EMP_API emp_status emp_explain(char *text, size_t size, const emp_problem *problem,
                               const emp_device_id *device_of_op, emp_error *err);

/** Groups ops as the program's learners do, for methods that place groups.
 * \param[out] group_of_op  [op count] 0 .. group count - 1; -1: the op is folded, or its colocation class
 *                          can only run on a CPU.
 * \param[out] group_count  Every group has ops.
 * \param      kind         "metis" or "scotch", which cut the graph where it exchanges little; "colocrl",
 *                          the rules of Mirhoseini et al. (2017), which make as many groups as they do;
 *                          or "names", by layer, direction and block of time steps.
 * \param      count        The most groups, at least 1; of no effect on "colocrl".
 * \param      seed         Of "metis" and "scotch".
 * \retval EMP_EINVAL       Another kind, or a count below 1.
 * \retval EMP_ENOMEM, EMP_EEXTERNAL */
EMP_API emp_status emp_problem_group(int32_t *group_of_op, int32_t *group_count,
                                     const emp_problem *problem, const char *kind,
                                     int32_t count, uint64_t seed, emp_error *err);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_PLACE_H */
