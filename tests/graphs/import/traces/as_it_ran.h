/** \file tests/graphs/import/traces/as_it_ran.h
 * A step of a trace, simulated on the devices that it ran on.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_TRACES_AS_IT_RAN_H
#define EMP_TESTS_GRAPHS_IMPORT_TRACES_AS_IT_RAN_H

#include "graphs/import/notes/readers.h"

/** The simulated step: each stream a GPU, each thread a core. Ends the test on failure. */
int64_t as_it_ran_ns(const emp_graph *graph, const emp_import_devices *devices);

#endif /* EMP_TESTS_GRAPHS_IMPORT_TRACES_AS_IT_RAN_H */
