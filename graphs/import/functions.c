// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's function.proto and op_def.proto.
#include "graphs/import/frames.h"

#include "base/mem.h"

enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2, LIBRARY_FUNCTION = 1 };
enum { DEF_SIGNATURE = 1, DEF_RET = 4, DEF_CONTROL_RET = 6 };
enum { OP_NAME = 1, OP_INPUT = 2, OP_OUTPUT = 3 };
enum { ARG_NAME = 1, ARG_NUMBER = 5, ARG_LIST = 6 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

static const emp_field_name graph_names[] = {
    {"node", GRAPH_NODE}, {"library", GRAPH_LIBRARY}, {0}};
static const emp_field_name library_names[] = {{"function", LIBRARY_FUNCTION}, {0}};
const emp_field_name        emp_function_names[] = {{"signature", DEF_SIGNATURE},
                                                    {"node_def", EMP_FUNCTION_NODE},
                                                    {"ret", DEF_RET},
                                                    {"control_ret", DEF_CONTROL_RET},
                                                    {0}};
static const emp_field_name op_names[] = {
    {"name", OP_NAME}, {"input_arg", OP_INPUT}, {"output_arg", OP_OUTPUT}, {0}};
static const emp_field_name arg_names[] = {
    {"name", ARG_NAME}, {"number_attr", ARG_NUMBER}, {"type_list_attr", ARG_LIST}, {0}};
static const emp_field_name entry_names[] = {
    {"key", ENTRY_KEY}, {"value", ENTRY_VALUE}, {0}};

typedef struct {
    emp_slice key, value;
} map_entry;

/* ---- parts of a function ---- */

static emp_status count_fields(int32_t *count, emp_message message, int32_t number,
                               emp_error *err)
{
    emp_field field;
    bool      found = false;

    for (*count = 0;;) {
        EMP_CHECK(emp_message_next(&message, &field, &found, err));
        if (!found) return EMP_OK;
        *count += field.number == number;
    }
}

static emp_status read_arg(emp_function *f, emp_slice *name, const emp_message *op,
                           const emp_field *field, emp_error *err)
{
    emp_message arg;
    emp_field   part;
    emp_slice   word;
    bool        found = false;

    *name = (emp_slice){"", 0};
    EMP_CHECK(emp_field_message(op, field, arg_names, &arg, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&arg, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == 0) continue;
        EMP_CHECK(emp_field_string(&arg, &part, &word, err));
        if (part.number == ARG_NAME) *name = word;
        if (part.number != ARG_NAME && word.size > 0) f->has_list = true;
    }
}

static emp_status read_signature(emp_function *f, const emp_message *def,
                                 const emp_field *field, emp_error *err)
{
    emp_message op;
    emp_field   part;
    emp_slice   name;
    bool        found = false;

    EMP_CHECK(emp_field_message(def, field, op_names, &op, err));
    emp_free(f->result);
    f->result = NULL;
    f->arg_count = f->result_count = 0;
    EMP_CHECK(count_fields(&f->result_count, op, OP_OUTPUT, err));
    EMP_CHECK(EMP_ALLOC(f->result, (size_t)f->result_count));
    for (int32_t results = 0;;) {
        EMP_CHECK(emp_message_next(&op, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == OP_NAME)
            EMP_CHECK(emp_field_string(&op, &part, &f->name, err));
        if (part.number == OP_OUTPUT)
            EMP_CHECK(read_arg(f, &f->result[results++], &op, &part, err));
        if (part.number != OP_INPUT) continue;
        EMP_CHECK(read_arg(f, &name, &op, &part, err));
        EMP_CHECK(emp_strmap_set(&f->arg, name.data, name.size, f->arg_count++, err));
    }
}

static emp_status read_entry(map_entry *out, const emp_message *def,
                             const emp_field *field, emp_error *err)
{
    emp_message entry;
    emp_field   part;
    bool        found = false;

    *out = (map_entry){{"", 0}, {"", 0}};
    EMP_CHECK(emp_field_message(def, field, entry_names, &entry, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == ENTRY_KEY)
            EMP_CHECK(emp_field_string(&entry, &part, &out->key, err));
        if (part.number == ENTRY_VALUE)
            EMP_CHECK(emp_field_string(&entry, &part, &out->value, err));
    }
}

/* Reads the results; the signature has been read. */
static emp_status read_results(emp_function *f, emp_message def, emp_error *err)
{
    emp_strmap positions = {0};
    emp_status st = EMP_OK;
    emp_field  field;
    map_entry  entry;
    bool       found = false;
    int32_t    controls = 0;

    EMP_TRY(count_fields(&f->control_count, def, DEF_CONTROL_RET, err));
    EMP_TRY(EMP_ALLOC(f->control, (size_t)f->control_count));
    EMP_TRY(EMP_ALLOC(f->source, (size_t)f->result_count));
    for (int32_t i = 0; i < f->result_count; i++)
        EMP_TRY(emp_strmap_set(&positions, f->result[i].data, f->result[i].size, i, err));
    for (;;) {
        EMP_TRY(emp_message_next(&def, &field, &found, err));
        if (!found) break;
        if (field.number != DEF_RET && field.number != DEF_CONTROL_RET) continue;
        EMP_TRY(read_entry(&entry, &def, &field, err));
        if (field.number == DEF_CONTROL_RET) {
            f->control[controls++] = entry.value;
            continue;
        }
        int32_t i = emp_strmap_get(&positions, entry.key.data, entry.key.size);
        if (i >= 0) f->source[i] = entry.value;
    }
    for (int32_t i = 0; i < f->result_count; i++) {
        if (f->source[i].size == 0)
            EMP_FAIL(EMP_EFORMAT, "nothing is said of its result \"%.*s\"",
                     EMP_SLICE_ARG(f->result[i]));
    }

cleanup:
    emp_strmap_clear(&positions);
    return st;
}

static emp_status read_function(emp_function *f, emp_message def, emp_error *err)
{
    emp_message again = def;
    emp_field   field;
    bool        found = false;

    f->name = (emp_slice){"", 0};
    f->body = emp_message_body(&def);
    for (;;) {
        EMP_CHECK(emp_message_next(&def, &field, &found, err));
        if (!found) break;
        if (field.number == DEF_SIGNATURE)
            EMP_CHECK(read_signature(f, &def, &field, err));
    }
    return read_results(f, again, err);
}

/* ---- the library ---- */

static emp_status read_library(emp_functions *out, const emp_message *graph,
                               const emp_field *field, emp_error *err)
{
    emp_message library, def;
    emp_field   part;
    bool        found = false;

    EMP_CHECK(emp_field_message(graph, field, library_names, &library, err));
    EMP_CHECK(count_fields(&out->count, library, LIBRARY_FUNCTION, err));
    EMP_CHECK(EMP_ALLOC(out->function, (size_t)out->count));
    for (int32_t i = 0;;) {
        emp_error reason = {0};
        EMP_CHECK(emp_message_next(&library, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number != LIBRARY_FUNCTION) continue;
        EMP_CHECK(emp_field_message(&library, &part, emp_function_names, &def, err));
        emp_function *f = &out->function[i++];
        emp_status    st = read_function(f, def, &reason);
        if (st != EMP_OK)
            return EMP_ERROR(st, "function \"%.*s\": %s", EMP_SLICE_ARG(f->name),
                             reason.msg);
        EMP_CHECK(emp_strmap_set(&out->by_name, f->name.data, f->name.size, i - 1, err));
    }
}

emp_status emp_functions_read(emp_functions *out, int32_t *node_count,
                              emp_message_file *file, emp_slice body, emp_error *err)
{
    emp_message graph = emp_message_open(file, body, graph_names);
    emp_field   field;
    bool        found = false;

    for (*node_count = 0;;) {
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) return EMP_OK;
        *node_count += field.number == GRAPH_NODE && *node_count < INT32_MAX;
        if (field.number != GRAPH_LIBRARY) continue;
        if (out->function != NULL)
            return EMP_ERROR(EMP_EFORMAT, "the graph has two function libraries");
        EMP_CHECK(read_library(out, &graph, &field, err));
    }
}

void emp_functions_clear(emp_functions *functions)
{
    for (int32_t i = 0; functions->function != NULL && i < functions->count; i++) {
        emp_function *f = &functions->function[i];
        emp_strmap_clear(&f->arg);
        emp_free(f->result);
        emp_free(f->source);
        emp_free(f->control);
    }
    emp_free(functions->function);
    emp_strmap_clear(&functions->by_name);
    *functions = (emp_functions){0};
}

const emp_function *emp_functions_find(const emp_functions *functions, emp_slice name)
{
    int32_t i = emp_strmap_get(&functions->by_name, name.data, name.size);

    return i < 0 ? NULL : &functions->function[i];
}

int32_t emp_function_result(const emp_function *function, emp_slice name)
{
    for (int32_t i = 0; i < function->result_count; i++) {
        if (emp_slice_same(function->result[i], name)) return i;
    }
    return -1;
}

/* ---- outputs of ops, by name ---- */

/* Op types with several outputs of different names, each one tensor; from their OpDefs. */
static const struct {
    const char *type, *outputs;
} several[] = {
    {"AllCandidateSampler",
     "sampled_candidates true_expected_count sampled_expected_count"},
    {"BatchNormWithGlobalNormalizationGrad", "dx dm dv db dg"},
    {"BlockLSTM", "i cs f o ci co h"},
    {"BlockLSTMGrad",
     "x_grad cs_prev_grad h_prev_grad w_grad wci_grad wcf_grad wco_grad b_grad"},
    {"BlockLSTMGradV2",
     "x_grad cs_prev_grad h_prev_grad w_grad wci_grad wcf_grad wco_grad b_grad"},
    {"BlockLSTMV2", "i cs f o ci co h"},
    {"BroadcastGradientArgs", "r0 r1"},
    {"CTCGreedyDecoder", "decoded_indices decoded_values decoded_shape log_probability"},
    {"CTCLoss", "loss gradient"},
    {"CTCLossV2", "loss gradient"},
    {"CombinedNonMaxSuppression",
     "nmsed_boxes nmsed_scores nmsed_classes valid_detections"},
    {"CudnnRNN", "output output_h output_c reserve_space"},
    {"CudnnRNNBackprop",
     "input_backprop input_h_backprop input_c_backprop params_backprop"},
    {"CudnnRNNBackpropV3",
     "input_backprop input_h_backprop input_c_backprop params_backprop"},
    {"CudnnRNNV2", "output output_h output_c reserve_space host_reserved"},
    {"CudnnRNNV3", "output output_h output_c reserve_space host_reserved"},
    {"Eig", "e v"},
    {"FakeQuantWithMinMaxVarsGradient",
     "backprops_wrt_input backprop_wrt_min backprop_wrt_max"},
    {"FakeQuantWithMinMaxVarsPerChannelGradient",
     "backprops_wrt_input backprop_wrt_min backprop_wrt_max"},
    {"FixedUnigramCandidateSampler",
     "sampled_candidates true_expected_count sampled_expected_count"},
    {"FractionalAvgPool", "output row_pooling_sequence col_pooling_sequence"},
    {"FractionalMaxPool", "output row_pooling_sequence col_pooling_sequence"},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormGrad",
     "x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4"},
    {"FusedBatchNormGradV2",
     "x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4"},
    {"FusedBatchNormGradV3",
     "x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5"},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV3",
     "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"},
    {"GRUBlockCell", "r u c h"},
    {"GRUBlockCellGrad", "d_x d_h_prev d_c_bar d_r_bar_u_bar"},
    {"LSTMBlockCell", "i cs f o ci co h"},
    {"LSTMBlockCellGrad", "cs_prev_grad dicfo wci_grad wcf_grad wco_grad"},
    {"LearnedUnigramCandidateSampler",
     "sampled_candidates true_expected_count sampled_expected_count"},
    {"ListDiff", "out idx"},
    {"LogMatrixDeterminant", "sign log_abs_determinant"},
    {"LogUniformCandidateSampler",
     "sampled_candidates true_expected_count sampled_expected_count"},
    {"LookupTableExportV2", "keys values"},
    {"Lu", "lu p"},
    {"MaxPoolWithArgmax", "output argmax"},
    {"Merge", "output value_index"},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs"},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs"},
    {"Qr", "q r"},
    {"QuantizeV2", "output output_min output_max"},
    {"RaggedRange", "rt_nested_splits rt_dense_values"},
    {"ReaderReadV2", "key value"},
    {"RefMerge", "output value_index"},
    {"RefSwitch", "output_false output_true"},
    {"RequantizationRange", "output_min output_max"},
    {"Requantize", "output output_min output_max"},
    {"SampleDistortedBoundingBox", "begin size bboxes"},
    {"SampleDistortedBoundingBoxV2", "begin size bboxes"},
    {"SelfAdjointEigV2", "e v"},
    {"SoftmaxCrossEntropyWithLogits", "loss backprop"},
    {"SparseAdd", "sum_indices sum_values sum_shape"},
    {"SparseConcat", "output_indices output_values output_shape"},
    {"SparseFillEmptyRows",
     "output_indices output_values empty_row_indicator reverse_index_map"},
    {"SparseFillEmptyRowsGrad", "d_values d_default_value"},
    {"SparseReorder", "output_indices output_values"},
    {"SparseReshape", "output_indices output_shape"},
    {"SparseSlice", "output_indices output_values output_shape"},
    {"SparseSoftmaxCrossEntropyWithLogits", "loss backprop"},
    {"StatelessRandomGetKeyCounter", "key counter"},
    {"StatelessRandomGetKeyCounterAlg", "key counter alg"},
    {"StringSplit", "indices values shape"},
    {"StringSplitV2", "indices values shape"},
    {"Svd", "s u v"},
    {"Switch", "output_false output_true"},
    {"TensorArrayGradV3", "grad_handle flow_out"},
    {"TensorArrayV3", "handle flow"},
    {"TensorListConcat", "tensor lengths"},
    {"TensorListConcatV2", "tensor lengths"},
    {"TensorListPopBack", "output_handle tensor"},
    {"ThreadUnsafeUnigramCandidateSampler",
     "sampled_candidates true_expected_count sampled_expected_count"},
    {"TopK", "values indices"},
    {"TopKV2", "values indices"},
    {"UniformCandidateSampler",
     "sampled_candidates true_expected_count sampled_expected_count"},
    {"Unique", "y idx"},
    {"UniqueV2", "y idx"},
    {"UniqueWithCounts", "y idx count"},
    {"UniqueWithCountsV2", "y idx count"},
};

int32_t emp_output_offset(emp_slice type, emp_slice name)
{
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        if (!emp_slice_is(type, several[i].type)) continue;
        int32_t position = 0;
        for (const char *at = several[i].outputs; *at != '\0'; position++) {
            emp_slice word = {at, strcspn(at, " ")};
            if (emp_slice_same(word, name)) return position;
            at += word.size;
            at += *at == ' ';
        }
    }
    return 0;
}
