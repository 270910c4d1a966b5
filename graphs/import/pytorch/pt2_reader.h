/** \file graphs/import/pytorch/pt2_reader.h
 * One graph of a torch.export archive while it is read. A node may run a graph of its own (torch.cond, scan), whose
 * names are its own and whose nodes join the same program. Internal to pt2.c and pt2_inner.c.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PT2_READER_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PT2_READER_H

#include "graphs/import/notes/notes.h"
#include "graphs/import/pytorch/program.h"
#include "graphs/import/pytorch/pt2.h"

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

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PT2_READER_H */
