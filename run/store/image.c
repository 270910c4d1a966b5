// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/store/h5.h"

#include <string.h>

/* The library's constants, which superblocks state: children of a node of a B-tree, symbols of
 * one of its leaves. A group of more members than both give has a tree of two levels. */
enum { GROUP_CHILDREN = 32, LEAF_SYMBOLS = 8 };

/* Continuations of an object header. Every one is a message of a block before. */
enum { MAX_BLOCKS = 64 };

enum { HEADER_BYTES = 16, MESSAGE_HEADER_BYTES = 8, SYMBOL_BYTES = 40, NODE_BYTES = 24 };

/* Messages of object headers, IV.A.2. */
enum {
    MESSAGE_DATASPACE = 0x1,
    MESSAGE_DATATYPE = 0x3,
    MESSAGE_EXTERNAL_FILES = 0x7,
    MESSAGE_LAYOUT = 0x8,
    MESSAGE_FILTERS = 0xB,
    MESSAGE_ATTRIBUTE = 0xC,
    MESSAGE_CONTINUATION = 0x10,
    MESSAGE_SYMBOL_TABLE = 0x11
};
enum { MESSAGE_IS_SHARED = 1 << 1 }; /* its content is elsewhere */

enum { LAYOUT_VERSION = 3, LAYOUT_CONTIGUOUS = 1, LAYOUT_CHUNKED = 2 };

static const emp_h5_span NONE = {NULL, 0};

/* ---- bytes ---- */

/* Some bytes of others; none unless all of them are there. */
static emp_h5_span cut(emp_h5_span from, uint64_t at, uint64_t size)
{
    if (from.bytes == NULL || at > from.size || size > from.size - at) return NONE;
    return (emp_h5_span){from.bytes + at, (size_t)size};
}

/* A little-endian number of \a size bytes; 0 where they are not there. */
static uint64_t number(emp_h5_span from, size_t at, size_t size)
{
    const emp_h5_span span = cut(from, at, size);
    uint64_t          value = 0;

    for (size_t i = 0; i < span.size; i++) value |= (uint64_t)span.bytes[i] << 8 * i;
    return value;
}

static bool begins_with(emp_h5_span span, const void *bytes, size_t size)
{
    return span.bytes != NULL && span.size >= size &&
           memcmp(span.bytes, bytes, size) == 0;
}

static size_t round_up(uint64_t size) { return (size_t)((size + 7) / 8 * 8); }

/* ---- object headers, IV.A.1.a ---- */

typedef struct {
    unsigned    type;
    emp_h5_span content;
} message;

/* The messages of an object, one after another. */
typedef struct {
    const emp_h5_image *image;
    emp_h5_span         block[MAX_BLOCKS];
    int                 block_count, current;
    size_t              at;   /* in the current block */
    uint64_t            left; /* messages that the header still announces */
} messages;

static messages open_object(const emp_h5_image *image, uint64_t address)
{
    messages            m = {.image = image};
    const emp_h5_span   header = cut(image->whole, address, HEADER_BYTES);
    const unsigned char version[] = {1, 0};

    if (!begins_with(header, version, sizeof version)) return m;
    m.left = number(header, 2, 2);
    m.block[0] = cut(image->whole, address + HEADER_BYTES, number(header, 8, 4));
    m.block_count = 1;
    return m;
}

/* False at the end, which damage is, too: what is missing is then not found. */
static bool next_message(messages *m, message *found)
{
    while (m->current < m->block_count && m->left > 0) {
        const emp_h5_span block = m->block[m->current];
        const emp_h5_span head = cut(block, m->at, MESSAGE_HEADER_BYTES);
        const size_t      size = (size_t)number(head, 2, 2);

        if (head.bytes == NULL) {
            m->current++;
            m->at = 0;
            continue;
        }
        m->left--;
        *found = (message){(unsigned)number(head, 0, 2),
                           cut(block, m->at + MESSAGE_HEADER_BYTES, size)};
        m->at += MESSAGE_HEADER_BYTES + size;
        if (found->content.bytes == NULL || (number(head, 4, 1) & MESSAGE_IS_SHARED) != 0)
            return false;
        if (found->type != MESSAGE_CONTINUATION) return true;
        if (m->block_count == MAX_BLOCKS) return false;
        m->block[m->block_count++] = cut(m->image->whole, number(found->content, 0, 8),
                                         number(found->content, 8, 8));
    }
    return false;
}

/* The first message of a type; none if there is none. */
static emp_h5_span find_message(const emp_h5_image *image, uint64_t object, unsigned type)
{
    messages m = open_object(image, object);
    message  found;

    while (next_message(&m, &found)) {
        if (found.type == type) return found.content;
    }
    return NONE;
}

