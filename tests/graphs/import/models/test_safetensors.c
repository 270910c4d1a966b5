// SPDX-License-Identifier: GPL-3.0-or-later
/* Are headers of safetensors files read for what they say, and no further? */
#include "graphs/import/models/safetensors.h"
#include "tests/graphs/graphs.h"
#include "tests/test.h"

TestSuite(safetensors, .init = scratch_create, .fini = graph_tear_down);

#define TENSOR(name, type, shape, offsets) \
    "'" name "':{'dtype':'" type "','shape':[" shape "],'data_offsets':[" offsets "]}"

/* The length of the JSON text, the text. \return bytes. */
static size_t write_header(char *bytes, const char *json)
{
    size_t length = strlen(json);

    for (int i = 0; i < 8; i++) bytes[i] = (char)(length >> 8 * i & 0xff);
    memcpy(bytes + 8, scratch_json(json), length);
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
    "{'__metadata__':{'format':'pt'}," TENSOR("a.weight", "BF16", "2,3", "0,12") "," TENSOR(
        "b", "F8_E4M3", "5",
        "12,17") "," TENSOR("c", "F4", "3,2",
                            "17,20") "," TENSOR("d", "F6_E3M2", "4",
                                                "20,23") "," TENSOR("e", "F6_E2M3", "4,2",
                                                                    "23,29") "," TENSOR("f",
                                                                                        "C64",
                                                                                        "2",
                                                                                        "29,45") "}";

Test(safetensors, tells_types_shapes_and_bytes)
{
    SCOPED(emp_safetensors, emp_safetensors_clear) h;

    ASSERT_OK(parse(&h, good, 45, &err));
    cr_expect_eq(h.count, 6);
    cr_expect_eq(h.bytes, 45);
    cr_expect_eq(h.elements, 6 + 5 + 6 + 4 + 8 + 2);
    const emp_safetensor *a = emp_safetensors_find(&h, "a.weight");
    cr_assert_not_null(a);
    cr_expect_eq(a->dtype, EMP_DTYPE_BFLOAT16);
    cr_expect_eq(a->bytes, 12);
    cr_expect(a->shape.rank == 2 && a->shape.dim[0] == 2 && a->shape.dim[1] == 3);
    cr_expect_eq(emp_safetensors_find(&h, "c")->dtype, EMP_DTYPE_FLOAT4_E2M1);
    cr_expect_eq(emp_safetensors_find(&h, "e")->dtype, EMP_DTYPE_FLOAT6_E2M3);
    for (int32_t i = 0; i < h.count; i++) /* data_offsets say how many */
        cr_expect_eq(emp_dtype_tensor_bytes(h.tensor[i].dtype, &h.tensor[i].shape),
                     h.tensor[i].bytes, "%s", h.tensor[i].name);
    cr_expect_null(emp_safetensors_find(&h, "__metadata__"));
}

Test(safetensors, refuses_what_a_header_cannot_say)
{
    static const struct {
        const char *json, *part;
        uint64_t    data;
    } cases[] = {
        {"[]", "no JSON object", 0},
        {"{" TENSOR("a", "BF17", "2", "0,4") "}", "\"dtype\"", 4},
        {"{'a':{'shape':[2],'data_offsets':[0,4]}}", "\"dtype\"", 4},
        {"{" TENSOR("a", "BF16", "-2", "0,4") "}", "size 0", 4},
        {"{'a':{'dtype':'BF16','shape':2,'data_offsets':[0,4]}}", "\"shape\"", 4},
        {"{" TENSOR("a", "BF16", "1,1,1,1,1,1,1,1,1", "0,2") "}", "\"shape\"", 4},
        {"{" TENSOR("a", "BF16", "2", "0,5") "}", "takes 5 bytes", 5},
        {"{" TENSOR("a", "BF16", "2", "0,4") "}", "no part of the file", 3},
        {"{" TENSOR("a", "BF16", "2", "4,0") "}", "no part of the file", 9},
        {"{" TENSOR("a", "BF16", "2", "0") "}", "no part of the file", 9},
        {"{" TENSOR("a", "F64", "9223372036854775807,9", "0,4") "}", "takes 4 bytes", 9},
        {"{" TENSOR("a", "BF16", "2", "") "}", "no part of the file", 9},
        {"{'a':{'dtype':'BF16','shape':[2]}}", "no part of the file", 9},
        {"{'a':", "line 1", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_safetensors h;
        EXPECT_REFUSED(parse(&h, cases[i].json, cases[i].data, &err), EMP_EFORMAT,
                       cases[i].part);
        emp_safetensors_clear(&h);
    }
}

Test(safetensors, refuses_lengths_beyond_the_file)
{
    SCOPED(emp_safetensors, emp_safetensors_clear) h = {0};
    const char huge[10] = {'\xff', '\xff', '\xff', '\xff', '\xff',
                           '\xff', '\xff', '\xff', '{',    '}'};

    EXPECT_REFUSED(emp_safetensors_parse(&h, huge, 10, 10, &err), EMP_EFORMAT,
                   "no safetensors file");
    cr_expect_eq(emp_safetensors_parse(&h, "abc", 3, 3, NULL), EMP_EFORMAT);
    cr_expect_eq(emp_safetensors_load(&h, "/nowhere.safetensors", NULL), EMP_EIO);
}

#define CONFIG(hidden, inner, more)                                                 \
    "{'model_type':'llama','hidden_act':'silu','hidden_size':" hidden               \
    ",'intermediate_size':" inner ",'num_attention_heads':2,'num_hidden_layers':1," \
    "'vocab_size':10,'torch_dtype':'bfloat16'" more "}"

static const char tiny[] = CONFIG("4", "8", "");

static void write_tensors(const char *name, const char *header, size_t data_bytes)
{
    char   bytes[2048];
    size_t size = write_header(bytes, header);

    memset(bytes + size, 0, data_bytes);
    scratch_write(name, bytes, size + data_bytes);
}

static emp_status load(emp_graph **whole, emp_import_notes *notes, const char *config,
                       const char *weights, emp_error *err)
{
    char       spec[1024];
    emp_graph *step = NULL;

    scratch_write_json("config.json", config);
    snprintf(spec, sizeof spec, "hf:path=%s,", scratch_path("config.json"));
    size_t used = strlen(spec);
    snprintf(spec + used, sizeof spec - used, "weights=%s,phase=prefill,batch=1,seq=2",
             scratch_path(weights));
    emp_status st = emp_source_load_noted(&step, whole, NULL, notes, spec, err);
    emp_graph_destroy(step);
    return st;
}

/* MLX packs eight weights in an int32, a row of 64 with a scale and a bias of 16 bits each. */
Test(safetensors, gives_weights_beside_a_config_their_types)
{
    static const char mlx[] =
        CONFIG("64", "64", ",'quantization':{'bits':4,'group_size':64}");
    /* rows of matrices and the table, norms, without the head */
    const int64_t packed = (7 * 64 + 10) * (32 + 4) + 3 * 64 * 2;
    const struct {
        const char *config, *header;
        size_t      data_bytes;
        int64_t     bytes; /* up to 0: more than two a parameter */
        const char *warning;
    } cases[] = {{tiny, "{" TENSOR("embed_tokens.weight", "I8", "10,4", "0,40") "}", 64,
                  -40, "1 of the 12 weights"},
                 {tiny, "{" TENSOR("unet.conv.weight", "F32", "2,4", "0,32") "}", 64, 0,
                  "none of its 1 tensors"},
                 {mlx, "{" TENSOR("lm_head.weight", "U32", "10,8", "0,320") "}", 1280,
                  packed + 10 * (32 + 4), "stored as the config"},
                 {mlx, "{" TENSOR("lm_head.weight", "BF16", "10,64", "0,1280") "}", 1280,
                  packed + 10 * 64 * 2, "stored as the config"}};
    emp_graph *g = NULL;

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        write_tensors("m.safetensors", cases[i].header, cases[i].data_bytes);
        ASSERT_OK(load(&g, &notes, cases[i].config, "m.safetensors", &err));
        cr_expect_eq(g->parameter_bytes,
                     cases[i].bytes > 0 ? cases[i].bytes
                                        : 2 * g->parameter_count + cases[i].bytes,
                     "%s", cases[i].header);
        cr_assert_eq(notes.warning_count, 1);
        cr_expect_not_null(strstr(notes.warning[0], cases[i].warning), "%s",
                           notes.warning[0]);
        emp_graph_destroy(g);
    }
    write_tensors("m.safetensors", "{" TENSOR("lm_head.weight", "F32", "2,4", "0,32") "}",
                  64);
    EXPECT_REFUSED(load(&g, NULL, tiny, "m.safetensors", &err), EMP_EFORMAT,
                   "8 elements in \"lm_head.weight\"");
}

#define SHARD_1 "model-00001-of-00002.safetensors"
#define SHARD_2 "model-00002-of-00002.safetensors"
#define INDEX   "model.safetensors.index.json"

static emp_status load_index(emp_safetensors *h, const char *map, emp_error *err)
{
    scratch_write_json(
        INDEX, scratch_print("{'metadata':{'total_size':64},'weight_map':%s}", map));
    emp_safetensors_clear(h);
    return emp_safetensors_load(h, scratch_path(INDEX), err);
}

Test(safetensors, an_index_has_the_tensors_of_its_shards)
{
    SCOPED(emp_safetensors, emp_safetensors_clear) h = {0};
    emp_graph *whole = NULL;

    write_tensors(SHARD_1, "{" TENSOR("embed_tokens.weight", "F32", "4,4", "0,64") "}",
                  64);
    write_tensors(SHARD_2, "{" TENSOR("lm_head.weight", "I8", "10,4", "0,40") "}", 64);
    ASSERT_OK(load_index(
        &h, "{'embed_tokens.weight':'" SHARD_1 "','lm_head.weight':'" SHARD_2 "'}",
        &err));
    cr_expect_eq(h.count, 2);
    cr_expect_eq(h.bytes, 64 + 40);
    cr_expect_not_null(emp_safetensors_find(&h, "lm_head.weight"));

    /* the same beside a config, by way of a spec */
    load_index(&h, "{'lm_head.weight':'" SHARD_2 "'}", NULL);
    ASSERT_OK(load(&whole, NULL, tiny, INDEX, &err));
    cr_expect_eq(whole->parameter_bytes, 2 * (whole->parameter_count - 40) + 40);
    emp_graph_destroy(whole);
}

Test(safetensors, refuses_an_index_by_its_fault)
{
    static const char *const cases[][2] = {
        {"{}", "\"weight_map\""},
        {"[1]", "\"weight_map\""},
        {"{'a':3}", "\"a\" in \"weight_map\""},
        {"{'a':'../x'}", "\"../x\""},
        {"{'a':'absent'}", "shard \"absent\""},
        {"{'long':'long'}", "shard \"long\""},
        {"{'b':'" SHARD_1 "'}", "\"b\" in \"" SHARD_1 "\""},
        {"{'a':'" SHARD_1 "','a2':'" SHARD_2 "'}", "\"a\" is there twice"}};

    write_tensors(SHARD_1, "{" TENSOR("a", "I8", "3", "0,3") "}", 64);
    write_tensors(SHARD_2, "{" TENSOR("a", "I8", "3", "0,3") "}", 64);
    write_tensors("long", "{" TENSOR("long", "F32", "10,4", "0,160") "}", 64);
    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_safetensors, emp_safetensors_clear) h = {0};
        emp_error err = {0};
        cr_expect_neq(load_index(&h, cases[i][0], &err), EMP_OK, "%s", cases[i][0]);
        cr_expect_not_null(strstr(err.msg, cases[i][1]), "%s: %s", cases[i][0], err.msg);
        cr_expect_not_null(strstr(err.msg, INDEX), "%s", err.msg);
    }
}

Test(safetensors, survive_every_allocation_failure)
{
    char            bytes[2048];
    emp_safetensors h = {0};
    size_t          size = write_header(bytes, good);

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_safetensors_parse(&h, bytes, size, size + 45, NULL),
        emp_safetensors_clear(&h));
    emp_safetensors_clear(&h);
}
