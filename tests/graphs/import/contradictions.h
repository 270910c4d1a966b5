/** \file tests/graphs/import/contradictions.h
 * Whether what is inferred of shapes contradicts what a file states of them.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_CONTRADICTIONS_H
#define EMP_TESTS_GRAPHS_IMPORT_CONTRADICTIONS_H

/** Reads the graph at \a path with and without the shapes that it states, and expects no two
 * known sizes to differ. */
void expect_no_contradiction(const char *path);

#endif /* EMP_TESTS_GRAPHS_IMPORT_CONTRADICTIONS_H */
