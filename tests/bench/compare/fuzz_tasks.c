// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of lists of tasks.
#include "bench/compare/tasks.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static emp_task_list list;

    (void)emp_task_list_add(&list, fuzz_file(bytes, size), NULL);
    emp_task_list_clear(&list);
    return 0;
}
