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
#include "graphs/import/notes/notes.h"
#include "graphs/import/pytorch/program.h"

/* Which weights of an archive of torch.export are one tensor, as a head and an embedding are that are tied.
 *
 * The list of weights gives each name a file, sizes, strides and an offset. Names that have all of these in common
 * share a tensor. Weights of a model on "meta" are all in one empty file, so that such an archive does not say it.
 * The struct is open and belongs to the caller: {0} is an archive that has no list. */

typedef struct {
    emp_strmap tensor_of_name;
    int32_t    tensor_count;
    bool is_silent; /**< some names may share a tensor, and the archive does not say it */
    emp_arena texts;
} emp_pt2_weights;

/** Reads the list of the archive in \a bytes, if it has one. O(size) expected. The caller clears \a weights, also
 * after a failure. \retval EMP_EFORMAT  The list is damaged or no JSON. \retval EMP_ENOMEM */
emp_status emp_pt2_weights_read(emp_pt2_weights *weights, const char *bytes, size_t size,
                                emp_error *err);
void       emp_pt2_weights_clear(emp_pt2_weights *weights);

/** The number of the tensor of that name, below tensor_count, which names that share it have in common; -1: the archive
 * does not say. O(1) expected. */
int32_t emp_pt2_weights_tensor(const emp_pt2_weights *weights, const char *name);

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

/** Reads the graph. \a weights tells which names share a tensor: it is read once, and has several readers. \a notes takes
 * what is assumed of branches and loops. O(size)
 * expected. The caller clears \a program, also after a failure.
 * \retval EMP_EFORMAT       The message tells what is wrong with up to 20 nodes.
 * \retval EMP_EUNSUPPORTED  Too many nodes. \retval EMP_ENOMEM */
emp_status emp_pt2_read(emp_torch_program *program, const emp_json *root,
                        const emp_pt2_weights *weights, emp_import_notes *notes,
                        emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PT2_H */
