/** \file cli/options/forms.h
 * The decision spaces of output forms: which placements of a model a file for another program can state. The space
 * is imposed on the graph and on the problem before the search, so that no method finds what cannot be written.
 *
 *     form = cli_form_of(path, spec);
 *     EMP_TRY(cli_form_join(form, graph, spec, err));   // ops that share a device
 *     ... emp_problem_create() ...
 *     EMP_TRY(cli_form_bind(form, problem, err));       // devices, and the order of layers
 *
 * | form       | written as                | what shares a device         | devices | layers of a device |
 * | ---------- | ------------------------- | ---------------------------- | ------- | ------------------ |
 * | device_map | .py, .device_map.json     | a layer; a module beside it  | all     | any                |
 * | llama.cpp  | .sh                       | a layer but its matrices     | all     | follow one another |
 * | vLLM       | .vllm.sh                  | a layer; the first one with the table, the last one with the head | GPUs | follow one another |
 * | Megatron   | .megatron.sh              | a layer; the table; the head with the loss | GPUs | follow one another |
 *
 * llama.cpp has the table of tokens on the CPU, and gives the CPU the first layers. It runs on the first host of the
 * machine: GPUs of other hosts are devices of its RPC servers, and their CPUs are withheld. Where the head is tied to the
 * table, the table is where the head is: llama.cpp, vLLM and Megatron-LM keep a second copy with the first layer.
 */
#ifndef EMP_CLI_OPTIONS_FORMS_H
#define EMP_CLI_OPTIONS_FORMS_H

#include "sim/problem/placement.h"

typedef enum {
    CLI_FORM_ANY,        /**< every legal placement, and every order: a placement file */
    CLI_FORM_TENSORFLOW, /**< every legal placement */
    CLI_FORM_DEVICE_MAP,
    CLI_FORM_LLAMA,
    CLI_FORM_VLLM,
    CLI_FORM_MEGATRON
} cli_form;

/** The form of the file at \a path (NULL: CLI_FORM_ANY), by the ending of its name and the source of the graph. */
cli_form cli_form_of(const char *path, const char *spec);

/** The ending of a form that limits the search, ".sh"; NULL: it does not. */
const char *cli_form_ending(cli_form form);

/** "options of llama.cpp" */
const char *cli_form_name(cli_form form);

/** Fails if no placement of these ops on these devices has the form. Looks only at the names. O(ops).
 * \retval EMP_EINVAL  The machine has several hosts and the form is not llama.cpp's, or no GPU for a form that has only GPUs; or the graph has no
 *                     layers, caches or loss that the form is about. The message says what would do. */
emp_status cli_form_check(cli_form form, const emp_named_placement *placement,
                          const char *spec, emp_error *err);

/** Has the ops share a device that the form cannot part. The graph may have no other holder yet.
 * O(ops log ops). \retval EMP_ENOMEM */
emp_status cli_form_join(cli_form form, emp_graph *graph, const char *spec,
                         emp_error *err);

/** Takes from classes the devices that the form does not give them, and has layers follow one another
 * (sim/problem/problem.h). The graph was joined for the form. O(ops). \retval EMP_ENOMEM, EMP_EINVAL */
emp_status cli_form_bind(cli_form form, emp_problem *problem, emp_error *err);

#endif /* EMP_CLI_OPTIONS_FORMS_H */
