// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a spec or a file made into the graphs that its front end makes, without a leak? */
#include <zlib.h>

#include "base/mem.h"
#include "graphs/sources.h"
#include "sim/engine/sim.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/sample.h"
#include "tests/test.h"

TestSuite(load, .init = scratch_create, .fini = graph_tear_down);

Test(load, spec_gives_the_graph_and_its_step)
{
    emp_graph         *step = NULL, *whole = NULL;
    emp_import_devices devices = {.cpu_count = 7};

    ASSERT_OK(emp_source_load(&step, &whole, &devices, "rnnlm:steps=2", &err));
    cr_expect_gt(whole->op_count, step->op_count);
    cr_expect_eq(devices.cpu_count, 0);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
}

/* A placeholder with an open batch of rows of 10 floats. */
static void write_open(void)
{
    const char *text =
        sample_text("x = Placeholder - dtype=DT_FLOAT shape=[-1,10]; y = Relu x T");

    scratch_write("open.pbtxt", text, strlen(text));
}

Test(load, a_batch_that_a_tensorflow_graph_leaves_open_is_given_or_told)
{
    static const struct {
        const char *head, *tail;
        int64_t     bytes;
        int32_t     assumptions;
    } cases[] = {{"tf:path=", ",batch=7", 280, 0},
                 {"", "", 1280, 1},
                 {"tf:path=", ",loops=2", 1280, 1}};

    write_open();
    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        const char *source = scratch_print("%s%s%s", cases[i].head,
                                           scratch_path("open.pbtxt"), cases[i].tail);
        emp_graph  *step = graph_load(source, &notes, NULL);
        cr_expect_eq(step->tensor[step->output_offset[graph_find(step, "y")]].bytes,
                     cases[i].bytes, "%s", source);
        cr_expect_eq(notes.assumption_count, cases[i].assumptions, "%s", source);
        cr_expect_eq(graph_is_noted(&notes, "is 32"), cases[i].assumptions > 0);
    }
}

/* Specs, and files of the sources, by what their readers are. */
Test(load, steps_have_the_runtime_that_fits_them)
{
    static const char *const cases[][3] = {
        {"rnnlm:steps=2", NULL, "tf-r1.3"},
        {"nmt:layers=1,steps=2", NULL, "tf-r1.3"},
        {"giph", NULL, "tf-r1.3"},
        {"bert:layers=1", NULL, "torch-eager"},
        {"transformer:layers=1", NULL, "torch-eager"},
        {"transformer:layers=1,phase=prefill", NULL, "torch-eager"},
        {"transformer:layers=1,phase=decode", NULL, "graph-launch"},
#define IMPORT "tests/graphs/import/"
        {"", IMPORT "pytorch/samples/linear_momentum.json", "torch-eager"},
        {"", IMPORT "pytorch/execution/seeds/linear_1.1.et.json", "torch-eager"},
        {"", IMPORT "traces/samples/resnet50_h200.kineto.json.gz", "traced"},
        {"", IMPORT "hlo/seeds/kernels.hlo.txt", "graph-launch"},
        {"", "docs/examples/small-llama.json", "torch-eager"},
        {"hf:path=", "docs/examples/small-llama.json,phase=decode", "graph-launch"},
        {"layers:path=", "docs/examples/layers.csv", "tf-r1.3"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char source[SCRATCH_PATH_BYTES + 64];
        snprintf(source, sizeof source, "%s%s", cases[i][0],
                 cases[i][1] != NULL ? graph_source_path(cases[i][1]) : "");
        emp_graph *step = graph_load(source, NULL, NULL);
        cr_expect_str_eq(emp_graph_default_runtime(step), cases[i][2], "%s", source);
        cr_expect_neq(emp_graph_source_why(step)[0], '\0');
    }
    write_open();
    emp_graph *step = graph_load(scratch_path("open.pbtxt"), NULL, NULL);
    cr_expect_str_eq(emp_graph_default_runtime(step), "tf-r1.3");
    cr_expect_null(emp_graph_default_runtime(NULL));
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
    const struct {
        const char *source;
        int32_t     warnings;
    } cases[] = {{"constants.pbtxt", 1}, {"open.pbtxt", 0}, {"rnnlm:steps=2", 0}};

    scratch_write("constants.pbtxt", constants, strlen(constants));
    write_open(); /* a Relu computes */
    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        bool is_file = strstr(cases[i].source, "pbtxt") != NULL;
        (void)graph_load(is_file ? scratch_path(cases[i].source) : cases[i].source,
                         &notes, NULL);
        cr_expect_eq(notes.warning_count, cases[i].warnings, "%s", cases[i].source);
        cr_expect_eq(graph_is_noted(&notes, "constants.pbtxt: nothing is computed"),
                     cases[i].warnings > 0);
    }
}

