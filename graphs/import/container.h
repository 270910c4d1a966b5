/** \file graphs/import/container.h
 * Finds the GraphDef in a file: the file itself, or a part of a MetaGraphDef or
 * SavedModel. The content decides which kind of file it is; its name does not matter.
 */
#ifndef EMP_GRAPHS_IMPORT_CONTAINER_H
#define EMP_GRAPHS_IMPORT_CONTAINER_H

#include "graphs/import/proto/message.h"
#include "sim/graph/graph.h"

/** Slices of the file. */
typedef struct {
    emp_slice graph;
    emp_slice meta; /**< the MetaGraphDef around it; data NULL = none */
} emp_container;

/** Whether a file is text, by its first bytes. */
bool emp_container_is_text(emp_slice file);

/** Puts a file in memory behind the message readers, and decides between wire format and
 * text. \a bytes is borrowed. */
void emp_message_file_init(emp_message_file *file, const char *bytes, size_t size);

void emp_message_file_clear(emp_message_file *file);

/** Finds the graph; of several meta graphs in a SavedModel, the first one's.
 * \retval EMP_EFORMAT  There is none; the message says what the file is, as far as known.
 */
emp_status emp_container_find(emp_message_file *file, emp_container *out, emp_error *err);

/** Calls \a visit with each op name of the collection "train_op" of a MetaGraphDef. */
emp_status emp_container_each_train_op(emp_message_file *file, emp_slice meta,
                                       emp_status (*visit)(void *context, emp_slice name,
                                                           emp_error *err),
                                       void *context, emp_error *err);

/* Signatures: how a SavedModel names the tensors that one call of it gives. */

typedef struct {
    emp_slice name;  /**< of no bytes: the file has none */
    emp_slice entry; /**< its message */
    int32_t   count; /**< of all signatures of steps */
    char      names[256];
} emp_signature;

typedef emp_status emp_signature_visit(void *context, emp_slice tensor, emp_error *err);

/** Chooses the signature \a wanted, or the first by name if the file has none of that name. The one that
 * initialises variables is no step. */
emp_status emp_signature_choose(emp_signature *out, emp_message_file *file,
                                emp_slice meta, const char *wanted, emp_error *err);

/** Calls \a visit with the name of each tensor that a call gives, "StatefulPartitionedCall:0". */
emp_status emp_signature_each_output(const emp_signature *signature,
                                     emp_message_file *file, emp_signature_visit *visit,
                                     void *context, emp_error *err);

/* The ops that one step of a graph from a file runs. */

/** Marks the ops of a comma-separated list; "name:port" names the op, too.
 * \retval EMP_EINVAL  One is no op of the graph, or the list is empty. */
emp_status emp_targets_parse(emp_graph *graph, const char *list, emp_error *err);

/** Finds them. \a meta is a MetaGraphDef, or its data are NULL.
 *
 * A step runs the train_op collection of a MetaGraphDef if there is one; else every op that an
 * optimizer or a moving average uses to update a variable, the sinks behind them, and as losses the
 * scalar float sinks outside of "gradients/"; else (inference graphs) every sink that is computed and
 * neither waits for an Assign nor saves or restores variables.
 * \retval EMP_EUNSUPPORTED  A MetaGraphDef only saves, restores and assigns. */
emp_status emp_targets_find(emp_graph *graph, emp_message_file *file, emp_slice meta,
                            emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_CONTAINER_H */
