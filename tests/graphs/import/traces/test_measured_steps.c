// SPDX-License-Identifier: GPL-3.0-or-later
/* Public traces: placed as they ran, do the steps take as long as was measured? */
#include "base/mem.h"
#include "graphs/load.h"
#include "tests/graphs/import/traces/as_it_ran.h"
#include "tests/support/facts.h"
#include "tests/test.h"

static const double TOLERANCE = 0.005;

static double simulated_us(const char *path, const char *step)
{
    char               source[1024];
    emp_graph         *graph = NULL;
    emp_import_devices devices;
    const char        *number = strchr(step, '#');

    snprintf(source, sizeof source, "trace:kineto=%s%s%s", path,
             number == NULL ? "" : ",step=", number == NULL ? "" : number + 1);
    ASSERT_OK(emp_source_load(&graph, NULL, &devices, source, &err));
    double us = (double)as_it_ran_ns(graph, &devices) * 1e-3;
    emp_graph_destroy(graph);
    return us;
}

/* From the end of the step before on the main stream to the step's own, or of the first step from its first kernel there:
 * what a step takes whose prefetch on another stream begins during the step before. 0 = the step has no other stream. */
static double period_us(const char *file, const char *step)
{
    static const double of_step[] = {216300, 215570, 216517, 216211,
                                     212518}; /* #550 ... */

    if (strstr(file, "negative_queue") == NULL) return 0.0;
    return of_step[atoi(strchr(step, '#') + 1) - 550];
}

Test(measured_steps, are_simulated_within_half_a_percent)
{
    FILE *table = fopen(fact_peer_path("profiles/modern/traces", "STEPS", ".tsv"), "r");
    char  line[512], file[128], step[64];
    int   count = 0;

    cr_assert_not_null(fgets(line, sizeof line, table)); /* the heading */
    while (fgets(line, sizeof line, table) != NULL) {
        double host_us, span_us;
        cr_assert_eq(
            sscanf(line, "%127[^\t]\t%63[^\t]\t%lf\t%lf", file, step, &host_us, &span_us),
            4);
        double us =
            simulated_us(fact_peer_path("profiles/modern/traces", file, ""), step);
        double own_us = period_us(file, step);
        double ratio = us / (own_us > 0.0 ? own_us : fmax(host_us, span_us));
        cr_expect_lt(fabs(ratio - 1.0), TOLERANCE,
                     "%s %s: %.1f us simulated, %.1f us on the host, %.1f us on the GPU, "
                     "%.1f us from the step before",
                     file, step, us, host_us, span_us, own_us);
        count++;
    }
    fclose(table);
    cr_expect_eq(count, 16);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
