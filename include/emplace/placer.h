/** \file emplace/placer.h
 * A method of your own as a shared library, for `emplace place --method ./mine.so`. The library
 * defines one object:
 *
 *     const emp_placer_type emp_placer = {.abi = EMP_PLACER_ABI, .name = "mine", ...};
 *
 * Ask and tell. The program owns the loop, and with it budget, clock, log and best placement:
 *
 *     init(state, &params);
 *     until the budget ends:  ask(state, rows, ...);  score them;  tell(state, scores, ...);
 *     clear(state);
 *
 * The functions run in a process of their own, a fork of the program with one thread. Their writes
 * elsewhere do not reach the program, and one that hangs or crashes ends the run with a
 * sentence. They may call all of <emplace/emplace.h> but teams, which the program exports to them.
 */
#ifndef EMP_EMPLACE_PLACER_H
#define EMP_EMPLACE_PLACER_H

#include <stddef.h>

#include <emplace/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EMP_PLACER_ABI = 1 };

/** The task of a placer. All is borrowed, and there until clear() returns. Frozen. */
typedef struct {
    const emp_graph   *graph;
    const emp_machine *machine;
    const emp_problem *problem;            /**< of the two */
    uint64_t           seed;               /**< of all its random numbers */
    int64_t            budget_evaluations; /**< 0: unknown */
    const char        *options;            /**< of --options; "" = none */
} emp_placer_params;

/** The oracle's score of a placement. Frozen. */
typedef struct {
    emp_time_ns step_time_ns; /**< also of what does not fit */
    int32_t     is_feasible;
    int32_t     reserved;
    double overflow_frac; /**< missing memory over a device's own, summed over devices */
} emp_placer_score;

/** A placer. Functions return EMP_OK, or another status with a sentence in \a err. Frozen. */
typedef struct {
    int32_t     abi; /**< EMP_PLACER_ABI */
    const char *name;
    size_t      state_bytes; /**< of the state, which init() gets zeroed */
    /** OPTIONAL. */
    emp_status (*init)(void *state, const emp_placer_params *params, emp_error *err);
    /** Fills device_of_op[i][op] for up to \a max placements, which need not be legal, and sets
     * their number; 0 ends the run. */
    emp_status (*ask)(void *state, emp_device_id *const *device_of_op, int32_t max,
                      int32_t *count, emp_error *err);
    /** OPTIONAL. Scores of the placements of the last ask(), in its order. */
    emp_status (*tell)(void *state, const emp_placer_score *scores, int32_t count,
                       emp_error *err);
    /** OPTIONAL. Frees what the state owns. */
    void (*clear)(void *state);
} emp_placer_type;

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_PLACER_H */