/* ---- groups, III.A to III.D ---- */

/* Finds a name in a leaf: its symbols are entries of 40 bytes. */
static bool find_in_leaf(emp_h5_span leaf, emp_h5_span names, const char *name,
                         size_t size, uint64_t *object)
{
    static const unsigned char head[] = {'S', 'N', 'O', 'D', 1};
    const uint64_t             count = number(leaf, 6, 2);

    if (!begins_with(leaf, head, sizeof head) || count > LEAF_SYMBOLS) return false;
    for (uint64_t i = 0; i < count; i++) {
        const emp_h5_span symbol = cut(leaf, 8 + i * SYMBOL_BYTES, SYMBOL_BYTES);
        const emp_h5_span own = cut(names, number(symbol, 0, 8), size + 1);
        if (symbol.bytes == NULL || !begins_with(own, name, size) ||
            own.bytes[size] != '\0')
            continue;
        *object = number(symbol, 8, 8);
        return true; /* of a link it is an address outside the image */
    }
    return false;
}

/* A group's symbol table names a B-tree, whose children are leaves, and a heap of names. */
static bool find_in_group(const emp_h5_image *image, uint64_t group, const char *name,
                          size_t size, uint64_t *object)
{
    static const unsigned char heap_head[] = {'H', 'E', 'A', 'P', 0};
    static const unsigned char node_head[] = {'T', 'R', 'E', 'E', 0, 0};
    const emp_h5_span          table = find_message(image, group, MESSAGE_SYMBOL_TABLE);
    const emp_h5_span          heap = cut(image->whole, number(table, 8, 8), 32);
    const emp_h5_span names = cut(image->whole, number(heap, 24, 8), number(heap, 8, 8));
    const emp_h5_span node =
        cut(image->whole, number(table, 0, 8), NODE_BYTES + GROUP_CHILDREN * 16 + 8);
    const uint64_t count = number(node, 6, 2);

    if (table.bytes == NULL || !begins_with(heap, heap_head, sizeof heap_head) ||
        !begins_with(node, node_head, sizeof node_head) || count > GROUP_CHILDREN)
        return false;
    for (uint64_t i = 0; i < count; i++) { /* a key stands before each child */
        const uint64_t    child = number(node, NODE_BYTES + 8 + (size_t)i * 16, 8);
        const emp_h5_span leaf =
            cut(image->whole, child, 8 + LEAF_SYMBOLS * SYMBOL_BYTES);
        if (find_in_leaf(leaf, names, name, size, object)) return true;
    }
    return false;
}

static bool find_object(const emp_h5_image *image, const char *path, uint64_t *object)
{
    const char *slash = strchr(path, '/');

    *object = image->root;
    if (slash != NULL) {
        if (!find_in_group(image, *object, path, (size_t)(slash - path), object))
            return false;
        path = slash + 1;
    }
    return find_in_group(image, *object, path, strlen(path), object);
}

bool emp_h5_image_open(emp_h5_image *image, const unsigned char *bytes, size_t size,
                       size_t user_block_bytes)
{
    /* II.A: versions, sizes of addresses and lengths, symbols of a leaf and children of a node
     * by halves, no flags. */
    static const unsigned char head[] = {0x89,
                                         'H',
                                         'D',
                                         'F',
                                         '\r',
                                         '\n',
                                         0x1a,
                                         '\n',
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         8,
                                         8,
                                         0,
                                         LEAF_SYMBOLS / 2,
                                         0,
                                         GROUP_CHILDREN / 2,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0};

    *image = (emp_h5_image){.whole = {bytes, size}};
    image->root = number(image->whole, 64, 8);
    return begins_with(image->whole, head, sizeof head) &&
           number(image->whole, 24, 8) == user_block_bytes &&
           number(image->whole, 40, 8) == size + user_block_bytes;
}

/* ---- attributes, IV.A.2.m ---- */

/* Version 1: name, type and dataspace, each padded to 8 bytes, then the value. */
static emp_h5_span attribute_value(emp_h5_span content, const char *name,
                                   emp_h5_span type, size_t value_bytes)
{
    static const unsigned char version[] = {1, 0}, scalar[] = {1, 0};
    const size_t               name_bytes = strlen(name) + 1;
    const size_t               type_at = 8 + round_up(name_bytes);
    const size_t               space_at = type_at + round_up(number(content, 4, 2));
    const size_t               value_at = space_at + round_up(number(content, 6, 2));

    if (!begins_with(content, version, sizeof version) ||
        number(content, 2, 2) != name_bytes || number(content, 4, 2) != type.size ||
        !begins_with(cut(content, 8, name_bytes), name, name_bytes) ||
        !begins_with(cut(content, type_at, type.size), type.bytes, type.size) ||
        !begins_with(cut(content, space_at, sizeof scalar), scalar, sizeof scalar))
        return NONE;
    return cut(content, value_at, value_bytes);
}

