/** \file graphs/import/notes/reading.h
 * A file that is being read: its content, the options that a spec gives beside it, and the places for
 * results besides the graph. graphs/sources.c has the readers.
 *
 * Threads. Confined to one thread.
 */
#ifndef EMP_GRAPHS_IMPORT_NOTES_READING_H
#define EMP_GRAPHS_IMPORT_NOTES_READING_H

#include "base/text/file.h"
#include "base/text/json.h"
#include "base/text/options.h"
#include "graphs/import/notes/notes.h"
#include "graphs/import/proto/cursor.h"

/** The machine that a file is meant for. */
typedef struct {
    int32_t cpu_count; /**< 0: the file does not say */
    int32_t gpu_count;
    int64_t gpu_memory_bytes;
    const char
           *runtime;    /**< profile by whose rules it is meant, static; NULL: not said */
    int32_t core_count; /**< of each CPU; 0: the file does not say, which means 1 */
    char note[480]; /**< what the reader says of the file, in sentences; "" = nothing */
} emp_import_devices;

/** What callers say of a file that they name by its path; emp_import_params_default() fills it. */
typedef struct {
    int64_t     batch_hint; /**< stands in for unknown leading sizes; default 32 */
    bool        has_batch;  /**< the batch hint is given, not assumed */
    const char *targets;    /**< comma-separated op names, or NULL to find them */
    bool        ignore_output_shapes; /**< infer all shapes, whatever the file says */
    int32_t     loop_iterations; /**< of While ops, which call functions; default 1 */
    emp_import_notes *notes;     /**< NULL is fine */
} emp_import_params;

static inline emp_import_params emp_import_params_default(void)
{
    return (emp_import_params){.batch_hint = 32, .loop_iterations = 1};
}

/** The values of a spec's options fit in so many bytes. */
enum { EMP_READING_VALUES_BYTES = 128 };

typedef struct {
    const char     *path;
    emp_slice       bytes; /**< all of the file, unpacked */
    const emp_json *json;  /**< its root; NULL: the file is not JSON */
    emp_file       *file;  /**< for headers, of which no more than needed is read */

    const emp_spec_parts
               *spec;   /**< texts by the keys of the prefix, and the rest; all "" if the
                                       file is named without a prefix */
    const void *values; /**< of the prefix's options, by its table */
    const emp_import_params *params;

    emp_import_devices *devices; /**< zeroed */
    emp_import_notes   *notes;
} emp_reading;

#endif /* EMP_GRAPHS_IMPORT_NOTES_READING_H */
