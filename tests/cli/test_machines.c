// SPDX-License-Identifier: GPL-3.0-or-later
/* Machines of unlike devices at the command line: what is shown of them, and whether every method
 * places on them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/methods.h"
#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

TestSuite(machines, .init = emplace_set_up, .fini = emplace_tear_down);

#define UNLIKE          "rtx4090x2+rtx3060"
#define SHORT_IMITATION "--options imitation=20,width=16"

/* Each evaluates some placements that fit, or says in one sentence why it does not suit. */
Test(machines, every_method_places_on_unlike_gpus)
{
    int32_t placed = 0, refused = 0;

    for (int32_t i = 0; emp_method_at(i) != NULL; i++) {
        const char *name = emp_method_at(i)->name;
        char        command[256];
        snprintf(command, sizeof command,
                 "place rnnlm:steps=3 -m " UNLIKE
                 " --method %s --budget 6 --format json %s",
                 name, strcmp(name, "doppler") == 0 ? SHORT_IMITATION : "");
        int status = emplace_run(command);
        if (status == 0) {
            cr_expect_not_null(strstr(program_out, "\"step_time_s\""), "%s",
                               emp_method_at(i)->name);
            placed++;
            continue;
        }
        refused++;
        cr_expect_eq(status, 1, "%s: %s", emp_method_at(i)->name, program_err);
        cr_expect_eq(strncmp(program_err, "emplace: ", 9), 0, "%s", program_err);
        cr_expect_not_null(strstr(program_err, "method "), "%s: %s",
                           emp_method_at(i)->name, program_err);
        cr_expect_eq(strchr(program_err, '\n') - program_err + 1,
                     (long)strlen(program_err), "one sentence: %s", program_err);
    }
    cr_expect_geq(placed, 28);
    cr_expect_leq(refused, 1, "dp-contiguous alone gives up, on too many cuts");
}

Test(machines, show_prints_the_ways)
{
    cr_assert_eq(emplace_run("machines show rtx3090x4 --format csv"), 0, "%s",
                 program_err);
    cr_expect_not_null(strstr(program_out, "gpu:0,gpu:1,bridge:0,49.9,"), "%s",
                       program_out);
    cr_expect_not_null(strstr(program_out, "gpu:1,gpu:2,tree,25.2,"), "%s", program_out);
    cr_assert_eq(emplace_run("machines show " UNLIKE), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "gpu:2    rtx3060"), "%s", program_out);
    cr_expect_eq(emplace_run("machines show"), 2, "%s", program_out);
    cr_expect_eq(emplace_run("machines show no-such"), 1);
}

#define MATRIX "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"

Test(machines, import_writes_a_file_that_every_command_reads)
{
    char path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "topo.txt", MATRIX);
    cr_assert_eq(emplace_run("machines import --topology topo.txt --model rtx3090 "
                             "--host ryzen-16 -o box.yaml"),
                 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "machine box: nothing is implausible\n"), "%s",
                       program_out);
    cr_expect_not_null(strstr(program_out, "assumed: copies by PCIe"), "%s", program_out);
    cr_assert_eq(emplace_run("machines show ./box.yaml -f csv"), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "gpu:0,gpu:1,pair:0-1,50.62,"), "%s",
                       program_out);
    cr_expect_eq(emplace_run("place rnnlm:steps=3 -m ./box.yaml -M gpu"), 0, "%s",
                 program_err);
    cr_expect_eq(emplace_run("machines import --topology topo.txt -o box.yaml"), 1);
    cr_expect_not_null(strstr(program_err, "--force"), "%s", program_err);
    json_t *object = emplace_json("machines import --topology topo.txt --model rtx3090 "
                                  "-o box.yaml --force -f json");
    cr_expect_eq(
        json_integer_value(json_object_get(json_object_get(object, "box"), "gpus")), 2);
    json_decref(object);
}

