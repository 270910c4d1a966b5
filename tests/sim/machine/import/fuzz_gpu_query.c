// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for what nvidia-smi -q prints, as text or as XML, of one GPU or of several.
#include <stdlib.h>
#include <string.h>

#include "sim/machine/import/import.h"
#include "sim/machine/import/import_internal.h"
#include "sim/machine/machine.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static emp_gpu_query query;
    emp_machine         *machine = NULL;
    emp_machine_import   import = {.query = fuzz_file(bytes, size), .out = "box.yaml"};
    size_t               length = size;
    char                *text = fuzz_text(bytes, size);

    if (emp_smi_text_clean(text, &length, "query", NULL) == EMP_OK)
        emp_gpu_query_parse(&query, text, length, "query", NULL);
    free(text);
    if (emp_machine_import_run(&import, NULL) == EMP_OK) {
        const char *path = fuzz_file((const uint8_t *)import.yaml, strlen(import.yaml));
        if (emp_machine_load(&machine, path, NULL) != EMP_OK) abort();
    }
    emp_machine_destroy(machine);
    emp_machine_import_clear(&import);
    return 0;
}
