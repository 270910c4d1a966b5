/** \file parallel/models.h
 * Models to be trained in parallel: configs of Hugging Face by their path, or by name in the folder data/models.
 */
#ifndef EMP_PARALLEL_MODELS_H
#define EMP_PARALLEL_MODELS_H

#include "base/text/json.h"
#include "graphs/transformer/model.h"

/** The files of a model, and what they say of its weights. Zero-initialise; emp_model_files_clear() releases it, also after a
 * failure. */
typedef struct {
    emp_json_document config, quant; /**< config.json; hf_quant_config.json, or empty */
    emp_dtype         dtype;         /**< of weights; EMP_DTYPE_NONE: it does not say */
} emp_model_files;

void emp_model_files_clear(emp_model_files *files);

/** Reads a model. \param layers  Keep so many of its first layers; 0 = all.
 * \param[out] model  The caller's, who clears it, also after a failure.
 * \param[out] files  OPTIONAL. Likewise.
 * \retval EMP_EIO     No such file; the message lists the models that come with the program.
 * \retval EMP_EINVAL  The model has fewer layers.
 * \retval EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ENOMEM  As the reader of configs. */
emp_status emp_parallel_model_load(emp_transformer_model *model, emp_model_files *files,
                                   const char *name_or_path, int32_t layers,
                                   emp_error *err);

/** Whether data/models has a config of that name, of \a length characters. */
bool emp_parallel_model_is(const char *name, size_t length);

#endif /* EMP_PARALLEL_MODELS_H */