/* Memory that the model does not have is told on standard error, and in the file. */
Test(machines, import_warns_of_other_memory)
{
    static const char query[] = "GPU 00000000:18:00.0\n"
                                "    Product Name : Tesla V100-SXM2-32GB\n"
                                "    FB Memory Usage\n        Total : 32510 MiB\n";
    char              path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "topo.txt", "GPU0\nGPU0 X\n");
    scratch_write_text(path, sizeof path, "query.txt", query);
    cr_assert_eq(
        emplace_run("machines import --topology topo.txt --query query.txt -o box.yaml"),
        0, "%s", program_err);
    cr_expect_not_null(strstr(program_err, "warning: Tesla V100-SXM2-32GB has 32510 MiB"),
                       "%s", program_err);
}

/* A machine without a complaint has an empty list. */
Test(machines, check_has_every_format)
{
    char              path[SCRATCH_PATH_BYTES], command[2 * SCRATCH_PATH_BYTES];
    static const char text[] = "description: \"mine\"\nnodes:\n  - {name: \"host\"}\n"
                               "devices:\n  - {model: \"slow\", at: \"host\"}\n";

    json_t *checked = emplace_json("machines check k40x8 --format json");

    cr_expect_str_eq(json_string_value(json_object_get(checked, "machine")), "k40x8");
    cr_expect(json_is_array(json_object_get(checked, "implausible")));
    cr_expect_eq(json_array_size(json_object_get(checked, "implausible")), 0);
    json_decref(checked);
    cr_assert_eq(emplace_run("machines check k40x8 --format csv"), 0);
    cr_expect_not_null(strstr(program_out, "\nmachine,what,commit,dirty\n"), "%s",
                       program_out);
    snprintf(
        command, sizeof command,
        "cd '%s' && mkdir models && sed 's/bandwidth_cores: .*/bandwidth_cores: 60/' "
        "\"$EMP_SOURCE_DIR\"/data/machines/models/haswell-18.yaml > models/slow.yaml",
        scratch_path(""));
    cr_assert_eq(system(command), 0);
    scratch_write_text(path, sizeof path, "mine.yaml", text);
    cr_expect_eq(emplace_run("machines check mine.yaml --format csv"), 1);
    cr_expect_not_null(strstr(program_out, "\nmachine,what,commit,dirty\nmine,"), "%s",
                       program_out);
    cr_expect_eq(emplace_run("machines check mine.yaml --format json"), 1);
    cr_expect_not_null(strstr(program_err, "1 value of machine mine is implausible"),
                       "%s", program_err);
    checked = json_loads(program_out, 0, NULL);
    const json_t *list = json_object_get(checked, "implausible");
    cr_assert_eq(json_array_size(list), 1, "%s", program_out);
    cr_expect_not_null(json_object_get(json_array_get(list, 0), "what"));
    json_decref(checked);
}

Test(machines, check_fails_on_what_is_implausible)
{
    char              path[SCRATCH_PATH_BYTES], command[2 * SCRATCH_PATH_BYTES];
    static const char text[] =
        "description: \"mine\"\nnodes:\n  - {name: \"host\"}\ndevices:\n"
        "  - {model: \"haswell-18\", at: \"host\"}\n"
        "  - {model: \"k40\", at: \"host\", bandwidth: \"10 GB/s\", latency: \"10 s\"}\n";

    cr_assert_eq(emplace_run("machines check k40x8"), 0, "%s", program_err);
    cr_expect_str_eq(program_out, "machine k40x8: nothing is implausible\n");
    scratch_write_text(path, sizeof path, "mine.yaml", text);
    snprintf(command, sizeof command, "machines check %s", path);
    cr_expect_eq(emplace_run(command), 1);
    cr_expect_not_null(strstr(program_out, "link gpu:0 up: its latency is 10 s"), "%s",
                       program_out);
    cr_expect_not_null(strstr(program_err, "2 values of machine mine are implausible"),
                       "%s", program_err);
}

