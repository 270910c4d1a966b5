// SPDX-License-Identifier: GPL-3.0-or-later
/* Do configs give steps that hold and bind what they should, say what they leave out, and are wrong ones refused? */
#include <zlib.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/models/families.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/configs.h"
#include "tests/test.h"

enum { LONG_BYTES = 3 << 19 };

TestSuite(config, .init = scratch_create, .fini = graph_tear_down);

/* A model of 86,848 parameters. */
#define TINY_SIZES                                                      \
    "'hidden_size':64,'intermediate_size':128,'num_attention_heads':4," \
    "'num_key_value_heads':2,'vocab_size':100"
#define TINY_MEMBERS                                                             \
    "'model_type':'llama','hidden_act':'silu','num_hidden_layers':2," TINY_SIZES \
    ",'torch_dtype':'bfloat16'"
#define TINY(more) "{" TINY_MEMBERS more "}"

Test(config, steps_hold_weights_states_and_caches)
{
    /* keys and values of 2 heads x 16, for 3 sequences of 50 tokens, 2 bytes each */
    const int64_t            cache = 2LL * (2 * 2 * 16) * 3 * 50;
    static const char *const windows =
        TINY(",'layer_types':['sliding_attention','full_attention'],'sliding_window':10");
    /* the first three of four layers have a window */
    static const char *const olmo3 =
        "{'model_type':'olmo3','hidden_act':'silu','num_hidden_layers':2," TINY_SIZES
        ",'torch_dtype':'bfloat16','sliding_window':10}";
    const struct {
        const char *config, *options;
        int64_t     of_parameter, more;
    } cases[] = {{TINY(""), ",batch=1,seq=8", 2 + 4 + 4 + 4, 0},
                 {TINY(""), ",batch=1,seq=8,master=0", 2 + 2 + 2, 0},
                 {TINY(""), ",batch=1,seq=8,optimizer=sgd,dtype=fp32", 4, 0},
                 {TINY(""), ",phase=decode,batch=3,seq=50", 2, 2 * cache},
                 {TINY(""), ",phase=prefill,batch=3,seq=50", 2, 2 * cache},
                 {windows, ",phase=decode,batch=3,seq=50", 2, cache + cache / 5},
                 {olmo3, ",phase=decode,batch=3,seq=50", 2, 2 * cache / 5}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph *g = config_load_whole(cases[i].config, cases[i].options);
        cr_expect_eq(config_persistent_bytes(g),
                     cases[i].of_parameter * g->parameter_count + cases[i].more, "%s",
                     cases[i].options);
        emp_graph_destroy(g);
    }
}

/* Logits of 3 x 8 tokens and 100 words in float32: a log-softmax reads them twice and writes them, a look-up reads one of each
 * row, its gradient writes zeros, and the gradient of the log-softmax reads that and its result. */
Test(config, losses_have_the_passes_of_pytorch)
{
    static const char *const parts[] = {"loss/log_softmax", "loss", "loss/grad",
                                        "loss/log_softmax/grad"};
    emp_graph               *g = config_load(TINY(""), ",batch=3,seq=8");
    const int64_t            logits = 3 * 8 * 100 * 4, rows = 3 * 8 * 4;
    int64_t                  read = 0, written = 0;
    int32_t                  kernels = 0;

    for (size_t i = 0; i < COUNT(parts); i++) {
        const emp_op_cost *cost = g->op[graph_find(g, parts[i])].cost;
        read += cost->bytes_read;
        written += cost->bytes_written;
        kernels += cost->kernels;
    }
    cr_expect_eq(kernels, 4);
    cr_expect_eq(read, 4 * logits + 3 * rows, "%lld", (long long)read); /* labels twice */
    cr_expect_eq(written, 3 * logits + rows, "%lld", (long long)written);
    emp_graph_destroy(g);
}

