/** \file graphs/import/models/gguf.h
 * The header of a GGUF file, as llama.cpp has them: facts by key, and names, element types and
 * shapes of tensors. Their data is never read, and need not be there.
 *
 * All numbers are little-endian. Behind "GGUF", a version (2 or 3) and two counts come so many
 * facts (key, type, value) and tensors (name, sizes with the innermost first, type, offset).
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_GGUF_H
#define EMP_GRAPHS_IMPORT_MODELS_GGUF_H

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/import/notes/readers.h"
#include "graphs/transformer/model.h"
#include "sim/graph/op.h"

typedef struct {
    const char *key;
    uint32_t    type;       /**< the file's number of it */
    uint32_t    item_type;  /**< of an array's items */
    uint64_t    item_count; /**< of an array; else 1 */
    const char *bytes; /**< of the value, or of the first item; borrowed from the file */
    size_t      size;  /**< of those bytes */
} emp_gguf_fact;

typedef struct {
    const char *name;
    emp_dtype   dtype;
    emp_shape   shape; /**< outermost size first, as everywhere here */
    int64_t     bytes;
    bool        is_used; /**< a weight of the model has asked for it */
} emp_gguf_tensor;

/** Zero-initialise; clear it also after a failure. */
typedef struct {
    emp_gguf_fact   *fact;
    int32_t          fact_count;
    emp_gguf_tensor *tensor;
    int32_t          tensor_count;
    int64_t          bytes;  /**< of all tensors */
    bool             is_cut; /**< the bytes ended before the header did */

    emp_arena  names;          /**< private */
    emp_strmap fact_of_key;    /**< private */
    emp_strmap tensor_of_name; /**< private */
} emp_gguf;

/** Reads a header from memory, which must stay as long as \a header.
 * \retval EMP_EFORMAT       It ends too early (is_cut), has a name twice, or sizes that no tensor has.
 * \retval EMP_EUNSUPPORTED  A version, or a type of elements, that is not known. \retval EMP_ENOMEM */
emp_status emp_gguf_parse(emp_gguf *header, const char *bytes, size_t size,
                          emp_error *err);

/** The same from a file, of which no more than the header is read; it stays open as long as \a header. */
emp_status emp_gguf_header_read(emp_gguf *header, emp_file *file, emp_error *err);
void       emp_gguf_clear(emp_gguf *header);

/** Adds the tensors of the other parts if the file at \a path, whose header this is, is the first of several.
 * \retval EMP_EFORMAT  It is another part, or a part does not fit. \retval EMP_EIO  A part is not there. */
emp_status emp_gguf_parts_read(emp_gguf *header, const char *path, emp_error *err);

/** The fact of that key, or NULL. */
const emp_gguf_fact *emp_gguf_find(const emp_gguf *header, const char *key);
/** Item \a i of an integer fact, of which there may be one or one a layer; false: it is none, or
 * has fewer items, or the item is not from 0 to 2^31 - 1. */
bool emp_gguf_integer(const emp_gguf_fact *fact, uint64_t i, int32_t *value);
/** The text of a fact, not terminated; NULL: it is none. */
const char *emp_gguf_text(const emp_gguf_fact *fact, size_t *length);
/** The tensor of that name, or NULL. */
emp_gguf_tensor *emp_gguf_tensor_of(const emp_gguf *header, const char *name);

/* The model of a GGUF file: sizes from its facts and the shapes of its tensors,
 * parts from the tensors that it has. */

/** Reads a decoder of the kinds of llama.cpp's llama, qwen, gemma, gpt2 and the like.
 *
 * \param[out] model  The caller's, who clears it, also after a failure.
 * \retval EMP_EFORMAT       A fact or a tensor is missing, or they do not fit each other.
 * \retval EMP_EUNSUPPORTED  An encoder, or layers that are no transformer's. \retval EMP_ENOMEM */
emp_status emp_gguf_model_read(emp_transformer_model *model, const emp_gguf *header,
                               emp_error *err);

/** An emp_weight_types.find on an emp_gguf: the type of the tensor that has the weight's name.
 * \retval EMP_EFORMAT  There is none, or it has another number of elements. */
emp_status emp_gguf_find_type(const void *context, const char *name,
                              const emp_shape *shape, emp_dtype *dtype, emp_error *err);

/** Counts the layers of the file at \a path that predict more tokens. They follow the layers of the model, and
 * llama.cpp counts them among its layers although it does not run them.
 * \retval EMP_EIO, EMP_ENOMEM  \retval EMP_EFORMAT, EMP_EUNSUPPORTED  As emp_gguf_parse(). */
emp_status emp_gguf_extra_layers(int32_t *count, const char *path, emp_error *err);

/** Whether every tensor has been asked for, except tables of frequencies and tensors of layers behind the
 * \a layers that are built, which predict more tokens.
 * \retval EMP_EUNSUPPORTED  The message names the first that has not. */
emp_status emp_gguf_check_used(const emp_gguf *header, int32_t layers, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_GGUF_H */
