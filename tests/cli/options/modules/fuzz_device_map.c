// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of device maps: each entry that it takes is found by its path.
#include <stdlib.h>

#include "base/mem.h"
#include "cli/options/placement_input.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cli_map_file map = {0};
    emp_error    err = {0};
    emp_status   st = cli_map_file_parse(&map, (const char *)bytes, size, "map.py", &err);

    if ((st == EMP_OK) != (err.status == EMP_OK)) abort();
    for (int32_t i = 0; st == EMP_OK && i < map.count; i++) {
        const cli_map_entry *e = &map.entry[i];
        if (cli_map_file_find(&map, e->module, e->length) != i) abort();
        if (e->gpu < CLI_MAP_CPU) abort();
    }
    cli_map_file_clear(&map);
    if (emp_mem_live_blocks() != 0) abort();
    return 0;
}
