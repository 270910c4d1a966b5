// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/ranks/stop.h"

#include "base/mem.h"

emp_status emp_ranks_excuse(emp_status st, const emp_ranks *ranks, const atomic_int *stop,
                            emp_error *err)
{
    if (st != EMP_EEXTERNAL || ranks->rank > 0 || !emp_stop_is_set(stop)) return st;
    if (err != NULL) *err = (emp_error){0};
    return EMP_EINTERRUPTED;
}

/* all: room for a flag of each rank. */
static emp_status ask(int32_t *all, const emp_ranks *ranks, int32_t is_stopped,
                      emp_error *err)
{
    EMP_CHECK(ranks->agree(EMP_OK, err));
    EMP_CHECK(ranks->gather(&is_stopped, all, sizeof is_stopped, err));
    for (int32_t i = 0; i < ranks->count; i++)
        if (all[i] != 0) return EMP_EINTERRUPTED;
    return EMP_OK;
}

emp_status emp_ranks_go_on(const emp_ranks *ranks, const atomic_int *stop, emp_status st,
                           emp_error *err)
{
    const bool has_failed = st != EMP_OK && st != EMP_EINTERRUPTED;
    const bool is_stopped = st == EMP_EINTERRUPTED || emp_stop_is_set(stop);

    if (has_failed) return ranks != NULL ? ranks->agree(st, err) : st;
    if (ranks == NULL) return is_stopped ? EMP_EINTERRUPTED : EMP_OK;
    int32_t *all = EMP_NEW_ARRAY(int32_t, (size_t)ranks->count);
    if (all == NULL)
        return ranks->agree(EMP_ERROR(EMP_ENOMEM, "%d ranks", ranks->count), err);
    st = emp_ranks_excuse(ask(all, ranks, is_stopped, err), ranks, stop, err);
    emp_free(all);
    return st;
}
