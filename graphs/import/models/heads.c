// SPDX-License-Identifier: GPL-3.0-or-later
/* The head of a model by the name of its class: a language model's, a classifier's, or none. Sources: the classes of
 * huggingface/transformers 5.24. */
#include <string.h>

#include "base/text/text.h"
#include "graphs/import/models/families.h"

typedef enum {
    HEAD_VOCABULARY,
    HEAD_BOTH,    /* that and a class of the first token */
    HEAD_NONE,    /* an encoder has a pooler */
    HEAD_POOLED,  /* classes of a sequence, which an encoder takes from its pooler */
    HEAD_SEQUENT, /* whether a sequence follows another */
    HEAD_CHOICE,  /* a score of each answer */
    HEAD_TOKENS,  /* classes of each token */
    HEAD_SPAN     /* where an answer begins and ends */
} head_kind;

static head_kind kind_of(const char *name, bool is_encoder)
{
    static const struct {
        const char *ending;
        head_kind   kind;
    } kinds[] = {{"ForPreTraining", HEAD_BOTH},
                 {"ForSequenceClassification", HEAD_POOLED},
                 {"ForNextSentencePrediction", HEAD_SEQUENT},
                 {"ForMultipleChoice", HEAD_CHOICE},
                 {"ForTokenClassification", HEAD_TOKENS},
                 {"ForQuestionAnswering", HEAD_SPAN},
                 {"LMHeadModel", HEAD_VOCABULARY},
                 {"Model", HEAD_NONE}};

    if (name == NULL) return is_encoder ? HEAD_NONE : HEAD_VOCABULARY;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (emp_text_ends_in(name, kinds[i].ending)) return kinds[i].kind;
    return HEAD_VOCABULARY;
}

/* As many classes as "id2label" names, of which 2 are the default. */
static int32_t count_classes(emp_fields *whole)
{
    const emp_json *names = emp_fields_find(whole, "id2label");
    const int64_t   named = emp_json_count(names);

    return emp_fields_integer(whole, "num_labels",
                              named > 0 && named < INT32_MAX ? (int32_t)named : 2);
}

/* Classes of each token, by a matrix of its own. */
static void set_classes(emp_transformer_model *m, const char *name, int32_t classes,
                        bool has_bias)
{
    m->names.head = name;
    m->head_rows = classes;
    m->has_head_bias = has_bias;
    m->is_head_tied = m->has_head_transform = m->has_logit_cap = false;
}

static void set_pooled(emp_transformer_model *m, const char *name, int32_t classes)
{
    m->has_pooler = true;
    m->pooled_classes = classes;
    m->pooled_name = name;
}

void emp_model_head(emp_fields *whole, emp_transformer_model *m)
{
    const emp_json *first = emp_json_first(emp_fields_find(whole, "architectures"));
    const head_kind kind = kind_of(emp_json_string(first), m->is_encoder);
    const int32_t   classes = count_classes(whole);

    m->has_head = kind != HEAD_NONE;
    switch (kind) {
    case HEAD_VOCABULARY: break;
    case HEAD_BOTH:
        /* RoBERTa's class of that name has a vocabulary's head alone */
        if (m->is_encoder && m->names.layer == emp_names_bert.layer)
            set_pooled(m, "cls.seq_relationship", 2);
        break;
    case HEAD_NONE: m->has_pooler = m->is_encoder; break;
    case HEAD_POOLED:
        if (!m->is_encoder) {
            set_classes(m, "score", classes, false);
            break;
        }
        m->has_head = false;
        set_pooled(m, "classifier", classes);
        break;
    case HEAD_SEQUENT:
    case HEAD_CHOICE:
        m->has_head = false;
        set_pooled(m, kind == HEAD_CHOICE ? "classifier" : "cls.seq_relationship",
                   kind == HEAD_CHOICE ? 1 : 2);
        break;
    case HEAD_TOKENS:
        set_classes(m, m->is_encoder ? "classifier" : "score", classes, true);
        break;
    case HEAD_SPAN:
        set_classes(m, "qa_outputs", m->is_encoder ? classes : 2, true);
        break;
    }
}