/* The model has a head of 100 rows of 64 weights. */
Test(config, the_class_says_which_head_a_model_has)
{
    enum { WITHOUT = 86848 - 100 * 64 };
    static const struct {
        const char *config;
        int64_t     parameters;
    } cases[] = {
        {TINY(",'architectures':['LlamaForCausalLM']"), WITHOUT + 100 * 64},
        {TINY(",'architectures':['LlamaModel']"), WITHOUT},
        {TINY(",'architectures':['LlamaForSequenceClassification'],"
              "'id2label':{'0':'a','1':'b','2':'c'}"),
         WITHOUT + 3 * 64},
        {TINY(",'architectures':['LlamaForTokenClassification']"), WITHOUT + 2 * 64 + 2},
        {TINY(",'architectures':['LlamaForQuestionAnswering'],'num_labels':5"),
         WITHOUT + 2 * 64 + 2},
        /* a multimodal model is tied by the member of the whole or of the text */
        {"{'model_type':'internvl','tie_word_embeddings':true,'text_config':"
         "{" TINY_MEMBERS ",'tie_word_embeddings':false}}",
         WITHOUT},
        {"{'model_type':'llava','tie_word_embeddings':false,'text_config':{" TINY_MEMBERS
         ",'tie_word_embeddings':true}}",
         WITHOUT},
        {"{'model_type':'llava','tie_word_embeddings':false,'text_config':{" TINY_MEMBERS
         "}}",
         WITHOUT + 100 * 64},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph *g = config_load_whole(cases[i].config, ",phase=prefill,batch=1,seq=8");
        cr_expect_eq(g->parameter_count, cases[i].parameters, "%lld: %s",
                     (long long)g->parameter_count, cases[i].config);
        emp_graph_destroy(g);
    }
}

/* An encoder's classes of a sequence come from its pooler, whatever they are of. */
Test(config, the_task_of_a_class_names_its_loss)
{
    static const struct {
        const char *class, *loss, *labels;
    } cases[] = {
        {"BertForSequenceClassification", "classification_loss", "classification_label"},
        {"BertForMultipleChoice", "choice_loss", "choice_label"},
        {"BertForNextSentencePrediction", "next_sentence_loss", "next_sentence_label"},
        {"BertForPreTraining", "next_sentence_loss", "next_sentence_label"},
        {"BertForTokenClassification", "loss", "labels"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *config =
            scratch_print("{'model_type':'bert','num_hidden_layers':1," TINY_SIZES
                          ",'max_position_embeddings':16,'architectures':['%s']}",
                          cases[i].class);
        emp_graph *g = config_load(config, ",batch=1,seq=8");
        cr_expect_str_eq(graph_type(g, cases[i].loss), "NllLoss", "%s", cases[i].class);
        cr_expect_str_eq(graph_type(g, cases[i].labels), "Placeholder");
        emp_graph_destroy(g);
    }
}

/* Only the latent vector and the rotated key: 2 x (512 + 64) bytes a token and layer. */
Test(config, caches_of_latent_attention_hold_the_vector)
{
    const published_model *m = published_model_named("deepseek-ai/DeepSeek-V3");
    emp_graph             *g =
        config_load_whole(m->config, ",phase=decode,batch=1,seq=4096,dtype=bf16");

    cr_expect_eq(config_persistent_bytes(g), 2 * m->parameters + 61LL * 2 * 576 * 4096);
    emp_graph_destroy(g);
}

/* StableLM's heads have factors of their own, as stablelm-2-12b's (160 elements each) do; Phi's share one,
 * which has a bias. */
Test(config, heads_have_the_norms_that_a_config_asks_for)
{
#define NORMED \
    "','hidden_act':'silu','num_hidden_layers':2," TINY_SIZES ",'qk_layernorm':"
    static const struct {
        const char *without, *with;
        int64_t     of_layer;
    } cases[] = {{"{'model_type':'stablelm" NORMED "false}",
                  "{'model_type':'stablelm" NORMED "true}", (4 + 2) * 16},
                 {"{'model_type':'phi" NORMED "false}",
                  "{'model_type':'phi" NORMED "true}", 2 * (16 + 16)}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph *without = config_load_whole(cases[i].without, ",batch=1,seq=8");
        emp_graph *with = config_load_whole(cases[i].with, ",batch=1,seq=8");
        cr_expect_eq(with->parameter_count - without->parameter_count,
                     2 * cases[i].of_layer, "%s", cases[i].with);
        cr_expect_str_eq(graph_type(with, "model.layers.0.self_attn.q_layernorm"),
                         "LayerNorm");
        cr_expect_str_eq(graph_type(with, "model.layers.1.self_attn.k_layernorm"),
                         "LayerNorm");
        emp_graph_destroy(without);
        emp_graph_destroy(with);
    }
}

/* llama.cpp's q8_0 has 34 bytes and q4_0 18 for 32 elements. Rows of float32 come to each. */
Test(config, writes_into_caches_have_the_bytes_of_their_type)
{
    static const struct {
        const char *dtype;
        int64_t     of_32;
    } cases[] = {{"auto", 128}, {"fp8", 32}, {"q8_0", 34}, {"q4_0", 18}};
    const int64_t rows = 50LL * 2 * 16;

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *options = scratch_print(
            ",phase=prefill,batch=1,seq=50,dtype=fp32,cache_dtype=%s", cases[i].dtype);
        emp_graph         *g = config_load(TINY(""), options);
        const emp_op_cost *cost =
            g->op[graph_find(g, "model.layers.0.self_attn.key_cache/write")].cost;
        cr_expect_eq(cost->bytes_written, rows / 32 * cases[i].of_32, "%s: %lld",
                     cases[i].dtype, (long long)cost->bytes_written);
        cr_expect_eq(cost->bytes_read, 4 * rows + 4 * 50, "%s: %lld", cases[i].dtype,
                     (long long)cost->bytes_read);
        emp_graph_destroy(g);
    }
}

