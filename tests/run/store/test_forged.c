// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a damaged file with a right seal refused by one sentence, or read? The seal detects damage; it
 * does not prevent forgery. */
#define _GNU_SOURCE /* memmem() */
#include "base/rng.h"
#include "base/work.h"
#include "run/store/checkpoint.h"
#include "tests/support/store_samples.h"
#include "tests/test.h"

enum { FORGED = 200, MOST_FLIPS = 8 };

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
}

TestSuite(forged, .init = set_up, .fini = scratch_tear_down);

static unsigned char *make_sample(store_kind kind, size_t *size)
{
    cr_assert(store_sample_save(kind, scratch_path("x.h5")));
    ASSERT_OK(store_sample_load(kind, scratch_path("x.h5"), &err));
    return (unsigned char *)scratch_read("x.h5", size);
}

static emp_status load(store_kind kind, unsigned char *bytes, size_t size, emp_error *err)
{
    store_seal_anew(bytes, size);
    scratch_write("x.h5", bytes, size);
    return store_sample_load(kind, scratch_path("x.h5"), err);
}

/* Read, or refused by one sentence that names the file, within a second of work. */
static void expect_answer(store_kind kind, unsigned char *bytes, size_t size)
{
    emp_error        err = {0};
    const double     before_s = emp_clock_thread_s();
    const emp_status st = load(kind, bytes, size, &err);

    cr_expect_lt(emp_clock_thread_s() - before_s, 1.0);
    if (st == EMP_OK) return;
    cr_expect(st == EMP_EFORMAT || st == EMP_EUNSUPPORTED || st == EMP_EINVAL, "%s: %s",
              emp_status_str(st), err.msg);
    cr_expect_not_null(strstr(err.msg, "x.h5"), "%s", err.msg);
    cr_expect_null(strchr(err.msg, '\n'), "%s", err.msg);
}

Test(forged, files_of_200_kinds_are_read_or_refused)
{
    emp_rng rng;

    for (store_kind kind = STORE_RECORD; kind < STORE_KINDS; kind++) {
        size_t         size;
        unsigned char *good = make_sample(kind, &size), *bad = malloc(size);
        for (uint32_t file = 0; file < FORGED; file++) {
            emp_rng_init(&rng, 26, kind, file);
            memcpy(bad, good, size);
            for (uint32_t i = 1 + emp_rng_below(&rng, MOST_FLIPS); i > 0; i--) {
                uint32_t room = (uint32_t)size - STORE_SEAL_BYTES;
                bad[STORE_SEAL_BYTES + emp_rng_below(&rng, room)] ^=
                    (unsigned char)(1U << emp_rng_below(&rng, 8));
            }
            expect_answer(kind, bad, size);
        }
        free(good);
        free(bad);
    }
}

static void expect_no_file(store_kind kind, const unsigned char *bytes, size_t size)
{
    scratch_write("x.h5", bytes, size);
    EXPECT_REFUSED(store_sample_load(kind, scratch_path("x.h5"), &err), EMP_EFORMAT,
                   "x.h5");
}

Test(forged, torn_and_damaged_files_are_refused)
{
    for (store_kind kind = STORE_RECORD; kind < STORE_KINDS; kind++) {
        size_t         size;
        unsigned char *bytes = make_sample(kind, &size);
        for (size_t length = 0; length < size; length += size / 97 + 1)
            expect_no_file(kind, bytes, length);
        for (size_t at = STORE_SEAL_BYTES; at < size; at += size / 211 + 1) {
            bytes[at] ^= 0x5a;
            expect_no_file(kind, bytes, size);
            bytes[at] ^= 0x5a;
        }
        free(bytes);
    }
}

/* Where the value of an attribute begins: behind its padded name, an integer's type, and the space. */
static unsigned char *find_value(unsigned char *bytes, size_t size, const char *attribute)
{
    const size_t   name_bytes = strlen(attribute) + 1;
    unsigned char *name = memmem(bytes, size, attribute, name_bytes);

    cr_assert_not_null(name);
    return name + (name_bytes + 7) / 8 * 8 + 16 + 8;
}

/* A field's promise is checked before memory is allocated: only the file itself is. Packed names stop at a
 * ratio: 11 KB cannot hold 16 GB of them. */
Test(forged, counts_take_no_memory)
{
    static const struct {
        const char *count, *array;
        uint64_t    promised;
    } cases[] = {{"op_count", "device_of_op", INT32_MAX},
                 {"point_count", "curve", INT32_MAX},
                 {"op_name_bytes", "op_name", UINT64_C(16) << 30}};

    for (int i = 0; i < 3; i++) {
        const bool     is_names = i == 2;
        size_t         size;
        unsigned char *bytes = make_sample(STORE_RECORD, &size);
        SCOPED(emp_record, emp_record_clear) record = {0};
        SCOPED(emp_op_names, emp_op_names_clear) names = {0};
        memcpy(find_value(bytes, size, cases[i].count), &cases[i].promised,
               is_names ? sizeof(uint64_t) : sizeof(int32_t));
        store_seal_anew(bytes, size);
        scratch_write("x.h5", bytes, size);
        emp_mem_fail_after(1); /* of the file */
        EXPECT_REFUSED(is_names
                           ? emp_record_load_names(&names, scratch_path("x.h5"), &err)
                           : emp_record_load(&record, scratch_path("x.h5"), &err),
                       EMP_EFORMAT, cases[i].array);
        emp_mem_fail_after(-1);
        free(bytes);
    }
}

/* The symbol of a dataset: leaves of the root group hold them, next to each other, by the places of
 * their names in a heap. */
