/** \file graphs/import/hlo/module.h
 * A module of XLA as its text states it: computations, each a list of instructions in which operands come
 * first. parse.h makes it, lower.h reads it.
 *
 * The struct is open and belongs to whoever reads a file. Slices point into the file's bytes, which must
 * outlive it. Instructions, tensors and computations have numbers that count through the module.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_MODULE_H
#define EMP_GRAPHS_IMPORT_HLO_MODULE_H

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/notes/notes.h"
#include "graphs/import/proto/wire.h"
#include "sim/graph/graph.h"

/** Where an attribute stands in the file; a value has its quotes or braces. */
typedef struct {
    uint32_t key_at, key_size, value_at, value_size;
} emp_hlo_attr;

/** The facts about an opcode that the reader itself needs; all others are kernels. */
typedef enum {
    EMP_HLO_KERNEL,
    EMP_HLO_PARAMETER,
    EMP_HLO_CONSTANT,
    EMP_HLO_VIEW, /**< the operand as it is: bitcast */
    EMP_HLO_TUPLE,
    EMP_HLO_PART,    /**< get-tuple-element */
    EMP_HLO_NOTHING, /**< no tensor: after-all */
    EMP_HLO_FUSION,
    EMP_HLO_CUSTOM,
    EMP_HLO_SLICE,   /**< reads of operand 0 as much as it makes */
    EMP_HLO_UPDATE,  /**< dynamic-update-slice: writes operand 1 into operand 0 */
    EMP_HLO_SCATTER, /**< likewise, by numbers, several at once */
    EMP_HLO_CALL,
    EMP_HLO_WHILE,
    EMP_HLO_CONDITIONAL,
    EMP_HLO_DONE,       /**< the end of what a start has begun */
    EMP_HLO_COLLECTIVE, /**< between the devices that run the module */
    EMP_HLO_REFUSED     /**< between programs: send, recv */
} emp_hlo_what;

/** An opcode. "copy-start" is the opcode "copy" that is a start. */
typedef struct {
    char               type[64]; /**< name of the op's type: "hlo.copy" */
    const emp_op_type *entry;    /**< NULL: not known */
    emp_hlo_what       what;
    bool               is_start;
    int32_t            result_part; /**< of a start: which part is the result; -1 = all */
} emp_hlo_opcode;

typedef struct {
    uint32_t name_at; /**< in the file */
    uint16_t name_size;
    bool     is_tuple;
    bool     is_broken; /**< it, or an input of it, has a reported problem */
    int32_t  opcode;
    int32_t  first_tensor, tensor_count; /**< results, tuples laid out flat */
    int32_t  first_part, part_count; /**< of a tuple: where its parts begin among these */
    int32_t  first_operand, operand_count;
    int32_t  first_attr, attr_count;
    int32_t  control_count; /**< what it waits for without reading, behind the operands */
    int32_t  called;        /**< of a fusion, call or loop: the computation; -1 */
    union {
        int64_t constant; /**< of a constant that is one whole number; else INT64_MIN */
        int32_t number;   /**< of a parameter; of a part */
    };
} emp_hlo_instruction;

_Static_assert(sizeof(emp_hlo_instruction) == 64, "large modules have millions of them");

typedef struct {
    emp_slice   name;
    const char *body;         /**< its text, behind the "{" */
    int32_t     first, count; /**< instructions */
    int32_t     root;         /**< the last one where none says that it is */
    bool        has_root;
    int32_t     first_parameter, parameter_count; /**< instructions by number */
    bool        is_forgotten; /**< of these numbers only the counts hold */
} emp_hlo_computation;

/** The description of a tensor by the text of its shape. */
typedef struct {
    emp_slice              text; /**< of no bytes: nothing is here */
    const emp_tensor_info *info;
} emp_hlo_recent;

enum { EMP_HLO_RECENT = 64 };

typedef struct {
    const char *begin; /**< of the file, for lines in messages */
    emp_slice   name, replicas, partitions;
    emp_slice   aliases;      /**< results that are written in place of parameters */
    bool        is_scheduled; /**< XLA has compiled it */
    bool has_host_memory; /**< a tensor is in memory space 5, pinned memory of the host */

    emp_hlo_computation    *computation;
    emp_hlo_instruction    *instruction;
    emp_hlo_opcode         *opcode;
    const emp_tensor_info **tensor; /**< equal ones are kept once */
    emp_hlo_attr           *attr;
    int32_t                *part, *operand, *parameter;
    int32_t computation_count, instruction_count, opcode_count, tensor_count, attr_count;
    int32_t part_count, operand_count, parameter_count;
    int32_t computation_capacity, instruction_capacity, opcode_capacity, tensor_capacity;
    int32_t attr_capacity, part_capacity, operand_capacity, parameter_capacity;
    int32_t entry;      /**< computation; -1: there is none */
    int32_t read_count; /**< instructions of all computations, forgotten ones too */
    emp_strmap     computation_of_name, opcode_of_name;
    emp_value_set  tensors;
    emp_arena      values;
    emp_hlo_recent recent[EMP_HLO_RECENT]; /**< shapes that were read lately */
} emp_hlo_module;

