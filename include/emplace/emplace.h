/** \file emplace/emplace.h
 * The library: a graph, a machine and a runtime become a problem; a simulator scores its
 * placements. docs/library.md shows programs.
 *
 * | header            | noun                                                    |
 * | ----------------- | ------------------------------------------------------- |
 * | status.h          | codes, and the sentence of a failure                    |
 * | graph.h           | the graph of a training step, from a spec or a file     |
 * | graph_builder.h   | a graph with costs of your own, op by op                |
 * | machine.h         | machines and runtimes                                   |
 * | problem.h         | what is to be placed, and placements                    |
 * | sim.h             | the time and the memory of a step under a placement     |
 * | place.h           | searches, lower bounds, and why a step takes so long    |
 * | random.h          | the random streams of the program's methods             |
 */
#ifndef EMP_EMPLACE_EMPLACE_H
#define EMP_EMPLACE_EMPLACE_H

#include <emplace/graph.h>
#include <emplace/graph_builder.h>
#include <emplace/machine.h>
#include <emplace/place.h>
#include <emplace/problem.h>
#include <emplace/random.h>
#include <emplace/sim.h>
#include <emplace/status.h>

#endif /* EMP_EMPLACE_EMPLACE_H */