emp_h5_span emp_h5_image_attribute(const emp_h5_image *image, const char *name,
                                   emp_h5_span type, size_t value_bytes)
{
    messages m = open_object(image, image->root);
    message  found;

    while (next_message(&m, &found)) {
        if (found.type != MESSAGE_ATTRIBUTE) continue;
        emp_h5_span value = attribute_value(found.content, name, type, value_bytes);
        if (value.bytes != NULL) return value;
    }
    return NONE;
}

/* ---- datasets ---- */

/* IV.A.2.b: the sizes of the dimensions, and perhaps their largest ones, which we never change. */
static bool read_extent(emp_h5_span space, emp_h5_dataset *d)
{
    d->rank = (int)number(space, 1, 1);
    if (number(space, 0, 1) != 1 || d->rank < 1 || d->rank > 2) return false;
    for (size_t i = 0; i < (size_t)d->rank; i++)
        d->extent[i] = number(space, 8 + 8 * i, 8);
    return cut(space, 8, 8 * (uint64_t)d->rank).bytes != NULL;
}

/* IV.A.2.i: all values in one piece. None of them have no place. */
static bool find_contiguous(const emp_h5_image *image, emp_h5_span layout,
                            emp_h5_dataset *d)
{
    static const emp_h5_span empty = {(const unsigned char *)"", 0};
    const uint64_t           size = number(layout, 10, 8);

    d->values = size == 0 ? empty : cut(image->whole, number(layout, 2, 8), size);
    return cut(layout, 10, 8).bytes != NULL && d->values.bytes != NULL;
}

/* One chunk of all bytes, deflated: a B-tree of one node with one child. */
static bool find_chunk(const emp_h5_image *image, emp_h5_span layout, emp_h5_span filters,
                       emp_h5_dataset *d)
{
    /* IV.A.2.l: version 1, one filter; its number, the size of its name, optional, one setting.
     */
    static const unsigned char deflate[] = {1,   1,   0,   0,   0,   0,   0,   0,
                                            1,   0,   8,   0,   1,   0,   1,   0,
                                            'd', 'e', 'f', 'l', 'a', 't', 'e', 0};
    /* III.A.1: of chunks, a leaf, one child, no siblings. */
    static const unsigned char node_head[] = {
        'T',  'R',  'E',  'E',  1,    0,    1,    0,    0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    enum { ONE_DIMENSION_AND_BYTES = 2, KEY_BYTES = 24 };
    const emp_h5_span node =
        cut(image->whole, number(layout, 3, 8), NODE_BYTES + KEY_BYTES + 8);

    if (d->rank != 1 || number(layout, 2, 1) != ONE_DIMENSION_AND_BYTES ||
        number(layout, 11, 4) != d->extent[0] || number(layout, 15, 4) != 1 ||
        !begins_with(filters, deflate, sizeof deflate) ||
        !begins_with(node, node_head, sizeof node_head) ||
        number(node, NODE_BYTES + 4, 4) != 0) /* filters that were left out */
        return false;
    d->values = cut(image->whole, number(node, NODE_BYTES + KEY_BYTES, 8),
                    number(node, NODE_BYTES, 4));
    d->is_packed = true;
    return d->values.bytes != NULL;
}

bool emp_h5_image_dataset(const emp_h5_image *image, const char *name,
                          emp_h5_dataset *dataset)
{
    uint64_t object;

    *dataset = (emp_h5_dataset){0};
    if (!find_object(image, name, &object)) return false;
    const emp_h5_span layout = find_message(image, object, MESSAGE_LAYOUT);
    const emp_h5_span filters = find_message(image, object, MESSAGE_FILTERS);
    dataset->type = find_message(image, object, MESSAGE_DATATYPE);
    if (find_message(image, object, MESSAGE_EXTERNAL_FILES).bytes != NULL ||
        !read_extent(find_message(image, object, MESSAGE_DATASPACE), dataset) ||
        number(layout, 0, 1) != LAYOUT_VERSION)
        return false;
    switch (number(layout, 1, 1)) {
    case LAYOUT_CONTIGUOUS:
        return filters.bytes == NULL && find_contiguous(image, layout, dataset);
    case LAYOUT_CHUNKED: return find_chunk(image, layout, filters, dataset);
    default: return false;
    }
}
