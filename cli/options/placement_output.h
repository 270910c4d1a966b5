/** \file cli/options/placement_output.h
 * Placements as files. The ending of the name says which kind:
 *
 *     .pb, .pbtxt  the TensorFlow graph file that was placed, its nodes' devices set
 *     .py          a module of Python: of PyTorch with a device for each module, else for
 *                  TensorFlow 1 with a function for tf.device()
 *     .device_map.json   the device_map alone
 *     .sh                options of llama.cpp; .vllm.sh, .megatron.sh: of vLLM, of Megatron-LM
 *     other        a placement file (sim/problem/placement.h)
 */
#ifndef EMP_CLI_OPTIONS_PLACEMENT_OUTPUT_H
#define EMP_CLI_OPTIONS_PLACEMENT_OUTPUT_H

#include "cli/options/forms.h"
#include "sim/problem/placement.h"

/** Fails now, before the work, if \a spec is no graph that the file at \a path (NULL is fine) can be
 * a copy of.
 * \retval EMP_EINVAL  It is no graph file, or of the other syntax, or the name ends in .gz. */
emp_status cli_placement_output_check(const char *path, const char *spec, emp_error *err);

/** The same of what the ops' names and the machine tell. The placement's devices are not looked at.
 * \retval EMP_EINVAL  It is to be a device_map or options of another program, and the graph or the machine has
 *                     none. */
emp_status cli_placement_output_check_ops(const char *path, const emp_named_placement *p,
                                          const char *spec, emp_error *err);

/** Whether it needs the machine: for TensorFlow's names of the devices of several hosts. */
bool cli_placement_output_needs_machine(const char *path, const emp_named_placement *p);

/** Whether it is a device_map of a PyTorch model. */
bool cli_placement_output_is_device_map(const char *path, const char *spec);

/** Whether such a file names the run that it is of. */
bool cli_placement_output_names_run(const char *path);

/** Writes the file, whole or not at all.
 * \param spec     The graph file, for .pb and .pbtxt.
 * \param machine  NULL is fine unless it is needed.
 * \retval EMP_ENOMEM, EMP_EIO, EMP_EFORMAT, EMP_EINVAL */
emp_status cli_placement_output_write(const char *path, const emp_named_placement *p,
                                      const char *spec, const emp_machine *machine,
                                      emp_error *err);

/* A placement of a decoder as options of llama.cpp, in a script of the shell:
 *
 *     sh best.sh llama-server -m model.gguf
 *
 * llama.cpp puts whole layers on devices, in the order of the devices: --tensor-split says how many each has,
 * -ngl how many layers are on GPUs at all, the first ones being left to the CPU. The output counts as the last
 * layer. A layer's cache of keys and values is where the layer is; weights elsewhere get an --override-tensor.
 *
 * llama.cpp runs on the first host of the machine. Each other host whose GPUs are used runs an rpc-server: --rpc names
 * their addresses, which are variables of the shell, and RPC0, RPC1, ... are their GPUs in that order. A buffer of the
 * first GPU of a server is RPC0[ADDRESS]. */

/** Whether \a spec is a GGUF file, or a spec or a config of a Hugging Face model. */
bool cli_llama_options_are_for(const char *spec);

/** Writes the script, whole or not at all. O(ops).
 * \param machine  The machine of the placement's devices; NULL is fine where there is one host.
 * \param spec  If it names a GGUF file, the file's header says which layers llama.cpp counts beyond the model's.
 * \retval EMP_EINVAL  As cli_form_check(); or a layer is on the CPU of another host than the first one, the caches of a layer are apart, the layers of a device do
 *                     not follow one another, or llama.cpp's name of a tensor is not known.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status cli_llama_options_write(const char *path, const emp_named_placement *placement,
                                   const emp_machine *machine, const char *spec,
                                   emp_error *err);

/** Prints the options behind a command, such as "llama-server -m MODEL.gguf", to standard output.
 * \retval EMP_EINVAL, EMP_ENOMEM  As cli_llama_options_write(). */
emp_status cli_llama_options_print(const char                *command,
                                   const emp_named_placement *placement,
                                   const emp_machine *machine, const char *spec,
                                   emp_error *err);

#endif /* EMP_CLI_OPTIONS_PLACEMENT_OUTPUT_H */