/* Quantised or not: what holds or multiplies weights can be on a GPU. */
static void expect_weights(const char *config, const char *options, int64_t bytes)
{
    emp_graph *g = config_load_whole(config, options);

    cr_expect_eq(g->parameter_bytes, bytes, "%s: %lld", options,
                 (long long)g->parameter_bytes);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].persistent_bytes > 0 || g->op[op].cost->flops > 0.0)
            cr_expect(g->op[op].kinds & EMP_KIND_GPU || strstr(options, "phase") == NULL,
                      "%s", g->name[op]);
    emp_graph_destroy(g);
}

/* gpt-oss-20b as it is published: experts in MXFP4, all else in bfloat16, 13.76 GB. */
Test(config, weights_are_held_as_they_are_quantised)
{
    const published_model *m = published_model_named("openai/gpt-oss-20b");
    const int64_t          experts = 24LL * 32 * 3 * 2880 * 2880;
    /* of the small model the matrices of layers; tables, head and norms are of 2 bytes */
    const int64_t matrices = 2 * (64 * (64 + 32 + 32 + 64) + 3 * 64 * 128);

    const char *config = scratch_print(
        "{'dtype':'bfloat16','quantization_config':{'quant_method':'mxfp4'},%s",
        m->config + 1);
    expect_weights(config, ",phase=decode,batch=1,seq=16",
                   2 * (m->parameters - experts) + experts / 32 * 17);
    expect_weights(config, ",phase=decode,batch=1,seq=16,dtype=bf16", 2 * m->parameters);
    expect_weights(config, ",batch=1,seq=16", 2 * m->parameters); /* trained */
    expect_weights(TINY(",'quantization_config':{'quant_method':'fp8'}"),
                   ",phase=prefill,batch=1,seq=16", 2 * 86848 - matrices);
}

static const char *warnings_of(const char *config, const char *options)
{
    static char text[2048];
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    (void)graph_load(config_spec(config, options), &notes, NULL);
    text[0] = '\0';
    for (int32_t i = 0; i < notes.warning_count; i++) strcat(text, notes.warning[i]);
    return text;
}

#define QUANTISED(members) TINY(",'quantization_config':{'quant_method':" members "}")
#define UNREAD_AWQ         QUANTISED("'awq','bits':4")

