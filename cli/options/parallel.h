/** \file cli/options/parallel.h
 * Models that are trained or served on many GPUs, for the commands plan and simulate: ways, one step, and
 * commands of servers.
 */
#ifndef EMP_CLI_OPTIONS_PARALLEL_H
#define EMP_CLI_OPTIONS_PARALLEL_H

#include "bench/plots/drawing.h"
#include "parallel/plan.h"
#include "parallel/serving/serve.h"
#include "run/sheet/sheet.h"

/** The words of --form. */
#define CLI_PLAN_FORM_WORDS "megatron|deepspeed|vllm|llama.cpp"
typedef enum {
    CLI_PLAN_MEGATRON,
    CLI_PLAN_DEEPSPEED,
    CLI_PLAN_VLLM,
    CLI_PLAN_LLAMA
} cli_plan_form;

/** Zero-initialise. Borrowed. */
typedef struct {
    const char      *spec, *machine;
    bool             has_form; /**< print only the command or flags of the best way */
    cli_plan_form    form;
    emp_serving_goal goal;
    const char      *trace; /**< file for Perfetto, or NULL */
    bool             all_ranks;
    emp_sheet_format format;
} cli_parallel_options;

/** Prints the ways to spread a step of training or of serving over \a gpus (0: as many as the degrees need or the machine has), the first
 * \a top of them. */
emp_status cli_parallel_plan(const cli_parallel_options *options, int32_t gpus,
                             int32_t top, emp_error *err);

/** Prints the step that a spec with degrees describes. */
emp_status cli_parallel_simulate(const cli_parallel_options *options, emp_error *err);

/** Passes of a picture at most. */
enum { EMP_PARALLEL_PASSES_MAX = 20000 };

/** Draws the passes of the ranks of such a step. The drawing is the caller's, who clears it, also after a failure. */
emp_status cli_parallel_draw(emp_drawing *drawing, const cli_parallel_options *options,
                             emp_error *err);

/* ---- models that are served ---- */

/** Prints the ways to serve the model of a spec on \a gpus GPUs, the first \a top of them; or with a form only the
 * command of the best way. \retval EMP_EUNSUPPORTED  GPUs of several models, or the form cannot state the way. */
emp_status cli_serving_plan(const cli_parallel_options *options,
                            const emp_parallel_spec *spec, const emp_fleet *fleet,
                            int32_t gpus, int32_t top, emp_error *err);

/** Prints the step that a spec with degrees describes. */
emp_status cli_serving_simulate(const cli_parallel_options *options,
                                const emp_parallel_spec *spec, const emp_cluster *cluster,
                                emp_error *err);

/** Prints the command of llama.cpp for a model of Hugging Face or a GGUF file: the faster of whole layers on GPUs and the CPU, as
 * `emplace place --whole-layers --out FILE.sh` finds them, and of experts on the CPU, as the method experts-on-cpu does.
 * \retval EMP_EINVAL  No such model, or nothing fits. \retval EMP_EUNSUPPORTED  llama.cpp has no such cache. */
emp_status cli_serving_llama(const cli_parallel_options *given, emp_error *err);

#endif /* EMP_CLI_OPTIONS_PARALLEL_H */
