/** \file graphs/import/models/fields.h
 * The members of a config.json by name, each with what stands for it where it is not there. The
 * first failure sticks, so that a reader of many members needs no checks.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_FIELDS_H
#define EMP_GRAPHS_IMPORT_MODELS_FIELDS_H

#include <stdbool.h>

#include "base/text/json.h"

typedef struct {
    const emp_json *object;
    const char     *family; /**< the model type, for messages */
    emp_status      status;
    emp_error      *err;
} emp_fields;

/** Of several names "hidden_size|n_embd" the first that is there and not null; NULL: none is. */
const emp_json *emp_fields_find(const emp_fields *f, const char *names);

/** An integer from 0 to 2^31 - 1; \a missing stands for one that is not there. A \a missing of -1
 * makes it one that must be there, and 0 then is no value. */
int32_t emp_fields_integer(emp_fields *f, const char *names, int32_t missing);
bool    emp_fields_flag(emp_fields *f, const char *names, bool missing);
/** A text, or NULL. */
const char *emp_fields_text(emp_fields *f, const char *names);

/** Member \a i of an array; NULL: it ends before. O(i). */
const emp_json *emp_fields_at(const emp_json *array, int32_t i);

#endif /* EMP_GRAPHS_IMPORT_MODELS_FIELDS_H */
