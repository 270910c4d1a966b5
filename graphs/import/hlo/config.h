/** \file graphs/import/hlo/config.h
 * The backend_config of an instruction: JSON, or JSON in a text in quotes.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_CONFIG_H
#define EMP_GRAPHS_IMPORT_HLO_CONFIG_H

#include "base/text/json.h"
#include "graphs/import/hlo/module.h"

/** Reads it; the root is NULL if there is none or it is no JSON. The caller clears \a d.
 * \retval EMP_ENOMEM */
emp_status emp_hlo_config_read(emp_json_document *d, const emp_hlo_module *m,
                               const emp_hlo_instruction *i, emp_error *err);

/** A member of the root, or of an object in it; NULL: there is none. */
const emp_json *emp_hlo_config_find(const emp_json *root, const char *key);

/** A whole number, also in a text; -1: it is none. */
int64_t emp_hlo_config_number(const emp_json *value);

#endif /* EMP_GRAPHS_IMPORT_HLO_CONFIG_H */
