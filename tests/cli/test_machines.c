// SPDX-License-Identifier: GPL-3.0-or-later
/* Machines at the command line: what is shown of them, and whether every method places on heterogeneous devices. */
#include <sys/stat.h>

#include "run/methods.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(machines, .init = emplace_set_up, .fini = emplace_tear_down);

#define UNLIKE          "rtx4090x2+rtx3060"
#define SHORT_IMITATION "--options imitation=20,width=16"

/* Each evaluates some placements that fit, or says in one sentence why it does not suit. */
Test(machines, every_method_places_on_heterogeneous_gpus)
{
    int32_t placed = 0, refused = 0;

    for (int32_t i = 0; emp_method_at(i) != NULL; i++) {
        const char *name = emp_method_at(i)->name;
        const char *command = scratch_print(
            "place rnnlm:steps=3 -m " UNLIKE " --method %s --budget 6 --format json %s",
            name, strcmp(name, "doppler") == 0 ? SHORT_IMITATION : "");
        if (emplace_run(command) == 0) {
            cr_expect_not_null(strstr(program_out, "\"step_time_s\""), "%s", name);
            placed++;
        } else {
            emplace_refuses(command, "method ");
            refused++;
        }
    }
    cr_expect_geq(placed, 28);
    cr_expect_leq(refused, 1, "dp-contiguous alone gives up, on too many cuts");
}

Test(machines, show_prints_the_ways)
{
    emplace_prints("machines show rtx3090x4 --format csv",
                   "gpu:0,gpu:1,bridge:0,49.9,|gpu:1,gpu:2,tree,25.2,");
    emplace_prints("machines show " UNLIKE, "gpu:2    rtx3060");
    emplace_refuses("machines show", "machines show k40x2");
    emplace_refuses("machines show no-such", "no-such");
}

#define MATRIX "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"

Test(machines, import_writes_a_file_that_every_command_reads)
{
    emplace_write("topo.txt", MATRIX);
    emplace_prints("machines import --topology topo.txt --model rtx3090 --host ryzen-16 "
                   "-o box.yaml",
                   "machine box: nothing is implausible\n|assumed: copies by PCIe");
    emplace_prints("machines show ./box.yaml -f csv", "gpu:0,gpu:1,pair:0-1,50.62,");
    emplace_ok("place rnnlm:steps=3 -m ./box.yaml -M gpu");
    emplace_refuses("machines import --topology topo.txt -o box.yaml", "--force");
    cr_expect_eq(emplace_number("machines import --topology topo.txt --model rtx3090 "
                                "-o box.yaml --force -f json",
                                "box/gpus"),
                 2);
}

Test(machines, import_warns_of_other_memory)
{
    emplace_write("topo.txt", "GPU0\nGPU0 X\n");
    emplace_write("query.txt", "GPU 00000000:18:00.0\n"
                               "    Product Name : Tesla V100-SXM2-32GB\n"
                               "    FB Memory Usage\n        Total : 32510 MiB\n");
    emplace_warns("machines import --topology topo.txt --query query.txt -o box.yaml",
                  "warning: |Tesla V100-SXM2-32GB|32510 MiB");
}

