/** \file graphs/import/pytorch/program.h
 * A graph of PyTorch as its files state it: calls in the order in which they run, with their
 * arguments and the tensors that come out. The readers of both are here, too; lower.h turns it into ops.
 *
 * The struct is open and belongs to whoever reads a file. All texts and arrays are in its arena.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PROGRAM_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PROGRAM_H

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/notes/notes.h"
#include "sim/graph/op.h"

typedef enum {
    EMP_TORCH_NONE, /**< None, and all that no reader needs */
    EMP_TORCH_BOOL,
    EMP_TORCH_INT,
    EMP_TORCH_REAL,
    EMP_TORCH_TEXT,
    EMP_TORCH_TENSOR,
    EMP_TORCH_LIST
} emp_torch_kind;

/** An argument or a part of one. */
typedef struct {
    emp_torch_kind kind;
    int32_t        first, count; /**< of a list: its items, value[first ..] */
    int32_t        node, result; /**< of a tensor: what makes it */
    bool           is_written;   /**< of a tensor: by the call, whatever its name says */
    int64_t        number;       /**< BOOL, INT */
    const char    *text;
    const char    *key; /**< name of the parameter, NULL where only its place tells it */
} emp_torch_value;

/** The role of a placeholder in a step. */
typedef enum {
    EMP_TORCH_UNTOLD,
    EMP_TORCH_INPUT,
    EMP_TORCH_PARAMETER,
    EMP_TORCH_BUFFER,
    EMP_TORCH_STATE /**< of an optimizer */
} emp_torch_role;

typedef enum { EMP_TORCH_PLACEHOLDER, EMP_TORCH_CALL, EMP_TORCH_OUTPUT } emp_torch_what;

typedef struct {
    emp_torch_what   what;
    emp_torch_role   role; /**< of a placeholder */
    const char      *name; /**< unique */
    const char      *target;
    const char      *module;       /**< "layers.0.attn", or NULL: the file does not say */
    int32_t          first, count; /**< arguments: value[first ..] */
    emp_tensor_info *result;
    int32_t          result_count;
    bool             is_tuple;  /**< results have numbers, even if there is one */
    bool             is_update; /**< the trace has it within the step of an optimizer */
    int32_t          ranks;     /**< of a collective's group; 0: the file does not say */
} emp_torch_node;

typedef struct {
    const char *kind; /**< what the file is, for people */
    int64_t
         stated_parameters; /**< elements of all parameters; -1: the file does not say */
    bool states_results;    /**< of each call: a product without results is an error */
    bool has_whole_ops; /**< a reshape that copies is one call, not those that it makes */
    bool hides_ties; /**< parameters may share a tensor, and the file does not say it */

    emp_torch_node  *node;
    int32_t          node_count, node_capacity;
    emp_torch_value *value;
    int32_t          value_count, value_capacity;
    emp_strmap       node_of_name;
    emp_arena        texts;
} emp_torch_program;

void emp_torch_program_clear(emp_torch_program *p);

/** Appends a node whose texts are copied. \retval EMP_EFORMAT  The name is taken, empty, or no plain
 * text; the message begins with \a place. \retval EMP_ENOMEM */
emp_status emp_torch_program_add(emp_torch_program *p, const emp_torch_node *node,
                                 const char *place, emp_error *err);

/** Makes room for \a count values that follow one another. \a *first is the number of the first. */
emp_status emp_torch_program_reserve(emp_torch_program *p, int32_t count, int32_t *first,
                                     emp_error *err);

/** The argument of that name, else the one at \a place that has no name or that very name; NULL: there
 * is none, or it is None. */
const emp_torch_value *emp_torch_argument(const emp_torch_program *p,
                                          const emp_torch_node *node, int32_t place,
                                          const char *key);

/** Whether a list, or a single value, holds such values; an empty list holds none. */
bool emp_torch_is_list_of(const emp_torch_program *p, const emp_torch_value *v,
                          emp_torch_kind kind);

/* The JSON of a torch.fx graph as scripts/export/export_torch.py writes it (docs/models.md). */

/* All faults of a file at once: as many sentences as a message holds. */

enum { EMP_PROBLEMS_SHOWN = 20 };

/** Zero-initialise. */
typedef struct {
    char    text[EMP_ERROR_MSG_BYTES - 64]; /* room for what is said around it */
    int32_t count, shown;
} emp_problems;

/** Takes a failure up if it is one of the file (EMP_EFORMAT) and goes on.
 * \return  EMP_OK, or another failure as it is. */
emp_status emp_problems_add(emp_problems *p, emp_status status, const emp_error *reason,
                            emp_error *err);

/** EMP_OK if there was none; else one message with those that it has room for. */
emp_status emp_problems_report(const emp_problems *p, emp_error *err);

/** Reads all nodes. O(size). The caller clears program, also after a failure.
 * \retval EMP_EFORMAT       The message tells what is wrong with up to 20 nodes.
 * \retval EMP_EUNSUPPORTED  Too many nodes. */
emp_status emp_fx_json_read(emp_torch_program *program, const emp_json *root,
                            emp_error *err);

/* Archives of torch.export (.pt2): the graph of a forward pass, with the roles and modules that it states.
 * Only the list of weights is read, which says where they are.
 *
 * Source: PyTorch's torch/_export/serde/schema.py (schema versions 5 to 8) and its pt2_archive. Archives of
 * PyTorch 2.11 have been read; no older one has. */

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
 * names are its own and whose nodes join the same program. Internal to pt2.c, pt2_inner.c and pt2_tensors.c.
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
typedef struct emp_pt2_reader emp_pt2_reader;
struct emp_pt2_reader {
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
    /** Reads the node at \a number of a graph's list; nodes with graphs in them call it. */
    emp_status (*read_node)(emp_pt2_reader *r, const emp_json *json, int32_t number,
                            emp_error *err);
};

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
/** Makes value \a at of the program the tensor of that name. */
emp_status emp_pt2_set_tensor(emp_pt2_reader *r, int32_t at, const char *name,
                              const char *place, emp_error *err);
/** Reads the arguments of a node from its list \a inputs. */
emp_status emp_pt2_read_arguments(emp_pt2_reader *r, emp_torch_node *node,
                                  const emp_json *inputs, const char *place,
                                  emp_error *err);
void       emp_pt2_reader_clear(emp_pt2_reader *r);

/** Puts the nodes of the graph that a higher-order op runs in place of the op: the body of a wrapper, the larger graph
 * of a cond, the body of a scan or a map once for each slice, of a while_loop as often as its counter says, else once.
 * Choices that data would make are assumptions. \a names has the op's results, NULL for those that are no tensors.
 * \a *is_run is false where the op is no such op, and then nothing has been added. */
emp_status emp_pt2_run_inner(emp_pt2_reader *r, const emp_json *node, const char **names,
                             int32_t count, const char *name, const char *module,
                             const char *place, bool *is_run, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PROGRAM_H */
