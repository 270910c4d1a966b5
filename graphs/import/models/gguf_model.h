/** \file graphs/import/models/gguf_model.h
 * What the model of a GGUF file consists of: sizes from its facts and the shapes of its tensors,
 * parts from the tensors that it has.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_GGUF_MODEL_H
#define EMP_GRAPHS_IMPORT_MODELS_GGUF_MODEL_H

#include "graphs/import/models/gguf.h"
#include "graphs/transformer/model.h"

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

/** Whether every tensor has been asked for, but tables of frequencies and those of layers behind the
 * \a layers that are built, which predict more tokens.
 * \retval EMP_EUNSUPPORTED  The message names the first that has not. */
emp_status emp_gguf_check_used(const emp_gguf *header, int32_t layers, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_GGUF_MODEL_H */
