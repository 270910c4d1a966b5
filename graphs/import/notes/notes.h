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
#include "base/mem.h"

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
/** Of something that the graph leaves out or counts as another thing. */
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

#endif /* EMP_GRAPHS_IMPORT_NOTES_NOTES_H */
