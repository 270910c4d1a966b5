// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of the machine that a record keeps.
#include <stdlib.h>

#include "sim/machine/machine.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_machine *machine = NULL;
    char        *text = fuzz_text(bytes, size);

    (void)emp_machine_parse(&machine, text, NULL);
    emp_machine_destroy(machine);
    free(text);
    return 0;
}
