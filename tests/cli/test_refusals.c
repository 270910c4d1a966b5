// SPDX-License-Identifier: GPL-3.0-or-later
/* A refusal of emplace is one sentence that names the culprit. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(refusals, .init = emplace_set_up, .fini = emplace_tear_down);

struct error_case {
    char arguments[160];
    int  status;
    char mentions[80];
};

/* clang-format off */
static struct error_case error_cases[] = {
    /* bad usage */
    {"",                                                                    2, "--help"},
    {"frobnicate",                                                          2, "frobnicate"},
    {"--version extra",                                                     2, "\"extra\""},
    {"table 1 --rows rnnlm --methods gpu --runs ''",                        1, "a folder needs a name"},
    {"graph",                                                               2, "SPEC"},
    {"graph small.pbtxt second.pbtxt",                                      2, "second.pbtxt"},
    {"place rnnlm --method gpu",                                            2, "--machine"},
    {"place small.pbtxt --method gpu",                                      1, "states no machine of its own"},
    {"bound instance.json --objective max-load --runtime ideal",            2, "msr-load"},
    {"bound instance.json --objective step-time -r msr-load",               2, "msr-load"},
    {"place instance.json --method gpu --objective speed",                  2, "\"speed\""},
    {"simulate instance.json --placement crowded.json",                     1, "\"fpgas\" has 3 entries"},
    {"place small.pbtxt --machine k40x2 --method gpu --budget many",        2, "\"many\""},
    {"place small.pbtxt --machine k40x2 --method gpu --budget 0",           2, "\"0\""},
    {"place small.pbtxt --machine k40x2 --gap 5% --no-bound",               2, "--no-bound"},
    {"train small.pbtxt --machine k40x2",                                   2, "--record"},
    {"train small.pbtxt --machine k40x2 --record r.checkpoint.h5",          2, "checkpoint of FILE.h5"},
    {"graph hf:path=a.json,path=b.json",                                    1, "path is given twice"},
    {"graph a\xff.pbtxt",                                                   2, "argument 2 is not valid UTF-8"},
    {"simulate small.pbtxt --machine k40x2",                                2, "--placement"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot-depth 2",  2, "--dot FILE"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --beside cpu",   2, "--explore"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --beside nosuch --explore e", 1, "nosuch"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --explore e --trace e", 1, "two outputs"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --model-explorer \"\"", 1, "beginning of the files' names"},
    {"simulate small.pbtxt --machine k40x2 --runtime placeto --placement gpu --explore e", 1, "placeto"},
    {"table",                                                               2, "table 1"},
    {"table 3",                                                             2, "\"3\""},
    {"ablate",                                                              2, "grouping"},
    {"ablate --method hdp",                                                 2, "--arms"},
    {"ablate --method hdp --full --arms 'base;lr=1'",                         2, "--full"},
    {"ablate refine --method hdp",                                          2, "--method"},
    {"ablate seeds",                                                        2, "\"seeds\""},
    {"table 1 --format latex",                                              2, "latex"},
    {"bench",                                                               2, "--help"},
    {"bench nothing",                                                       2, "bench nothing"},
    {"bench placers --rows rnnlm --methods gpu --shard 1/2 --page x.html",  1, "x.html shows all runs"},
    {"bench placers --budgets 100,0",                                       2, "\"0\""},
    {"bench placers --budgets 1,2,3,4,5,6,7,8,9",                           2, "8 budgets"},
    {"machines extra",                                                      1, "extra"},
    {"machines import --out box.yaml",                                      2, "--topology"},
    {"machines import --topology empty.pb --model k40 --out box.yaml",      1, "nvidia-smi topo -m"},
    {"machines import --topology empty.pb --model k40 --out box.txt",       1, ".yaml"},
    {"machines k40x2 --host xeon-112",                                      2, "machines import"},
    {"bench transfer --split nosuch",                                       1, "size, short, family, machine, devices, runtime, giph"},
    {"bench transfer --methods anneal --split giph",                        1, "anneal has no weights"},
    {"bench transfer --budgets 64,1",                                       2, "ascend"},
    {"bench transfer --imitate-budget 5",                                   2, "--imitate-budget is for --imitate"},
    {"bench transfer --imitate-options a=1",                                2, "--imitate-options is for --imitate"},
    {"bench transfer --imitate-rounds 5",                                   2, "--imitate-rounds is for --imitate"},
    {"train --tasks table1 -M hdp --weights-out w.h5 --budget 10",          1, "hdp has no weights"},
    {"simulate rnnlm -m k40x2 -p gpu --trace x.json --model-explorer x",    1, "x.json"},
    {"train --tasks table1 --weights-out w.h5 --objective max-load",        2, "max-load"},
    {"train --tasks table1 --weights-out w.h5 --no-bound",                  2, "--no-bound"},
    {"train --tasks table1 --weights-out w.h5 --gap 5%",                    2, "--gap"},
    {"train --tasks table1 --weights-out w.h5 --decide devices,home",       2, "home=any"},
    {"place llama3-8b:phase=decode -m h200x1 --fit seq --log x.json",       2, "--log"},
    {"plot --timeline llama3-8b:tp=2 -m b200x8 --size 8cmx5cm -o t.svg",    2, "--size"},
    {"train --tasks table1 -M giph",                                        2, "--weights-out is missing"},
    {"train rnnlm --tasks table1 --weights-out w.h5",                       2, "leave rnnlm out"},
    {"train --tasks table1 --weights-out w.h5 --resume",                    2, "checkpoint"},
    {"train --tasks table1 --weights-out w.h5 --seconds 5",                 2, "in seconds"},
    {"train --tasks nosuch.txt --weights-out w.h5 -M go",                   1, "nosuch.txt"},
    {"train --tasks nosuch.txt --weights-out w.h5 -M giph --imitate refine", 1, "imitates nobody"},
    {"place small.pbtxt -m k40x2 -M gpu --weights-out w.h5",                1, "gpu has no weights"},
    {"place small.pbtxt -m k40x2 -M hsdag --budget 9 --weights-out w.h5",   1, "for one graph alone"},
    {"place small.pbtxt -m k40x2 -M giph --weights small.pbtxt",            1, "small.pbtxt"},
    {"bench order --rows rnnlm --methods ./mine-whose-name-is-long-enough.so", 1, "cannot read ./mine-whose-name-is-long-enough.so"},
    {"place rnnlm -m k40x2 -M anneal --resume",                             2, "--record is missing"},
    {"place small.pbtxt -m k40x2 -M gpu --record r.h5 --checkpoint-every 1", 1, "no state to go on from"},
    {"train --tasks t.txt --weights-out w.h5 --log l.jsonl",                2, "--log is for a run"},
    {"plot t.csv --by a --values b -o f.svg --smooth 3",                    2, "--smooth is for lines"},
    {"plot t.csv --by a --values b -o f.svg --hold",                        2, "--hold is for lines"},
    {"bench placers --rows rnnlm --methods gpu,local --against refine",     1, "\"refine\", to compare with"},
    {"record r.h5 --all --out p.json",                                      2, "--all and --out"},
    {"plot t.csv --by a --values b -o f.svg --size 4",                      2, "--size \"4\""},
    {"plot t.csv --by a --values b -o f.svg --size 400x300zz",              2, "400x300zz"},
    {"plot t.csv --by a --values b -o f.svg --font \"Times'x,9\"",          2, "no family and size"},
    {"plot t.csv --by a --values b -o f.svg --font Times,900",              2, "no size from 4 to 100"},
    {"bench adversary refine",                                              2, "two methods"},
    {"bench adversary refine zebra",                                        1, "zebra"},
    {"bench adversary refine heft --trials 1000000 --machines k40x1,k41",   1, "k41"},
    {"bench adversary refine heft --sizes 4,65",                            2, "64"},
    {"bench adversary refine heft --ratio 1",                               2, "--ratio \"1\""},
    {"compare a.json",                                                      2, "two files"},
    {"compare a.json b.json c.json",                                        2, "c.json"},
    {"compare none.json small.pbtxt",                                       1, "none.json"},
    {"bench placers --rows rnnlm --methods gpu,mine.py",                    1, "cannot read mine.py"},
    {"bench placers --rows rnnlm --methods \"gpu,gpu=cmd:true\"",            1, "two methods are called gpu"},
    {"bench placers --rows rnnlm --methods \"cmd:true\" --clock 1",          1, "leave out --clock"},
    {"bench order --rows rnnlm --methods gpu,cpu,gpu,cpu,gpu,cpu,gpu,cpu,gpu", 1, "more than 8"},
    {"bench order --rows rnnlm --methods m-etf --runtime placeto",          1, "tf-r1.3"},
    {"train rnnlm -m k40x2 --imitate anneal --record r.h5",                 2, "--imitate is for --tasks"},
    /* bad input */
    {"graph nowhere.pb",                                                    1, "nowhere.pb"},
    {"graph .",                                                             1, ".: a directory"},
    {"graph empty.pb",                                                      1, "empty.pb"},
    {"graph truncated.pb",                                                  1, "truncated.pb"},
    {"graph hostile.pb",                                                    1, "hostile.pb"},
    {"graph pointer.pb",                                                    1, "LFS"},
    {"graph bad.yaml",                                                      1, "bad.yaml: YAML"},
    {"place unknown_op.json --machine k40x2 --method gpu",                  1, "unknown_op.json: a placement"},
    {"graph instance.json --train adam",                                    1, "ONNX"},
    {"graph cycle.pbtxt",                                                   1, "cycle"},
    {"graph nmt:layers=0",                                                  1, "layers"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot g --trace g", 1, "two outputs"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot g --trace ././g", 1, "two outputs"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --out ./r.checkpoint.h5", 1, "two outputs"},
    {"simulate small.pbtxt --machine k41 --placement gpu",                  1, "k41"},
    {"simulate small.pbtxt --machine ./bad.yaml --placement gpu",           1, "colour"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --runtime tf9",  1, "tf9"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --runtime placeto --why", 1, "placeto"},
    {"simulate small.pbtxt --machine k40x2 --placement nonesuch",           1, "nonesuch"},
    {"simulate small.pbtxt --machine k40x2 --placement broken.json",        1, "broken.json"},
    {"simulate transformer:layers=2,tp=2 -m b200x8 --no-bound",             1, "--no-bound"},
    {"simulate small.pbtxt --machine k40x2 --placement broken.json -k 5",   1, "--seed"},
    {"simulate small.pbtxt --machine k40x2 --placement broken.json -b 5",   1, "--budget"},
    {"simulate small.pbtxt --machine k40x2 --placement unknown_op.json",    1, "nonesuch"},
    {"simulate small.pbtxt --machine k40x2 --placement missing_device.json", 1, "gpu:7"},
    {"simulate small.pbtxt --machine k40x2 --placement missing_op.json", 1, "'c'"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --trace no/t.json", 1, "no/t.json"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --trace -",      1, "./-"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --trace small.pbtxt/t", 1, "no directory"},
    {"place small.pbtxt --machine k40x2 --method nonesuch",                 1, "nonesuch"},
    {"place small.pbtxt --machine k40x2 --method hdp --preset nonesuch",    1, "nonesuch"},
    {"place small.pbtxt --machine k40x2 --method metis --options imbalance=50", 1, "5 % is 0.05"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --method scotch",     1, "scotch"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --method random",     1, "no state to go on from"},
    {"train small.pbtxt --machine k40x2 --record no/such/r.h5",             1, "no/such/r.h5"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --resume",            1, "r.checkpoint.h5"},
    {"record small.pbtxt",                                                  1, "small.pbtxt"},
    {"bench placers --rows nmt3",                                      1, "nmt2, nmt4"},
    {"bench placers --tasks tuned",                                         1, "table1, fresh and all"},
    {"bench placers --methods hdp-paper",                                   1, "refine"},
    {"bench placers --methods cpu --options go:width=8",                    1, "\"go\""},
    {"place small.pbtxt -m k40x2 --method hdp --preset emplace",            1, "--method refine"},
    {"bench placers --curves nowhere/curves.csv",                           1, "nowhere"},
    {"bench placers --rows rnnlm --plot x.svg --plot-row nmt4",    1, "nmt4"},
    {"bench surrogate small.pbtxt --machine k40x2 --runtime baechi",        1, "baechi"},
    {"table 2 --methods metis",                                             1, "metis"},
    {"ablate --method hdp --arms base",                                     1, "two arms"},
    {"ablate --method hdp --arms 'base; group=48'",                         1, "\"group\""},
    {"study constant",                                                      1, "\"constants\""},
    {"study constants --rows nmt3",                                         1, "rnnlm10"},
    {"study constants --arms lr=1",                                         1, "lr=0.3"},
    {"study load --arms rate",                                              2, "--arms"},
    {"study load --shard 1/2",                                              2, "--shard"},
    {"study load --budget 3",                                               1, "8 placements"},
    {"ablate grouping --arms groups=5",                                     1, "groups=5"},
    {"calibrate",                                                           2, "calibrate --help"},
    {"calibrate fit --machine k40 --on all --out k40.yaml",                 2, "k40.yaml"},
    {"calibrate fit --machine k40 --on rnnlm:cpus",                         1, "rnnlm:cpus"},
    {"place small.pbtxt -m k40x2 --decide order",                           2, "--decide"},
    {"place small.pbtxt -m k40x2 --decide devices,order",                   1, "portfolio"},
    {"place small.pbtxt -m k40x2 --method heft --decide devices,fusion",    1, "heft"},
    {"place small.pbtxt -m k40x2 --runtime placeto --method anneal --decide devices,fusion", 1, "leave the fusion out"},
    {"calibrate fit --machine k40 --on nmt2:gpu",                           1, "step time"},
    {"table 1 --methods tabu",                                              1, "tabu"},
    /* the program and its groups */
    {"--frobnicate",                                                        2, "frobnicate"},
    {"-x",                                                                  2, "-x"},
    {"help frobnicate",                                                     2, "frobnicate"},
    {"Place small.pbtxt",                                                   2, "did you mean"},
    {"''",                                                                  2, "--help"},
    /* options that are not there, or have no value */
    {"graph small.pbtxt --jsn",                                             2, "--jsn"},
    {"graph small.pbtxt -j",                                                2, "-j"},
    {"graph small.pbtxt --format",                                          2, "FORMAT"},
    {"graph small.pbtxt --format=",                                         2, "\"\""},
    {"graph small.pbtxt --format xml",                                      2, "text, md, csv"},
    {"graph small.pbtxt --force=yes",                                       2, "takes no value"},
    {"simulate small.pbtxt --s 5",                                          2, "may mean"},
    {"simulate small.pbtxt -wq",                                            2, "--why=full"},
    {"simulate small.pbtxt --=5",                                           2, "option"},
    {"table 2 --relative",                                                  2, "--relative is for table 1"},
    {"table 1 --relative --methods mincut,cpu",                             2, "add expert or gpu"},
    /* counts, times and sizes */
    {"place small.pbtxt -m k40x2 -M gpu -b 1.5",                            2, "\"1.5\""},
    {"place small.pbtxt -m k40x2 -M gpu -b 10q",                            2, "\"10q\""},
    {"place small.pbtxt -m k40x2 -M gpu -b 1e99",                           2, "\"1e99\""},
    {"place small.pbtxt -m k40x2 -M gpu -b -5",                             2, "\"-5\""},
    {"place small.pbtxt -m k40x2 -M gpu -b nan",                            2, "\"nan\""},
    {"place small.pbtxt -m k40x2 -M gpu -b 0x10",                           2, "\"0x10\""},
    {"place small.pbtxt -m k40x2 -M gpu -k -1",                             2, "\"-1\""},
    {"place small.pbtxt -m k40x2 -M gpu -k 99999999999999999999",           2, "--seed"},
    {"place small.pbtxt -m k40x2 -M gpu -s 0",                              2, "\"0\""},
    {"place small.pbtxt -m k40x2 -M gpu -s 5y",                             2, "2m or 1h"},
    {"place small.pbtxt -m k40x2 -M gpu -s inf",                            2, "\"inf\""},
    {"place small.pbtxt -m k40x2 -M gpu -s '1 2'",                          2, "\"1 2\""},
    {"place small.pbtxt -m k40x2 -M gpu -t 2000",                           2, "1024"},
    {"bound small.pbtxt -m k40x2 -e 4",                                     2, "1 to 3"},
    {"replay expert.json --memory 5GW",                                     2, "2 GiB"},
    {"replay expert.json --memory ' 1'",                                    2, "\" 1\""},
    {"replay expert.json --memory ' 1 MB'",                                 2, "\" 1 MB\""},
    {"place small.pbtxt -m k40x2 -M gpu --seed 1e18",                       2, "\"1e18\""},
    /* what a command needs, and what is too much */
    {"report",                                                              2, "record"},
    {"plot t.csv --values b -o f.svg",                                      2, "--by"},
    {"plot t.csv --by a -o f.svg",                                          2, "--values"},
    {"plot t.csv --by a --values b -o f.png",                               2, "f.png"},
    {"calibrate iterations",                                                2, "missing"},
    {"calibrate iterations binary.pb",                                      1, "binary.pb"},
    {"calibrate iterations nosuch.tsv",                                     1, "nosuch.tsv: cannot be read"},
    {"calibrate iterations .",                                              1, ".: a directory, not a file"},
    {"calibrate iterations /dev/null",                                      1, "/dev/null: not a regular file"},
    {"calibrate iterations empty.pb",                                       1, "empty.pb: an empty file"},
    {"plan",                                                                2, "SPEC is missing"},
    {"plan llama3-8b",                                                      2, "--machine is missing"},
    {"plan llama3-8b -m nosuch",                                            1, "clusters: b200, gb200, h100"},
    {"plan llama3-405b -m l4x8",                                             1, "fits in their memory"},
    {"plan llama3-8b -m b200x8 --gpus 9",                                   1, "9 GPUs are wanted, and b200x8 has 8"},
    {"plan llama3-8b:tp=3 -m b200 --gpus 3",                                1, "tp=2 does"},
    {"plan nosuch:tp=3 -m b200 --gpus 3",                                   1, "models: "},
    {"plan llama3-405b -m h100 --gpus 8",                                   1, "GPUs would do"},
    {"plan llama3-8b:schedule=nosuch.yaml,pp=2 -m b200 --gpus 2",           1, "nosuch.yaml"},
    {"simulate transformer:tp=2",                                           2, "--machine is missing"},
    {"simulate transformer:heads=12,tp=2 -m b200 -p gpu",                   1, "leave out --placement"},
    {"simulate transformer:heads=12,tp=5,sp=0 -m b200",                     1, "tp=5 does not divide the query heads, 12; tp=4 does"},
    {"place transformer:heads=12,tp=2 -m k40x2 -M gpu",                     1, "emplace plan ranks degrees and emplace simulate times them"},
    {"graph transformer:heads=12,tp=2",                                     1, "emplace plan ranks degrees and emplace simulate times them"},
    {"graph layers:path=nosuch.tsv",                                        1, "nosuch.tsv: cannot be read"},
    {"table 1 2",                                                           2, "\"2\""},
    {"graph small.pbtxt --machine k40x2",                                   2, "--out FILE"},
    {"graph small.pbtxt --out g.txt",                                       2, "g.txt"},
    /* names */
    {"machines k40",                                                        1, "k40x1"},
    {"methods ''",                                                          1, "\"\""},
    {"graph nmt:layers",                                                    1, "layers"},
    {"graph nmt:layers=two",                                                1, "two"},
    {"graph ''",                                                            1, "\"\""},
    {"place small.pbtxt -m k40x2 -M metis --options imbalance",             1, "no value"},
    {"place small.pbtxt -m k40x2 -M metis --options =1",                    1, "option"},
    {"place small.pbtxt -m k40x2 -M cpu --options x=1",                     1, "no options"},
    {"simulate small.pbtxt -m k40x2 -p gpu:1",                              1, "one rule"},
    /* files */
    {"record nosuch.h5",                                                    1, "No such file"},
    {"graph binary.pb",                                                     1, "binary.pb"},
    {"graph broken.json",                                                   1, "broken.json"},
    {"record binary.pb",                                                    1, "binary.pb"},
    {"record .",                                                            1, "."},
    {"record empty.pb",                                                     1, "empty.pb"},
    {"report binary.pb -o r.html",                                          1, "binary.pb"},
    {"plot nowhere.csv --by a --values b -o f.svg",                         1, "nowhere.csv"},
    {"plot binary.pb --by a --values b -o f.svg",                           1, "binary.pb"},
    {"simulate small.pbtxt -m binary.yaml -p gpu",                          1, "binary.yaml"},
    {"simulate small.pbtxt -m empty.yaml -p gpu",                           1, "empty.yaml"},
    {"simulate small.pbtxt -m . -p gpu",                                    1, "."},
    {"simulate small.pbtxt -m k40x2 -r binary.yaml -p gpu",                 1, "binary.yaml"},
    {"simulate small.pbtxt -m k40x2 -p binary.pb",                          1, "binary.pb"},
    {"simulate small.pbtxt -m k40x2 -p empty.pb",                           1, "empty.pb"},
    {"simulate small.pbtxt -m k40x2 -p small.pbtxt --trace small.pbtxt",    1, "small.pbtxt"},
    {"simulate small.pbtxt -m k40x2 -p gpu --trace .",                      1, "directory"},
    {"simulate small.pbtxt -m k40x2 -p gpu --dot broken.json",              1, "--force"},
    {"graph small.pbtxt -o broken.json",                                    1, "--force"},
    {"replay broken.json",                                                  1, "broken.json"},
    {"validate --workloads small.pbtxt --export v --cores abc",             1, "\"abc\""},
    {"validate --workloads small.pbtxt --export v -B cuda --gpus gpu:0=x",  1, "\"x\""},
    {"validate --measured binary.pb",                                       1, "binary.pb"},
    {"calibrate measure --measured binary.pb",                              1, "binary.pb"},
    {"bench placers --tasks binary.pb",                                     1, "binary.pb"},
    {"calibrate check -m k40 --anchors nowhere",                            1, "nowhere"},
};
/* clang-format on */

ParameterizedTestParameters(refusals, error)
{
    return cr_make_param_array(struct error_case, error_cases,
                               sizeof error_cases / sizeof error_cases[0]);
}

/* The hash of the names, sizes and times of change of all files in the scratch folder. */
static uint64_t hash_of_folder(void)
{
    uint64_t       hash = 0;
    struct dirent *entry;
    DIR           *folder = opendir(scratch_path("."));

    cr_assert_not_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        struct stat there;
        uint64_t    own = 1;
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "std", 3) == 0)
            continue; /* the folders, and what the program says */
        cr_assert_eq(stat(scratch_path(entry->d_name), &there), 0, "%s", entry->d_name);
        for (const char *at = entry->d_name; *at != '\0'; at++)
            own = own * 31 + (uint64_t)(unsigned char)*at;
        own = own * 31 + (uint64_t)there.st_size;
        own = own * 31 + (uint64_t)there.st_mtim.tv_sec;
        own = own * 31 + (uint64_t)there.st_mtim.tv_nsec;
        hash += own; /* in whatever order they come */
    }
    closedir(folder);
    return hash;
}

