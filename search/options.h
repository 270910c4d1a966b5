/** \file search/options.h
 * Options of a learner, as "name=value,name=value": numbers, or one of a few names. A
 * learner keeps them as a struct of doubles and lists name, place and range of each.
 */
#ifndef EMP_SEARCH_OPTIONS_H
#define EMP_SEARCH_OPTIONS_H

#include <stddef.h>

#include "base/error.h"

typedef struct {
    const char *name;
    size_t      offset; /**< of its double in the learner's struct */
    double      low, high;
    int         whole; /**< only whole numbers */
    const char *names; /**< of the values 0, 1, ..., blanks between; NULL = numbers */
} emp_named_option;

/** Writes what \a text gives (NULL or "": nothing) into \a options; the rest stays.
 * \retval EMP_EINVAL  An unknown name, or a value out of range; the message, which begins
 *                     with \a method, lists what would be right. */
emp_status emp_named_options_parse(void *options, const char *method,
                                   const emp_named_option *table, size_t count,
                                   const char *text, emp_error *err);

#endif /* EMP_SEARCH_OPTIONS_H */