Test(config, what_is_left_out_is_a_warning)
{
    static const char decode[] = ",phase=decode,batch=1,seq=8";
    static const struct {
        const char *config, *options, *parts[2]; /* no part: no warning */
    } cases[] = {
        {QUANTISED("'awq','bits':4,'group_size':96"),
         decode,
         {"(awq, 4 bits)", "169.6 KiB"}},
        {QUANTISED("'aqlm'"), decode, {"(aqlm)", "169.6 KiB"}},
        {QUANTISED("'modelopt','quant_algo':'INT8_SQ'"), decode, {"(modelopt, INT8_SQ)"}},
        {TINY(",'text_config':{" TINY_MEMBERS ",'quantization_config':{'quant_method':"
              "'compressed-tensors','config_groups':{'group_0':{'weights':{'num_bits':7}}"
              "}}}"),
         decode,
         {"(compressed-tensors, 7 bits)"}},
        {TINY(",'quantization':{'bits':3,'group_size':48}"),
         decode,
         {"no named method, 3 bits"}},
        {QUANTISED(
             "'fp8','kv_cache_scheme':{'dynamic':false,'num_bits':8,'type':'float'}"),
         decode,
         {"\"kv_cache_scheme\" (8 bits)", "cached as bfloat16"}},
        {QUANTISED("'fp8','kv_cache_quant_algo':'FP8'"),
         decode,
         {"\"kv_cache_quant_algo\" (FP8)"}},
        {QUANTISED("'fp8','kv_cache_scheme':null"), decode, {NULL}},
        /* rows of 64 weights are no groups of 128; those of 128 are */
        {QUANTISED("'awq','bits':4,'group_size':128"),
         decode,
         {"12 matrices", "(awq, 4 bits)"}},
        {QUANTISED("'fp8'"), ",phase=train,batch=1,seq=8", {"(fp8) is left out"}},
        {QUANTISED("'fp8'"), decode, {NULL}},
        {UNREAD_AWQ, ",phase=decode,batch=1,seq=8,dtype=fp16", {NULL}}, /* asked for */
        {TINY(",'quantization_config':null"), "", {NULL}},
        /* 2 layers of 4 x 32 x 32 + 2 x 32 x 128 weights, and patches of 3 x 4 x 4 */
        {TINY(",'vision_config':{'num_hidden_layers':2,'hidden_size':32,"
              "'intermediate_size':128,'patch_size':4}"),
         ",batch=1,seq=8",
         {"\"vision_config\"", "26.1 k parameters, 51 KiB"}},
        {TINY(",'vision_config':null,'audio_config':{'x':1}"),
         ",batch=1,seq=8",
         {"\"audio_config\"", "does not say how large"}}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = warnings_of(cases[i].config, cases[i].options);
        if (cases[i].parts[0] == NULL) cr_expect_str_eq(text, "", "%s", cases[i].config);
        for (int p = 0; p < 2 && cases[i].parts[p] != NULL; p++)
            cr_expect_not_null(strstr(text, cases[i].parts[p]), "no \"%s\" in \"%s\"",
                               cases[i].parts[p], text);
    }
}

/* Sizes of published towers. Counts are those of the modules of transformers 5.24 on the device "meta". */
Test(config, towers_of_known_families_are_counted_with_their_projectors)
{
#define QWEN_VISION                                                            \
    "'model_type':'qwen3_vl','depth':27,'hidden_size':1152,'in_channels':3,"   \
    "'intermediate_size':4304,'num_position_embeddings':2304,'patch_size':16," \
    "'spatial_merge_size':2,'temporal_patch_size':2"
    static const struct {
        const char *type, *vision, *parameters;
    } cases[] = {
        {"qwen3_vl",
         QWEN_VISION ",'out_hidden_size':4096,'deepstack_visual_indexes':[8,16,24]",
         "576388336"},
        {"qwen3_vl", QWEN_VISION ",'out_hidden_size':5120", "460730096"},
        {"gemma4",
         "'model_type':'gemma4_vision','head_dim':72,'hidden_size':1152,"
         "'intermediate_size':4304,'num_hidden_layers':27,'patch_size':16,"
         "'position_embedding_size':10240",
         "572792112"},
        {"kimi_k25",
         "'init_pos_emb_height':64,'init_pos_emb_width':64,'merge_kernel_size':[2,2],"
         "'patch_size':14,'vt_hidden_size':1152,'vt_intermediate_size':4304,"
         "'vt_num_hidden_layers':27",
         "471143920"},
        {"minimax_m3_vl",
         "'hidden_size':1280,'num_hidden_layers':32,'intermediate_size':5120,"
         "'patch_size':14,'num_channels':3,'img_token_compression_config':{"
         "'spatial_merge_size':2,'temporal_patch_size':2}",
         "865567232"}};
    static const int32_t text[] = {4096, 5120, 2816, 7168, 6144}; /* hidden sizes */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[1024], want[64];
        SCOPED(emp_json_document, emp_json_clear) d = {0};
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        snprintf(config, sizeof config,
                 "{'model_type':'%s','projector_hidden_size':6144,'text_config':"
                 "{'hidden_size':%d},'vision_config':{%s}}",
                 cases[i].type, text[i], cases[i].vision);
        snprintf(want, sizeof want, "is left out: %s parameters", cases[i].parameters);
        cr_assert_eq(emp_json_parse(&d, scratch_json(config), strlen(config), NULL),
                     EMP_OK);
        emp_towers_note(&notes, d.root, EMP_DTYPE_BFLOAT16);
        cr_assert_eq(notes.warning_count, 1);
        cr_expect_not_null(strstr(notes.warning[0], want), "%s: %s", cases[i].type,
                           notes.warning[0]);
    }
}

