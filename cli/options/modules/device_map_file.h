/** \file cli/options/modules/device_map_file.h
 * The lines of a device_map in a file that `--out FILE.py` has written (device_map.h):
 *
 *     DEVICE_MAP = {
 *         "model.layers.0": "cuda:0",
 *         "lm_head": "cpu",  # a comment
 *     }
 *
 * What stands before the dictionary, and after it, is not looked at. No Python is run.
 */
#ifndef EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_FILE_H
#define EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strmap.h"

enum { CLI_MAP_CPU = -1 };

typedef struct {
    const char *module; /**< its path; "" is the model itself */
    size_t      length;
    int32_t     gpu;  /**< the N of "cuda:N", or CLI_MAP_CPU */
    int32_t     line; /**< of the file, from 1 on */
} cli_map_entry;

/** Zero-initialise; cli_map_file_clear() releases it. */
typedef struct {
    cli_map_entry *entry;
    int32_t        count;
    emp_strmap     entry_of_module;
    char          *text; /**< owns the paths */
} cli_map_file;

/** Reads the dictionary in \a size bytes; \a path is for messages. Clear \a map afterwards, also after a
 * failure. O(size).
 * \retval EMP_EFORMAT  There is no dictionary, or a line of it is of another form, or names a module again.
 * \retval EMP_ENOMEM */
emp_status cli_map_file_parse(cli_map_file *map, const char *bytes, size_t size,
                              const char *path, emp_error *err);

/** The entry whose path is the longest that begins \a name of \a length bytes, cut at dots; -1 = none
 * does. O(length). */
int32_t cli_map_file_find(const cli_map_file *map, const char *name, size_t length);

void cli_map_file_clear(cli_map_file *map);

#endif /* EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_FILE_H */