/* A machine without a complaint has an empty list. */
Test(machines, check_has_every_format_and_fails_on_what_is_implausible)
{
    json_t *checked = emplace_json("machines check k40x8 --format json");
    cr_expect_str_eq(text_at(checked, "machine"), "k40x8");
    cr_expect(json_is_array(json_at(checked, "implausible")));
    cr_expect_eq(json_array_size(json_at(checked, "implausible")), 0);
    emplace_prints("machines check k40x8 --format csv", "\nmachine,what,commit,dirty\n");
    emplace_ok("machines check k40x8");
    cr_expect_str_eq(program_out, "machine k40x8: nothing is implausible\n");
    cr_assert_eq(
        system(scratch_print(
            "cd '%s' && mkdir models && sed 's/bandwidth_cores: .*/bandwidth_cores: 60/' "
            "\"$EMP_SOURCE_DIR\"/data/machines/models/haswell-18.yaml > models/slow.yaml",
            scratch_path(""))),
        0);
    scratch_write_json("mine.yaml", "description: 'mine'\nnodes:\n  - {name: 'host'}\n"
                                    "devices:\n  - {model: 'slow', at: 'host'}\n");
    cr_expect_eq(emplace_run("machines check mine.yaml --format csv"), 1);
    emplace_expect_parts(program_out, "\nmachine,what,commit,dirty\nmine,");
    cr_expect_eq(emplace_run("machines check mine.yaml --format json"), 1);
    emplace_expect_parts(program_err, "1 value |mine");
    checked = emplace_printed();
    cr_assert_eq(json_array_size(json_at(checked, "implausible")), 1, "%s", program_out);
    cr_expect_not_null(json_at(checked, "implausible/0/what"));
    scratch_write_json(
        "links.yaml",
        "description: 'mine'\nnodes:\n  - {name: 'host'}\ndevices:\n"
        "  - {model: 'haswell-18', at: 'host'}\n"
        "  - {model: 'k40', at: 'host', bandwidth: '10 GB/s', latency: '10 s'}\n");
    cr_expect_eq(emplace_run("machines check links.yaml"), 1);
    emplace_expect_parts(program_out, "link gpu:0 up|10 s");
    emplace_expect_parts(program_err, "2 values |links");
}

/* A card in five lines: derived constants are listed with their rules, and a slip with what is right. */
Test(machines, show_and_check_tell_what_a_card_gives)
{
    emplace_prints("machines show rtx5090x1", "stream 1.43 TB/s|0.8 of the card's rate");
    emplace_prints("machines check rtx5090x1", "model rtx5090: derived from its card");
    cr_assert_eq(mkdir(scratch_path("models"), 0777), 0);
    scratch_write_json("models/my-rtx3090.yaml",
                       "card: {peak: {fp32: '35.6 TFLOP/s'}, memory: '24 GiB', rate: "
                       "'9.36 GB/s', bus: 'PCIe 4 x16', class: 'consumer'}\n");
    scratch_write_json("mine.yaml", "description: 'mine'\nnodes:\n  - {name: 'host'}\n"
                                    "devices:\n  - {model: 'ryzen-16', at: 'host'}\n"
                                    "  - {model: 'my-rtx3090', at: 'host'}\n");
    cr_expect_eq(emplace_run("machines check mine.yaml"), 1);
    emplace_expect_parts(program_out, "my-rtx3090|9.36 GB/s|936 GB/s");
}

/* lstopo's file gives two files, a machine and its CPU; neither is written over. */
Test(machines, import_of_lstopo_writes_the_model_of_the_cpu)
{
#define IMPORT "machines import --topology lstopo.xml --model rtx4090 -o box.yaml"
    scratch_write_json(
        "lstopo.xml",
        "<topology version='2.0'><object type='Machine'><object type='Package'><info "
        "name='CPUModel' value='AMD Ryzen 5 5600X'/><object type='Core'/><object "
        "type='Core'/></object></object></topology>\n");
    emplace_ok(IMPORT);
    emplace_prints("machines show ./box.yaml", "box-cpu: stated 160 GFLOP/s fp32");
    cr_assert_eq(remove(scratch_path("box.yaml")), 0);
    emplace_refuses(IMPORT, "box-cpu.yaml");
    emplace_ok(IMPORT " --force");
}

Test(machines, place_tells_what_derived_constants_decide)
{
    json_t *run = emplace_json("place rnnlm:steps=3 -m rtx5090x1 --budget 20 "
                               "--sensitivity -f json");

    cr_expect_geq(json_array_size(json_at(run, "sensitivity/constants")), 6);
    cr_expect_geq(json_array_size(json_at(run, "derived")), 6);
    emplace_prints("place rnnlm:steps=3 -m rtx5090x1 -M gpu",
                   " of rtx5090|--sensitivity");
    emplace_ok("place rnnlm:steps=3 -m k40x2 -M gpu");
    cr_expect_null(strstr(program_out, "--sensitivity"), "%s", program_out);
    emplace_prints("place rnnlm:steps=3 -m rtx5090x1 -M gpu --sensitivity",
                   "\nsensitivity; ");
    emplace_refuses("place rnnlm:steps=3 -m k40x2 --sensitivity", "k40x2");
}
