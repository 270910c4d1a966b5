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
#include "graphs/import/notes/notes.h"

/* ---- words, brackets and shapes of the text, one after another; blanks and comments are skipped ---- */

/** Kinds of characters. */
enum {
    EMP_HLO_BLANK = 1,
    EMP_HLO_OF_NAME = 2,
    EMP_HLO_OPENS = 4,
    EMP_HLO_CLOSES = 8,
    EMP_HLO_QUOTE = 16,
    EMP_HLO_ENDS = 32,
    EMP_HLO_SLASH = 64
};

extern const unsigned char emp_hlo_kinds[256];

typedef struct {
    const emp_hlo_module *m; /**< for lines in messages */
    const char           *at, *end;
} emp_hlo_text;

static inline unsigned emp_hlo_kind(char c) { return emp_hlo_kinds[(unsigned char)c]; }

static inline bool emp_hlo_is_of_name(char c)
{
    return (emp_hlo_kind(c) & EMP_HLO_OF_NAME) != 0;
}

/** Implements emp_hlo_text_skip() where something may be skipped. */
void emp_hlo_text_skip_blanks(emp_hlo_text *t);

static inline void emp_hlo_text_skip(emp_hlo_text *t)
{
    if (t->at < t->end && (emp_hlo_kind(*t->at) & (EMP_HLO_BLANK | EMP_HLO_SLASH)))
        emp_hlo_text_skip_blanks(t);
}

/** Whether that character comes next; take: and steps over it. */
static inline bool emp_hlo_text_is(emp_hlo_text *t, char c)
{
    emp_hlo_text_skip(t);
    return t->at < t->end && *t->at == c;
}

static inline bool emp_hlo_text_take(emp_hlo_text *t, char c)
{
    const bool is = emp_hlo_text_is(t, c);

    t->at += is;
    return is;
}

/** Takes a name, without its "%"; false: none comes next. */
static inline bool emp_hlo_text_name(emp_hlo_text *t, emp_slice *name)
{
    emp_hlo_text_skip(t);
    if (t->at < t->end && *t->at == '%') t->at++;
    const char *begin = t->at;
    while (t->at < t->end && emp_hlo_is_of_name(*t->at)) t->at++;
    *name = (emp_slice){begin, (size_t)(t->at - begin)};
    return name->size > 0;
}

/** Whether nothing comes any more. */
bool emp_hlo_text_ends(emp_hlo_text *t);
/** Steps over a word, if it comes next and no letter follows. */
bool emp_hlo_text_word(emp_hlo_text *t, const char *word);
/** Takes what is between brackets that match, which come next. O(bytes). */
bool emp_hlo_text_bracket(emp_hlo_text *t, emp_slice *inside);
/** Takes "key=value"; brackets and quotes of the value match. */
bool emp_hlo_text_pair(emp_hlo_text *t, emp_slice *key, emp_slice *value);
/** Steps over the lines of a table of source files, which begin with numbers, behind its title. An empty
 * table has none. False: what follows the title is no table. */
bool emp_hlo_text_skip_table(emp_hlo_text *t, emp_slice title);

/** "line 3: "add" stands where ... should stand". \retval EMP_EFORMAT */
emp_status emp_hlo_text_fail(emp_hlo_text *t, const char *wanted, emp_error *err);

/** A shape whose tensors and parts are the last ones of the module. */
typedef struct {
    int32_t     first_tensor, tensor_count, first_part, part_count;
    bool        is_tuple;
    const char *problem; /**< "has a dynamic size, ..." or NULL */
} emp_hlo_shape;

/** Whether a shape comes next, rather than a name. */
bool emp_hlo_text_is_shape(emp_hlo_text *t);
/** Takes a shape into the module, or steps over one (\a shape NULL). Tuples in tuples take no recursion: parts belong
 * to the outermost one. O(bytes). \retval EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_hlo_text_shape(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                              emp_error *err);

/* ---- instructions ---- */

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
