// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/tasks/task.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"

emp_status emp_own_machine_create(emp_machine **out, const emp_import_devices *devices,
                                  const char *spec, emp_error *err)
{
    if (devices->cpu_count == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "\"%s\" states no machine of its own; name one by --machine (emplace "
            "machines "
            "lists what there is)",
            spec);
    EMP_CHECK(emp_machine_create(out, EMP_OWN_MACHINE, devices->cpu_count,
                                 devices->gpu_count, devices->gpu_memory_bytes, err));
    if (devices->core_count > 0) emp_machine_set_cores(*out, devices->core_count);
    return EMP_OK;
}

const char *emp_task_runtime(const emp_graph *graph, const emp_import_devices *devices,
                             bool is_own, const char **why)
{
    const bool is_stated = is_own && devices->runtime != NULL;

    if (why != NULL)
        *why = is_stated && graph->source == EMP_SOURCE_STATED
                   ? "these rules are meant for an instance on its own machine"
                   : emp_graph_source_why(graph);
    return is_stated ? devices->runtime : emp_graph_default_runtime(graph);
}

/* ---- frozen tasks ---- */

static emp_status expect_hash(const emp_task *task, const char *what, uint64_t hash,
                              uint64_t frozen, emp_error *err)
{
    if (frozen == 0 || hash == frozen) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "the %s of %s has changed, so that its results no longer compare: "
                     "the hash is %016" PRIx64 ", and was %016" PRIx64
                     " when the task was frozen",
                     what, task->key, hash, frozen);
}

static emp_status check_frozen(const emp_loaded_task *loaded, const emp_task *task,
                               emp_error *err)
{
    const emp_frozen_task *frozen = task->frozen;
    const uint64_t         runtime_hash = emp_runtime_hash(&loaded->problem->runtime);

    EMP_CHECK(expect_hash(task, "graph", loaded->graph->hash, frozen->graph_hash, err));
    EMP_CHECK(
        expect_hash(task, "machine", loaded->machine->hash, frozen->machine_hash, err));
    return expect_hash(task, "runtime", runtime_hash, frozen->runtime_hash, err);
}

/* ---- loading ---- */

/* A mistake in the names of machine and runtime is reported before a graph is built. */
static emp_status load_task(emp_loaded_task *loaded, const emp_task *task,
                            const emp_runtime *runtime, emp_error *err)
{
    const bool         is_own = strcmp(task->machine, EMP_OWN_MACHINE) == 0;
    emp_import_devices devices;
    emp_runtime        own;

    if (task->frozen != NULL) {
        EMP_CHECK(emp_runtime_init(&own, task->frozen->runtime, err));
        runtime = &own;
    }
    if (!is_own) EMP_CHECK(emp_machine_load(&loaded->machine, task->machine, err));
    EMP_CHECK(emp_source_load(&loaded->graph, NULL, &devices, task->spec, err));
    if (is_own)
        EMP_CHECK(emp_own_machine_create(&loaded->machine, &devices, task->spec, err));
    if (runtime == NULL) {
        runtime = &own;
        EMP_CHECK(emp_runtime_init(
            &own, emp_task_runtime(loaded->graph, &devices, is_own, NULL), err));
    }
    EMP_CHECK(emp_problem_create(&loaded->problem, loaded->graph, loaded->machine,
                                 runtime, task->spec, err));
    return task->frozen != NULL ? check_frozen(loaded, task, err) : EMP_OK;
}

emp_status emp_tasks_load(emp_loaded_task *loaded, const emp_task *tasks, int32_t count,
                          const emp_runtime *runtime, int32_t threads, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_status *status = EMP_NEW_ARRAY(emp_status, (size_t)count);
    emp_error  *error = EMP_NEW_ARRAY(emp_error, (size_t)count);

    if (status == NULL || error == NULL) EMP_FAIL(EMP_ENOMEM, "%d tasks", count);
        /* clang-format off */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    /* clang-format on */
    for (int32_t r = count - 1; r >= 0; r--)
        status[r] = load_task(&loaded[r], &tasks[r], runtime, &error[r]);
    for (int32_t r = 0; r < count; r++) {
        if (status[r] != EMP_OK) EMP_FAIL(status[r], "%s", error[r].msg);
    }

cleanup:
    emp_free(status);
    emp_free(error);
    return st;
}

void emp_tasks_clear(emp_loaded_task *loaded, int32_t count)
{
    for (int32_t r = 0; r < count && loaded != NULL; r++) {
        emp_problem_destroy(loaded[r].problem);
        emp_graph_destroy(loaded[r].graph);
        emp_machine_destroy(loaded[r].machine);
    }
}
