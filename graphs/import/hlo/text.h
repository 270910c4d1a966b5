/** \file graphs/import/hlo/text.h
 * Words, brackets and shapes of a module's text, one after another. Blanks and comments are skipped.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_TEXT_H
#define EMP_GRAPHS_IMPORT_HLO_TEXT_H

#include "graphs/import/hlo/module.h"

typedef struct {
    const emp_hlo_module *m;
    const char           *at, *end;
} emp_hlo_text;

bool emp_hlo_text_ends(emp_hlo_text *t);
/** Whether that character comes next; take: and steps over it. */
bool emp_hlo_text_is(emp_hlo_text *t, char c);
bool emp_hlo_text_take(emp_hlo_text *t, char c);
/** Steps over a word, if it comes next and no letter follows. */
bool emp_hlo_text_word(emp_hlo_text *t, const char *word);
/** Takes a name without its "%". */
bool emp_hlo_text_name(emp_hlo_text *t, emp_slice *name);
/** Takes what is between brackets that match, which come next. O(bytes). */
bool emp_hlo_text_bracket(emp_hlo_text *t, emp_slice *inside);
/** Takes "key=value"; a value ends at a comma or a line outside of brackets and quotes. */
bool emp_hlo_text_pair(emp_hlo_text *t, emp_slice *key, emp_slice *value);
/** Steps over the lines of a table of source files, which begin with numbers, behind its title. An empty
 * table has none. False: what follows the title is no table. */
bool emp_hlo_text_skip_table(emp_hlo_text *t, emp_slice title);

/** A shape whose tensors and parts are the last ones of the module. */
typedef struct {
    int32_t     first_tensor, tensor_count, first_part, part_count;
    bool        is_tuple;
    const char *problem; /**< "has a dynamic size, ..." or NULL */
} emp_hlo_shape;

/** Whether a shape comes next, rather than a name. */
bool emp_hlo_text_is_shape(emp_hlo_text *t);
/** Takes a shape with its layouts. \retval EMP_EFORMAT  No shape. \retval EMP_ENOMEM */
emp_status emp_hlo_text_shape(emp_hlo_text *t, emp_hlo_module *m, emp_hlo_shape *shape,
                              emp_error *err);
/** Forgets the shape that was read last. */
void emp_hlo_shape_drop(emp_hlo_module *m, const emp_hlo_shape *shape);

/** "line 3: "add" stands where ... should stand". \retval EMP_EFORMAT */
emp_status emp_hlo_text_fail(emp_hlo_text *t, const char *wanted, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_HLO_TEXT_H */