static unsigned char *find_symbol(unsigned char *bytes, size_t size, const char *name)
{
    enum { SYMBOL_BYTES = 40, HEAD_BYTES = 8 };
    unsigned char *heap = memmem(bytes, size, "HEAP", 4), *leaf = bytes;
    uint64_t       names_at, offset;

    cr_assert_not_null(heap);
    memcpy(&names_at, heap + 24, sizeof names_at);
    while ((leaf = memmem(leaf, size - (size_t)(leaf - bytes), "SNOD", 4)) != NULL) {
        for (int i = 0; i < leaf[6]; i++) {
            unsigned char *symbol = leaf + HEAD_BYTES + SYMBOL_BYTES * i;
            memcpy(&offset, symbol, sizeof offset);
            if (strcmp((char *)bytes + STORE_SEAL_BYTES + names_at + offset, name) == 0)
                return symbol;
        }
        leaf += 4;
    }
    cr_assert_fail("no dataset %s", name);
    return NULL;
}

static unsigned char *find_message(unsigned char *bytes, size_t size, const char *name,
                                   uint16_t type)
{
    uint64_t object;
    uint16_t own_type, length;

    memcpy(&object, find_symbol(bytes, size, name) + 8, sizeof object);
    for (unsigned char *at = bytes + STORE_SEAL_BYTES + object + 16;; at += 8 + length) {
        cr_assert_lt(at, bytes + size - 8);
        memcpy(&own_type, at, sizeof own_type);
        memcpy(&length, at + 2, sizeof length);
        if (own_type == type) return at;
    }
}

enum { UNUSED = 0, EXTERNAL_FILES = 7, LAYOUT = 8, VIRTUAL = 3, SOFT_LINK = 2 };

/* A dataset with a list of external files in place of the unused rest of its header. */
static void point_outside(unsigned char *bytes, size_t size)
{
    find_message(bytes, size, "busy_s", UNUSED)[0] = EXTERNAL_FILES;
}

static void make_virtual(unsigned char *bytes, size_t size)
{
    unsigned char *layout = find_message(bytes, size, "curve", LAYOUT) + 8;

    layout[0] = 4; /* of the layout's versions the first that has such datasets */
    layout[1] = VIRTUAL;
}

static void make_link(unsigned char *bytes, size_t size)
{
    unsigned char *symbol = find_symbol(bytes, size, "peak_bytes");

    memset(symbol + 8, 0xff, 8); /* a link has no object of its own */
    symbol[16] = SOFT_LINK;
}

/* A chain of continuations that leads back to its beginning. */
static void make_ring(unsigned char *bytes, size_t size)
{
    enum { CONTINUATION = 16 };
    uint64_t       object;
    unsigned char *message = find_message(bytes, size, "curve", LAYOUT);

    memcpy(&object, find_symbol(bytes, size, "curve") + 8, sizeof object);
    memset(bytes + STORE_SEAL_BYTES + object + 2, 0xff, 2); /* 65,535 messages */
    message[0] = CONTINUATION;
    object += 16;
    memcpy(message + 8, &object, sizeof object);
    object = 336;
    memcpy(message + 16, &object, sizeof object);
}

Test(forged, values_that_are_elsewhere_are_refused)
{
    static const struct {
        void (*forge)(unsigned char *bytes, size_t size);
        const char *lacks;
    } cases[] = {{point_outside, "\"busy_s\""},
                 {make_virtual, "\"curve\""},
                 {make_link, "\"peak_bytes\""},
                 {make_ring, "\"curve\""}};

    for (int i = 0; i < 4; i++) {
        size_t         size;
        unsigned char *bytes = make_sample(STORE_RECORD, &size);
        cases[i].forge(bytes, size);
        EXPECT_REFUSED(load(STORE_RECORD, bytes, size, &err), EMP_EFORMAT,
                       cases[i].lacks);
        free(bytes);
    }
}

static emp_record make_record(void)
{
    emp_record r = {.method = "random", .device_count = 1, .decision = {.op_count = 1}};

    r.decision.device_of_op = EMP_NEW_ARRAY(emp_device_id, 1);
    r.curve = EMP_NEW_ARRAY(emp_curve_point, 1);
    r.evaluations = 5;
    r.point_count = 1;
    return r;
}

static void expect_nonsense(emp_record *record, const char *part)
{
    ASSERT_OK(emp_record_save(scratch_path("x.h5"), record, NULL));
    emp_record_clear(record);
    EXPECT_REFUSED(emp_record_load(record, scratch_path("x.h5"), &err), EMP_EFORMAT,
                   part);
    emp_record_clear(record);
    *record = make_record();
}

Test(forged, values_without_sense_are_refused)
{
    SCOPED(emp_record, emp_record_clear) r = make_record();

    r.best_step_time_s = NAN;
    expect_nonsense(&r, "its best_step_time_s is nan");
    r.median_s = -1;
    expect_nonsense(&r, "its median_s is -1");
    r.budget_s = INFINITY;
    expect_nonsense(&r, "its budget_s is inf");
    r.evaluations = -1;
    expect_nonsense(&r, "its evaluations is -1");
    r.feasible_count = 6;
    expect_nonsense(&r, "6 of 5 candidates fit");
    r.traffic_bytes = -8;
    expect_nonsense(&r, "its traffic_bytes is -8");
    r.peak_bytes[0] = -1;
    expect_nonsense(&r, "device 0 has -1 bytes");
    r.busy_s[0] = NAN;
    expect_nonsense(&r, "is busy for nan s");
    r.curve[0].evaluations = 6;
    expect_nonsense(&r, "point 0 of its curve has 6 evaluations");
    r.curve[0].best_s = -INFINITY;
    expect_nonsense(&r, "best -inf s");
}