ParameterizedTest(struct error_case *c, refusals, error)
{
    uint64_t before = hash_of_folder();

    cr_assert_not_null(memchr(c->mentions, '\0', sizeof c->mentions), "%s", c->arguments);
    cr_expect_eq(emplace_run(c->arguments), c->status, "emplace %s: %s", c->arguments,
                 program_err);
    cr_expect(program_is_one_sentence(program_err, "emplace"), "emplace %s: %s",
              c->arguments, program_err);
    cr_expect_not_null(strstr(program_err, c->mentions), "emplace %s: %s", c->arguments,
                       program_err);
    cr_expect_str_empty(program_out, "emplace %s", c->arguments);
    cr_expect_eq(hash_of_folder(), before, "emplace %s changed a file", c->arguments);
}

Test(refusals, unknown_op_types_are_counted_and_timed)
{
    emplace_warns("simulate unknown.pbtxt --machine k40x2 --placement gpu",
                  "2 of 3 ops are of 1 unknown types|% of the time of all ops on k40");
}

/* A file's name may hold what moves a cursor, clears a screen, or looks like a second message. */
Test(refusals, names_in_them_are_cleaned)
{
    cr_expect_eq(emplace_run("graph \"$(printf 'no\\033[2J\\nfile')\""), 1);
    cr_expect(program_is_one_sentence(program_err, "emplace: "), "%s", program_err);
    cr_expect_not_null(strstr(program_err, "no\\x1b[2J\\nfile"), "%s", program_err);
    cr_expect_null(strchr(program_err, '\033'));
}

