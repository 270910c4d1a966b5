// SPDX-License-Identifier: GPL-3.0-or-later
/* Are device maps read as they are written, and is everything else refused by a sentence that names the
 * line? */
#include "base/mem.h"
#include "cli/options/device_map.h"
#include "cli/options/placement_input.h"
#include "tests/test.h"

#define MAP(lines) "DEVICE_MAP = {\n" lines "}\n"

static emp_status parse(cli_map_file *map, const char *text, emp_error *err)
{
    return cli_map_file_parse(map, text, strlen(text), "map.py", err);
}

static int32_t gpu_of(const cli_map_file *map, const char *name)
{
    int32_t entry = cli_map_file_find(map, name, strlen(name));

    return entry < 0 ? -2 : map->entry[entry].gpu;
}

static const char whole[] = "\"\"\"Words. DEVICE_MAP = {\n\"\"\"\n# made by: us\n\n" MAP(
    "    \"model.layers.1\": \"cuda:0\",\n"
    "    \"model.layers.1.mlp\": \"cuda:12\",  # some of it elsewhere\n"
    "\n    # a comment\r\n"
    "    \"model.layers.10\": \"cpu\",\n"
    "    \"say \\\"a\\\\b\\\"\": \"cuda:3\"\n") "left = {\n";

TestSuite(device_map, .fini = expect_all_freed);

Test(device_map, of_the_longest_path_counts)
{
    cli_map_file map = {0};

    ASSERT_OK(parse(&map, whole, &err));
    cr_expect_eq(map.count, 4);
    cr_expect_eq(map.entry[0].line, 6);
    cr_expect_eq(map.entry[2].line, 10);
    cr_expect_eq(gpu_of(&map, "model.layers.1"), 0);
    cr_expect_eq(gpu_of(&map, "model.layers.1.self_attn.q_proj"), 0);
    cr_expect_eq(gpu_of(&map, "model.layers.1.mlp.up_proj"), 12);
    cr_expect_eq(gpu_of(&map, "model.layers.10.mlp"), CLI_MAP_CPU);
    cr_expect_eq(gpu_of(&map, "say \"a\\b\""), 3);
    cr_expect_eq(gpu_of(&map, "model.layers.11"), -2);
    cr_expect_eq(gpu_of(&map, "model.layers"), -2);
    cli_map_file_clear(&map);
    ASSERT_OK(parse(&map, MAP("\"\": \"cuda:1\"\n"), &err));
    cr_expect_eq(gpu_of(&map, "lm_head"), 1, "the model itself has all");
    cli_map_file_clear(&map);
}

Test(device_map, of_another_form_is_refused_with_its_line)
{
    static const char        form[] = "map.py:2: ";
    static const char *const wrong[][2] = {
        {"", "map.py has no line"},
        {"OPS_OF_DEVICE = {\n}\n", "map.py has no line"},
        {"DEVICE_MAP = {", "map.py ends"},
        {"DEVICE_MAP = {\n\"a\": \"cpu\",\n", "map.py ends"},
        {MAP("\"a\": \"disk\",\n"), form},
        {MAP("\"a\": \" cpu\",\n"), form},
        {MAP("\"a\": \"cuda\",\n"), form},
        {MAP("\"a\": \"cuda:\",\n"), form},
        {MAP("\"a\": \"cuda:-1\",\n"), form},
        {MAP("\"a\": \"cuda:99999999999\",\n"), form},
        {MAP("\"a\": \"cuda:0\", \"b\": \"cpu\",\n"), form},
        {MAP("'a': 'cpu',\n"), form},
        {MAP("\"a: \"cpu\",\n"), form},
        {MAP("\"a\\n\": \"cpu\",\n"), form},
        {MAP("\"a\\\n"), form},
        {MAP("\"a\"\n"), form},
        {MAP("\"a\": \"cpu\",\n\"a\": \"cuda:0\",\n"), "map.py:3: "},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cli_map_file map = {0};
        emp_error    err = {0};
        cr_expect_eq(parse(&map, wrong[i][0], &err), EMP_EFORMAT, "%s", wrong[i][0]);
        cr_expect(strncmp(err.msg, wrong[i][1], strlen(wrong[i][1])) == 0, "%s", err.msg);
        cli_map_file_clear(&map);
    }
}

Test(device_map, layers_are_modules_that_are_numbered)
{
    static const struct {
        const char *path;
        size_t      length;
    } layers[] = {{"model.layers.12.mlp.up_proj", 15},
                  {"model.layers.12", 15},
                  {"0.qkv", 1},
                  {"1.layers.0.linear1", 10},
                  {"model.norm", 0},
                  {"h1.mlp", 0},
                  {"", 0},
                  {"model.layers.3.mlp.experts.7.w1", 14}};

    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        cr_expect_eq(cli_layer_length(layers[i].path, strlen(layers[i].path)),
                     layers[i].length, "%s", layers[i].path);
    cr_expect_eq(cli_path_length("0.qkv/view", "step.json"), 5);
    cr_expect_eq(cli_path_length("add_12", "step.json"), 0);
    cr_expect_eq(cli_path_length("lm_head", "hf:path=config.json"), 7);
}

static emp_status parse_and_clear(cli_map_file *map)
{
    emp_status st = parse(map, whole, NULL);

    cli_map_file_clear(map);
    return st;
}

Test(device_map, leaves_nothing_behind_when_memory_is_short)
{
    cli_map_file map = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(parse_and_clear(&map), (void)0);
}
