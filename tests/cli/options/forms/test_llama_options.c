// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements of decoders as options of llama.cpp: are they those that a person would write, and is a placement
 * that has none refused? */
#include "base/mem.h"
#include "cli/options/placement_output.h"
#include "tests/test.h"

TestSuite(llama_options, .init = scratch_create, .fini = scratch_remove);

enum { OPS_MAX = 64, CPU = 0, GPU_0, GPU_1, GPU_2 };

/* Ops by name with their devices, one after the other. */
typedef struct {
    const char   *name[OPS_MAX];
    emp_device_id device[OPS_MAX];
    char          text[OPS_MAX][64];
    int32_t       count;
} ops;

static void add(ops *o, const char *name, emp_device_id device)
{
    snprintf(o->text[o->count], sizeof o->text[0], "%s", name);
    o->name[o->count] = o->text[o->count];
    o->device[o->count++] = device;
}

/* A layer of a llama with the names of Hugging Face. */
static void add_layer(ops *o, int number, emp_device_id device, emp_device_id ffn)
{
    static const char *const leaves[] = {"input_layernorm.weight",
                                         "self_attn.q_proj.weight", "self_attn.key_cache",
                                         "self_attn.value_cache"};

    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        add(o, scratch_print("model.layers.%d.%s", number, leaves[i]), device);
    add(o, scratch_print("model.layers.%d.mlp.up_proj.weight", number), ffn);
    add(o, scratch_print("model.layers.%d.mlp.up_proj/act", number),
        CPU); /* what has no weights follows them */
}

static emp_named_placement named(const ops *o)
{
    return (emp_named_placement){.origin = {.workload = "hf", .machine = "box"},
                                 .device_count = 4,
                                 .device_name = {"cpu:0", "gpu:0", "gpu:1", "gpu:2"},
                                 .op_count = o->count,
                                 .op_name = o->name,
                                 .decision = {.device_of_op = o->device}};
}

/* The arguments that the script gives a program, without line breaks, under variables of the shell. */
static void expect_script(const char *variables, const char *wanted)
{
    char command[SCRATCH_PATH_BYTES + 64], line[1024] = "";

    snprintf(command, sizeof command, "%s sh '%s' echo", variables, scratch_path("o.sh"));
    FILE *said = popen(command, "r");
    cr_assert_not_null(said);
    cr_assert_not_null(fgets(line, sizeof line, said));
    cr_expect_eq(pclose(said), 0);
    line[strcspn(line, "\n")] = '\0';
    cr_expect_str_eq(line, wanted);
}

static void expect_refusal(const ops *o, const char *wanted)
{
    emp_named_placement p = named(o);

    EXPECT_REFUSED(cli_llama_options_write(scratch_path("no.sh"), &p, NULL, "", &err),
                   EMP_EINVAL, wanted);
    cr_expect_null(fopen(scratch_path("no.sh"), "r"));
}

Test(llama_options, the_cpu_has_the_first_layers_and_single_weights)
{
    ops o = {0};

    add(&o, "model.embed_tokens.weight", GPU_2); /* llama.cpp has it on the host */
    add_layer(&o, 0, CPU, CPU);
    add_layer(&o, 1, GPU_0, GPU_0);
    add_layer(&o, 2, GPU_0, CPU);
    add_layer(&o, 3, GPU_0, CPU);
    add_layer(&o, 4, GPU_0, GPU_2);
    add(&o, "model.layers.1.mlp.experts.down_proj.weight", CPU);
    add(&o, "model.layers.1.post_attention_layernorm.weight", GPU_2);
    add(&o, "lm_head", GPU_1);
    emp_named_placement p = named(&o);
    ASSERT_OK(cli_llama_options_write(scratch_path("o.sh"), &p, NULL, "", &err));
    expect_script("", "--device CUDA0,CUDA1,CUDA2 --split-mode layer --tensor-split "
                      "4,1,0 -ngl 5 --n-cpu-moe 2 --override-tensor "
                      "^blk\\.(2|3)\\.ffn_up\\.=CPU,^blk\\.(4)\\.ffn_up\\.=CUDA2");
}

Test(llama_options, what_has_no_such_form_is_refused)
{
    ops order = {0}, cpu = {0}, caches = {0}, unknown = {0}, training = {0};

    for (int i = 0; i < 3; i++) add_layer(&order, i, i == 1 ? GPU_1 : GPU_0, GPU_0);
    expect_refusal(&order, "layer 2 on gpu:0");
    add_layer(&cpu, 0, GPU_0, GPU_0);
    add_layer(&cpu, 1, CPU, CPU);
    expect_refusal(&cpu, "layer 1 on cpu:0");
    add_layer(&caches, 0, GPU_0, GPU_0);
    caches.device[3] = GPU_1;
    expect_refusal(&caches, "layer 0");
    add_layer(&unknown, 0, GPU_0, GPU_0);
    add(&unknown, "model.layers.0.mlp.novelty.weight", GPU_1);
    expect_refusal(&unknown, "novelty.weight");
    add(&training, "model.layers.0.mlp.up_proj.weight", GPU_0);
    expect_refusal(&training, "phase=decode");
}

/* Ten devices on two hosts: cpu:0, gpu:0 to gpu:3, cpu:1, gpu:4 to gpu:7. */
static void on_two_hosts(const ops *o, const char *wanted, const char *refusal)
{
    emp_machine        *m = NULL;
    emp_named_placement p = named(o);

    ASSERT_OK(emp_machine_load(&m, "k40x4x2", &err));
    p.device_count = m->device_count;
    for (int d = 0; d < m->device_count; d++) p.device_name[d] = m->device[d].name;
    if (refusal != NULL) {
        EXPECT_REFUSED(cli_llama_options_write(scratch_path("o.sh"), &p, m, "", &err),
                       EMP_EINVAL, refusal);
    } else {
        ASSERT_OK(cli_llama_options_write(scratch_path("o.sh"), &p, m, "", &err));
        expect_script("HOST1=ten:7", wanted);
    }
    emp_machine_destroy(m);
}

Test(llama_options, gpus_of_other_hosts_are_devices_of_their_servers)
{
    enum { OTHER_CPU = 5, GPU_5 = 7, GPU_6 };
    ops o = {0}, wrong = {0};

    add_layer(&o, 0, CPU, CPU);
    add_layer(&o, 1, GPU_6, GPU_6);
    add_layer(&o, 2, GPU_1, GPU_5);
    add(&o, "lm_head", GPU_1);
    on_two_hosts(&o,
                 "--rpc ten:7 --device RPC2,CUDA1,RPC1 --split-mode layer --tensor-split "
                 "1,2,0 -ngl 3 --override-tensor ^blk\\.(2)\\.ffn_up\\.=RPC1[ten:7]",
                 NULL);
    add_layer(&wrong, 0, OTHER_CPU, CPU);
    on_two_hosts(&wrong, NULL, "model.layers.0.input_layernorm.weight is on cpu:1");
}

Test(llama_options, only_models_of_llama_have_them)
{
    EXPECT_REFUSED(cli_placement_output_check("o.sh", "nmt:layers=2", &err), EMP_EINVAL,
                   "nmt:layers=2");
    EXPECT_REFUSED(cli_placement_output_check("o.onnx", "m.onnx", &err), EMP_EINVAL,
                   "ONNX Runtime");
}

Test(llama_options, survives_every_allocation_failure)
{
    ops o = {0};

    add_layer(&o, 0, GPU_0, GPU_1);
    emp_named_placement p = named(&o);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        cli_llama_options_write(scratch_path("o.sh"), &p, NULL, "", NULL), (void)0);
}
