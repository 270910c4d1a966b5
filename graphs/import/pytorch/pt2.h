/** \file graphs/import/pytorch/pt2.h
 * Archives of torch.export (.pt2): the graph of a forward pass, with the roles and modules that it states.
 * Only the list of weights is read, which says where they are.
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

/** Reads the graph. \a weights tells which names share a tensor: it is read once, and has several readers. \a notes takes
 * what is assumed of branches and loops. O(size)
 * expected. The caller clears \a program, also after a failure.
 * \retval EMP_EFORMAT       The message tells what is wrong with up to 20 nodes.
 * \retval EMP_EUNSUPPORTED  Too many nodes. \retval EMP_ENOMEM */
emp_status emp_pt2_read(emp_torch_program *program, const emp_json *root,
                        const emp_pt2_weights *weights, emp_import_notes *notes,
                        emp_error *err);

/* One graph of a torch.export archive while it is read. A node may run a graph of its own (torch.cond, scan), whose
 * names are its own and whose nodes join the same program. Internal to pt2.c and pt2_inner.c.
 */

/** The node that makes a tensor; node -1: the value is no tensor. */
typedef struct {
    int32_t node, result;
} emp_pt2_maker;

/** Tensors that a step keeps though no node reads them. The struct is open; its owner frees \a maker. */
typedef struct {
    emp_pt2_maker *maker;
    int32_t        count, capacity;
} emp_pt2_kept;

/** Its maps borrow names from the JSON, which outlives the reader. */
typedef struct {
    emp_torch_program *p;
    emp_strmap         tensor_of_name; /**< into tensor[] */
    const emp_json   **tensor;         /**< members of tensor_values */
    emp_strmap         maker_of_name;  /**< into maker[] */
    emp_pt2_maker     *maker;
    int32_t            maker_count, maker_capacity;

    const emp_pt2_weights *weights;
    int32_t *node_of_weight; /**< [tensor of weights] its node, -1: not met yet */

    emp_import_notes *notes;
    emp_pt2_kept     *kept;   /**< of the outermost graph */
    const char       *prefix; /**< before the names of nodes; "" in the outermost graph */
    const char       *module; /**< of nodes that name none; may be NULL */
    int32_t           depth;  /**< graphs around this one */
} emp_pt2_reader;

emp_status emp_pt2_index_tensors(emp_pt2_reader *r, const emp_json *values,
                                 emp_error *err);
/** Shape and type of a tensor of this graph. \a place begins the message of a failure. */
emp_status emp_pt2_read_tensor(emp_pt2_reader *r, const char *name, const char *place,
                               emp_tensor_info *tensor, emp_error *err);
emp_status emp_pt2_set_maker(emp_pt2_reader *r, const char *name, emp_pt2_maker made,
                             emp_error *err);
/** Adds a node to the program; the graph's prefix goes before its name. */
emp_status emp_pt2_add_node(emp_pt2_reader *r, emp_torch_node *node, const char *place,
                            emp_error *err);
/** Reads the node at \a number of a graph's list. */
emp_status emp_pt2_read_node(emp_pt2_reader *r, const emp_json *json, int32_t number,
                             emp_error *err);
void       emp_pt2_reader_clear(emp_pt2_reader *r);

/** Puts the nodes of the graph that a higher-order op runs in place of the op: the body of a wrapper, the larger graph
 * of a cond, the body of a scan or a map once for each slice, of a while_loop as often as its counter says, else once.
 * Choices that data would make are assumptions. \a names has the op's results, NULL for those that are no tensors.
 * \a *is_run is false where the op is no such op, and then nothing has been added. */
emp_status emp_pt2_run_inner(emp_pt2_reader *r, const emp_json *node, const char **names,
                             int32_t count, const char *name, const char *module,
                             const char *place, bool *is_run, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PT2_H */
