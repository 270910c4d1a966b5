/** \file base/text/word_list.h
 * Lists of keys as options give them: "rnnlm,nmt2". NULL is the list of all.
 */
#ifndef EMP_BASE_TEXT_WORD_LIST_H
#define EMP_BASE_TEXT_WORD_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** True when the list has the word. */
bool emp_word_list_has(const char *list, const char *word);

/** Every word of the list must be one of key(context, 0), key(context, 1), ... up to NULL,
 * some of which may be equal.
 * \param what  What the list is of, for the message: "table 1 has no row".
 * \retval EMP_EINVAL  The message names the word and the keys, the first of many. */
emp_status emp_word_list_check(const char *list, const char *what,
                               const char *(*key)(const void *context, int32_t i),
                               const void *context, emp_error *err);

#endif /* EMP_BASE_TEXT_WORD_LIST_H */
