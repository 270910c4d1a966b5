/** \file graphs/import/pytorch/program.h
 * A graph of PyTorch as its files state it: calls in the order in which they run, with their
 * arguments and the tensors that come out. fx_json.h and pt2.h make it, lower.h turns it into ops.
 *
 * The struct is open and belongs to whoever reads a file. All texts and arrays are in its arena.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PROGRAM_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PROGRAM_H

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/json.h"
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
} emp_torch_node;

typedef struct {
    const char *kind; /**< what the file is, for people */
    int64_t
         stated_parameters; /**< elements of all parameters; -1: the file does not say */
    bool states_results;    /**< of each call: a product without results is an error */
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

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PROGRAM_H */
