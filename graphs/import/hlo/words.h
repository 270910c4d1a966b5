/** \file graphs/import/hlo/words.h
 * Words, brackets and shapes of a module's text, one after another. Blanks and comments are skipped.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_WORDS_H
#define EMP_GRAPHS_IMPORT_HLO_WORDS_H

#include "graphs/import/hlo/module.h"

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

#endif /* EMP_GRAPHS_IMPORT_HLO_WORDS_H */
