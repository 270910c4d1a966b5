// SPDX-License-Identifier: GPL-3.0-or-later
/* Are headers of safetensors files read for what they say, and no further? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/models/safetensors.h"
#include "graphs/load.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(safetensors, .init = scratch_create, .fini = scratch_remove);

/* The length of the JSON text, the text. \return bytes. */
static size_t write_header(char *bytes, const char *json)
{
    size_t length = strlen(json);

    for (int i = 0; i < 8; i++) bytes[i] = (char)(length >> 8 * i & 0xff);
    memcpy(bytes + 8, json, length);
    return length + 8;
}

static emp_status parse(emp_safetensors *h, const char *json, uint64_t data,
                        emp_error *err)
{
    char   bytes[2048];
    size_t size = write_header(bytes, json);

    *h = (emp_safetensors){0};
    return emp_safetensors_parse(h, bytes, size, size + data, err);
}

static const char good[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"a.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
    "\"b\":{\"dtype\":\"F8_E4M3\",\"shape\":[5],\"data_offsets\":[12,17]},"
    "\"c\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[17,20]}}";

Test(safetensors, tells_types_shapes_and_bytes)
{
    emp_safetensors h;
    emp_error       err = {0};

    cr_assert_eq(parse(&h, good, 20, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(h.count, 3);
    cr_expect_eq(h.bytes, 20);
    cr_expect_eq(h.elements, 6 + 5 + 6);
    const emp_safetensor *a = emp_safetensors_find(&h, "a.weight");
    cr_assert_not_null(a);
    cr_expect_eq(a->dtype, EMP_DTYPE_BFLOAT16);
    cr_expect_eq(a->bytes, 12);
    cr_expect(a->shape.rank == 2 && a->shape.dim[0] == 2 && a->shape.dim[1] == 3);
    cr_expect_null(emp_safetensors_find(&h, "__metadata__"));
    emp_safetensors_clear(&h);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(safetensors, refuses_what_a_header_cannot_say)
{
    static const struct {
        const char *json, *part;
        uint64_t    data;
    } cases[] = {
        {"[]", "no JSON object", 0},
        {"{\"a\":{\"dtype\":\"BF17\",\"shape\":[2],\"data_offsets\":[0,4]}}", "\"dtype\"",
         4},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,4]}}", "\"dtype\"", 4},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[-2],\"data_offsets\":[0,4]}}", "size 0",
         4},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":2,\"data_offsets\":[0,4]}}", "\"shape\"",
         4},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,2]"
         "}}",
         "\"shape\"", 4},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,5]}}",
         "takes 5 bytes", 5},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}",
         "no part of the file", 3},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[4,0]}}",
         "no part of the file", 9},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0]}}",
         "no part of the file", 9},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[9223372036854775807,9],\"data_offsets\":["
         "0,4]}}",
         "takes 4 bytes", 9},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[]}}",
         "no part of the file", 9},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2]}}", "no part of the file", 9},
        {"{\"a\":", "line 1", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_safetensors h;
        emp_error       err = {0};
        cr_expect_eq(parse(&h, cases[i].json, cases[i].data, &err), EMP_EFORMAT, "%s",
                     cases[i].json);
        cr_expect_not_null(strstr(err.msg, cases[i].part), "\"%s\" in \"%s\"",
                           cases[i].part, err.msg);
        emp_safetensors_clear(&h);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(safetensors, refuses_lengths_beyond_the_file)
{
    emp_safetensors h = {0};
    emp_error       err = {0};
    const char      huge[10] = {'\xff', '\xff', '\xff', '\xff', '\xff',
                                '\xff', '\xff', '\xff', '{',    '}'};

    cr_expect_eq(emp_safetensors_parse(&h, huge, 10, 10, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "no safetensors file"));
    cr_expect_eq(emp_safetensors_parse(&h, "abc", 3, 3, NULL), EMP_EFORMAT);
    cr_expect_eq(emp_safetensors_load(&h, "/nowhere.safetensors", NULL), EMP_EIO);
    emp_safetensors_clear(&h);
}

/* ---- beside a config ---- */

static const char tiny[] =
    "{\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":4,"
    "\"intermediate_size\":8,\"num_attention_heads\":2,\"num_hidden_layers\":1,"
    "\"vocab_size\":10,\"torch_dtype\":\"bfloat16\"}";

static const char *config = tiny;
static size_t      data_bytes = 64;

static emp_status load(emp_graph **whole, emp_import_notes *notes, const char *header,
                       emp_error *err)
{
    char       bytes[2048], spec[1024];
    emp_graph *step = NULL;
    size_t     size = write_header(bytes, header);

    memset(bytes + size, 0, data_bytes);
    scratch_write("m.safetensors", bytes, size + data_bytes);
    scratch_write("config.json", config, strlen(config));
    snprintf(spec, sizeof spec, "hf:path=%s,", scratch_path("config.json"));
    size_t used = strlen(spec);
    snprintf(spec + used, sizeof spec - used, "weights=%s,phase=prefill,batch=1,seq=2",
             scratch_path("m.safetensors"));
    emp_status st = emp_source_load_noted(&step, whole, NULL, notes, spec, err);
    emp_graph_destroy(step);
    return st;
}

/* The head is in float32, the table of embeddings in 8 bits, all else as the config says. */
Test(safetensors, gives_weights_beside_a_config_their_types)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};

    cr_assert_eq(load(&g, NULL,
                      "{\"lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[2,4],"
                      "\"data_offsets\":[0,32]}}",
                      &err),
                 EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "8 elements in \"lm_head.weight\", the config 40"),
                       "%s", err.msg);
    cr_assert_eq(load(&g, &notes,
                      "{\"embed_tokens.weight\":{\"dtype\":\"I8\",\"shape\":[10,4],"
                      "\"data_offsets\":[0,40]}}",
                      &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(g->parameter_bytes, 2 * (g->parameter_count - 40) + 40);
    cr_assert_eq(notes.warning_count, 1);
    cr_expect_not_null(strstr(notes.warning[0], "it has 1 of the 12 weights"), "%s",
                       notes.warning[0]);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

Test(safetensors, a_file_that_has_no_weight_of_the_config_is_a_warning)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};

    cr_assert_eq(load(&g, &notes,
                      "{\"unet.conv.weight\":{\"dtype\":\"F32\",\"shape\":[2,4],"
                      "\"data_offsets\":[0,32]}}",
                      &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(notes.warning_count, 1);
    cr_expect_not_null(strstr(notes.warning[0], "none of its 1 tensors"), "%s",
                       notes.warning[0]);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

/* ---- indices ---- */

#define SHARD_1 "model-00001-of-00002.safetensors"
#define SHARD_2 "model-00002-of-00002.safetensors"

static void write_shard(const char *name, const char *json)
{
    char   bytes[1024];
    size_t size = write_header(bytes, json);

    memset(bytes + size, 0, 64); /* data */
    scratch_write(name, bytes, size + 64);
}

static emp_status load_index(emp_safetensors *h, const char *map, emp_error *err)
{
    char text[1024];

    snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":64},\"weight_map\":%s}",
             map);
    scratch_write("model.safetensors.index.json", text, strlen(text));
    emp_safetensors_clear(h);
    return emp_safetensors_load(h, scratch_path("model.safetensors.index.json"), err);
}

Test(safetensors, an_index_has_the_tensors_of_its_shards)
{
    emp_safetensors h = {0};
    emp_error       err = {0};
    char            spec[512], path[256];
    emp_graph      *step = NULL, *whole = NULL;

    write_shard(SHARD_1, "{\"embed_tokens.weight\":{\"dtype\":\"F32\",\"shape\":[10,4],"
                         "\"data_offsets\":[0,160]}}");
    write_shard(SHARD_2, "{\"lm_head.weight\":{\"dtype\":\"I8\",\"shape\":[10,4],"
                         "\"data_offsets\":[0,40]}}");
    cr_expect_eq(load_index(&h, "{\"embed_tokens.weight\":\"" SHARD_1 "\"}", &err),
                 EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "index.json: its shard \"" SHARD_1 "\": "), "%s",
                       err.msg);
    write_shard(SHARD_1, "{\"embed_tokens.weight\":{\"dtype\":\"F32\",\"shape\":[4,4],"
                         "\"data_offsets\":[0,64]}}");
    cr_expect_eq(load_index(&h,
                            "{\"embed_tokens.weight\":\"" SHARD_1
                            "\",\"lm_head.weight\":\"" SHARD_2 "\"}",
                            &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(h.count, 2);
    cr_expect_eq(h.bytes, 64 + 40);
    cr_expect_not_null(emp_safetensors_find(&h, "lm_head.weight"));
    emp_safetensors_clear(&h);

    /* the same beside a config, by way of a spec */
    scratch_write("config.json", tiny, strlen(tiny));
    snprintf(path, sizeof path, "%s", scratch_path("config.json"));
    load_index(&h, "{\"lm_head.weight\":\"" SHARD_2 "\"}", NULL);
    snprintf(spec, sizeof spec, "hf:path=%s,phase=prefill,batch=1,seq=8,weights=%s", path,
             scratch_path("model.safetensors.index.json"));
    cr_assert_eq(emp_source_load(&step, &whole, NULL, spec, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(whole->parameter_bytes, 2 * (whole->parameter_count - 40) + 40);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
    emp_safetensors_clear(&h);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(safetensors, refuses_an_index_by_its_fault)
{
    static const struct {
        const char *map, *message;
    } cases[] = {
        {"{}", "no \"weight_map\" with names of tensors"},
        {"[1]", "no \"weight_map\" with names of tensors"},
        {"{\"a\":3}", "\"a\" in \"weight_map\" is no name of a file"},
        {"{\"a\":\"../x\"}", "the shard \"../x\" is no name of a file beside it"},
        {"{\"a\":\"absent\"}", "its shard \"absent\": "},
        {"{\"b\":\"" SHARD_1 "\"}",
         "has the tensor \"b\" in \"" SHARD_1 "\", which has none of that name"},
        {"{\"a\":\"" SHARD_1 "\",\"a2\":\"" SHARD_2 "\"}",
         "tensor \"a\" is there twice"}};
    static const char a[] =
        "{\"a\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[0,3]}}";

    write_shard(SHARD_1, a);
    write_shard(SHARD_2, a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_safetensors h = {0};
        emp_error       err = {0};
        cr_expect_neq(load_index(&h, cases[i].map, &err), EMP_OK, "%s", cases[i].map);
        cr_expect_not_null(strstr(err.msg, cases[i].message), "%s: %s", cases[i].map,
                           err.msg);
        cr_expect_not_null(strstr(err.msg, "model.safetensors.index.json: "), "%s",
                           err.msg);
        emp_safetensors_clear(&h);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* MLX packs eight weights in an int32, a row of 64 with a scale and a bias of 16 bits each. */
Test(safetensors, packed_weights_are_stored_as_the_config_says)
{
    static const char quantised[] =
        "{\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":64,"
        "\"intermediate_size\":64,\"num_attention_heads\":2,\"num_hidden_layers\":1,"
        "\"vocab_size\":10,\"torch_dtype\":\"bfloat16\","
        "\"quantization\":{\"bits\":4,\"group_size\":64}}";
    static const struct {
        const char *header;
        int64_t     head;
    } cases[] = {{"{\"lm_head.weight\":{\"dtype\":\"U32\",\"shape\":[10,8],"
                  "\"data_offsets\":[0,320]}}",
                  10 * (32 + 4)},
                 {"{\"lm_head.weight\":{\"dtype\":\"BF16\",\"shape\":[10,64],"
                  "\"data_offsets\":[0,1280]}}",
                  10 * 64 * 2}};
    const int64_t rows = 7 * 64 + 10, norms = 3 * 64 * 2; /* of matrices and the table */

    for (size_t i = 0; i < 2; i++) {
        emp_graph       *g = NULL;
        emp_import_notes notes = {0};
        emp_error        err = {0};
        data_bytes = 1280;
        config = quantised;
        cr_assert_eq(load(&g, &notes, cases[i].header, &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(g->parameter_bytes, rows * (32 + 4) + norms + cases[i].head);
        cr_assert_eq(notes.warning_count, 1);
        cr_expect_not_null(
            strstr(notes.warning[0], "the others are stored as the config"));
        emp_import_notes_clear(&notes);
        emp_graph_destroy(g);
    }
}

Test(safetensors, survive_every_allocation_failure)
{
    char            bytes[2048];
    emp_safetensors h = {0};
    size_t          size = write_header(bytes, good);

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_safetensors_parse(&h, bytes, size, size + 20, NULL),
        emp_safetensors_clear(&h));
    emp_safetensors_clear(&h);
}
