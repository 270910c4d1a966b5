/** \file run/sheet/sheet.h
 * A table as a value: typed columns, rows, notes, and where it comes from. Each command builds
 * one; it is printed only here, as aligned text, Markdown, CSV or JSON.
 *
 *     static const emp_sheet_column columns[] = {
 *         EMP_COLUMN("method", "method", EMP_SHEET_WORD),
 *         EMP_COLUMN("step_s", "s", EMP_SHEET_REAL)};
 *     emp_sheet sheet;
 *     EMP_SHEET_INIT(&sheet, columns);
 *     EMP_SHEET_ADD(&sheet, EMP_V("gpu"), EMP_V(0.15));
 *     emp_sheet_note(&sheet, "Runtime %s.", runtime);
 *     st = emp_sheet_print(stdout, &sheet, EMP_SHEET_TEXT, err);
 *     emp_sheet_clear(&sheet);
 *
 * A line of the sheet is a line of CSV. People may see the lines spread: a sheet with a column
 * at EMP_SHEET_ACROSS has a group of columns for each of its values, and lines that agree in
 * all columns at EMP_SHEET_ROW share a row. JSON then nests lines in rows, too.
 *
 * Building never fails: the sheet remembers that an allocation failed, or that a line did not have
 * a value a column, and printing says so.
 *
 * A number NaN is missing, and infinity means that nothing fits in memory. A value
 * that is left out (EMP_NONE) makes no sense in its place.
 */
#ifndef EMP_RUN_SHEET_SHEET_H
#define EMP_RUN_SHEET_SHEET_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"

enum { EMP_SHEET_COLUMNS = 48, EMP_SHEET_CELL_BYTES = 96 };

typedef enum {
    EMP_SHEET_WORD,
    EMP_SHEET_COUNT,
    EMP_SHEET_REAL,    /**< people see three digits or more: 0.123, 1.23, 12.34, 123.4 */
    EMP_SHEET_FLAG,    /**< yes, no; of CSV 1, 0 */
    EMP_SHEET_SECONDS, /**< people see 12.3 ms (base/text/units.h) */
    EMP_SHEET_BYTES,   /**< people see 1.25 GiB */
    EMP_SHEET_SHARE,   /**< a fraction; people see 12.3 % */
    EMP_SHEET_CHANGE,  /**< a growth; people see +12.3 % */
    EMP_SHEET_HASH     /**< 16 hexadecimal digits */
} emp_sheet_kind;

/** Where people see a column of a sheet that is spread. */
typedef enum {
    EMP_SHEET_CELL,   /**< in every group */
    EMP_SHEET_ROW,    /**< at the left; names the row */
    EMP_SHEET_ACROSS, /**< names the group */
    EMP_SHEET_END     /**< at the right; belongs to the row */
} emp_sheet_place;

/** How people see the range of a value. */
typedef enum {
    EMP_SHEET_BELOW, /**< under it, where its ends differ; Markdown: behind it */
    EMP_SHEET_BEHIND /**< 1.23 [1.20-1.30] */
} emp_sheet_range;

typedef struct {
    const char     *key;   /**< of programs; NULL = only people see it */
    const char     *title; /**< of people; NULL = only programs see it */
    emp_sheet_kind  kind;
    emp_sheet_place place;
    const char *form; /**< OPTIONAL. printf's format of a double, percent of a share */
    int  digits;    /**< of a real number without a form, for people; 0: three or more */
    bool is_fine;   /**< emp_sheet_number_fine(), for people */
    int  width;     /**< of text, at least */
    int  mark;      /**< room for marks behind the value, at least */
    int  precision; /**< significant digits of CSV; 0 = 6 */
    const char     *low, *high; /**< OPTIONAL. Keys of the ends of the range */
    emp_sheet_range range;
    const char *infinite; /**< OPTIONAL. infinity for people, "never"; files have "inf" */
    bool        is_optional; /**< left out where no line has a value */
    bool        is_csv_only; /**< JSON says it elsewhere, as in the facts of the sheet */
} emp_sheet_column;

/** The fields in order, the last ones by name: EMP_COLUMN("step_s", "s", EMP_SHEET_REAL). */
#define EMP_COLUMN(...)    \
    {                      \
        .key = __VA_ARGS__ \
    }

typedef enum {
    EMP_VALUE_NONE,
    EMP_VALUE_WORD,
    EMP_VALUE_COUNT,
    EMP_VALUE_REAL
} emp_value_tag;

