/** \file tests/baselines/schedulers/plain_list.h
 * The list schedulers once more, as plainly as their rules can be written: no state but the
 * bookings, from which all else is worked out anew each time, and time that goes on by 1 ns.
 */
#ifndef EMP_TESTS_BASELINES_SCHEDULERS_PLAIN_LIST_H
#define EMP_TESTS_BASELINES_SCHEDULERS_PLAIN_LIST_H

#include "tests/baselines/schedulers/hand_tasks.h"

typedef struct {
    const hand_tasks *h;
    int               n, devices;
    bool              is_stuck;           /**< a task fits nowhere */
    int               device[HAND_TASKS]; /**< -1: not booked */
    long              start[HAND_TASKS], end[HAND_TASKS];
    /* of m-ETF and m-SCT */
    long channel[HAND_DEVICES];
    long received[HAND_TENSORS][HAND_DEVICES]; /**< -1: not there */
    int  last[HAND_DEVICES];
} plain_list;

void plain_heft(plain_list *p, const hand_tasks *h);
void plain_peft(plain_list *p, const hand_tasks *h);
void plain_etf(plain_list *p, const hand_tasks *h);
/** Whether these bookings, -1 where there are none, are some that the critical path's rule
 * permits: all of them, or those before a task fits nowhere. */
bool plain_critical_path_permits(plain_list *p, const hand_tasks *h, const int *device,
                                 const long *start);
void plain_m_topo(plain_list *p, const hand_tasks *h);
/** \a favourite [task], or -1; NULL for m-ETF. */
void plain_baechi(plain_list *p, const hand_tasks *h, const int *favourite);

#endif /* EMP_TESTS_BASELINES_SCHEDULERS_PLAIN_LIST_H */
