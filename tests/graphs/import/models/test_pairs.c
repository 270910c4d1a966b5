// SPDX-License-Identifier: GPL-3.0-or-later
/* Do models of an encoder and a decoder read, remember and learn what they should, and are lengths that they do not have refused?
 * tests/data/counted_models.tsv has what transformers counts of them. */
#include <string.h>

#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/configs.h"
#include "tests/support/survive.h"
#include "tests/test.h"

TestSuite(pairs, .init = scratch_create, .fini = graph_tear_down);

#define STACKS                                                       \
    "'is_encoder_decoder':true,'vocab_size':100,'encoder_layers':1," \
    "'decoder_layers':2,'encoder_attention_heads':4,"                \
    "'decoder_attention_heads':2,'encoder_ffn_dim':24,'decoder_ffn_dim':40"
#define BART(more) \
    "{'model_type':'bart','d_model':16,'max_position_embeddings':32," STACKS more "}"
#define WHISPER(more)                                        \
    "{'model_type':'whisper','d_model':16,'num_mel_bins':6," \
    "'max_source_positions':12,'max_target_positions':32," STACKS more "}"
#define T5(more)                                                     \
    "{'model_type':'t5','is_encoder_decoder':true,'vocab_size':100," \
    "'d_model':16,'d_kv':8,'d_ff':24,'num_heads':2,'num_layers':2,"  \
    "'num_decoder_layers':3" more "}"

static int64_t bytes_of(const emp_graph *g, const char *type)
{
    int64_t bytes = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(emp_graph_op_type(g, op), type) == 0)
            bytes += g->op[op].persistent_bytes;
    return bytes;
}

/* Keys and values of 2 layers: of 7 tokens that are written, and of 5 that the encoder has read. */
Test(pairs, tokens_read_both_caches)
{
    const int64_t caches = 2LL * 2 * 3 * (7 + 5) * 16 * 4;
    const char   *phases[] = {"prefill", "decode"};

    for (size_t i = 0; i < COUNT(phases); i++) {
        emp_graph *g = config_load_whole(
            BART(""),
            scratch_print(",phase=%s,batch=3,seq=7,source=5,dtype=fp32", phases[i]));
        const bool is_decode = i == 1;
        cr_expect_eq(bytes_of(g, "KeyValueCache"), caches);
        cr_expect_eq(graph_count_type(g, "ScatterUpdate"), is_decode ? 2 * 2 : 2 * 4);
        cr_expect_eq(graph_count_type(g, "Attention"), is_decode ? 2 * 2 : 1 + 2 * 2);
        emp_graph_destroy(g);
    }
    emp_graph *g = config_load(BART(""), ",phase=decode,batch=3,seq=7,source=5");
    cr_expect(graph_reads(g, "model.decoder.layers.1.encoder_attn",
                          "model.decoder.layers.1.encoder_attn.key_cache"));
    /* a token of each sequence, 2 heads, 5 keys of 8 elements: two products */
    cr_expect_eq(g->op[graph_find(g, "model.decoder.layers.1.encoder_attn")].cost->flops,
                 2.0 * 2 * 3 * 2 * 5 * 8);
    emp_graph_destroy(g);
}

/* The gradient of what the encoder has read comes from the keys and values of each layer. */
Test(pairs, an_encoder_learns_from_all_layers_of_its_decoder)
{
    emp_graph         *g = config_load(T5(""), ",batch=2,seq=6,source=9,dtype=fp32");
    const emp_op_cost *there =
        g->op[graph_find(g, "decoder.block.2.layer.1.EncDecAttention")].cost;
    const emp_op_cost *back =
        g->op[graph_find(g, "decoder.block.2.layer.1.EncDecAttention/grad")].cost;

    cr_expect_eq(there->flops, 2.0 * 2 * 2 * 2 * (6 * 9) * 8); /* no mask */
    cr_expect_eq(back->flops, 2.5 * there->flops);
    cr_expect_eq(graph_count_type(g, "AdamW"), graph_count_type(g, "VariableV2") / 3);
    cr_expect_eq(g->parameter_count, 100 * 16 + /* the table, which is the head, too */
                                         2 * 32 * 2 + 16 * 2 + /* biases, last norms */
                                         2 * (4 * 16 * 16 + 2 * 16 * 24 + 2 * 16) +
                                         3 * (8 * 16 * 16 + 2 * 16 * 24 + 3 * 16));
    cr_expect(graph_reads(g, "encoder.block.1.layer.0.SelfAttention",
                          "encoder.block.0.layer.0.SelfAttention.relative_attention_"
                          "bias/biases"));
    emp_graph_destroy(g);
}