typedef struct {
    emp_value_tag tag;
    const char   *word; /**< borrowed until it is added, which copies it */
    int64_t       count;
    double        real;
    bool          has_range;
    double        low, high;
    const char   *mark; /**< OPTIONAL. Static: "*" */
} emp_value;

#define EMP_NONE ((emp_value){.tag = EMP_VALUE_NONE})

/** NULL is no value. */
static inline emp_value emp_value_word(const char *word)
{
    return (emp_value){.tag = word != NULL ? EMP_VALUE_WORD : EMP_VALUE_NONE,
                       .word = word};
}
static inline emp_value emp_value_count(int64_t count)
{
    return (emp_value){.tag = EMP_VALUE_COUNT, .count = count};
}
static inline emp_value emp_value_bits(uint64_t bits)
{
    return emp_value_count((int64_t)bits);
}
static inline emp_value emp_value_real(double real)
{
    return (emp_value){.tag = EMP_VALUE_REAL, .real = real};
}
static inline emp_value emp_value_range(double real, double low, double high)
{
    return (emp_value){
        .tag = EMP_VALUE_REAL, .real = real, .has_range = true, .low = low, .high = high};
}
/** The value, or none unless \a is_there. */
static inline emp_value emp_value_if(bool is_there, emp_value value)
{
    return is_there ? value : EMP_NONE;
}
static inline emp_value emp_value_marked(emp_value value, const char *mark)
{
    value.mark = mark;
    return value;
}

/** The value of a C expression: text, a whole number, a flag or a real number. */
#define EMP_V(x) \
    _Generic((x),                                                                         \
        char *: emp_value_word,                                                           \
        const char *: emp_value_word,                                                     \
        double: emp_value_real, \
        float: emp_value_real, \
        unsigned long: emp_value_bits,                                                    \
        unsigned long long: emp_value_bits,                                               \
        default: emp_value_count)(x)

typedef struct emp_sheet {
    const char *title;   /**< or NULL */
    const char *command; /**< that makes it; the program's unless set */
    const char *version, *commit;
    bool        is_dirty;
    const char         *
        infinite; /**< what people see of it in other columns; "OOM" unless set; in files always "OOM" */
    int         group_width; /**< of a group, at least */
    int         line_width; /**< of text, at most; 0: the terminal's, and 110 elsewhere */
    bool        is_bare;    /**< people are not told who made it */
    int32_t     best_line;  /**< its row is set off on a page; below 0 unless set */
    json_t     *facts;      /**< OPTIONAL, owned: emp_sheet_set_facts() */
    const char *rows, *cells; /**< JSON keys: of the rows, and of the lines of a row */
    bool
        is_keyed; /**< lines are no list but an object, by the name of the group; with no key of
                      lines they stand in the row itself */
    /** OPTIONAL, borrowed. More sheets of the same columns: CSV has their lines, too, people see
     * one after the other, and JSON lists all under the key \a list of the first. */
    struct emp_sheet *next;
    const char       *list;
    json_t           *head; /**< OPTIONAL, owned: emp_sheet_set_head() */
    int32_t           runs_made, runs_planned; /**< emp_sheet_set_runs() */

    /* private */
    emp_sheet_column column[EMP_SHEET_COLUMNS];
    int32_t          column_count, line_count, line_room, note_count, note_room;
    emp_value       *value; /* [line][column] */
    const char     **note;
    emp_arena        texts;
    emp_status       failure; /* what is wrong with it, or EMP_OK */
} emp_sheet;

typedef enum {
    EMP_SHEET_TEXT,
    EMP_SHEET_MD,
    EMP_SHEET_CSV,
    EMP_SHEET_JSON
} emp_sheet_format;

/** An empty sheet, made by this program (run/sheet/sheet.h). Copies the columns. */
void emp_sheet_init(emp_sheet *sheet, const emp_sheet_column *columns, size_t count);
#define EMP_SHEET_INIT(sheet, columns) \
    emp_sheet_init(sheet, columns, sizeof(columns) / sizeof *(columns))
void emp_sheet_clear(emp_sheet *sheet);

/** One more column, before the first line and of EMP_SHEET_COLUMNS at most; its texts are
 * copied. */
void emp_sheet_add_column(emp_sheet *sheet, emp_sheet_column column);

/** A line: a value a column. */
void emp_sheet_add(emp_sheet *sheet, const emp_value *values, size_t count);
#define EMP_SHEET_ADD(sheet, ...)                          \
    emp_sheet_add(sheet, (const emp_value[]){__VA_ARGS__}, \
                  sizeof(const emp_value[]){__VA_ARGS__} / sizeof(emp_value))

