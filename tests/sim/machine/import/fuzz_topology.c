// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the texts of nvidia-smi: what is read of them becomes a file that loads. One input
// may hold both texts, one after the other.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/import/import.h"
#include "sim/machine/machine.h"
#include "tests/support/fuzz_file.h"

/* A file that does not load, whatever it was made from, is a mistake of the writer. */
static void import_text(const uint8_t *bytes, size_t size, bool has_query)
{
    const char        *path = fuzz_file(bytes, size);
    emp_machine       *machine = NULL;
    emp_machine_import import = {.topology = path,
                                 .query = has_query ? path : NULL,
                                 .model = has_query ? NULL : "v100",
                                 .out = path};

    if (emp_machine_import_run(&import, NULL) == EMP_OK) {
        path = fuzz_file((const uint8_t *)import.yaml, strlen(import.yaml));
        if (emp_machine_load(&machine, path, NULL) != EMP_OK) abort();
    }
    emp_machine_destroy(machine);
    emp_machine_import_clear(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    import_text(bytes, size, false);
    import_text(bytes, size, true);
    return 0;
}
