// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/textbook_internal.h"

#undef NDEBUG
#include <assert.h>

#include "base/mem.h"

static int precedes(const struct entry *x, const struct entry *y)
{
    if (x->at != y->at) return x->at < y->at;
    if (x->rank != y->rank) return x->rank < y->rank;
    return x->seq < y->seq;
}

static void swap_entries(struct entry *x, struct entry *y)
{
    struct entry t = *x;
    *x = *y;
    *y = t;
}

void textbook_push(struct heap *h, struct entry e)
{
    if (h->count == h->capacity) {
        h->capacity = h->capacity * 2 + 16;
        h->entry = emp_realloc(h->entry, (size_t)h->capacity, sizeof *h->entry);
        assert(h->entry != NULL);
    }
    int i = h->count++;
    h->entry[i] = e;
    for (; i > 0 && precedes(&h->entry[i], &h->entry[(i - 1) / 2]); i = (i - 1) / 2)
        swap_entries(&h->entry[i], &h->entry[(i - 1) / 2]);
}

struct entry textbook_pop(struct heap *h)
{
    struct entry top = h->entry[0];

    h->entry[0] = h->entry[--h->count];
    for (int i = 0;;) {
        int least = i;
        for (int c = 2 * i + 1; c <= 2 * i + 2 && c < h->count; c++) {
            if (precedes(&h->entry[c], &h->entry[least])) least = c;
        }
        if (least == i) return top;
        swap_entries(&h->entry[i], &h->entry[least]);
        i = least;
    }
}
