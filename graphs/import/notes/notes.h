/** \file graphs/import/notes/notes.h
 * Sentences for people about a file: what its reader assumed, what it left out, and what is wrong
 * with it. And which of its nodes became which ops, for profiles that name nodes.
 *
 * Threads. Confined to one thread.
 */
#ifndef EMP_GRAPHS_IMPORT_NOTES_NOTES_H
#define EMP_GRAPHS_IMPORT_NOTES_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/file.h"
#include "base/text/json.h"
#include "base/text/options.h"
#include "graphs/import/proto/wire.h"
#include "sim/graph/graph_builder.h"

enum { EMP_NOTES_MAX = 20 }; /**< of each sort; more are counted */

/** A node of an ONNX model's outer graph. */
typedef struct {
    const char *name; /**< "" = it has none */
    const char *type;
    const char     *
        op; /**< its ops have this name, or names that begin with it and a slash; NULL: it has none */
    int32_t into; /**< the node whose ops stand for it, too; -1 = none */
} emp_import_node;

/** Zero-initialise; emp_import_notes_clear() releases it. */
typedef struct {
    const char *what; /**< the file: "an ONNX model of pytorch 1.13"; or NULL */
    const char *assumption[EMP_NOTES_MAX], *warning[EMP_NOTES_MAX],
        *problem[EMP_NOTES_MAX];
    int32_t assumption_count, warning_count,
        problem_count;     /**< all, also those that are not kept */
    emp_import_node *node; /**< in the order of the file; NULL but for ONNX models */
    int32_t          node_count;
    emp_arena        texts;
} emp_import_notes;

/* Each adds a sentence, unless it is there already or \a notes is NULL. Control characters become
 * '?'. Without memory the sentence is counted and lost. */
EMP_PRINTF_LIKE(2, 3)
void emp_import_notes_assume(emp_import_notes *notes, const char *format, ...);
/** A warning: the graph leaves something out or counts as another thing. */
EMP_PRINTF_LIKE(2, 3)
void emp_import_notes_warn(emp_import_notes *notes, const char *format, ...);
EMP_PRINTF_LIKE(2, 3)
void emp_import_notes_problem(emp_import_notes *notes, const char *format, ...);

/** Says what the file is. */
EMP_PRINTF_LIKE(2, 3)
void emp_import_notes_say(emp_import_notes *notes, const char *format, ...);

/** \retval EMP_EFORMAT  There is a problem; the message has the first and how many there are. */
emp_status emp_import_notes_check(const emp_import_notes *notes, emp_error *err);

void emp_import_notes_clear(emp_import_notes *notes);

/* A file that is being read: its content, the options that a spec gives beside it, and the places for
 * results besides the graph. graphs/sources.c has the readers.
 *
 * Threads. Confined to one thread.
 */

/** The machine that a file is meant for. */
typedef struct {
    int32_t cpu_count; /**< 0: the file does not say */
    int32_t gpu_count;
    int64_t gpu_memory_bytes;
    const char
           *runtime;    /**< profile by whose rules it is meant, static; NULL: not said */
    int32_t core_count; /**< of each CPU; 0: the file does not say, which means 1 */
    char gpu_name[64];  /**< that its times were measured on; "": the file does not say */
    char note[480]; /**< what the reader says of the file, in sentences; "" = nothing */
} emp_import_devices;

/** The options of callers for a file that they name by its path; emp_import_params_default() fills it. */
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
    const char        *path;
    emp_slice          bytes; /**< all of the file, unpacked */
    const emp_json    *json;  /**< its root; NULL: the file is not JSON */
    struct emp_kineto *trace; /**< that JSON may be; it owns the document */
    emp_file          *file;  /**< for headers, of which no more than needed is read */

    const emp_spec_parts
               *spec;   /**< texts by the keys of the prefix, and the rest; all "" if the
                                       file is named without a prefix */
    const void *values; /**< of the prefix's options, by its table */
    const emp_import_params *params;

    emp_import_devices *devices; /**< zeroed */
    emp_import_notes   *notes;
} emp_reading;

/* Benchmark instances: files whose ops come with times and sizes of their own. State that
 * readers share.
 */

/** The longest time and the largest size of an op; of half a million, ten times as long on a CPU,
 * the sum fits in 64 bits. */
#define EMP_INSTANCE_MS_MAX    1e6
#define EMP_INSTANCE_BYTES_MAX 1e12

enum { EMP_INSTANCE_NAME_BYTES = 128 };

/** A CPU takes so many times as long where a file has times of GPUs only, as in the instances that
 * Tarnawski et al. (NeurIPS 2020) made of such profiles. */
enum { EMP_INSTANCE_CPU = 10 };

/** Nanoseconds of 0 to EMP_INSTANCE_MS_MAX milliseconds. */
int64_t emp_instance_ns(double ms);

/** Whole bytes of 0 to EMP_INSTANCE_BYTES_MAX. */
int64_t emp_instance_bytes(double bytes);

/** Adds an op, whose name is in "gradients/", as TensorFlow's are, if it is of the backward
 * pass. \retval EMP_EFORMAT  The name is taken, or too long. */
emp_status emp_instance_add(emp_graph_builder *b, const char *name, bool is_backward,
                            const char *type, const emp_stated_op *stated, emp_op_id *op,
                            emp_error *err);

/** A step runs every op: marks those as targets whose results are not read. */
emp_status emp_instance_set_targets(emp_graph *graph, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_NOTES_NOTES_H */
