/** \file cli/options/forms/pipeline_options.h
 * A placement of a transformer as options of vLLM or of Megatron-LM, in a script of the shell. Both give each GPU of
 * a pipeline layers that follow one another:
 *
 *     sh best.vllm.sh vllm serve MODEL                 VLLM_PP_LAYER_PARTITION=10,22 --pipeline-parallel-size 2
 *     sh best.megatron.sh torchrun ... pretrain_gpt.py --pipeline-model-parallel-layout "Et*10|t*22L"
 *
 * Layers are whole, as Emplace does not split ops, so that the tensor-parallel size is 1.
 */
#ifndef EMP_CLI_OPTIONS_FORMS_PIPELINE_OPTIONS_H
#define EMP_CLI_OPTIONS_FORMS_PIPELINE_OPTIONS_H

#include "cli/options/forms/forms.h"

/** Writes the script of CLI_FORM_VLLM or CLI_FORM_MEGATRON, whole or not at all. O(ops).
 * \retval EMP_EINVAL  As cli_form_check(); or a layer is on a CPU or on two devices, the layers of a device do not
 *                     follow one another, or the table or the head is not where the form has it.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status cli_pipeline_options_write(const char *path, cli_form form,
                                      const emp_named_placement *placement,
                                      emp_error                 *err);

#endif /* EMP_CLI_OPTIONS_FORMS_PIPELINE_OPTIONS_H */
