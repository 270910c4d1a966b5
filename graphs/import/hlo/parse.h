/** \file graphs/import/hlo/parse.h
 * From the text of a module of XLA to its instructions. Text that XLA writes for tools and people: layouts,
 * comments, tables of source files and attributes that no reader needs are skipped, brackets matched.
 *
 * Most instructions of a compiled module are in the computations of its kernels. Once a kernel has its cost, its
 * computation may be forgotten; computations that are run after all are recalled, by reading their text again.
 *
 *     EMP_TRY(emp_hlo_reader_begin(&reader, &module, text, notes, err));
 *     for (;;) {
 *         EMP_TRY(emp_hlo_reader_next(&reader, &is_there, err));
 *         if (!is_there) break;
 *         ...
 *         emp_hlo_reader_forget(&reader);
 *     }
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_PARSE_H
#define EMP_GRAPHS_IMPORT_HLO_PARSE_H

#include "base/collections.h"
#include "graphs/import/hlo/module.h"
#include "graphs/import/hlo/words.h"
#include "graphs/import/notes/notes.h"

/** A module that is being read. Zero-initialise. */
typedef struct {
    emp_hlo_module   *m;     /**< borrowed */
    emp_import_notes *notes; /**< borrowed */
    emp_hlo_text      text;
    emp_strmap        index_of_name; /**< of the computation that is read */
    struct {
        int32_t instruction, tensor, part, operand, parameter, attr;
    } before; /**< how many the module had before that computation */
} emp_hlo_reader;

/** Begins with the header of a module. The caller clears \a m and \a r, also after a failure.
 * \retval EMP_EFORMAT  No such text; the message begins with "line 3: ". \retval EMP_ENOMEM */
emp_status emp_hlo_reader_begin(emp_hlo_reader *r, emp_hlo_module *m, emp_slice text,
                                emp_import_notes *notes, emp_error *err);

/** Reads the next computation, which becomes the last one of the module; \a *is_there is false at the end of the
 * text. Problems of single instructions go to the notes, and reading goes on behind them; what reads a broken
 * instruction is broken without a word. O(bytes), but for operands of tuples in tuples.
 * \retval EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_hlo_reader_next(emp_hlo_reader *r, bool *is_there, emp_error *err);

/** Drops the instructions of the computation that was read last, if it is like that of a kernel: not the entry,
 * and without calls, collectives and kernels. */
void emp_hlo_reader_forget(emp_hlo_reader *r);

/** Reads a computation again if it is forgotten, after all others and without problems. O(bytes of it).
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_hlo_reader_recall(emp_hlo_reader *r, int32_t computation, emp_error *err);

void emp_hlo_reader_clear(emp_hlo_reader *r);

#endif /* EMP_GRAPHS_IMPORT_HLO_PARSE_H */