/* A card in five lines: what follows from it is told with its rule, and a slip with what is right. */
Test(machines, show_and_check_tell_what_a_card_gives)
{
    char              path[SCRATCH_PATH_BYTES], command[2 * SCRATCH_PATH_BYTES];
    static const char text[] = "description: \"mine\"\nnodes:\n  - {name: \"host\"}\n"
                               "devices:\n  - {model: \"ryzen-16\", at: \"host\"}\n"
                               "  - {model: \"my-rtx3090\", at: \"host\"}\n";

    cr_assert_eq(emplace_run("machines show rtx5090x1"), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "stream 1.43 TB/s: 0.8 of the card's rate\n"),
                       "%s", program_out);
    cr_assert_eq(emplace_run("machines check rtx5090x1"), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "model rtx5090: derived from its card: memory "
                                           "clock stream "),
                       "%s", program_out);
    snprintf(command, sizeof command, "mkdir '%s/models'", scratch_path(""));
    cr_assert_eq(system(command), 0);
    scratch_write_text(path, sizeof path, "models/my-rtx3090.yaml",
                       "card: {peak: {fp32: \"35.6 TFLOP/s\"}, memory: \"24 GiB\", rate: "
                       "\"9.36 GB/s\", bus: \"PCIe 4 x16\", class: \"consumer\"}\n");
    scratch_write_text(path, sizeof path, "mine.yaml", text);
    cr_expect_eq(emplace_run("machines check mine.yaml"), 1);
    cr_expect_not_null(strstr(program_out, "model my-rtx3090: rate of the memory is 9.36 "
                                           "GB/s; 936 GB/s is published of rtx3090\n"),
                       "%s", program_out);
}

/* lstopo's file gives two files, a machine and its CPU; neither is written over. */
Test(machines, import_of_lstopo_writes_the_model_of_the_cpu)
{
    static const char text[] =
        "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\">"
        "<info name=\"CPUModel\" value=\"AMD Ryzen 5 5600X\"/><object type=\"Core\"/>"
        "<object type=\"Core\"/></object></object></topology>\n";
    char path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "lstopo.xml", text);
    cr_assert_eq(
        emplace_run("machines import --topology lstopo.xml --model rtx4090 -o box.yaml"),
        0, "%s", program_err);
    cr_assert_eq(emplace_run("machines show ./box.yaml"), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "box-cpu: stated 160 GFLOP/s fp32"), "%s",
                       program_out);
    cr_assert_eq(remove(scratch_path("box.yaml")), 0);
    cr_expect_eq(
        emplace_run("machines import --topology lstopo.xml --model rtx4090 -o box.yaml"),
        1);
    cr_expect_not_null(strstr(program_err, "box-cpu.yaml"), "%s", program_err);
    cr_expect_eq(
        emplace_run(
            "machines import --topology lstopo.xml --model rtx4090 -o box.yaml --force"),
        0, "%s", program_err);
}

Test(machines, place_tells_what_derived_constants_decide)
{
    json_t       *run = emplace_json("place rnnlm:steps=3 -m rtx5090x1 --budget 20 "
                                           "--sensitivity -f json");
    const json_t *found = json_object_get(run, "sensitivity");

    cr_assert_not_null(found);
    cr_expect_geq(json_array_size(json_object_get(found, "constants")), 6);
    cr_expect_geq(json_array_size(json_object_get(run, "derived")), 6);
    json_decref(run);
    cr_assert_eq(emplace_run("place rnnlm:steps=3 -m rtx5090x1 -M gpu"), 0, "%s",
                 program_err);
    cr_expect_not_null(
        strstr(program_out, " of rtx5090, links by the bus; --sensitivity"), "%s",
        program_out);
    cr_assert_eq(emplace_run("place rnnlm:steps=3 -m k40x2 -M gpu"), 0, "%s",
                 program_err);
    cr_expect_null(strstr(program_out, "--sensitivity"), "%s", program_out);
    cr_assert_eq(emplace_run("place rnnlm:steps=3 -m rtx5090x1 -M gpu --sensitivity"), 0,
                 "%s", program_err);
    cr_expect_not_null(strstr(program_out, "\nsensitivity; "), "%s", program_out);
    cr_expect_eq(emplace_run("place rnnlm:steps=3 -m k40x2 --sensitivity"), 1);
    cr_expect_not_null(strstr(program_err, "machine k40x2 has no derived constant"), "%s",
                       program_err);
}
