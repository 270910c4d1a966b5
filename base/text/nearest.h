/** \file base/text/nearest.h
 * What a person may have meant who wrote a name that is not there.
 *
 *     char hint[EMP_NEAREST_BYTES];
 *     emp_nearest near = emp_nearest_begin(word, strlen(word), "");
 *     for (each name) emp_nearest_offer(&near, name, strlen(name));
 *     "there is no method \"%s\"%s", word, emp_nearest_hint(&near, hint)
 *
 * says: there is no method "hpd" (did you mean "hdp"?). For files, emp_nearest_file() does all of it.
 * Threads. No state.
 */
#ifndef EMP_BASE_TEXT_NEAREST_H
#define EMP_BASE_TEXT_NEAREST_H

#include <stddef.h>
#include <stdint.h>

enum { EMP_NEAREST_BYTES = 96 };

typedef struct {
    const char *word; /**< what was written; borrowed */
    size_t      length;
    const char *prefix; /**< of names in hints: "--"; borrowed */
    const char *name;   /**< the nearest that is near enough, or NULL; borrowed */
    size_t      name_length;
    int32_t     distance; /**< of it */
} emp_nearest;

/** Letters to insert, delete, change or exchange with a neighbour, in lower case: "optimal
 * string alignment". Longer words than 63 letters are as far from all others as can be.
 * O(product of the lengths). */
int32_t emp_edit_distance(const char *a, size_t a_length, const char *b, size_t b_length);

emp_nearest emp_nearest_begin(const char *word, size_t length, const char *prefix);

/** Takes \a name, of \a length characters, if it is nearer than those before and near enough: some
 * one letter in four is wrong. A name that begins with the word, of three letters or
 * more, is near. */
void emp_nearest_offer(emp_nearest *near, const char *name, size_t length);

/** Offers every word of a list: "one, two" or "one|two". */
void emp_nearest_offer_list(emp_nearest *near, const char *list);

/** " (did you mean \"hdp\"?)", or "" where nothing is near. \return \a text. */
const char *emp_nearest_hint(const emp_nearest *near, char text[EMP_NEAREST_BYTES]);

/** As emp_nearest_hint(), of a path where no file is: what in the same folder is named most like it,
 * as " (did you mean \"data/box.yaml\"?)". Hidden files do not count. \return \a text. */
const char *emp_nearest_file(const char *path, char text[EMP_NEAREST_BYTES]);

#endif /* EMP_BASE_TEXT_NEAREST_H */
