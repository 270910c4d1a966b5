/** \file run/outside/outside_internal.h
 * What methods from outside share.
 */
#ifndef EMP_RUN_OUTSIDE_OUTSIDE_INTERNAL_H
#define EMP_RUN_OUTSIDE_OUTSIDE_INTERNAL_H

#include <stdatomic.h>

#include "run/outside/channel.h"
#include "run/outside/outside.h"

/** The first part of the state of each. */
typedef struct {
    const emp_problem *problem;
    const char        *name;       /**< of the method, as records have it */
    const char        *address;    /**< where it is: the name that was asked for */
    double             timeout_s;  /**< of one answer */
    double             deadline_s; /**< of the run; 0 = none */
    const atomic_int  *stop;
    emp_channel        channel;
} emp_outsider;

/** Reads what all have in common. \retval EMP_EINVAL  The timeout is no time. */
emp_status emp_outsider_init(emp_outsider *outsider, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err);

/** Until when the next answer is waited for. */
emp_channel_wait emp_outsider_wait(const emp_outsider *outsider);

/** What ask() and tell() return of a failure that \a why tells: with the method's name, and
 * EMP_OK where the run's time was up, so that it ends. */
emp_status emp_outsider_fail(const emp_outsider *outsider, emp_status st,
                             const emp_error *why, emp_error *err);

/** Whether all devices of candidate \a number are such.
 * \retval EMP_EFORMAT  The sentence names the op. */
emp_status emp_outsider_check(const emp_outsider *outsider, int32_t number,
                              const emp_device_id *device_of_op, emp_error *err);

/** The functions of the two kinds. */
extern const emp_method emp_outside_lines, emp_outside_plugin;

#endif /* EMP_RUN_OUTSIDE_OUTSIDE_INTERNAL_H */
