// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/name_groups.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef struct {
    const char *name;
    int32_t     index;
} entry;

/* A range of the sorted names that share a prefix. */
typedef struct {
    int32_t first, end;
    size_t  prefix; /* its bytes, with the slash at its end */
    bool    is_final;
} scope;

/* The slash before all other characters: names of a scope stand together. */
static int rank(char c) { return c == '/' ? 1 : c == '\0' ? 0 : 2 + (unsigned char)c; }

static int by_name(const void *a, const void *b)
{
    const entry *x = (const entry *)a, *y = (const entry *)b;
    size_t       i = 0;

    while (x->name[i] != '\0' && x->name[i] == y->name[i]) i++;
    if (x->name[i] != y->name[i]) return rank(x->name[i]) < rank(y->name[i]) ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Bytes of the component that starts at the name's prefix. */
static size_t component(const entry *e, size_t prefix)
{
    return strcspn(e->name + prefix, "/");
}

static bool is_same_component(const entry *a, const entry *b, size_t prefix)
{
    size_t length = component(a, prefix);

    return component(b, prefix) == length &&
           memcmp(a->name + prefix, b->name + prefix, length) == 0;
}

/* The end of the names from `first` on that have its component. */
static int32_t end_of_component(const entry *sorted, const scope *s, int32_t first)
{
    int32_t end = first + 1;

    while (end < s->end && is_same_component(&sorted[first], &sorted[end], s->prefix))
        end++;
    return end;
}

/* Writes the parts of a scope, unless `part` is NULL, and returns how many. An op by that
 * very name ends it; what is below its name has one component more. */
static int32_t split(const entry *sorted, const scope *s, scope *part)
{
    int32_t count = 0;

    for (int32_t first = s->first, end; first < s->end; first = end, count++) {
        end = end_of_component(sorted, s, first);
        if (part == NULL) continue;
        const entry *last = &sorted[end - 1]; /* the longest: has a slash if any has */
        size_t       prefix = s->prefix + component(last, s->prefix);
        bool         has_more = last->name[prefix] == '/';
        /* An op that is named as a scope is the first of its names. */
        bool is_whole = sorted[first].name[prefix] == '\0';
        part[count] = (scope){first, end, prefix + has_more, !has_more || is_whole};
    }
    return count;
}

static int32_t find_largest(const scope *scopes, int32_t count)
{
    int32_t largest = -1;

    for (int32_t i = 0; i < count; i++) {
        if (scopes[i].is_final) continue;
        if (largest < 0 ||
            scopes[i].end - scopes[i].first > scopes[largest].end - scopes[largest].first)
            largest = i;
    }
    return largest;
}

/* Splits scopes in place, the parts where the whole was, until none can be; returns their
 * number, at most `room`. */
static int32_t split_all(const entry *sorted, scope *scopes, int32_t room)
{
    int32_t count = 1, at;

    while ((at = find_largest(scopes, count)) >= 0) {
        const scope whole = scopes[at];
        int32_t     parts = split(sorted, &whole, NULL);
        if (count - 1 + parts > room) {
            scopes[at].is_final = true;
            continue;
        }
        memmove(&scopes[at + parts], &scopes[at + 1],
                (size_t)(count - at - 1) * sizeof *scopes);
        split(sorted, &whole, &scopes[at]);
        count += parts - 1;
    }
    return count;
}

emp_status emp_name_groups(int32_t *group, const char *const *name, int32_t count,
                           int32_t group_count, emp_error *err)
{
    emp_status st = EMP_OK;
    entry     *sorted = EMP_NEW_ARRAY(entry, (size_t)count);
    scope     *scopes = EMP_NEW_ARRAY(scope, (size_t)group_count);
    int32_t    used;

    if (sorted == NULL || scopes == NULL) EMP_FAIL(EMP_ENOMEM, "%d names", count);
    for (int32_t i = 0; i < count; i++) sorted[i] = (entry){name[i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    scopes[0] = (scope){0, count, 0, false};
    used = split_all(sorted, scopes, group_count);
    for (int32_t s = 0; s < used; s++) {
        for (int32_t i = scopes[s].first; i < scopes[s].end; i++)
            group[sorted[i].index] = s;
    }

cleanup:
    emp_free(sorted);
    emp_free(scopes);
    return st;
}
