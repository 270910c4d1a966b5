/** \file base/text/options.h
 * Options as a person writes them, "name=value,name=value", read into a struct as one const
 * table says. The same table lists them: name, range, default a preset, one sentence.
 *
 *     typedef struct { int32_t samples; double rate; } my_options;
 *
 *     static const emp_option list[] = {
 *         EMP_INTEGER_OPTION("samples", my_options, samples, 1, 64, "of a batch", 4, 8),
 *         EMP_REAL_OPTION("rate", my_options, rate, 0, 1, "of learning", 0.5, 0.1),
 *         EMP_NO_OPTION};
 *     static const emp_option_table table = {"mine", "careful|fast", list};
 *     ...
 *     EMP_CHECK(emp_options_parse(&options, &table, "fast", "samples=16", err));
 *
 * Lists of words are "one|two|three". Threads. No state.
 */
#ifndef EMP_BASE_TEXT_OPTIONS_H
#define EMP_BASE_TEXT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_OPTION_PRESETS = 2, EMP_OPTION_TEXT_BYTES = 128 };

typedef enum {
    EMP_OPTION_BOOL,    /**< a bool: 0 or 1 */
    EMP_OPTION_INTEGER, /**< an int32_t */
    EMP_OPTION_REAL,    /**< a double */
    EMP_OPTION_WORD     /**< an enum or int32_t: the position of a word in a list */
} emp_option_kind;

typedef struct {
    const char     *name; /**< NULL ends a list */
    emp_option_kind kind;
    size_t          offset; /**< of the value in the struct */
    double          low, high;
    const char     *words;                      /**< "one|two", of EMP_OPTION_WORD */
    const char     *help;                       /**< one sentence */
    double          preset[EMP_OPTION_PRESETS]; /**< the default in each preset ... */
    int32_t preset_count; /**< ... of the first; the others have the first one's */
} emp_option;

/* A row of a list. */
#define EMP_OPTION(name, kind, offset, low, high, words, help, ...) \
    {                                                               \
        name, kind, offset, low, high, words, help, {__VA_ARGS__},  \
            sizeof(const double[]){__VA_ARGS__} / sizeof(double)    \
    }

/** Rows of a list; \a field of struct \a type, whose C type is checked. The last arguments are
 * the default in each preset. Presets without one have the default of the first. */
#define EMP_BOOL_OPTION(name, type, field, help, ...) \
    EMP_OPTION(name, EMP_OPTION_BOOL,                 \
               _Generic(((type *)0)->field, bool      \
                        : offsetof(type, field)),     \
               0, 1, NULL, help, __VA_ARGS__)
#define EMP_INTEGER_OPTION(name, type, field, low, high, help, ...) \
    EMP_OPTION(name, EMP_OPTION_INTEGER,                            \
               _Generic(((type *)0)->field, int32_t                 \
                        : offsetof(type, field)),                   \
               low, high, NULL, help, __VA_ARGS__)
#define EMP_REAL_OPTION(name, type, field, low, high, help, ...) \
    EMP_OPTION(name, EMP_OPTION_REAL,                            \
               _Generic(((type *)0)->field, double               \
                        : offsetof(type, field)),                \
               low, high, NULL, help, __VA_ARGS__)
#define EMP_WORD_OPTION(name, type, field, words, help, ...) \
    EMP_OPTION(name, EMP_OPTION_WORD,                        \
               _Generic(((type *)0)->field, int32_t          \
                        : offsetof(type, field), uint32_t    \
                        : offsetof(type, field)),            \
               0, 0, words, help, __VA_ARGS__)
#define EMP_NO_OPTION \
    {                 \
        0             \
    }

typedef struct {
    const char       *owner;   /**< begins messages: "hdp" */
    const char       *presets; /**< "careful|fast"; NULL: there is one default each */
    const emp_option *list;    /**< ends with EMP_NO_OPTION; NULL: no options */
} emp_option_table;

/** Fills the struct at \a values: the defaults of \a preset (NULL: of the first), then what
 * \a text gives (NULL or "": nothing). O(characters of \a text x options).
 * \retval EMP_EINVAL  An unknown preset or name, or a value out of range; the message lists
 *                     what would be right. */
emp_status emp_options_parse(void *values, const emp_option_table *table,
                             const char *preset, const char *text, emp_error *err);

/** The default in preset number \a preset, of the first from 0 on. */
double emp_option_default(const emp_option *option, int32_t preset);
/** The same as a person writes it. */
void emp_option_write_default(char text[EMP_OPTION_TEXT_BYTES], const emp_option *option,
                              int32_t preset);
/** The range of its values: "0..1", "1..64", "0|1", "one|two". */
void emp_option_write_range(char text[EMP_OPTION_TEXT_BYTES], const emp_option *option);

/** The position of a word in "one|two|three"; -1 = it is not there. */
int32_t emp_words_find(const char *words, const char *word, size_t length);
/** Word number \a index, and its length; NULL = there is none. */
const char *emp_words_at(const char *words, int32_t index, size_t *length);

/* Columns of lists whose entries are X(name, key, words), as initialisers of an array:
 *
 *     static const char *const keys[] = {EMP_LIMIT_LIST(EMP_LIST_SECOND)}; */

#define EMP_LIST_SECOND(first, ...)        EMP_LIST_HEAD_(__VA_ARGS__, 0)
#define EMP_LIST_THIRD(first, second, ...) EMP_LIST_HEAD_(__VA_ARGS__, 0)
#define EMP_LIST_HEAD_(head, ...)          head,

/* Lists of keys as options give them: "rnnlm,nmt2". NULL is the list of all. */

/** True when the list has the word. */
bool emp_word_list_has(const char *list, const char *word);

/** Every word of the list must be one of key(context, 0), key(context, 1), ... up to NULL,
 * some of which may be equal.
 * \param what  What the list is of, for the message: "table 1 has no row".
 * \retval EMP_EINVAL  The message names the word and the keys, the first of many. */
emp_status emp_word_list_check(const char *list, const char *what,
                               const char *(*key)(const void *context, int32_t i),
                               const void *context, emp_error *err);

/* Specs with texts of their own: "family:path=FILE,batch=8" names a file among its options. */

enum { EMP_SPEC_BYTES = 4096, EMP_SPEC_TEXTS_MAX = 5 };

/** The items of a spec after its family, cut at commas. */
typedef struct {
    char text[EMP_SPEC_TEXTS_MAX]
             [EMP_SPEC_BYTES]; /**< by key; "" where it is not given */
    char rest[EMP_SPEC_BYTES]; /**< the other items, for emp_options_parse() */
} emp_spec_parts;

/** Cuts \a spec. \a keys are the keys of texts, each with its equals sign, and end with NULL: "path=". A key
 * that ends with a point, as "dim." of "dim.N=3,dim.M=4", may be there several times; its text is "N=3,M=4".
 * \retval EMP_EINVAL  The spec is too long, or has one of them twice. */
emp_status emp_spec_cut(emp_spec_parts *parts, const char *spec, const char *const *keys,
                        emp_error *err);

#endif /* EMP_BASE_TEXT_OPTIONS_H */
