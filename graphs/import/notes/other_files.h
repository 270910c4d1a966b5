/** \file graphs/import/notes/other_files.h
 * Files that hold no graph and are named where one is wanted: what they are, and where they belong.
 *
 * Threads. No state.
 */
#ifndef EMP_GRAPHS_IMPORT_NOTES_OTHER_FILES_H
#define EMP_GRAPHS_IMPORT_NOTES_OTHER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text/json.h"

/** What a file is that is no JSON, by its first bytes: "YAML, and no graph; ...". O(1).
 * \return  NULL: it is none of the known ones. */
const char *emp_other_file(const char *bytes, size_t size, bool is_text);

/** Says what a JSON file is that no reader takes, by its key "format".
 * \retval EMP_EFORMAT  Always. */
emp_status emp_other_json_refuse(const emp_json *root, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_NOTES_OTHER_FILES_H */
