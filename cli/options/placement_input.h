/** \file cli/options/placement_input.h
 * Decisions from files, which are placement files, graph files with devices, device_maps, or run
 * records and checkpoints, whose best is taken; and placements from methods.
 *
 *     cli_decision_file file;
 *     EMP_TRY(cli_decision_open(&file, path, err));  // file.origin says what to load
 *     EMP_TRY(cli_decision_read(&decision, &file, problem, err));
 *     cli_decision_close(&file);
 *
 * A file is opened once, and its form is determined once: by the ending of its name, else by its content.
 */
#ifndef EMP_CLI_OPTIONS_PLACEMENT_INPUT_H
#define EMP_CLI_OPTIONS_PLACEMENT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/collections.h"
#include "base/error.h"
#include "cli/options/run_options.h"
#include "sim/problem/placement.h"
#include "sim/problem/problem.h"

/* Files with a device_map, as `--out FILE.py` writes them: only lines of the dictionary are read, and no
 * Python runs. */

enum { CLI_MAP_CPU = -1 };

typedef struct {
    const char *module; /**< its path; "" is the model itself */
    size_t      length;
    int32_t     gpu;  /**< the N of "cuda:N", or CLI_MAP_CPU */
    int32_t     line; /**< of the file, from 1 on */
} cli_map_entry;

/** Zero-initialise; cli_map_file_clear() releases it. */
typedef struct {
    cli_map_entry *entry;
    int32_t        count;
    emp_strmap     entry_of_module;
    char          *text; /**< owns the paths */
} cli_map_file;

/** Reads the dictionary in \a size bytes; \a path is for messages. Clear \a map afterwards, also after a
 * failure. O(size).
 * \retval EMP_EFORMAT  There is no dictionary, or a line of it is of another form, or names a module again.
 * \retval EMP_ENOMEM */
emp_status cli_map_file_parse(cli_map_file *map, const char *bytes, size_t size,
                              const char *path, emp_error *err);

/** The entry whose path is the longest that begins \a name of \a length bytes, cut at dots; -1 = none
 * does. O(length). */
int32_t cli_map_file_find(const cli_map_file *map, const char *name, size_t length);

void cli_map_file_clear(cli_map_file *map);

typedef enum {
    CLI_DECISION_PLACEMENT, /**< JSON or YAML (sim/problem/placement.h) */
    CLI_DECISION_GRAPH,     /**< of TensorFlow, whose nodes name devices */
    CLI_DECISION_RECORD,    /**< FILE.h5 */
    CLI_DECISION_MAP        /**< FILE.py, a device_map of a PyTorch model */
} cli_decision_form;

/** A file that was opened. */
typedef struct {
    const char         *path; /**< borrowed */
    cli_decision_form   form;
    emp_decision_origin origin; /**< graph files and device_maps say nothing of it */
    /* private */
    emp_placement_file *placement;
    emp_record          record;
    char               *bytes; /* of a graph file */
    size_t              size;
} cli_decision_file;

/** Opens a file and finds its form. Close it afterwards, also after a failure.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM */
emp_status cli_decision_open(cli_decision_file *file, const char *path, emp_error *err);

/** Makes the decision of the file, with legal devices; warns of ops that this moves, and of rules that
 * place nothing. Clear it afterwards, also after a failure.
 * \retval EMP_EINVAL  The file is of another graph, or of devices that are not there.
 * \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status cli_decision_read(emp_owned_decision *decision, const cli_decision_file *file,
                             const emp_problem *problem, emp_error *err);

void cli_decision_close(cli_decision_file *file);

/** All three. */
emp_status cli_decision_load(emp_owned_decision *decision, const char *path,
                             const emp_problem *problem, emp_error *err);

/** The best placement that the method of that name finds. Searches get 100 evaluations unless
 * the options say more. Legal.
 * \param[in]  options     NULL: what holds when none is given.
 * \param[out] is_partial  Whether Ctrl-C has ended it. NULL: that is a failure, which it tells.
 * \retval EMP_EINTERRUPTED  Ctrl-C came before a placement was found, or \a is_partial is NULL. */
emp_status cli_placement_by_method(emp_device_id *device_of_op, bool *is_partial,
                                   const char *method, const cli_run_options *options,
                                   const emp_problem *problem, emp_error *err);

/* Where the ops of a measured trace ran, as a placement.
 */

/** Fills device_of_op[op_count] for a step of a trace: pieces of threads go to the first CPU. On
 * the machine that the trace states, each stream is a GPU. On others what ran on GPU i goes to
 * GPU i.
 * \retval EMP_EINVAL  The machine has too few GPUs; the message names the op. */
emp_status cli_trace_devices_load(emp_device_id *device_of_op, const emp_problem *problem,
                                  emp_error *err);

#endif /* EMP_CLI_OPTIONS_PLACEMENT_INPUT_H */
