/** \file sim/problem/sequence.h
 * Placements that an output form can state where colocation classes do not suffice: some classes are units of a
 * pipeline, and the units of a device follow one another. A CPU, where the form allows one, has the first units.
 *
 * emp_problem_legalize() moves a placement without that form to one near by: the GPUs have their units in the
 * order of the units' mean positions, and as few units as possible change their devices. A placement with the form
 * stays. So a method searches only what can be written.
 *
 * A form may also be without some devices, such as the CPUs of other hosts. emp_problem_legalize() gives what is
 * there to a device that stands in for them.
 *
 *     EMP_TRY(emp_problem_set_sequence(problem, unit_of_class, unit_count, home_of_class, err));
 *     emp_sequence_withhold(problem, device, stand_in);
 */
#ifndef EMP_SIM_PROBLEM_SEQUENCE_H
#define EMP_SIM_PROBLEM_SEQUENCE_H

#include "sim/problem/problem.h"

enum { EMP_SEQUENCE_UNITS_MAX = 2064 }; /* layers of a model, and what is around them */

struct emp_sequence {
    int32_t  unit_count;
    int32_t *class_of_unit; /**< [unit] */
    int32_t *unit_of_class; /**< [class] -1 = it may be anywhere */
    int32_t *
        home_of_class; /**< [class] a unit that it follows when that is moved; -1 = none */
    emp_device_id
        stand_in[EMP_MAX_DEVICES]; /**< [device] itself, unless it is withheld */
};

/** Has the units follow one another. Before a simulator or a method uses the problem.
 * \param class_of_unit  [unit_count] The classes in the order of the pipeline, none of them twice; copied.
 * \param home_of_class  [class count] For classes that are no units but belong to one, such as single weights of a
 *                       layer: the unit; -1 for others. Copied.
 * O(classes). \retval EMP_EINVAL  More units than EMP_SEQUENCE_UNITS_MAX. \retval EMP_ENOMEM */
emp_status emp_problem_set_sequence(emp_problem *problem, const int32_t *class_of_unit,
                                    int32_t unit_count, const int32_t *home_of_class,
                                    emp_error *err);

/** Takes a device from all ops of a problem that has a sequence. Before a simulator or a method uses the problem.
 * \param stand_in  A device of the same kind that is not withheld. */
void emp_sequence_withhold(emp_problem *problem, emp_device_id device,
                           emp_device_id stand_in);

void emp_sequence_destroy(struct emp_sequence *sequence); /**< NULL is allowed. */

/** Moves a placement whose classes are legal to one near by whose units follow one another. Devices that are none
 * stay. O(ops + units x devices), without allocating. */
void emp_sequence_project(const emp_problem *problem, emp_device_id *device_of_op);

#endif /* EMP_SIM_PROBLEM_SEQUENCE_H */