/* BLIP-2's towers as transformers 5.24 makes them; a published config may leave all their sizes out. */
Test(config, a_querying_transformer_is_left_out_with_its_parameters)
{
    static const struct {
        const char *config, *tower, *former;
    } cases[] = {
        {"{'model_type':'blip-2','text_config':{'hidden_size':64},'vision_config':"
         "{'dropout':0.0},'qformer_config':{}}",
         "985952256", "105211456"},
        {"{'model_type':'instructblip','text_config':{'hidden_size':64},'vision_config':"
         "{'dropout':0.0},'qformer_config':{}}",
         "985952256", "185733184"},
        {"{'model_type':'blip-2','text_config':{'d_model':64},'vision_config':"
         "{'hidden_size':64,'intermediate_size':96,'num_hidden_layers':3,'image_size':56,"
         "'patch_size':14},'qformer_config':{'hidden_size':48,'intermediate_size':80,"
         "'num_hidden_layers':5,'cross_attention_frequency':3}}",
         "127008", "113888"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_json_document, emp_json_clear) d = {0};
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        cr_assert_eq(emp_json_parse(&d, scratch_json(cases[i].config),
                                    strlen(cases[i].config), NULL),
                     EMP_OK);
        emp_towers_note(&notes, d.root, EMP_DTYPE_BFLOAT16);
        cr_assert_eq(notes.warning_count, 2);
        cr_expect_not_null(strstr(notes.warning[0], cases[i].tower), "%s",
                           notes.warning[0]);
        cr_expect_not_null(strstr(notes.warning[1], cases[i].former), "%s",
                           notes.warning[1]);
    }
}

/* As a device map by module path would have it: ops that are bound to one another, and some that are not. */
Test(config, a_module_is_bound_to_one_device)
{
    static const char tied[] = TINY(",'tie_word_embeddings':true");
    static const struct {
        const char *config, *options, *first, *second;
        bool        is_bound;
    } cases[] = {
#define Q "model.layers.1.self_attn.q_proj"
        {TINY(""), ",batch=1,seq=8", Q, Q ".weight", true},
        {TINY(""), ",batch=1,seq=8", Q, Q ".weight/exp_avg", true},
        {TINY(""), ",batch=1,seq=8", Q, Q ".weight/update", true},
        {TINY(""), ",batch=1,seq=8", Q, Q "/grad_weight", true},
        {TINY(""), ",batch=1,seq=8", Q, Q "/grad_input", true},
        {TINY(""), ",batch=1,seq=8", Q, "model.layers.1.self_attn.k_proj", false},
        {TINY(""), ",batch=1,seq=8", Q, "model.layers.0.self_attn.q_proj", false},
        {TINY(""), ",batch=1,seq=8", "model.layers.1.self_attn",
         "model.layers.1.self_attn/grad", true},
        {TINY(""), ",batch=1,seq=8", "lm_head.weight", "model.embed_tokens.weight",
         false},
        {tied, ",batch=1,seq=8", "lm_head", "model.embed_tokens.weight", true},
#define SCAN "model.layers.1.linear_attn"
        {"Qwen/Qwen3.5-27B", ",phase=decode,batch=1,seq=8", SCAN ".state", SCAN, true},
        {"Qwen/Qwen3.5-27B", ",phase=decode,batch=1,seq=8", SCAN ".conv1d.state",
         SCAN ".conv1d", true},
        {"Qwen/Qwen3.5-27B", ",phase=decode,batch=1,seq=8", SCAN ".conv1d.weight",
         SCAN ".conv1d", true}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *config = cases[i].config;
        if (config[0] != '{') config = published_model_named(config)->config;
        emp_graph *g = config_load_whole(config, cases[i].options);
        cr_expect_eq(graph_is_bound(g, cases[i].first, cases[i].second),
                     cases[i].is_bound, "%s, %s", cases[i].first, cases[i].second);
        cr_expect(config != tied || emp_graph_find(g, "lm_head.weight") == -1);
        cr_expect_eq(emp_graph_find(g, "model.layers.3.linear_attn"), -1, "attention");
        emp_graph_destroy(g);
    }
}

