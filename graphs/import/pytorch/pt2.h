/** \file graphs/import/pytorch/pt2.h
 * Archives of torch.export (.pt2): the graph of a forward pass, with the roles and modules that it states.
 * Of weights only the list is read, which says where they are.
 *
 * Source: PyTorch's torch/_export/serde/schema.py (schema versions 5 to 8) and its pt2_archive. Archives of
 * PyTorch 2.11 have been read; no older one has.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PT2_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PT2_H

#include "base/text/json.h"
#include "graphs/import/pytorch/program.h"
#include "graphs/import/pytorch/pt2_weights.h"

/** The JSON of the graph in an archive: "serialized_exported_program.json", or the one under "models/".
 * \a *json is the caller's, to be released by emp_free().
 * \retval EMP_EFORMAT  No archive, damaged, without such a graph, or one that unpacks to far more than the archive
 *                      has bytes. \retval EMP_ENOMEM */
emp_status emp_pt2_unpack(const char *bytes, size_t size, char **json, size_t *json_size,
                          emp_error *err);

/** The list of weights, "NAME_weights_config.json", as emp_pt2_unpack() gives the graph; \a *json is NULL if there is
 * none, as in older archives. */
emp_status emp_pt2_unpack_weights(const char *bytes, size_t size, char **json,
                                  size_t *json_size, emp_error *err);

/** Bytes of the \a file that the list of weights names; 0: there is none. O(entries). */
size_t emp_pt2_weight_bytes(const char *bytes, size_t size, const char *file);

/** Reads the graph. \a weights tells which names share a tensor: it is read once, and has several readers. O(size)
 * expected. The caller clears \a program, also after a failure.
 * \retval EMP_EFORMAT       The message tells what is wrong with up to 20 nodes.
 * \retval EMP_EUNSUPPORTED  Too many nodes. \retval EMP_ENOMEM */
emp_status emp_pt2_read(emp_torch_program *program, const emp_json *root,
                        const emp_pt2_weights *weights, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PT2_H */
