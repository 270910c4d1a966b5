// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for tables of iterations, of fits and of collectives.
#include "bench/iterations/tables.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char    *text = (const char *)bytes;
    emp_iterations iterations = {0};
    emp_network   *network = NULL;

    (void)emp_iterations_parse(&iterations, text, size, "fuzz", NULL);
    emp_iterations_clear(&iterations);
    if (emp_network_create(&network, NULL) == EMP_OK)
        (void)emp_network_add_fits(network, text, size, "fuzz", NULL);
    emp_network_destroy(network);
    if (emp_network_create(&network, NULL) == EMP_OK)
        (void)emp_network_add_collectives(network, text, size, "fuzz", NULL);
    emp_network_destroy(network);
    return 0;
}
