/** \file cli/options/inputs.h
 * What commands work on: a graph from a spec or a file, on a machine, under a runtime.
 */
#ifndef EMP_CLI_OPTIONS_INPUTS_H
#define EMP_CLI_OPTIONS_INPUTS_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

#include "cli/options/forms.h"
#include "graphs/load.h"
#include "run/sheet/sheet.h"
#include "run/tasks/task.h"
#include "sim/cost/given.h"
#include "sim/cost/transfer.h"
#include "sim/machine/model.h"
#include "sim/problem/problem.h"

/* measured_on.c: measured times that belong to another GPU, which `--as MODEL` scales to the GPUs of the machine, and
 * costs that the machine or the runtime cannot use. */

/** Zero-initialise; cli_measured_on_clear() releases it. */
typedef struct {
    const char *model;        /**< of --as; NULL: times belong to the machine's GPUs */
    char        gpu_name[64]; /**< that a trace says it is of; "" = none */
    emp_transfer
        *transfer; /**< what became of its kernels; NULL: they keep their times */
} cli_measured_on;

/** Reads the device model, if there is one: \a source stays empty without. The caller clears \a model.
 * \retval EMP_EINVAL  The model is a CPU. \retval EMP_EIO, EMP_EFORMAT  As emp_device_model_load(). */
emp_status cli_measured_on_load(emp_given_source *source, emp_device_model *model,
                                const char *name, emp_error *err);

/** Scales the kernels of a trace, if the problem's graph is one. Without a source it warns where the trace's GPU is
 * none of the machine.
 * \retval EMP_EINVAL  There is a source for a graph that is no trace, and no file of costs. */
emp_status cli_measured_on_take(cli_measured_on *of, emp_problem *problem,
                                const emp_given_source *source, bool has_costs,
                                emp_error *err);

/** Prints what became of the kernels of a trace; nothing if they keep their times. */
void cli_measured_on_print(const cli_measured_on *of);

/** The same: {"from": "h100-sxm", "to": [{"model": ..., "kernels": [...]}]}; NULL: there is nothing. */
json_t *cli_measured_on_json(const cli_measured_on *of);

void cli_measured_on_clear(cli_measured_on *of);

/* Options that complete a file; they become parts of the SPEC. */

/** Zero-initialise. */
typedef struct {
    const char *batch, *train, *signature;
    bool        is_lenient;
    char        dims[2048]; /**< ",dim.name=size" of each --dim */
    char        spec[8192]; /**< what cli_source_spec() returns */
} cli_source_options;

/** A command adds it as an argp child with its cli_source_options as input. */
extern const struct argp cli_source_argp;

/** The SPEC with the options as its parameters; SPEC itself where none is given. */
const char *cli_source_spec(cli_source_options *o, const char *spec);

/** Zero-initialise; cli_inputs_clear() releases it, also after a failure. */
typedef struct {
    emp_graph       *whole; /**< as the front end made it; NULL unless it is wanted */
    bool             wants_whole; /**< set before the graph is loaded */
    emp_graph       *step;        /**< what one training step runs */
    emp_machine     *machine;
    emp_problem     *problem;
    char             note[480]; /**< what the reader says of the file; "" = nothing */
    emp_import_notes notes;     /**< what the file is, what was assumed and left out */
    const char      *costs; /**< file of times for cli_inputs_load() to take, or NULL */
    emp_given_costs  given; /**< what became of it */
    cli_measured_on
         measured_on; /**< likewise, its model: the GPU that a trace or costs are of */
    bool is_cpu_forbidden; /**< for cli_inputs_load() to tell the problem */
    bool keeps_layers;     /**< likewise: layers are whole (layers.h) */
    cli_form form; /**< likewise: the output's form, whose space is searched (forms.h) */
    bool     needs_events; /**< likewise: an instance's own rules are no default */
    const char *runtime;   /**< by default, once the graph is there: emp_task_runtime() */
    const char *runtime_why; /**< why it is taken; NULL: the user has named another */
} cli_inputs;

/** The options that name what is to be loaded, and how results are printed. */
typedef struct {
    const char *spec;
    const char *machine; /**< NULL: the instance's */
    const char *runtime; /**< NULL: emp_task_runtime() */
    const char *
        objective; /**< step-time or max-load, which sets the runtime; NULL: the runtime's */
    const char *costs; /**< file of times that a user brings; NULL: none */
    const char
        *measured_on; /**< model of the GPU that times are of; NULL: the machine's */
    bool is_cpu_forbidden, keeps_layers;
    emp_sheet_format   format;
    cli_source_options source; /**< part of spec once they are parsed */
    const char *tasks; /**< no option here: `train` may set it, instead of a SPEC */
} cli_task_options;

/** Options and their parser. A command adds it as an argp child with its cli_task_options as
 * input, zeroed. SPEC must be given, and --machine where SPEC cannot state one, unless there are
 * tasks. */
extern const struct argp cli_task_argp;

/** Loads the two graphs of a workload spec or graph file, and warns of what had to be
 * assumed. \a devices (NULL is fine) receives those that the file states. The default runtime is that on the machine that
 * the file states, if it states one. */
emp_status cli_inputs_load_graph(cli_inputs *inputs, emp_import_devices *devices,
                                 const char *spec, emp_error *err);

/** Hands on what the options say of costs and devices, for cli_inputs_load(). */
void cli_inputs_take_options(cli_inputs *inputs, const cli_task_options *task);

/** Loads everything. With \a machine NULL or EMP_OWN_MACHINE it is the one that the file
 * states; with \a runtime NULL the profile is emp_task_runtime(). A machine that \a inputs has already is
 * taken in place of \a machine.
 * \retval EMP_EINVAL  No machine is given, and the spec states none. */
emp_status cli_inputs_load(cli_inputs *inputs, const char *spec, const char *machine,
                           const char *runtime, emp_error *err);

/** measured_on.c: warns where costs that the graph's file states are true of only some devices of the machine, or unknown
 * to the rules of the runtime; JSON lists these warnings, too. Nothing happens if the file states none. */
void cli_warn_of_stated_costs(cli_inputs *inputs, const char *spec);

/** Prints the line that says why a runtime is taken that the user has not named, if so. */
void cli_inputs_print_runtime(const cli_inputs *inputs);

/** Sets "assumptions" and "warnings" of the object, lists of texts, and "runtime_why", null where the user
 * has named the runtime. NULL is fine. */
void cli_inputs_add_notes(json_t *object, const cli_inputs *inputs);

void cli_inputs_clear(cli_inputs *inputs);

#endif /* EMP_CLI_OPTIONS_INPUTS_H */
