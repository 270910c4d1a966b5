/** \file graphs/sources.h
 * The table of sources: the prefixes of specs, and the formats of files with their marks, their readers
 * and the runtimes that fit them. docs/extending.md adds a row.
 *
 * Threads. The table is constant.
 */
#ifndef EMP_GRAPHS_SOURCES_H
#define EMP_GRAPHS_SOURCES_H

#include "base/text/json.h"
#include "graphs/import/notes/readers.h"

/** The word before the colon of a spec, "hf" of "hf:path=config.json,phase=train". */
typedef struct {
    const char *name;
    const char *keys[EMP_SPEC_TEXTS_MAX + 1]; /**< of texts; the first is the file's */
    const emp_option *options;                /**< the other keys */
    const char       *description, *example;
    const char       *is_for; /**< says in a refusal which files take the options */
} emp_source_prefix;

/** A format of files. Those without a reader are known only so that a refusal names them. */
typedef struct {
    const char *name;   /**< "an ONNX model" */
    const char *prefix; /**< of the specs whose options it takes; NULL: none */

    /* It is recognised by one of these. */
    const char *magic; /**< the beginning of the file, or of "format" in a JSON file */
    int32_t     magic_at;
    bool (*is)(emp_slice file);
    bool (*is_json)(const emp_json *root);

    /* It has one of these, or none. */
    emp_status (*read)(emp_graph_builder *builder, emp_reading *r, emp_error *err);
    emp_status (*load)(emp_graph **out, emp_reading *r, emp_error *err);
    const char *
        instead; /**< of formats that are not read, and for specs of others: what would do */
    /** For formats that are read: how to write a damaged file anew, or where the form is described. */
    const char *anew;
    bool has_graph; /**< and is refused as EMP_EUNSUPPORTED, others as EMP_EFORMAT */

    bool
         is_header; /**< recognised by the first block; its reader reads what it needs of the rest */
    bool marks_targets; /**< read() does; else a step runs all ops */
    emp_graph_source
        source; /**< says which runtime fits; EMP_SOURCE_PROGRAM: the reader sets it */
} emp_source_format;

/** All prefixes; sets \a *count. */
const emp_source_prefix *emp_source_prefixes(int32_t *count);

/** The prefix of a spec, or of a bare "hf" that is no file; NULL: it has none. */
const emp_source_prefix *emp_source_prefix_of(const char *spec);

/** Whether a spec begins with the prefix of that name and a colon. */
bool emp_source_has_prefix(const char *spec, const char *name);

/** The format of a file, whose content is in \a r: the first of the table that fits. NULL: none does, or
 * the format needs more than the first block, which is all that \a r has (\a is_block). */
const emp_source_format *emp_source_format_find(const emp_reading *r, bool is_block);

/** Whether a file of that format can be read by its name (\a prefix NULL), or by a spec of that prefix.
 * \retval EMP_EINVAL        The prefix is for other files.
 * \retval EMP_EUNSUPPORTED, EMP_EFORMAT  There is no reader; the message says what would do. */
emp_status emp_source_check(const emp_source_format *format,
                            const emp_source_prefix *prefix, const emp_reading *r,
                            emp_error *err);

/** Returns what a user can do about a file of the format that a reader has refused with a status: an option, the way
 * to write the file anew, or what a report should hold. NULL: nothing is known, or \a msg says it already behind
 * a semicolon. Static storage. */
const char *emp_source_advice(const emp_source_format *format, emp_status status,
                              const char *msg);

#endif /* EMP_GRAPHS_SOURCES_H */
