// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/sources.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "graphs/import/container.h"
#include "graphs/import/proto/wire.h"

/* ---- marks of formats that are not read, so that a refusal names what a file is ---- */

enum { SNIFFED_BYTES = 4096 };

static emp_slice beginning(emp_slice file)
{
    return (emp_slice){file.data, file.size < SNIFFED_BYTES ? file.size : SNIFFED_BYTES};
}

/* ---- text ---- */

/* The next line with more than a comment, without blanks around it; size 0: there is none. */
static emp_slice next_line(emp_slice *rest)
{
    emp_slice line = {"", 0};

    while ((line.size == 0 || line.data[0] == '#') && emp_slice_next_line(&line, rest))
        line = emp_slice_trim(line);
    return line.size > 0 && line.data[0] != '#' ? line : (emp_slice){"", 0};
}

/* It begins with a key or an item of a list, and has one line that is an item, or a key whose value is in
 * the lines below it: protobuf's text has neither, and programs do not begin so. */
static bool is_yaml(emp_slice file)
{
    emp_slice rest = beginning(file);
    emp_slice line = next_line(&rest);
    size_t    key = 0;

    while (key < line.size && (isalnum((unsigned char)line.data[key]) ||
                               strchr("_-", line.data[key]) != NULL))
        key++;
    if (!emp_container_is_text(file) ||
        (!emp_slice_starts(line, "- ") &&
         (key == 0 || key == line.size || line.data[key] != ':')))
        return false;
    for (; line.size > 0; line = next_line(&rest))
        if (emp_slice_starts(line, "- ") || line.data[line.size - 1] == ':') return true;
    return false;
}

static bool is_openvino(emp_slice file)
{
    emp_slice text = beginning(file);

    return (emp_slice_starts(text, "<?xml") || emp_slice_starts(text, "<net ")) &&
           emp_slice_has(text, "<net ") && emp_slice_has(text, "<layers>");
}

/* ---- bytes ---- */

/* Protocols 2 to 5 begin with their number. */
static bool is_pickle(emp_slice file)
{
    return file.size > 2 && (unsigned char)file.data[0] == 0x80 && file.data[1] >= 2 &&
           file.data[1] <= 5;
}

static emp_cursor open_message(emp_slice message)
{
    return (emp_cursor){message.data, message.data, message.data + message.size};
}

/* Model of Core ML: specificationVersion = 1, description = 2, and one of the kinds of models from 200 on. */
static bool is_core_ml(emp_slice file)
{
    enum { VERSION = 1, DESCRIPTION = 2, FIRST_KIND = 200, LAST_KIND = 3000 };
    emp_cursor     c = open_message(file);
    emp_wire_field field;

    if (emp_container_is_text(file) || emp_wire_next(&c, &field, NULL) != EMP_OK ||
        field.number != VERSION || field.type != EMP_WIRE_VARINT)
        return false;
    while (c.at < c.end && emp_wire_next(&c, &field, NULL) == EMP_OK &&
           field.type == EMP_WIRE_BYTES)
        if (field.number >= FIRST_KIND) return field.number <= LAST_KIND;
    return false;
}

/* HloModuleProto: name = 1, entry_computation_name = 2, computations = 3, id = 5, entry_computation_id = 6. A node of
 * TensorFlow's begins with two names, too, but its field 5 is a message, and it has no field 6. */
static bool is_hlo_module(emp_slice message)
{
    enum { NAME = 1, ENTRY = 2, ID = 5, ENTRY_ID = 6 };
    emp_cursor     c = open_message(message);
    emp_wire_field field;

    for (int32_t number = NAME; number <= ENTRY; number++)
        if (c.at == c.end || emp_wire_next(&c, &field, NULL) != EMP_OK ||
            field.number != number || field.type != EMP_WIRE_BYTES ||
            !emp_container_is_text(field.bytes))
            return false;
    while (c.at < c.end && emp_wire_next(&c, &field, NULL) == EMP_OK)
        if (field.number == ID || field.number == ENTRY_ID)
            return field.type == EMP_WIRE_VARINT;
    return false;
}

/* A module, or HloProto, whose field 1 is one. */
static bool is_hlo_proto(emp_slice file)
{
    emp_cursor     c = open_message(file);
    emp_wire_field field;

    if (emp_container_is_text(file)) return false;
    return is_hlo_module(file) ||
           (emp_wire_next(&c, &field, NULL) == EMP_OK && field.number == 1 &&
            field.type == EMP_WIRE_BYTES && is_hlo_module(field.bytes));
}

