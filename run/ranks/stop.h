/** \file run/ranks/stop.h
 * Stops of work that ranks share. A signal comes to ranks at different moments, or to one of them
 * alone. A rank that went on or ended by its own flag would wait for ever for the others: so they
 * ask each other.
 */
#ifndef EMP_RUN_RANKS_STOP_H
#define EMP_RUN_RANKS_STOP_H

#include "base/work/stop.h"
#include "run/ranks/ranks.h"

/** Collective, with ranks: all go on with what comes next, or none does.
 * \param[in] ranks  NULL: there are no others.
 * \param[in] st     What this rank has so far; also those call that have failed.
 * \retval EMP_OK            No rank has failed, and none was stopped.
 * \retval EMP_EINTERRUPTED  A rank was stopped: by \a st or by its flag.
 * \retval EMP_EELSEWHERE    Another rank has failed. Else \a st. */
emp_status emp_ranks_go_on(const emp_ranks *ranks, const atomic_int *stop, emp_status st,
                           emp_error *err);

/** Of what an exchange with others has given: after a stop rank 0 does not wait for ranks that have
 * gone, and that is no failure.
 * \return EMP_EINTERRUPTED and an empty \a err then; else \a st. */
emp_status emp_ranks_excuse(emp_status st, const emp_ranks *ranks, const atomic_int *stop,
                            emp_error *err);

#endif /* EMP_RUN_RANKS_STOP_H */
