// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a spec or a file made into the graphs that its front end makes, without a leak? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "sim/engine/sim.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(load, .init = scratch_create, .fini = scratch_remove);

Test(load, spec_gives_the_graph_and_its_step)
{
    emp_graph         *step = NULL, *whole = NULL;
    emp_import_devices devices = {.cpu_count = 7};
    emp_error          err = {0};

    cr_assert_eq(emp_source_load(&step, &whole, &devices, "rnnlm:steps=2", &err), EMP_OK,
                 "%s", err.msg);
    cr_expect_gt(whole->op_count, step->op_count);
    cr_expect_eq(devices.cpu_count, 0);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(load, file_is_read_when_no_family_has_its_name)
{
    static const char text[] = "node { name: \"a\" op: \"NoOp\" }\n";
    emp_graph        *step = NULL;
    emp_error         err = {0};

    scratch_write("text.pbtxt", text, strlen(text));
    cr_assert_eq(emp_source_load(&step, NULL, NULL, scratch_path("text.pbtxt"), &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(step->op_count, 1);
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static const char open_batch[] =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }\n"
    " attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 10 } } } } }\n"
    "node { name: 'y' op: 'Relu' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";

static int64_t bytes_of_y(const char *tail, emp_import_notes *notes)
{
    char       source[SCRATCH_PATH_BYTES + 64];
    emp_graph *step = NULL;
    emp_error  err = {0};

    scratch_write("open.pbtxt", open_batch, strlen(open_batch));
    snprintf(source, sizeof source, "%s%s%s",
             tail == NULL ? "" : "tf:path=", scratch_path("open.pbtxt"),
             tail == NULL ? "" : tail);
    cr_assert_eq(emp_source_load_noted(&step, NULL, NULL, notes, source, &err), EMP_OK,
                 "%s", err.msg);
    int64_t bytes = step->tensor[step->output_offset[emp_graph_find(step, "y")]].bytes;
    emp_graph_destroy(step);
    return bytes;
}

Test(load, a_batch_that_a_tensorflow_graph_leaves_open_is_given_or_told)
{
    emp_import_notes notes = {0};

    cr_expect_eq(bytes_of_y(",batch=7", &notes), 280);
    cr_expect_eq(notes.assumption_count, 0);
    cr_expect_eq(bytes_of_y(NULL, &notes), 1280);
    cr_expect_eq(bytes_of_y(",loops=2", &notes), 1280);
    cr_assert_eq(notes.assumption_count, 1, "told once");
    cr_expect_str_eq(notes.assumption[0], "a batch that the file leaves open is 32");
    emp_import_notes_clear(&notes);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- the runtime that fits ---- */

static const char *runtime_of(const char *source)
{
    emp_graph  *step = NULL;
    emp_error   err = {0};
    const char *runtime;

    cr_assert_eq(emp_source_load(&step, NULL, NULL, source, &err), EMP_OK, "%s", err.msg);
    runtime = emp_graph_default_runtime(step);
    cr_expect_neq(emp_graph_source_why(step)[0], '\0');
    emp_graph_destroy(step);
    return runtime;
}

Test(load, specs_have_the_runtime_that_fits_them)
{
    static const struct {
        const char *spec, *runtime;
    } all[] = {
        {"rnnlm:steps=2", "tf-r1.3"},
        {"nmt:layers=1,steps=2", "tf-r1.3"},
        {"giph", "tf-r1.3"},
        {"bert:layers=1", "torch-eager"},
        {"transformer:layers=1", "torch-eager"},
        {"transformer:layers=1,phase=prefill", "torch-eager"},
        {"transformer:layers=1,phase=decode", "graph-launch"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_str_eq(runtime_of(all[i].spec), all[i].runtime, "%s", all[i].spec);
    cr_expect_null(emp_graph_default_runtime(NULL));
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Samples of other tests, by what their readers are. */
Test(load, files_have_the_runtime_that_fits_them)
{
    static const struct {
        const char *file, *runtime;
    } all[] = {
        {"pytorch/samples/linear_momentum.json", "torch-eager"},
        {"pytorch/execution/seeds/linear_1.1.et.json", "torch-eager"},
        {"traces/samples/resnet50_h200.kineto.json.gz", "traced"},
        {"hlo/seeds/kernels.hlo.txt", "graph-launch"},
    };
    char path[SCRATCH_PATH_BYTES];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(path, sizeof path, "%s/tests/graphs/import/%s", getenv("EMP_SOURCE_DIR"),
                 all[i].file);
        cr_expect_str_eq(runtime_of(path), all[i].runtime, "%s", path);
    }
    scratch_write("open.pbtxt", open_batch, strlen(open_batch));
    cr_expect_str_eq(runtime_of(scratch_path("open.pbtxt")), "tf-r1.3");
    snprintf(path, sizeof path, "%s/docs/examples/small-llama.json",
             getenv("EMP_SOURCE_DIR"));
    cr_expect_str_eq(runtime_of(path), "torch-eager");
    snprintf(path, sizeof path, "hf:path=%s/docs/examples/small-llama.json,phase=decode",
             getenv("EMP_SOURCE_DIR"));
    cr_expect_str_eq(runtime_of(path), "graph-launch");
    snprintf(path, sizeof path, "layers:path=%s/docs/examples/layers.csv",
             getenv("EMP_SOURCE_DIR"));
    cr_expect_str_eq(runtime_of(path), "tf-r1.3");
}

/* A constant is computed before the step, so that its step takes the runtime's own time. */
Test(load, a_graph_in_which_nothing_is_computed_is_a_warning)
{
    static const char constants[] =
        "node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }\n"
        " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } "
        "float_val: 1 } } } }\n"
        "node { name: 'b' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } "
        "} }";
    emp_import_notes notes = {0};
    emp_graph       *step = NULL;
    emp_error        err = {0};

    scratch_write("constants.pbtxt", constants, strlen(constants));
    cr_assert_eq(emp_source_load_noted(&step, NULL, NULL, &notes,
                                       scratch_path("constants.pbtxt"), &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(notes.warning_count, 1);
    cr_expect_not_null(strstr(notes.warning[0], "constants.pbtxt: nothing is computed"),
                       "%s", notes.warning[0]);
    emp_graph_destroy(step);
    emp_import_notes_clear(&notes);
    (void)bytes_of_y(NULL, &notes);
    cr_expect_eq(notes.warning_count, 0, "a Relu computes");
    emp_import_notes_clear(&notes);
    cr_assert_eq(emp_source_load_noted(&step, NULL, NULL, &notes, "rnnlm:steps=2", &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(notes.warning_count, 0);
    emp_graph_destroy(step);
    emp_import_notes_clear(&notes);
}

Test(load, wrong_specs_of_tensorflow_graphs_are_refused)
{
    static const struct {
        const char *source, *wants;
    } faults[] = {
        {"tf:", "needs the path"},
        {"tf:path=x,batch=-1", "batch"},
        {"tf:path=x,turns=3", "turns"},
        {"tf:path=/nowhere/x.pb", "/nowhere/x.pb: cannot be read: No such file"},
        {"tf:path=other.json", "JSON of no known kind"}};

    scratch_write("other.json", "{}", 2);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char       source[SCRATCH_PATH_BYTES + 64];
        emp_graph *step = NULL;
        emp_error  err = {0};
        snprintf(source, sizeof source, "%s", faults[i].source);
        if (strstr(source, "other") != NULL)
            snprintf(source, sizeof source, "tf:path=%s", scratch_path("other.json"));
        cr_expect_neq(emp_source_load(&step, NULL, NULL, source, &err), EMP_OK);
        cr_expect_not_null(strstr(err.msg, faults[i].wants), "%s: %s", source, err.msg);
        cr_expect_null(step);
    }
}

/* Each begins as such files do. */
Test(load, formats_that_are_not_read_are_named_with_what_would_do)
{
    static const struct {
        const char *bytes;
        size_t      size;
        emp_status  status;
        const char *name, *instead;
    } all[] = {
#define BYTES(text) text, sizeof text - 1
        {BYTES("\x1c\0\0\0TFL3\x14\0\x20"), EMP_EUNSUPPORTED, "a TensorFlow Lite model",
         "tf2onnx"},
        {BYTES("\x1c\0\0\0ORTM\x14\0\x20"), EMP_EUNSUPPORTED, "ONNX Runtime's own format",
         "name the .onnx"},
        {BYTES("{\"format\": \"graph-model\", \"modelTopology\": {\"node\": []}}"),
         EMP_EUNSUPPORTED, "a TensorFlow.js model", "SavedModel"},
        {BYTES("{\"metadata\": {}, \"weight_map\": {\"a\": \"model-1.safetensors\"}}"),
         EMP_EFORMAT, "an index of safetensors files", "hf:path=config.json"},
        {BYTES("\x0a\x0d\x08\x01\x12\x09/host:CPU"), EMP_EFORMAT, "a profile of XLA",
         "as_text()"},
        {BYTES("\x0a\x0f\x0a\x0d\x0a\x0b/device:CPU"), EMP_EFORMAT, "RunMetadata",
         "--costs"},
        {BYTES("{\"class_name\": \"Functional\", \"config\": {\"layers\": []}}"),
         EMP_EUNSUPPORTED, "the layers of a Keras model", "model.export(DIR)"},
        {BYTES("\x89HDF\r\n\x1a\n\0\0\0"), EMP_EFORMAT, "HDF5", "model.export(DIR)"},
        {BYTES("PK\3\4"
               "PK\1\2\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
               "\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0model.weights.h5"
               "PK\5\6\0\0\0\0\1\0\1\0\x3e\0\0\0\4\0\0\0\0\0"),
         EMP_EUNSUPPORTED, "a Keras model", "model.export(DIR)"},
        {BYTES("PK\3\4"
               "PK\1\2\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
               "\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0m/data/aotinductor/a.so."
               "PK\5\6\0\0\0\0\1\0\1\0\x46\0\0\0\4\0\0\0\0\0"),
         EMP_EFORMAT, "a package of AOTInductor", "torch.export.save()"},
        {BYTES("{\"fileFormatVersion\": \"1.0.0\", \"rootModelIdentifier\": \"A\"}"),
         EMP_EFORMAT, "the manifest of a Core ML package", "torch.export.save()"},
        {BYTES("\x08\x07\x12\x03\x0a\x01x\xb2\x1f\x02\x08\1"), EMP_EUNSUPPORTED,
         "a Core ML model", "ONNX model"},
        {BYTES("<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">\n<layers>\n"),
         EMP_EUNSUPPORTED, "OpenVINO's intermediate representation", "ONNX model"},
        {BYTES("\x0a\x14\x0a\x05jit_f\x12\x06main.3\x28\x01\x30\x03\x1a\0"),
         EMP_EUNSUPPORTED, "a module of XLA in protocol buffers", "xla_dump_hlo_as_text"},
        {BYTES("ML\xefR\x0dStableHLO_v1.0.0"), EMP_EUNSUPPORTED, "MLIR as bytecode",
         "as_text()"},
        {BYTES("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."), EMP_EFORMAT,
         "a pickled object of Python", "torch.export.save()"},
        {BYTES("{\"maxDevices\": 8, \"maxMemoryPerDevice\": 1e9, \"nodes\": [{\"id\": 0, "
               "\"TMPCs\": {}}], \"edges\": []}"),
         EMP_EUNSUPPORTED, "an instance of Piper", "layers:path=layers.tsv"},
        {BYTES("{\"layertype_0_bsz8\": 4.25, \"layernum[2]_bsz8\": 9.5}"), EMP_EFORMAT,
         "of Galvatron", "layers:path=layers.tsv"},
        {BYTES("{\"pp_deg\": 1, \"tp_sizes_enc\": \"1,2\"}"), EMP_EFORMAT, "of Galvatron",
         "layers:path=layers.tsv"},
        {BYTES("x: 1\ndevices:\n  - cpu\n"), EMP_EFORMAT, "YAML", "--machine"},
        {BYTES("PK\3\4"), EMP_EFORMAT, "a truncated zip archive", ""},
#undef BYTES
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        emp_graph *step = NULL;
        emp_error  err = {0};
        scratch_write("file", all[i].bytes, all[i].size);
        cr_expect_eq(emp_graph_load(&step, scratch_path("file"), &err), all[i].status,
                     "%s", err.msg);
        cr_expect_not_null(strstr(err.msg, all[i].name), "%s", err.msg);
        cr_expect_not_null(strstr(err.msg, all[i].instead), "%s", err.msg);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Lines that end with a colon, or items of a list, are no YAML by themselves. */
Test(load, programs_and_prose_are_not_called_yaml)
{
    static const char *const texts[] = {"import os\n\ndef main():\n    pass\n",
                                        "# A page\n\nIt has a list:\n\n- one\n- two\n"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        emp_graph *step = NULL;
        emp_error  err = {0};
        scratch_write("text", texts[i], strlen(texts[i]));
        cr_expect_eq(emp_graph_load(&step, scratch_path("text"), &err), EMP_EFORMAT);
        cr_expect_not_null(strstr(err.msg, "no graph of a known kind"), "%s", err.msg);
    }
}

Test(load, options_of_other_formats_are_refused_by_what_the_file_is)
{
    static const struct {
        const char *prefix, *wants;
    } all[] = {
        {"hf:path=", "hf: is for configs of Hugging Face and GGUF files, and this is a "
                     "TensorFlow graph"},
        {"onnx:path=", "--lenient are for ONNX models, and this is a TensorFlow graph"},
        {"layers:path=", "fwd_s and bwd_s, and this is a TensorFlow graph"},
        {"trace:kineto=", "traces of PyTorch's profiler, and this is a TensorFlow graph"},
    };

    scratch_write("open.pbtxt", open_batch, strlen(open_batch));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char       spec[SCRATCH_PATH_BYTES + 16];
        emp_graph *step = NULL;
        emp_error  err = {0};
        snprintf(spec, sizeof spec, "%s%s", all[i].prefix, scratch_path("open.pbtxt"));
        cr_expect_eq(emp_graph_load(&step, spec, &err), EMP_EINVAL);
        cr_expect_not_null(strstr(err.msg, all[i].wants), "%s", err.msg);
    }
}

/* A bare prefix is a spec without its path, unless a file has that name. */
Test(load, prefixes_need_a_path)
{
    int32_t                  count;
    const emp_source_prefix *prefix = emp_source_prefixes(&count);

    cr_assert_gt(count, 0);
    for (int32_t i = 0; i < count; i++) {
        emp_graph *step = NULL;
        emp_error  err = {0};
        cr_expect_eq(emp_graph_load(&step, prefix[i].name, &err), EMP_EINVAL);
        cr_expect_not_null(strstr(err.msg, " needs the path of a file, as in "), "%s",
                           err.msg);
        cr_expect(emp_source_has_prefix(prefix[i].example, prefix[i].name));
    }
}

/* A reader that looks at the header only takes packed files, too. */
Test(load, headers_are_read_from_packed_files)
{
    static const char header[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    emp_graph        *step = NULL;
    emp_error         err = {0};
    gzFile            file = gzopen(scratch_path("m.gguf.gz"), "wb");

    cr_assert_not_null(file);
    cr_assert_eq(gzwrite(file, header, sizeof header - 1), (int)sizeof header - 1);
    gzclose(file);
    cr_expect_eq(emp_graph_load(&step, scratch_path("m.gguf.gz"), &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "general.architecture"), "%s", err.msg);
}

Test(load, neither_spec_nor_file_names_the_families)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    cr_expect_eq(emp_source_load(&step, NULL, NULL, "nmtt", &err), EMP_EIO);
    cr_expect_str_eq(err.msg,
                     "\"nmtt\" is neither a file nor a workload family "
                     "(did you mean \"nmt\"?) (nmt, rnnlm, inception_v3, resnet, "
                     "transformer, bert, transformer_xl, wavenet, cells, enas, giph; "
                     "of a file: hf, tf, onnx, layers, trace)");
    err = (emp_error){0};
    cr_expect_eq(emp_source_load(&step, NULL, NULL, "onx:path=m.onnx", &err), EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "family (did you mean \"onnx\"?)"), "%s", err.msg);
}

Test(load, a_file_of_nearly_that_name_is_meant)
{
    static const char *const heads[] = {"", "tf:path=", "layers:path="};
    emp_graph               *step = NULL;

    scratch_write("mlp.json", "{}", 2);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char      source[SCRATCH_PATH_BYTES + 16];
        emp_error err = {0};
        snprintf(source, sizeof source, "%s%s", heads[i], scratch_path("mpl.json"));
        cr_expect_eq(emp_source_load(&step, NULL, NULL, source, &err), EMP_EIO);
        cr_expect_not_null(strstr(err.msg, "mlp.json\"?)"), "%s", err.msg);
    }
}

Test(load, survives_every_allocation_failure)
{
    emp_graph *step = NULL, *whole = NULL;
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_source_load(&step, &whole, NULL, "rnnlm:steps=1,layers=1", NULL),
        emp_graph_destroy(step);
        emp_graph_destroy(whole));
    emp_graph_destroy(step);
    emp_graph_destroy(whole);
}

/* ---- memory ---- */

/* Bytes an op of a large step, and of the simulator on it: graphs of ten million ops have to fit. */
Test(load, a_graph_and_its_simulator_take_few_bytes_an_op)
{
    enum { GRAPH_BYTES = 300, ALL_BYTES = 500 };
    const int64_t before = emp_mem_live_bytes();
    emp_graph    *step = NULL;
    emp_machine  *machine = NULL;
    emp_problem  *problem = NULL;
    emp_sim      *sim = NULL;
    emp_runtime   runtime;

    cr_assert_eq(emp_source_load(&step, NULL, NULL, "nmt:layers=8,steps=40", NULL),
                 EMP_OK);
    const double  ops = step->op_count;
    const int64_t graph = emp_mem_live_bytes() - before;
    cr_assert_eq(emp_machine_load(&machine, "k40x8", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&runtime, "tf-r1.3", NULL), EMP_OK);
    cr_assert_eq(emp_problem_create(&problem, step, machine, &runtime, "nmt", NULL),
                 EMP_OK);
    cr_assert_eq(emp_sim_create(&sim, problem, NULL), EMP_OK);
    const int64_t all = emp_mem_live_bytes() - before;
    cr_expect_leq((double)graph / ops, GRAPH_BYTES, "%g bytes", (double)graph / ops);
    cr_expect_leq((double)all / ops, ALL_BYTES, "%g bytes", (double)all / ops);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_bytes(), before);
}