/* Whisper's positions of sound stay as they are, and are held without states of Adam. */
Test(pairs, frozen_positions_are_not_updated)
{
    emp_graph *prompt =
        config_load_whole(WHISPER(""), ",phase=prefill,batch=1,seq=4,dtype=fp32");
    emp_graph    *step = config_load_whole(WHISPER(""), ",batch=1,seq=4,dtype=fp32");
    const int64_t frozen = 12 * 16;

    cr_expect_eq(prompt->parameter_count - step->parameter_count, frozen);
    cr_expect_eq(config_persistent_bytes(step), 4 * (3 * step->parameter_count + frozen));
    cr_expect_eq(graph_count_type(step, "VariableV2"),
                 3 * graph_count_type(step, "AdamW") + 1);
    /* 24 frames become 12 tokens: 3 taps of 6 bins, then of 16 channels */
    cr_expect_eq(step->op[graph_find(step, "model.encoder.conv1")].cost->flops,
                 24.0 * 16 * (2 * 3 * 6 + 1));
    cr_expect_eq(step->op[graph_find(step, "model.encoder.conv2")].cost->flops,
                 12.0 * 16 * (2 * 3 * 16 + 1));
    cr_expect_eq(step->unknown_op_count, 0);
    emp_graph_destroy(prompt);
    emp_graph_destroy(step);
}

/* A published T5 1.1 has a head of its own; transformers 5 ties it again as it writes a config. */
Test(pairs, a_head_is_tied_as_the_config_says)
{
    emp_graph *tied = config_load_whole(T5(""), ",phase=prefill,batch=1,seq=4");
    emp_graph *own = config_load_whole(T5(",'tie_word_embeddings':false"),
                                       ",phase=prefill,batch=1,seq=4");

    cr_expect_eq(own->parameter_count - tied->parameter_count, 100 * 16);
    emp_graph_destroy(tied);
    emp_graph_destroy(own);
}

Test(pairs, lengths_and_classes_that_there_are_not_are_refused)
{
    static const struct {
        const char *config, *options;
        emp_status  status;
        const char *part;
    } refused[] = {
        {BART(""), ",source=33", EMP_EINVAL, "32 positions"},
        {BART(""), ",batch=1048576,seq=1,source=4096", EMP_EINVAL, "tokens"},
        {BART(""), ",phase=prefill,batch=1,seq=8,ubatch=4", EMP_EUNSUPPORTED,
         "read whole"},
        {WHISPER(""), ",source=11", EMP_EINVAL, "12 of them"},
        {WHISPER(",'architectures':['WhisperForAudioClassification']"), "",
         EMP_EUNSUPPORTED, "half"},
        {BART(",'architectures':['BartForCausalLM']"), "", EMP_EUNSUPPORTED, "half"},
        {T5(",'architectures':['T5EncoderModel']"), ",phase=prefill,source=4",
         EMP_EUNSUPPORTED, "one stack"},
        {T5(",'feed_forward_proj':'gated-sine'"), "", EMP_EUNSUPPORTED, "\"sine\""},
        {T5(",'relative_attention_num_buckets':100000"), "", EMP_EINVAL, "buckets"}};

    for (size_t i = 0; i < COUNT(refused); i++)
        graph_expect_refused(config_spec(refused[i].config, refused[i].options),
                             refused[i].status, refused[i].part);
}

Test(pairs, survives_every_allocation_failure)
{
    static const struct {
        const char *config, *options;
    } cases[] = {{WHISPER(""), ",batch=1,seq=4"},
                 {T5(""), ",phase=decode,batch=1,seq=4,source=4"},
                 {T5(",'architectures':['T5ForTokenClassification']"), ",batch=1,seq=4"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph       *whole = NULL, *step = NULL;
        emp_import_notes notes = {0};
        const char      *spec = config_spec(cases[i].config, cases[i].options);
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_source_load_noted(&step, &whole, NULL, &notes, spec, NULL),
            emp_import_notes_clear(&notes));
        emp_import_notes_clear(&notes);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
}