Test(load, wrong_specs_are_refused)
{
    static const struct {
        const char *head, *file; /* a file of the scratch folder */
        emp_status  status;
        const char *part;
    } cases[] = {
        {"tf:", NULL, EMP_EINVAL, "path"},
        {"tf:path=x,batch=-1", NULL, EMP_EINVAL, "batch"},
        {"tf:path=x,turns=3", NULL, EMP_EINVAL, "turns"},
        {"tf:path=/nowhere/x.pb", NULL, EMP_EIO, "/nowhere/x.pb"},
        {"tf:path=", "mlp.json", EMP_EINVAL, "JSON of no known kind"},
        {"hf:path=", "open.pbtxt", EMP_EINVAL, "this is a TensorFlow graph"},
        {"onnx:path=", "open.pbtxt", EMP_EINVAL, "this is a TensorFlow graph"},
        {"layers:path=", "open.pbtxt", EMP_EINVAL, "this is a TensorFlow graph"},
        {"trace:kineto=", "open.pbtxt", EMP_EINVAL, "this is a TensorFlow graph"},
        /* neither a file nor a family */
        {"nmtt", NULL, EMP_EIO, "did you mean \"nmt\"?"},
        {"nmtt", NULL, EMP_EIO,
         "wavenet, cells, enas, giph; of a file: hf, tf, onnx, layers, trace"},
        {"onx:path=m.onnx", NULL, EMP_EIO, "did you mean \"onnx\"?"},
        /* a file of nearly that name is meant */
        {"", "mpl.json", EMP_EIO, "mlp.json\"?"},
        {"tf:path=", "mpl.json", EMP_EIO, "mlp.json\"?"},
        {"layers:path=", "mpl.json", EMP_EIO, "mlp.json\"?"}};

    scratch_write("mlp.json", "{}", 2);
    write_open();
    for (size_t i = 0; i < COUNT(cases); i++) {
        char source[SCRATCH_PATH_BYTES + 64];
        snprintf(source, sizeof source, "%s%s", cases[i].head,
                 cases[i].file != NULL ? scratch_path(cases[i].file) : "");
        graph_expect_refused(source, cases[i].status, cases[i].part);
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
        /* files of Emplace, and what is none of any program */
        {BYTES(" {\"node\": 1}"), EMP_EFORMAT, "JSON of no known kind", "\"model_type\""},
        {BYTES("[1]"), EMP_EFORMAT, "JSON of no known kind", ""},
        {BYTES("{\"format\": \"pytorch fx\", \"nodes\": []}"), EMP_EFORMAT,
         "its format is \"pytorch fx\"", "torch.fx"},
        {BYTES("{\"workload\": \"nmt\", \"format\": \"emplace-placement-1\"}"),
         EMP_EFORMAT, "a placement", "--placement"},
        {BYTES("{\"format\": \"emplace-graph-1\", \"ops\": [], \"edges\": []}"),
         EMP_EFORMAT, "emplace graph --out", "SPEC"},
        {BYTES("emplace-replay-plan-1\nworkload nmt\n"), EMP_EFORMAT, "a plan",
         "emplace-replay"},
        {BYTES("emplace-replay-result-2\nplan 7\n"), EMP_EFORMAT, "the result of a plan",
         "emplace validate --import"},
        {BYTES("# a box\nname: box\ndevices:\n  - {name: gpu}\n"), EMP_EFORMAT, "YAML",
         "--machine"},
        {BYTES("format: \"emplace-placement-1\"\r\nrules:\r\n"), EMP_EFORMAT, "YAML",
         "--placement"},
        {BYTES("ir_version: 3"), EMP_EFORMAT, "read as TensorFlow's: no node", ""},
        {BYTES("versions { producer: 21 }"), EMP_EFORMAT, "read as TensorFlow's: no node",
         ""},
        {BYTES("hello world"), EMP_EFORMAT, "line 1: 'world'", ""},
        {BYTES("\x08\x01"), EMP_EFORMAT, "read as TensorFlow's: no node", ""},
        {BYTES("\x0a\x7f\x01"), EMP_EFORMAT, "byte 0: field 1 claims 127", ""},
        /* lines that end with a colon, or items of a list, are no YAML by themselves */
        {BYTES("import os\n\ndef main():\n    pass\n"), EMP_EFORMAT,
         "no graph of a known kind", ""},
        {BYTES("# A page\n\nIt has a list:\n\n- one\n- two\n"), EMP_EFORMAT,
         "no graph of a known kind", ""},
#undef BYTES
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        scratch_write("file", all[i].bytes, all[i].size);
        graph_expect_refused(scratch_path("file"), all[i].status, all[i].name);
        graph_expect_refused(scratch_path("file"), all[i].status, all[i].instead);
    }
}