/* ---- JSON ---- */

static bool is_safetensors_index(const emp_json *root)
{
    return emp_json_get(root, "weight_map") != NULL;
}

static bool is_tensorflow_js(const emp_json *root)
{
    return emp_json_get(root, "modelTopology") != NULL;
}

/* The output of model.to_json(). */
static bool is_keras_json(const emp_json *root)
{
    return emp_json_get(root, "class_name") != NULL &&
           emp_json_get(root, "config") != NULL;
}

static bool is_core_ml_manifest(const emp_json *root)
{
    return emp_json_get(root, "rootModelIdentifier") != NULL;
}

/* Nodes have costs by their degree of tensor parallelism. */
static bool is_piper(const emp_json *root)
{
    const emp_json *nodes = emp_json_get(root, "nodes");

    return emp_json_get(root, "maxMemoryPerDevice") != NULL &&
           emp_json_get(emp_json_first(nodes), "TMPCs") != NULL;
}

/* Profiles have keys such as "layertype_0_bsz8" and "layernum[2]_bsz8"; strategies have degrees of parallelism. */
static bool is_galvatron(const emp_json *root)
{
    const char *key = emp_json_is(root, EMP_JSON_OBJECT) && emp_json_first(root) != NULL
                          ? emp_json_key(emp_json_first(root))
                          : "";

    return strncmp(key, "layertype_", 10) == 0 || strncmp(key, "layernum[", 9) == 0 ||
           (emp_json_get(root, "pp_deg") != NULL &&
            emp_json_get(root, "tp_sizes_enc") != NULL);
}

/* ---- prefixes ---- */

static const emp_source_prefix prefixes[] = {
    {"hf",
     {"path=", "weights="},
     emp_hf_options,
     "a Hugging Face model or a GGUF file: hf:path=config.json, and ...",
     "hf:path=config.json,phase=train",
     "hf: is for configs of Hugging Face and GGUF files"},
    {"tf",
     {"path=", "signature="},
     emp_graph_def_options,
     "a TensorFlow graph: tf:path=graph.pb, perhaps signature=NAME of a SavedModel, and "
     "...",
     "tf:path=graph.pb,batch=64",
     "batch, loops and signature are for TensorFlow's graphs; --batch is for ONNX "
     "models, too"},
    {"onnx",
     {"path=", "dim.", "train="},
     emp_onnx_options,
     "an ONNX model: onnx:path=model.onnx, perhaps dim.NAME=SIZE, "
     "train=sgd|momentum|adam, and ...",
     "onnx:path=model.onnx,batch=8,train=adam",
     "--batch, --dim, --train and --lenient are for ONNX models"},
    {"layers",
     {"path=", "model=", "gpu=", "table=", "stages="},
     emp_layers_options,
     "measured layers as a pipeline: layers:path=layers.tsv, perhaps model=, gpu=, "
     "table=, stages=12+14, and ...",
     "layers:path=layers.tsv,micro_batches=8",
     "layers: is for tables of measured layers, which have the columns layer_first, "
     "layer_last, fwd_s and bwd_s"},
    {"trace",
     {"kineto=", "et="},
     emp_trace_options,
     "a step of a trace of PyTorch's profiler: trace:kineto=trace.json, perhaps "
     "et=FILE, and ...",
     "trace:kineto=trace.json,step=103",
     "trace: is for traces of PyTorch's profiler"},
};

enum { PREFIXES = sizeof prefixes / sizeof *prefixes };

const emp_source_prefix *emp_source_prefixes(int32_t *count)
{
    *count = PREFIXES;
    return prefixes;
}

bool emp_source_has_prefix(const char *spec, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(spec, name, length) == 0 && spec[length] == ':';
}

const emp_source_prefix *emp_source_prefix_of(const char *spec)
{
    for (int32_t i = 0; i < PREFIXES; i++)
        if (emp_source_has_prefix(spec, prefixes[i].name) ||
            (strcmp(spec, prefixes[i].name) == 0 && access(spec, F_OK) != 0))
            return &prefixes[i];
    return NULL;
}

/* ---- formats ---- */

