/** \file base/text/slice.h
 * Borrowed bytes, mostly text of a file that lies in memory: cut at lines, words and separators
 * without a copy.
 *
 * Threads. No state.
 */
#ifndef EMP_BASE_TEXT_SLICE_H
#define EMP_BASE_TEXT_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** Borrowed bytes, not terminated. */
typedef struct {
    const char *data;
    size_t      size;
} emp_slice;

/** For "%.*s": at most 80 bytes of a slice. */
#define EMP_SLICE_ARG(s) (int)((s).size < 80 ? (s).size : 80), (s).data

static inline bool emp_slice_starts(emp_slice slice, const char *text)
{
    size_t size = strlen(text);
    return slice.size >= size && memcmp(slice.data, text, size) == 0;
}

static inline bool emp_slice_is(emp_slice slice, const char *text)
{
    return slice.size == strlen(text) && emp_slice_starts(slice, text);
}

static inline bool emp_slice_same(emp_slice a, emp_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/** All but the first \a count bytes, of which there are as many. */
static inline emp_slice emp_slice_behind(emp_slice slice, size_t count)
{
    return (emp_slice){slice.data + count, slice.size - count};
}

bool emp_slice_ends(emp_slice slice, const char *text);
bool emp_slice_has(emp_slice slice, const char *word);

/** Where \a word begins first; the size of the slice: nowhere. O(size). */
size_t emp_slice_find(emp_slice slice, const char *word);

/** Without blanks, tabs and carriage returns at both ends. */
emp_slice emp_slice_trim(emp_slice slice);

/** Cuts what stands before \a word, and the word, off the front of \a rest; false: there is no such word,
 * and \a rest is as it was. */
bool emp_slice_cut(emp_slice *part, emp_slice *rest, const char *word);

/** Cuts the next line off, without its end, which may be "\r\n"; false behind the last one. */
bool emp_slice_next_line(emp_slice *line, emp_slice *rest);

/** Cuts the next word off; words are separated by blanks, tabs and carriage returns. False behind the last
 * one, and \a word is empty. */
bool emp_slice_next_word(emp_slice *word, emp_slice *rest);

/** Copies what fits of it into \a size bytes, terminated; all but printable ASCII becomes '?'. */
void emp_slice_copy(char *to, size_t size, emp_slice slice);

#endif /* EMP_BASE_TEXT_SLICE_H */