void emp_hlo_module_clear(emp_hlo_module *m);

/** Makes room for one more item of an array of the module. \retval EMP_ENOMEM
 * \retval EMP_EUNSUPPORTED  More than 2^30 of them. */
emp_status emp_hlo_grow(void *array, int32_t count, int32_t *capacity, size_t size,
                        emp_error *err);
#define EMP_HLO_GROW(m, items)                                            \
    emp_hlo_grow(&(m)->items, (m)->items##_count, &(m)->items##_capacity, \
                 sizeof *(m)->items, err)

/** The one copy of a tensor's description, whose padding is zero. NULL when out of memory. */
const emp_tensor_info *emp_hlo_keep_tensor(emp_hlo_module        *m,
                                           const emp_tensor_info *info);

/** The number of an opcode, which is new or seen before. \retval EMP_ENOMEM */
emp_status emp_hlo_opcode_of(emp_hlo_module *m, emp_slice name, int32_t *number,
                             emp_error *err);

/** The line of a place in the file. O(place). */
int32_t emp_hlo_line(const emp_hlo_module *m, const char *at);

/** The value of an attribute; of no bytes: there is none. O(attributes). */
emp_slice emp_hlo_attr_of(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          const char *key);
/** The same without its quotes or braces. */
emp_slice emp_hlo_text_of(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          const char *key);
/** A whole number, or \a otherwise. */
int64_t emp_hlo_number(emp_slice text, int64_t otherwise);

/** The next item of a list with commas or blanks between them, without its "%"; false behind the last. */
bool emp_hlo_next_item(emp_slice *list, emp_slice *item);

/** The computation of that name; -1: there is none. */
int32_t emp_hlo_find(const emp_hlo_module *m, emp_slice name);

/** An instruction, its operands and its result. */
emp_slice             emp_hlo_name(const emp_hlo_module *m, const emp_hlo_instruction *i);
const emp_hlo_opcode *emp_hlo_op(const emp_hlo_module *m, const emp_hlo_instruction *i);
const emp_hlo_instruction *emp_hlo_operand(const emp_hlo_module      *m,
                                           const emp_hlo_instruction *i, int32_t which);
const emp_tensor_info     *emp_hlo_result(const emp_hlo_module      *m,
                                          const emp_hlo_instruction *i);

/** Bytes of all tensors of a result. Saturates. */
int64_t emp_hlo_bytes(const emp_hlo_module *m, const emp_hlo_instruction *i);
/** Bytes of one tensor. */
int64_t emp_hlo_tensor_bytes(const emp_tensor_info *info);
/** Elements of the first tensor of a result. Saturates. */
int64_t emp_hlo_elements(const emp_hlo_module *m, const emp_hlo_instruction *i);

/** The tensors that an instruction computes: for a start only its result's, without what libraries
 * work in, which is a vector of bytes behind them. */
typedef struct {
    int32_t begin, end; /**< among its tensors */
    int64_t workspace_bytes;
} emp_hlo_made;
emp_hlo_made emp_hlo_made_by(const emp_hlo_module *m, const emp_hlo_instruction *i);

/** Where the parts of a tuple begin and end among its tensors. */
int32_t emp_hlo_part_begin(const emp_hlo_module *m, const emp_hlo_instruction *i,
                           int32_t part);
int32_t emp_hlo_part_end(const emp_hlo_module *m, const emp_hlo_instruction *i,
                         int32_t part);

/* The backend_config of an instruction: JSON, or JSON in a text in quotes. */

/** Reads it; the root is NULL if there is none or it is no JSON. The caller clears \a d.
 * \retval EMP_ENOMEM */
emp_status emp_hlo_config_read(emp_json_document *d, const emp_hlo_module *m,
                               const emp_hlo_instruction *i, emp_error *err);

/** A member of the root, or of an object in it; NULL: there is none. */
const emp_json *emp_hlo_config_find(const emp_json *root, const char *key);

/** A whole number, also in a text; -1: it is none. */
int64_t emp_hlo_config_number(const emp_json *value);

/* The collectives of a module: how many devices take part, and with how many bytes.
 *
 *     replica_groups={{0,1},{2,3}}     groups of 2
 *     replica_groups=[2,4]<=[8]        2 groups of 4
 *     replica_groups={}                all devices that run the module, its replicas without channel_id */

/** The devices that run the module: its replicas, each in all partitions. */
int64_t emp_hlo_device_count(const emp_hlo_module *m);

/** Describes the part of one device in the collective \a i; false: it is of no kind that has a time of its
 * own, such as collective-permute. */
bool emp_hlo_collective_of(emp_collective_part *part, const emp_hlo_module *m,
                           const emp_hlo_instruction *i);

#endif /* EMP_GRAPHS_IMPORT_HLO_MODULE_H */