#define DEVICE_ROWS                                                              \
    "id,cluster,model,global_batch,microbatch,stages,replicas,layers_per_stage," \
    "devices,iteration_s\n"                                                      \
    "x,c,m,1,1,1,1,1,all A*1,9\n"
#define TRANSFORMER_ROWS                                                      \
    "hidden,layers,heads,seq,tp,dp,pp,microbatch,microbatches,iteration_ms\n" \
    "1024,2,16,512,1,1,1,1,1,100\n"

/* The table's rows say which options are of use. */
Test(refusals, options_of_the_other_form_of_iterations)
{
    static const char *const cases[][2] = {
        {"devices.csv --layers l --network n -m k40x1", "devices, which --machine"},
        {"devices.csv --layers l --host-rate 5GB/s", "which --host-rate"},
        {"devices.csv --host-gpus 8", "which --host-gpus"},
        {"devices.csv --layers l --network n --engine x", "--engine x: want sailor"},
        {"sizes.csv -m dgx-a100 --engine sailor", "which --engine"},
        {"sizes.csv -m dgx-a100 --layers l", "transformers, which --layers"},
        {"sizes.csv -m dgx-a100 --network n", "which --network"},
        {"sizes.csv -m dgx-a100 --collectives c", "which --collectives"}};

    emplace_write("devices.csv", DEVICE_ROWS);
    emplace_write("sizes.csv", TRANSFORMER_ROWS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emplace_refuses(scratch_print("calibrate iterations %s", cases[i][0]),
                        cases[i][1]);
    }
    emplace_ok("calibrate iterations sizes.csv -m dgx-a100");
}
