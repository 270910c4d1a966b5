/** \file cli/options/llama_options.h
 * A placement of a decoder as options of llama.cpp, in a script of the shell:
 *
 *     sh best.sh llama-server -m model.gguf
 *
 * llama.cpp puts whole layers on devices, in the order of the devices: --tensor-split says how many each has,
 * -ngl how many layers are on GPUs at all, the first ones being left to the CPU. The output counts as the last
 * layer. A layer's cache of keys and values is where the layer is; weights elsewhere get an --override-tensor.
 *
 * llama.cpp runs on the first host of the machine. Each other host whose GPUs are used runs an rpc-server: --rpc names
 * their addresses, which are variables of the shell, and RPC0, RPC1, ... are their GPUs in that order. A buffer of the
 * first GPU of a server is RPC0[ADDRESS].
 */
#ifndef EMP_CLI_OPTIONS_LLAMA_OPTIONS_H
#define EMP_CLI_OPTIONS_LLAMA_OPTIONS_H

#include "sim/problem/placement.h"

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

#endif /* EMP_CLI_OPTIONS_LLAMA_OPTIONS_H */