/* Each is a damaged file of a format that is read, whose reader says only what is wrong. */
Test(load, what_readers_refuse_ends_with_what_one_can_do)
{
    static const char *const all[][2] = {
        {"{\"format\":\"emplace-ops-1\",\"ops\":[]}", "; docs/models.md describes"},
        {"{\"nodes\":[{\"id\":1}],\"edges\":[]}", "; docs/models.md describes"},
        {"HloModule m\nENTRY e { x = f32[ }", "compile().as_text() gives, whole"},
        {"gpu,layer_first,layer_last,fwd_s,bwd_s\nA,0,0,x,1\n", "; docs/pipelines.md"},
        {"2\n0,\n0,\n", "; docs/models.md describes"},
        {"{\"format\":\"torch.fx-1\",\"nodes\":7}", "; scripts/export/export_torch.py"},
        {"{\"traceEvents\":[]}", "; record the step anew"},
        {"{\"model_type\":\"llama\"}", "; model.config.to_json_file(FILE)"},
        {"node1 -- Input0 -- forward_compute_time=x, backward_compute_time=0.000, "
         "activation_size=0.0, parameter_size=0.000\n",
         "; docs/models.md describes"},
        {"GGUF\3", "; fetch the file again"},
        {"{\"schema\":\"1.1.0-chakra.0.0.4\",\"nodes\":[]}", "; record the step anew"}};

    for (size_t i = 0; i < COUNT(all); i++) {
        scratch_write("file", all[i][0], strlen(all[i][0]));
        graph_expect_refused(scratch_path("file"), EMP_EFORMAT, all[i][1]);
    }
    cr_expect_null(emp_source_advice(NULL, EMP_EFORMAT, "why"));
    const emp_source_format format = {.read = emp_ops_read, .anew = "do this"};
    cr_expect_str_eq(emp_source_advice(&format, EMP_EFORMAT, "why"), "do this");
    cr_expect_null(emp_source_advice(&format, EMP_EFORMAT, "why; do that"));
    cr_expect_null(emp_source_advice(&format, EMP_EINVAL, "why"));
    cr_expect_not_null(strstr(emp_source_advice(&format, EMP_EUNSUPPORTED, "why"),
                              "a report should hold"));
}

/* A bare prefix is a spec without its path, unless a file has that name. */
Test(load, prefixes_need_a_path)
{
    int32_t                  count;
    const emp_source_prefix *prefix = emp_source_prefixes(&count);

    cr_assert_gt(count, 0);
    for (int32_t i = 0; i < count; i++) {
        graph_expect_refused(prefix[i].name, EMP_EINVAL, prefix[i].example);
        cr_expect(emp_source_has_prefix(prefix[i].example, prefix[i].name));
    }
}

/* A reader that looks at the header only takes packed files, too. */
Test(load, headers_are_read_from_packed_files)
{
    static const char header[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    gzFile            file = gzopen(scratch_path("m.gguf.gz"), "wb");

    cr_assert_not_null(file);
    cr_assert_eq(gzwrite(file, header, sizeof header - 1), (int)sizeof header - 1);
    gzclose(file);
    graph_expect_refused(scratch_path("m.gguf.gz"), EMP_EFORMAT, "general.architecture");
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
