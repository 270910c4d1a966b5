// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench TOPIC: each topic is a command of its own. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const cli_command topics[] = {
    {"anomalies", "SPEC: count how often less work takes longer", cmd_bench_anomalies},
    {"mechanisms", "what each mechanism of the runtime contributes",
     cmd_bench_mechanisms},
    {"oracle", "time the oracle beside other simulators", cmd_bench_oracle},
    {"placers", "every placement method with equal budgets, compared", cmd_bench_placers},
    {"policy", "time the networks' updates beside PyTorch", cmd_bench_policy},
    {"search", "count the proposals that searches have scored in a second",
     cmd_bench_search},
    {"surrogate", "SPEC: time and rate the surrogate beside the oracle",
     cmd_bench_surrogate},
};
enum { TOPIC_COUNT = sizeof topics / sizeof *topics };

static void print_help(void)
{
    printf("Usage: emplace bench TOPIC [OPTION...]\n\n");
    for (int i = 0; i < TOPIC_COUNT; i++)
        printf("  %-10s %s\n", topics[i].name, topics[i].summary);
    printf("\n  emplace bench TOPIC --help   options and examples of a topic\n\n"
           "  emplace bench placers --rows rnnlm --budgets 100\n"
           "  emplace bench oracle --quick\n");
}

emp_status cmd_bench(int argc, char **argv, emp_error *err)
{
    char name[64]; /* getopt's messages begin with it */

    if (argc < 2) cli_usage_error("which benchmark? emplace bench --help lists them");
    if (strcmp(argv[1], "--help") == 0) {
        print_help();
        return EMP_OK;
    }
    for (int i = 0; i < TOPIC_COUNT; i++) {
        if (strcmp(argv[1], topics[i].name) != 0) continue;
        snprintf(name, sizeof name, "emplace bench %s", topics[i].name);
        argv[1] = name;
        return topics[i].run(argc - 1, argv + 1, err);
    }
    cli_usage_error("there is no benchmark \"%s\"; emplace bench --help lists them",
                    argv[1]);
}
