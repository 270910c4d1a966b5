// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for specs, schedules, clusters and tables of steps in parallel.
#include <string.h>

#include "bench/iterations/iterations.h"
#include "parallel/schedule.h"
#include "parallel/spec.h"
#include "tests/support/fuzz_file.h"

static void read_spec(const char *bytes, size_t size)
{
    char              text[4096];
    emp_parallel_spec spec = {0};

    if (size >= sizeof text) return;
    memcpy(text, bytes, size);
    text[size] = '\0';
    (void)emp_parallel_spec_is(text);
    (void)emp_parallel_spec_read(&spec, text, NULL);
    emp_parallel_spec_clear(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_degrees        d = emp_degrees_default();
    emp_pipeline_order order = {0};
    emp_cluster       *cluster = NULL;
    emp_csv            csv = {0};
    emp_parallel_rows  rows = {0};
    const char        *path = fuzz_file(bytes, size);

    read_spec((const char *)bytes, size);
    d.pp = 2;
    d.micro_batches = 3;
    (void)emp_pipeline_order_load(&order, &d, path, NULL);
    emp_pipeline_order_clear(&order);
    if (emp_cluster_load(&cluster, path, NULL) == EMP_OK) emp_cluster_destroy(cluster);
    if (emp_csv_parse(&csv, (const char *)bytes, size, "fuzz", NULL) == EMP_OK)
        (void)emp_parallel_rows_predict(&rows, &csv, false, NULL);
    emp_parallel_rows_clear(&rows);
    emp_csv_clear(&csv);
    return 0;
}