static bool is_any_json(const emp_json *root) { return root != NULL; }

static bool is_any(emp_slice file) { return file.size > 0; }

#define EXPORT_TORCH                                                                \
    "scripts/export/export_torch.py exports the training step of a PyTorch model, " \
    "with the sizes of its inputs"
#define SAVED_MODEL \
    "write a SavedModel by model.export(DIR), and name the saved_model.pb in it"
#define LAYERS                                                          \
    "write the times of its layers as a table: layers:path=layers.tsv " \
    "(docs/pipelines.md)"
#define ITS_SOURCE                                                                  \
    "export the model that it was converted from, by torch.export.save() or as an " \
    "ONNX model"
#define YAML_INSTEAD \
    "--machine takes a machine, --runtime a runtime profile, --placement a placement"

#define TORCH_ANEW \
    "scripts/export/export_torch.py writes such a file of a PyTorch model, whole"
#define TRACE_ANEW "record the step anew, and end the profiler before the program ends"
#define DESCRIBED  "docs/models.md describes such files"
#define ONNX_ANEW                                                     \
    "onnx.checker.check_model() says whether the file is whole, and " \
    "torch.onnx.export() "                                            \
    "writes it anew"
#define TF_ANEW                                                                         \
    "tf.io.write_graph(graph.as_graph_def(), DIR, \"graph.pb\", as_text=False) writes " \
    "a graph anew"
#define CONFIG_ANEW                                                               \
    "model.config.to_json_file(FILE) writes a config anew, and hf:path=FILE,... " \
    "sets what it lacks"
#define GGUF_ANEW "fetch the file again, or convert it anew by llama.cpp's scripts"