/* Prompts of more tokens than the indexer chooses gather keys that all heads share. */
Test(config, long_prompts_attend_to_shared_keys)
{
    const published_model *k = published_model_named("deepseek-ai/DeepSeek-V3.2");
    emp_graph             *g =
        config_load_whole(k->config, ",phase=prefill,batch=1,seq=2048,dtype=fp32");
    const char *cache = "model.layers.0.self_attn.key_cache";

    cr_expect_geq(emp_graph_find(g, "model.layers.0.self_attn.kv_b_proj"), 0);
    cr_expect_eq(g->op[graph_find(g, cache)].persistent_bytes, 2048LL * 576 * 4);
    emp_graph_destroy(g);
    g = config_load_whole(k->config, ",phase=prefill,batch=1,seq=2049,dtype=fp32");
    cr_expect_eq(emp_graph_find(g, "model.layers.0.self_attn.kv_b_proj"), -1);
    cr_expect_geq(emp_graph_find(g, "model.layers.0.self_attn/absorb_keys"), 0);
    emp_graph_destroy(g);
}

#define SMALL(type, members) \
    "{'model_type':'" type "','hidden_act':'silu'," TINY_SIZES "," members "}"
#define SCAN_SIZES                                                                 \
    "'linear_num_key_heads':2,'linear_num_value_heads':3,'linear_key_head_dim':8," \
    "'linear_value_head_dim':8,"
#define INDEXER "'q_lora_rank':8,'index_n_heads':2,'index_head_dim':8,'index_topk':4,"
#define V4                                                           \
    "'num_hidden_layers':2,'moe_intermediate_size':8," INDEXER       \
    "'o_lora_rank':8,'o_groups':2,'hc_mult':2,'n_routed_experts':2," \
    "'num_experts_per_tok':1,'sliding_window':4,"
#define BERT                                                         \
    "{'model_type':'bert','hidden_size':64,'num_attention_heads':4," \
    "'num_hidden_layers':2,'max_position_embeddings':32,'vocab_size':100}"

