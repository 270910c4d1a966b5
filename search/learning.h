/** \file search/learning.h
 * The part of a method that only learners have: weights that other graphs can begin with, imitation of
 * examples, and updates that several ranks make together.
 */
#ifndef EMP_SEARCH_LEARNING_H
#define EMP_SEARCH_LEARNING_H

#include "search/method.h"

/** How several ranks (run/ranks/ranks.h), each with a state of its own, make one update:
 *
 *     each: backward();  the arrays of list_gradient() are added over ranks;  each: step()
 *
 * tell() is backward() of the state's own candidates, and step(). */
typedef struct {
    /** Leaves the gradient of the state's own part of an update. \a scores are those of all
     * \a count candidates of it, in order of ranks; those from \a first on are the \a own
     * that were asked of this state last; with none of them it is 0. */
    emp_status (*backward)(void *state, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own, emp_error *err);
    /** Changes the parameters by the gradient. */
    void (*step)(void *state);
    /** As list_state(): what backward() leaves for step(). A sum over ranks is meant, also
     * of integers: a flag is set when it is not 0. */
    int32_t (*list_gradient)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
    /** As list_state(): what of later asks and updates step() changes, without what only
     * step() itself reads. */
    int32_t (*list_values)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
} emp_method_sharing;

typedef struct emp_method_learning {
    /** OPTIONAL. Lists, as list_state(), what of the state is worth having on another problem:
     * parameters, and the moments of their optimizer. Sizes follow from the options, and at most
     * from the number of devices. A change in what the numbers mean takes another name. There are
     * no arrays where the options make networks that fit one graph alone. */
    int32_t (*list_weights)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
    /** The options with which alone list_weights() has arrays, "features=costs"; NULL: it has some with
     * any. */
    const char *weights_options;

    /** OPTIONAL. One supervised step of its weights towards an example, which has
     * all that is decided and is legal; no score is needed. \return through \a loss how unlike it
     * the policy was before. Called between a tell and an ask, and before the first ask.
     * EMP_EINTERRUPTED needs no sentence: the weights are as before. */
    emp_status (*imitate)(void *state, const emp_owned_decision *example, double *loss,
                          emp_error *err);

    /** OPTIONAL; without it a run has one rank. */
    const emp_method_sharing *sharing;
} emp_method_learning;

/** Whether the method has weights, with some options at least. */
bool emp_method_has_weights(const emp_method *type);
/** \retval EMP_EUNSUPPORTED  It has none. */
emp_status emp_method_need_weights(const emp_method *type, emp_error *err);

/** Whether the weights of a state fit another graph. \retval EMP_EUNSUPPORTED  They do not. */
emp_status emp_method_check_weights(const emp_method *type, void *state, emp_error *err);

/** Copies the weights of a state (emp_weights_take()), with the method's name.
 * \retval EMP_EUNSUPPORTED  They fit no other graph. \retval EMP_EINVAL, EMP_ENOMEM */
emp_status emp_method_take_weights(emp_weights *weights, const emp_method *type,
                                   void *state, emp_error *err);

/** Gives the weights to a state; NULL leaves it as it is.
 * \retval EMP_EFORMAT  They are damaged. \retval EMP_EINVAL  They are of other networks. */
emp_status emp_method_give_weights(const emp_method *type, void *state,
                                   const emp_weights *weights, emp_error *err);

#endif /* EMP_SEARCH_LEARNING_H */