/* The first that fits counts, so formats without a mark come last. */
static const emp_source_format formats[] = {
    {"a GGUF file", "hf", .is = emp_gguf_is, .load = emp_gguf_load, .is_header = true,
     .anew = GGUF_ANEW, .source = EMP_SOURCE_GGUF},
    {"a safetensors file", NULL, .is = emp_safetensors_is, .is_header = true,
     .instead = "it has only weights; name it beside the config of its model: "
                "hf:path=config.json,weights=FILE"},
    {"an ONNX model", "onnx", .is = emp_onnx_is, .load = emp_onnx_load, .anew = ONNX_ANEW,
     .source = EMP_SOURCE_ONNX},
    {"an archive of TorchScript", NULL, .is = emp_torchscript_is, .has_graph = true,
     .instead = "export the model with torch.export.save(), or as an ONNX model"},
    {"an archive of torch.save()", NULL, .is = emp_torch_weights_is,
     .instead = "it has weights or objects of Python, and no graph; torch.export.save() "
                "writes the graph of a model"},
    {"a package of AOTInductor, which is compiled code", NULL, .is = emp_aoti_is,
     .instead = "torch.export.save() writes the graph that it was compiled from"},
    {"a Keras model", NULL, .is = emp_keras_is, .has_graph = true,
     .instead = SAVED_MODEL},
    {"a zip archive", NULL, .is = emp_pt2_is, .read = emp_pytorch_read,
     .marks_targets = true, .instead = EXPORT_TORCH, .anew = TORCH_ANEW,
     .source = EMP_SOURCE_PYTORCH},

    /* JSON */
    {"a config of Hugging Face", "hf", .is_json = emp_config_is, .load = emp_config_load,
     .anew = CONFIG_ANEW},
    {"a torch.fx graph", NULL, .is_json = emp_fx_json_is, .read = emp_pytorch_read,
     .marks_targets = true, .instead = EXPORT_TORCH, .anew = TORCH_ANEW,
     .source = EMP_SOURCE_PYTORCH},
    {"a trace of PyTorch's profiler", "trace", .is_json = emp_kineto_is,
     .read = emp_trace_read, .anew = TRACE_ANEW, .source = EMP_SOURCE_TRACE},
    {"a Chakra trace", NULL, .is_json = emp_chakra_is_json, .read = emp_chakra_read,
     .anew = TRACE_ANEW, .source = EMP_SOURCE_TRACE},
    {"a PyTorch execution trace", NULL, .is_json = emp_execution_is,
     .read = emp_torch_execution_read, .anew = TRACE_ANEW, .source = EMP_SOURCE_PYTORCH},
    {"a list of ops with times", NULL, "emplace-ops-1", .read = emp_ops_read,
     .anew = DESCRIBED, .source = EMP_SOURCE_STATED},
    {"an instance of Piper, whose layers have costs by their degree of tensor "
     "parallelism",
     NULL, .is_json = is_piper, .has_graph = true, .instead = LAYERS},
    {"an instance of dnn-partitioning", NULL, .is_json = emp_dnn_partitioning_is,
     .read = emp_dnn_partitioning_read, .anew = DESCRIBED, .source = EMP_SOURCE_STATED},
    {"an index of safetensors files", NULL, .is_json = is_safetensors_index,
     .instead = "it names the files of weights; name it beside the config of its model: "
                "hf:path=config.json,weights=FILE"},
    {"a TensorFlow.js model", NULL, .is_json = is_tensorflow_js, .has_graph = true,
     .instead = "name the SavedModel that it was converted from"},
    {"the layers of a Keras model", NULL, .is_json = is_keras_json, .has_graph = true,
     .instead = SAVED_MODEL},
    {"the manifest of a Core ML package", NULL, .is_json = is_core_ml_manifest,
     .instead = ITS_SOURCE},
    {"a profile or a strategy of Galvatron", NULL, .is_json = is_galvatron,
     .instead = LAYERS},

    /* text */
    {"a module of XLA", NULL, .is = emp_hlo_is, .read = emp_hlo_read,
     .marks_targets = true,
     .anew = "save what jax.jit(f).lower(...).compile().as_text() gives, whole",
     .source = EMP_SOURCE_HLO},
    {"StableHLO, which XLA has not compiled", NULL, .is = emp_stablehlo_is,
     .has_graph = true,
     .instead = "save what jax.jit(f).lower(...).compile().as_text() gives"},
    {"OpenVINO's intermediate representation", NULL, .is = is_openvino, .has_graph = true,
     .instead = ITS_SOURCE},
    {"a profile of PipeDream", NULL, .is = emp_pipedream_is, .read = emp_pipedream_read,
     .anew = DESCRIBED, .source = EMP_SOURCE_STATED},
    {"a table of measured layers", "layers", .is = emp_layers_is, .read = emp_layers_read,
     .anew = "docs/pipelines.md describes such tables", .source = EMP_SOURCE_STATED},
    {"a graph of DOPPLER", NULL, .is = emp_doppler_is, .read = emp_doppler_read,
     .anew = DESCRIBED, .source = EMP_SOURCE_STATED},

    /* protocol buffers */
    {"a Chakra trace", NULL, .is = emp_chakra_is, .read = emp_chakra_read,
     .anew = TRACE_ANEW, .source = EMP_SOURCE_TRACE},
    {"a module of XLA in protocol buffers", NULL, .is = is_hlo_proto, .has_graph = true,
     .instead = "save its text: XLA_FLAGS=--xla_dump_hlo_as_text with --xla_dump_to=DIR, "
                "or jax.jit(f).lower(...).compile().as_text()"},
    {"a Core ML model", NULL, .is = is_core_ml, .has_graph = true, .instead = ITS_SOURCE},
    {"a TensorFlow graph", "tf", .is = emp_graph_def_is, .load = emp_graph_def_load,
     .anew = TF_ANEW, .source = EMP_SOURCE_TENSORFLOW},
    {"a RunMetadata profile, which has times but no graph", NULL,
     .is = emp_run_metadata_holds, .instead = "--costs takes it"},
    {"a profile of XLA (xplane.pb), which has times but no graph", NULL,
     .is = emp_xspace_is,
     .instead = "name the module that ran: jax.jit(f).lower(...).compile().as_text()"},

    /* no graphs, and graphs of other programs */
    {"a TensorFlow Lite model", NULL, "TFL3", 4, .has_graph = true,
     .instead =
         "name the SavedModel or the .pb that it was converted from, or convert it "
         "by tf2onnx"},
    {"a model in ONNX Runtime's own format", NULL, "ORTM", 4, .has_graph = true,
     .instead = "name the .onnx that it was made of"},
    {"HDF5, and no graph", NULL, "\x89HDF\r\n\x1a\n",
     .instead =
         "emplace record shows a run record or a checkpoint, and --placement takes "
         "its placement; of a Keras model (.h5) " SAVED_MODEL},
    {"MLIR as bytecode", NULL, "ML\xefR", .has_graph = true,
     .instead = "save what jax.jit(f).lower(...).compile().as_text() gives"},
    {"a pickled object of Python", NULL, .is = is_pickle,
     .instead = "torch.export.save() writes the graph of a PyTorch model"},
    {"a placement, and no graph", NULL, "emplace-placement-",
     .instead = "--placement takes it"},
    {"a graph that emplace graph --out has written for other programs, which is not read "
     "back",
     NULL, "emplace-graph-", .instead = "name the SPEC that it was made of"},
    {"a plan, and no graph", NULL, "emplace-replay-plan-",
     .instead = "emplace-replay executes it"},
    {"the result of a plan, and no graph", NULL, "emplace-replay-result-",
     .instead = "emplace validate --import takes it"},
    {"YAML, and no graph", NULL, "---", .instead = YAML_INSTEAD},
    {"YAML, and no graph", NULL, .is = is_yaml, .instead = YAML_INSTEAD},
    /* hf: says what a config lacks */
    {"JSON of no known kind", "hf", .is_json = is_any_json, .load = emp_config_load,
     .instead =
         "lists of ops have the \"format\" emplace-ops-1, PyTorch's graphs one that "
         "begins with torch.fx; traces have "
         "the list \"traceEvents\" or \"workload_graph\", or the text \"schema\"; "
         "configs have \"model_type\", and dnn-partitioning's instances the lists "
         "\"nodes\" and \"edges\""},
    {"a file of no known kind", "tf", .is = is_any, .load = emp_graph_def_load},
};