static const struct {
    const char *config, *options;
    emp_status  status;
    const char *part;
} refused[] = {
    {"{'model_type':'xlnet'}", "", EMP_EUNSUPPORTED,
     "\"xlnet\" is not known; docs/models.md lists"},
    {"{'hidden_size':3}", "", EMP_EFORMAT, "\"model_type\""},
    {"{'model_type':3}", "", EMP_EFORMAT, "\"model_type\""},
    {"{'model_type':-Infinity}", "", EMP_EFORMAT, "\"model_type\""},
    {"{'model_type':'llama','num_hidden_layers':2}", "", EMP_EFORMAT,
     "\"num_attention_heads\""},
    {TINY(",'head_dim':-5"), "", EMP_EFORMAT, "\"head_dim\""},
    {TINY(",'head_dim':Infinity"), "", EMP_EFORMAT, "\"head_dim\""},
    {TINY(",'head_dim':5000000"), "", EMP_EINVAL, "5000000"},
    {TINY(",'sliding_window':'wide'"), "", EMP_EFORMAT, "\"sliding_window\""},
    {TINY(",'attention_bias':3"), "", EMP_EFORMAT, "\"attention_bias\""},
    {TINY(",'attention_bias':NaN"), "", EMP_EFORMAT, "\"attention_bias\""},
    {TINY(",'layer_types':['full_attention']"), "", EMP_EFORMAT, "1 texts for 2 layers"},
    {TINY(",'layer_types':['linear_attention','full_attention']"), "", EMP_EUNSUPPORTED,
     "\"linear_attention\""},
    {"{'model_type':'llama','hidden_act':'softsign','hidden_size':64,'num_attention_"
     "heads':4,'num_hidden_layers':2,'vocab_size':100}",
     "", EMP_EUNSUPPORTED, "\"softsign\""},
    {"{'model_type':'llama','hidden_size':64,'num_attention_heads':4,'num_key_value_"
     "heads':3,'num_hidden_layers':2,'vocab_size':100}",
     "", EMP_EINVAL, "share 3 key heads"},
    {TINY(""), ",phase=sleep", EMP_EINVAL, "train"},
    {TINY(""), ",batch=0", EMP_EINVAL, "batch"},
    {TINY(""), ",sequence=5", EMP_EINVAL, "seq"},
    {TINY(""), ",batch=1048576,seq=16777216", EMP_EINVAL, "tokens"},
    {TINY(""), ",quant=q4_0", EMP_EUNSUPPORTED, "quant"},
    {BERT, ",phase=decode,seq=8", EMP_EUNSUPPORTED, "an encoder"},
    {BERT, ",seq=8", EMP_EUNSUPPORTED, "no head"},
    {BERT, ",phase=prefill,seq=33", EMP_EINVAL, "32 positions"},
    {SMALL("qwen3_5", "'num_hidden_layers':4,'linear_num_key_heads':0"), "", EMP_EFORMAT,
     "\"linear_num_key_heads\""},
    {SMALL("qwen3_5", SCAN_SIZES "'num_hidden_layers':4"), "", EMP_EINVAL,
     "3 heads of a scan"},
    {SMALL("qwen3_5", SCAN_SIZES
           "'num_hidden_layers':2,'layer_types':['linear_attention','round_attention']"),
     "", EMP_EUNSUPPORTED, "layer 1 is of type \"round_attention\""},
    {SMALL("nemotron_h", "'hybrid_override_pattern':'*X'"), "", EMP_EUNSUPPORTED,
     "layer 1 is of type \"X\""},
    {SMALL("nemotron_h", "'num_hidden_layers':2,'layers_block_type':['attention']"), "",
     EMP_EFORMAT, "\"layers_block_type\""},
    {SMALL("nemotron-nas", "'num_hidden_layers':1"), "", EMP_EFORMAT,
     "\"block_configs\""},
    {SMALL("nemotron-nas", "'num_hidden_layers':1,'block_configs':[{'attention':{'n_"
                           "heads_in_group':3},'ffn':{'ffn_mult':-1}}]"),
     "", EMP_EINVAL, "2147483647"},
    {SMALL("deepseek_v4", V4 "'compress_ratios':[4]"), "", EMP_EFORMAT,
     "\"compress_ratios\""},
    {SMALL("glm_moe_dsa", INDEXER "'num_hidden_layers':1,'kv_lora_rank':8,'qk_nope_head_"
                                  "dim':8,'qk_rope_head_dim':8,"
                                  "'v_head_dim':8,'indexer_types':['shared']"),
     "", EMP_EINVAL, "layer 0 shares the indexer"},
};

Test(config, faults_are_named)
{
    for (size_t i = 0; i < COUNT(refused); i++)
        graph_expect_refused(config_spec(refused[i].config, refused[i].options),
                             refused[i].status, refused[i].part);
    graph_expect_refused("hf", EMP_EINVAL, "path");
    graph_expect_refused("hf:batch=3", EMP_EINVAL, "path");
    graph_expect_refused("hf:path=/nowhere.json", EMP_EIO, "/nowhere.json");
}

static void expect_hash(const char *source, uint64_t hash)
{
    cr_expect_eq(graph_load(source, NULL, NULL)->hash, hash, "%s", source);
}

/* The file itself is a graph with the defaults of all keys, whether it is packed or long: quantised models list the
 * modules that are not, and then a config has more than a mebibyte. json.dumps() writes Infinity and NaN, which
 * change nothing where nothing reads them. */
Test(config, files_give_the_graph_of_a_spec)
{
    static const char *const names[] = {"config.json", "long.json", "packed"};
    emp_graph               *tiny = config_load(TINY(""), "");
    const uint64_t           hash = tiny->hash;
    char                    *text = emp_calloc(LONG_BYTES + 4096, 1);
    size_t                   used =
        (size_t)sprintf(text, "%s", scratch_json("{" TINY_MEMBERS ",'ignored':['x'"));

    emp_graph_destroy(tiny);
    while (used < LONG_BYTES)
        used += (size_t)sprintf(text + used, ",\"model.layers.%zu.self_attn\"", used);
    used += (size_t)sprintf(text + used, "]}");
    scratch_write("long.json", text, used);
    gzFile packed = gzopen(scratch_path("packed"), "wb");
    cr_assert_eq(gzwrite(packed, text, (unsigned)used), (int)used);
    cr_assert_eq(gzclose(packed), Z_OK);
    emp_free(text);
    for (size_t i = 0; i < COUNT(names); i++) {
        expect_hash(scratch_path(names[i]), hash);
        expect_hash(scratch_print("hf:path=%s", scratch_path(names[i])), hash);
    }
    expect_hash(config_spec(TINY(",'time_step_limit':[0.0,Infinity,-Infinity],"
                                 "'attention_scale':NaN"),
                            ""),
                hash);
}

