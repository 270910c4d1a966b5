/** \file search/method_options.h
 * Options of a method: "key=value,key=value" with whole numbers or words as values.
 */
#ifndef EMP_SEARCH_METHOD_OPTIONS_H
#define EMP_SEARCH_METHOD_OPTIONS_H

#include <stdint.h>

#include "base/error.h"

/** An option that a method takes. */
typedef struct {
    const char *key;
    int64_t     minimum, maximum;
    int64_t    *value; /**< holds the default; overwritten when the option is given */
    const char *words; /**< of the values 0, 1, ..., a bar between; NULL = numbers */
} emp_option;

/** Reads \a text (NULL or "": none given) into the values of \a options.
 * \retval EMP_EINVAL  A key that the method does not take, or a value that is no whole
 * number of the range or none of the words; the message says what would be right. */
emp_status emp_options_parse(const char *text, const char *method,
                             const emp_option *options, int32_t option_count,
                             emp_error *err);

#endif /* EMP_SEARCH_METHOD_OPTIONS_H */
