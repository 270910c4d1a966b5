/** \file search/restored.h
 * Whether what a restored state holds makes sense: it may come from anywhere (emp_method's list_state()). */
#ifndef EMP_SEARCH_RESTORED_H
#define EMP_SEARCH_RESTORED_H

#include <stdbool.h>
#include <stdint.h>

/** Whether a count is one that a run can have come to: more can be added without overflow. */
static inline bool emp_count_is_valid(int64_t count)
{
    return count >= 0 && count <= INT64_C(1) << 53;
}

/** Whether all of \a count choices are in 0 .. \a choices - 1. */
static inline bool emp_choices_are_valid(const int32_t *choice, int64_t count,
                                         int32_t choices)
{
    for (int64_t i = 0; i < count; i++)
        if (choice[i] < 0 || choice[i] >= choices) return false;
    return true;
}

#endif /* EMP_SEARCH_RESTORED_H */