/* As transformers fills it: configs of small models often leave out what is the type's default. */
Test(config, members_that_are_left_out_have_the_defaults_of_the_type)
{
#define QWEN                                                                             \
    "{'model_type':'qwen3_5_text','hidden_size':512,'num_hidden_layers':4,'vocab_size':" \
    "1000"
#define NEMOTRON                                                                       \
    "{'model_type':'nemotron_h','hidden_size':512,'vocab_size':1000,'hybrid_override_" \
    "pattern':'M*-'"
#define OLMO3                                                                            \
    "{'model_type':'olmo3','hidden_size':512,'num_attention_heads':8,'vocab_size':1000," \
    "'num_hidden_layers':8,'intermediate_size':1024"
#define LLAMA4                                                               \
    "{'model_type':'llama4_text','hidden_size':512,'num_attention_heads':8," \
    "'vocab_size':1000,'num_hidden_layers':4,'intermediate_size':1024,"      \
    "'num_local_experts':4,'num_experts_per_tok':1"
#define SLIDING \
    "'sliding_attention','sliding_attention','sliding_attention','full_attention'"
    static const char *const pairs[][2] = {
        {OLMO3 "}",
         OLMO3 ",'sliding_window':4096,'layer_types':[" SLIDING "," SLIDING "]}"},
        {LLAMA4 "}", LLAMA4 ",'attention_chunk_size':8192}"},
        {QWEN "}",
         QWEN ",'num_attention_heads':16,'num_key_value_heads':4,'head_dim':256,"
              "'intermediate_size':12288,'linear_num_key_heads':16,"
              "'linear_num_value_heads':32,'linear_key_head_dim':128,"
              "'linear_value_head_dim':128,'linear_conv_kernel_dim':4}"},
        {NEMOTRON "}",
         NEMOTRON ",'num_attention_heads':32,'num_key_value_heads':8,'head_dim':128,"
                  "'intermediate_size':21504,'ssm_state_size':128,'mamba_num_heads':128,"
                  "'mamba_head_dim':64,'n_groups':8,'conv_kernel':4,'chunk_size':128}"}};

#define LONG ",phase=decode,seq=16384" /* tokens, more than any window */
    for (size_t i = 0; i < COUNT(pairs); i++) {
        emp_graph *g = config_load(pairs[i][1], LONG);
        uint64_t   hash = g->hash;
        emp_graph_destroy(g);
        expect_hash(config_spec(pairs[i][0], LONG), hash);
    }
}

/* Models with most of what the types have, in few layers. */
Test(config, survives_every_allocation_failure)
{
    static const char *const small[] = {
        UNREAD_AWQ,
        SMALL("kimi_linear",
              "'num_hidden_layers':3,'kv_lora_rank':8,'qk_nope_head_dim':8,"
              "'qk_rope_head_dim':8,'v_head_dim':8,'num_experts':2,"
              "'num_experts_per_token':1,'moe_intermediate_size':8,"
              "'routed_expert_hidden_size':16,'latent_moe_use_norm':true,"
              "'attn_res_block_size':2,'mla_use_output_gate':true,"
              "'linear_attn_config':{'num_heads':2,'head_dim':8,'kda_layers':[1,2]}"),
        SMALL("deepseek_v4", V4 "'num_hash_layers':1,'compress_ratios':[4,8]")};

    /* the last two: matrices that are streamed, an optimizer on a host */
    for (size_t i = 0; i < COUNT(small) + 2; i++) {
        emp_graph       *whole = NULL, *step = NULL;
        emp_import_notes notes = {0};
        const char      *spec =
            i < COUNT(small) ? config_spec(small[i], ",batch=1,seq=16")
                 : i == COUNT(small)
                     ? config_spec(small[0], ",phase=prefill,batch=1,seq=16,home=host")
                     : config_spec(small[0], ",batch=1,seq=16,update=host");
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_source_load_noted(&step, &whole, NULL, &notes, spec, NULL),
            emp_import_notes_clear(&notes));
        emp_import_notes_clear(&notes);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
}
