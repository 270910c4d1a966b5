// SPDX-License-Identifier: GPL-3.0-or-later
/* What the metadata of PyTorch's exporter say of tensors: does it decide what counts as a parameter? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "graphs/import/onnx/model.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/support/survive.h"

#define SIGNATURE "pkg.torch.export.ExportedProgram.graph_signature"
#define FOLDED    "pkg.onnxscript.optimizer.folded_from"

enum { PRODUCT = 128 * 64, BIAS = 64 };

static onnx_writer w;

/* A product with a transposed weight, a mask that is added, and a bias that was merged with another. */
static void write_model(const char *signature, const char *folded_mask)
{
    memset(&w, 0, sizeof w);
    onnx_input(&w, "x", 1, "128,128");
    onnx_weight(&w, "val_1", 1, "128,64");
    onnx_weight(&w, "le", 1, "128,64");
    onnx_weight(&w, "fc.bias", 1, "64");
    onnx_node(&w, "MatMul", "x,val_1", "a", "");
    onnx_node(&w, "Add", "a,le", "b", "");
    onnx_node(&w, "Add", "b,fc.bias", "c", "");
    onnx_node(&w, "Add", "c,fc.bias", "y", "");
    onnx_output(&w, "y", 1, "");
    if (signature == NULL) return;
    onnx_metadata(&w, SIGNATURE, signature);
    onnx_info(&w, "val_1", 1, "128,64", FOLDED, "['fc.weight']");
    onnx_info(&w, "le", 1, "128,64", FOLDED, folded_mask);
}

static const char signature[] = "\n# inputs\np_fc_weight: PARAMETER target='fc.weight'\n"
                                "p_fc_bias: PARAMETER target='fc.bias'\n"
                                "p_up_bias: PARAMETER target='up.bias'\n"
                                "b_freq: BUFFER target='freq' persistent=False\n";

/* Loads what was written; the caller clears *notes. */
static emp_status load(emp_graph **graph, emp_import_notes *notes, emp_error *err)
{
    return emp_onnx_build(graph, onnx_model(&w, 18), &(emp_onnx_params){0}, notes, err);
}

static int32_t count_buffers(const emp_graph *g)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        count += strcmp(g->type_name[g->type[op]], "Buffer") == 0;
    return count;
}

static void expect(int64_t parameters, int32_t buffers, int32_t assumptions)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};

    cr_assert_eq(load(&g, &notes, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(g->parameter_count, parameters);
    cr_expect_eq(count_buffers(g), buffers);
    cr_expect_eq(notes.assumption_count, assumptions);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(onnx_stated, nothing_leaves_it_to_uses_and_names)
{
    write_model(NULL, NULL);
    expect(2 * PRODUCT + BIAS, 0, 0);
}

/* A model that was exported without its weights has them as inputs. */
Test(onnx_stated, masks_among_the_inputs_are_buffers)
{
    memset(&w, 0, sizeof w);
    onnx_input(&w, "x", 1, "128,128");
    onnx_input(&w, "fc.weight", 1, "128,64");
    onnx_input(&w, "mask", 1, "128,64");
    onnx_node(&w, "MatMul", "x,fc.weight", "a", "");
    onnx_node(&w, "Add", "a,mask", "y", "");
    onnx_output(&w, "y", 1, "");
    expect(PRODUCT, 1, 1); /* a note says that inputs count as weights */
}

Test(onnx_stated, what_was_computed_from_more_than_one_is_a_buffer)
{
    write_model(signature, "['fc.bias', 'freq']");
    expect(PRODUCT + BIAS, 1, 1); /* up.bias is not in the file, which is said */
}

Test(onnx_stated, what_was_computed_from_a_parameter_alone_is_that_parameter)
{
    write_model(signature, "['up.bias']");
    expect(2 * PRODUCT + BIAS, 0, 0);
}

/* As the gates of an LSTM, whose biases the exporter puts side by side. */
Test(onnx_stated, what_was_put_together_from_parameters_is_a_parameter)
{
    write_model(signature, "['fc.weight', 'up.bias', 'val_7']");
    expect(2 * PRODUCT + BIAS, 0, 0);
}

Test(onnx_stated, what_was_computed_from_a_buffer_is_a_buffer)
{
    write_model(signature, "['freq']");
    expect(PRODUCT + BIAS, 1, 1);
}

Test(onnx_stated, metadata_that_are_cut_off_are_survived)
{
    static const char *const values[] = {"[",
                                         "['",
                                         "['a",
                                         "['a'",
                                         "['a', '",
                                         "",
                                         ": PARAMETER target='",
                                         ": BUFFER target=''"};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        emp_graph       *g = NULL;
        emp_import_notes notes = {0};
        write_model(values[i], values[i]);
        cr_expect_eq(load(&g, &notes, NULL), EMP_OK, "%s", values[i]);
        emp_import_notes_clear(&notes);
        emp_graph_destroy(g);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static emp_status load_and_clear(emp_graph **graph)
{
    emp_import_notes notes = {0};
    emp_status       st = load(graph, &notes, NULL);

    emp_import_notes_clear(&notes);
    return st;
}

Test(onnx_stated, survives_every_allocation_failure)
{
    emp_graph *g = NULL;

    write_model(signature, "['fc.bias', 'freq']");
    (void)onnx_model(&w, 18);
    SURVIVES_EVERY_ALLOCATION_FAILURE(load_and_clear(&g), (void)0);
    emp_graph_destroy(g);
}