enum { FORMATS = sizeof formats / sizeof *formats };

static bool has_magic(const emp_source_format *f, const emp_reading *r)
{
    const char *format = emp_json_string(emp_json_get(r->json, "format"));
    emp_slice   text = r->bytes;

    if (r->json != NULL && format == NULL) return false;
    if (r->json != NULL) text = (emp_slice){format, strlen(format)};
    if (text.size < (size_t)f->magic_at) return false;
    text = (emp_slice){text.data + f->magic_at, text.size - (size_t)f->magic_at};
    return text.size > 0 && emp_slice_starts(text, f->magic);
}

static bool fits(const emp_source_format *f, const emp_reading *r)
{
    if (f->magic != NULL) return has_magic(f, r);
    if (f->is_json != NULL) return r->json != NULL && f->is_json(r->json);
    return r->json == NULL && f->is(r->bytes);
}

const emp_source_format *emp_source_format_find(const emp_reading *r, bool is_block)
{
    for (int32_t i = 0; i < FORMATS; i++)
        if (formats[i].is_header == is_block && fits(&formats[i], r)) return &formats[i];
    return NULL;
}

static emp_status refuse(const emp_source_format *f, const emp_reading *r, emp_error *err)
{
    const char *format = emp_json_string(emp_json_get(r->json, "format"));
    const bool  is_said = f->is_json == is_any_json && format != NULL;

    return EMP_ERROR(f->has_graph ? EMP_EUNSUPPORTED : EMP_EFORMAT, "%s%s%.60s%s; %s",
                     f->name, is_said ? ", as its format is \"" : "",
                     is_said ? format : "", is_said ? "\"" : "", f->instead);
}

emp_status emp_source_check(const emp_source_format *f, const emp_source_prefix *prefix,
                            const emp_reading *r, emp_error *err)
{
    const bool is_read = f->read != NULL || f->load != NULL;

    if (!is_read || (prefix == NULL && f->is_json == is_any_json))
        return refuse(f, r, err);
    if (prefix == NULL || (f->prefix != NULL && strcmp(f->prefix, prefix->name) == 0))
        return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s, and this is %s%s%s", prefix->is_for, f->name,
                     f->instead != NULL ? "; " : "",
                     f->instead != NULL ? f->instead : "");
}

const char *emp_source_advice(const emp_source_format *f, emp_status status,
                              const char *msg)
{
    static const char report[] =
        "a report should hold this sentence, the program that wrote the file, and its "
        "version";

    if (f == NULL || (f->read == NULL && f->load == NULL) || strstr(msg, "; ") != NULL)
        return NULL;
    if (status == EMP_EFORMAT || status == EMP_ECYCLE) return f->anew;
    if (status == EMP_EUNSUPPORTED) return report;
    return NULL;
}
