// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for texts of nvidia-smi, rocm-smi, amd-smi and lstopo: what is read of them becomes
// files that load. One input may hold two texts of nvidia-smi, one after the other.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/import/import.h"
#include "sim/machine/machine.h"
#include "sim/machine/model.h"
#include "tests/support/fuzz_file.h"

static void load_host(emp_machine_import *import)
{
    emp_device_model host = {0};
    const char      *path =
        fuzz_file((const uint8_t *)import->host_yaml, strlen(import->host_yaml));

    if (emp_device_model_load(&host, path, NULL) != EMP_OK) abort();
    emp_device_model_clear(&host);
    emp_machine_import_clear(import);
}

/* A file that does not load, whatever it was made from, is a mistake of the writer. */
static void import_text(const uint8_t *bytes, size_t size, bool has_query,
                        const char *model)
{
    const char        *path = fuzz_file(bytes, size);
    emp_machine       *machine = NULL;
    emp_machine_import import = {
        .topology = path, .query = has_query ? path : NULL, .model = model, .out = path};

    if (emp_machine_import_run(&import, NULL) == EMP_OK && import.host_yaml != NULL) {
        load_host(&import);
        import.host = "cpu-host"; /* no folder has the model that was made */
        fuzz_file(bytes, size);
        if (emp_machine_import_run(&import, NULL) != EMP_OK) abort();
    }
    if (import.yaml != NULL) {
        path = fuzz_file((const uint8_t *)import.yaml, strlen(import.yaml));
        if (emp_machine_load(&machine, path, NULL) != EMP_OK) abort();
    }
    emp_machine_destroy(machine);
    emp_machine_import_clear(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    import_text(bytes, size, false, "v100");
    import_text(bytes, size, false, NULL);
    import_text(bytes, size, true, NULL);
    return 0;
}
