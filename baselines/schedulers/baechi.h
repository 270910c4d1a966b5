/** \file baselines/schedulers/baechi.h
 * The event loop of Baechi (Jeon et al., SoCC 2020), which m-ETF and m-SCT share, after its
 * program.
 *
 * A device runs one task at a time and has one channel for all that it sends and receives.
 * A transfer begins at the sender when its task has ended and the channel is free, at the
 * receiver when that one's channel is free as well, and holds each of them for as long as it
 * takes. What a device has received it keeps; what else a task reads of one producer comes in
 * one transfer. A transfer is booked with the task that reads it, producers in ascending
 * order, and what a choice is judged by is exactly what booking would give.
 *
 * At each moment, of all ready tasks and devices on which they fit and could start by now,
 * the earliest such pair is booked, until there is none; then time goes on to the next
 * moment at which a task could start or a device is free. A task that did not fit may do so
 * later, when others have given memory back. Ties go to the lower task, then device.
 *
 * Favourites (Hanen and Munier 1995). When a task has ended and its favourite child, all of
 * whose producers have ended, could start nowhere earlier than on this device, then the
 * device is awake: it runs that child, or meanwhile a task that is urgent, one that by now
 * could start on any device that it may use, and nothing else.
 */
#ifndef EMP_BASELINES_SCHEDULERS_BAECHI_H
#define EMP_BASELINES_SCHEDULERS_BAECHI_H

#include "baselines/schedulers/list_schedule.h"

/** Books every task of an empty schedule. \a favourite_child [task] has -1 where there is
 * none; NULL: nobody has one. O(V R D I) with R ready tasks and I inputs.
 * \retval EMP_ENOMEM \retval EMP_EINFEASIBLE  What is left fits nowhere. */
emp_status emp_baechi_schedule(emp_list_schedule *s, const int32_t *favourite_child,
                               emp_error *err);

#endif /* EMP_BASELINES_SCHEDULERS_BAECHI_H */