/** The error while the sheet was built. \retval EMP_ENOMEM, EMP_EINVAL */
emp_status emp_sheet_check(const emp_sheet *sheet, emp_error *err);

/** The value of a line in a column; both count from 0. */
static inline const emp_value *emp_sheet_at(const emp_sheet *sheet, int32_t line,
                                            int32_t column)
{
    return &sheet->value[line * sheet->column_count + column];
}

EMP_PRINTF_LIKE(2, 3) void emp_sheet_set_title(emp_sheet *sheet, const char *format, ...);
/** A sentence below the table, for people. */
EMP_PRINTF_LIKE(2, 3) void emp_sheet_note(emp_sheet *sheet, const char *format, ...);

/** Says in every format that the table is partial, unless all its planned runs were made: a note for
 * people, which therefore comes first, a comment of CSV, the key "partial" of JSON. For the first of
 * several sheets. */
void emp_sheet_set_runs(emp_sheet *sheet, int32_t made, int32_t planned);

/** Members of the JSON beside the rows of this sheet. Takes over the object, which becomes a part of
 * what is printed; NULL means that an allocation failed for it. */
void emp_sheet_set_facts(emp_sheet *sheet, json_t *facts);
/** Members of the JSON beside the list of several sheets; for the first of them. */
void emp_sheet_set_head(emp_sheet *sheet, json_t *head);

/** "text", "md", "csv" or "json".
 * \retval EMP_EINVAL  Something else. */
emp_status emp_sheet_format_parse(emp_sheet_format *format, const char *name,
                                  emp_error *err);

/** Prints the sheet and those that follow it.
 * \retval EMP_ENOMEM  Now, or while it was built.
 * \retval EMP_EINVAL  A line has not one value a column, there are too many columns, or JSON
 *                     is to hold a text that is not UTF-8.
 * \retval EMP_EIO     \a out has failed. */
emp_status emp_sheet_print(FILE *out, const emp_sheet *sheet, emp_sheet_format format,
                           emp_error *err);

/** Writes only the sheet as a table of a page, its notes below it. \a text writes escaped text.
 * \retval EMP_ENOMEM, EMP_EINVAL, EMP_EIO  As emp_sheet_print(). */
emp_status emp_sheet_print_html(FILE *out, const emp_sheet *sheet,
                                void (*text)(FILE *out, const char *text),
                                emp_error *err);

/** Makes a JSON array of the sheet's rows, as JSON prints them, for an object that has more
 * than the sheet. The caller owns it. NULL when out of memory, now or while the sheet was built;
 * emp_sheet_set_facts() and emp_sheet_set_head() remember a failure for an object made with it. */
json_t *emp_sheet_rows(const emp_sheet *sheet);

/** The same, but four digits of a value below 1, however small it is: 0.02461. */
const char *emp_sheet_number_fine(double value, char text[EMP_SHEET_CELL_BYTES]);

typedef struct {
    const char *version; /**< "0.2.0" */
    const char *commit;  /**< 40 hexadecimal digits, or "unknown" */
    bool        is_dirty;
    const char *code;    /**< the compiler and its flags: "GNU 12.2.0 x86_64 -O3" */
    const char *command; /**< how the program was called; "" before it was told */
} emp_manifest;

/** The program that is running; static storage. */
emp_manifest emp_manifest_get(void);

/** Notes the command line, once, at the start of the program; what does not fit is cut off. */
void emp_manifest_set_command(int argc, char **argv);

/* Summaries of few numbers. */

/** All NaN when there is no value. Infinite values (out of memory) are larger than all. */
typedef struct {
    double median, min, max;
} emp_summary;

/** Sorts \a values in place and summarises them; no value may be NaN. O(n log n). */
emp_summary emp_summary_of(double *values, size_t count);

/** All NaN when there is no value. */
typedef struct {
    double median, low, high; /**< half of the values lie between the last two */
    size_t count;
} emp_quartiles;

/** Sorts \a values in place; no value may be NaN. O(n log n). */
emp_quartiles emp_quartiles_of(double *values, size_t count);

/** The median with the others as its range; none when there is no value. */
static inline emp_value emp_quartiles_value(const emp_quartiles *q)
{
    return emp_value_if(q->count > 0, emp_value_range(q->median, q->low, q->high));
}

#endif /* EMP_RUN_SHEET_SHEET_H */
