// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for configs of models: a prompt of two tokens, which every type has.
#include "graphs/import/models/families.h"
#include "graphs/import/models/quantised.h"
#include "graphs/transformer/stack.h"
#include "tests/support/fuzz_file.h"

/* More layers take longer than an input may; the reader itself has seen them all. */
enum { LAYERS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_json_document     d = {0};
    emp_transformer_model m = {0};
    emp_import_notes      notes = {0};
    emp_graph            *graph = NULL;
    emp_dtype             dtype;
    emp_quantised         quantised = {.mix = -1};
    emp_weight_types      types = {emp_quantised_find_type, &quantised};
    emp_transformer_step  step = {.phase = EMP_PHASE_TRAIN,
                                  .batch = 8,
                                  .sequence = 2048,
                                  .dtype = EMP_DTYPE_BFLOAT16,
                                  .update = EMP_UPDATE_ADAM,
                                  .has_master = true};

    step.phase = size % 3 == 0   ? EMP_PHASE_TRAIN
                 : size % 3 == 1 ? EMP_PHASE_PREFILL
                                 : EMP_PHASE_DECODE;
    step.batch = 1;
    step.sequence = 2;
    bool is_json = emp_json_parse(&d, (const char *)bytes, size, NULL) == EMP_OK;
    if (is_json) {
        quantised = emp_quantised_read(d.root, emp_json_get(d.root, "quantization"));
        emp_towers_note(&notes, d.root, EMP_DTYPE_BFLOAT16);
    }
    if (is_json && emp_config_read(&m, &dtype, d.root, NULL) == EMP_OK &&
        m.layer_count <= LAYERS_MAX) {
        quantised.model = &m;
        (void)emp_transformer_graph_create(
            &graph, &m, &step, step.phase == EMP_PHASE_TRAIN ? NULL : &types, NULL);
    }
    emp_graph_destroy(graph);
    emp_transformer_model_clear(&m);
    emp_import_notes_clear(&notes);
    emp_json_clear(&d);
    return 0;
}
