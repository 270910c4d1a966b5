/** \file graphs/import/hlo/parse.h
 * From the text of a module of XLA to its instructions. What XLA writes for tools and people alike: layouts,
 * comments, tables of source files and attributes that no reader needs are skipped, brackets matched.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_PARSE_H
#define EMP_GRAPHS_IMPORT_HLO_PARSE_H

#include "graphs/import/hlo/module.h"
#include "graphs/import/notes/notes.h"

/** Reads all computations. Problems of single instructions go to \a notes, and reading goes on behind them;
 * what reads a broken instruction is broken without a word. The caller clears \a m, also after a failure.
 * O(bytes), but for operands of tuples in tuples.
 * \retval EMP_EFORMAT  No such text; the message begins with "line 3: ".
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_hlo_parse(emp_hlo_module *m, emp_slice text, emp_import_notes *notes,
                         emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_HLO_PARSE_H */
