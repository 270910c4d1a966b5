// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "bench/transfer/transfer.h"

#define TASK(key, spec, machine, gpus)      \
    {                                       \
        key, key, spec, machine, gpus, NULL \
    }
#define ON_4(key, spec) TASK(key, spec, "k40x4", 4)
#define NMT(key, layers, steps, batch) \
    TASK(key, "nmt:layers=" #layers ",steps=" #steps ",batch=" #batch, "k40x8", 8)
#define NMT_ON(machine, gpus) \
    TASK("nmt2-" machine, "nmt:layers=2,steps=10,batch=64", machine, gpus)
#define RNNLM_ON(machine, gpus) \
    TASK("rnnlm-" machine, "rnnlm:layers=2,steps=10,batch=64", machine, gpus)
#define GIPH(n) \
    TASK("giph" #n, "giph:v=15,alpha=0.2,seed=" #n, "giph:devices=8,seed=" #n, 8)

#define UNDER(training, target) .training_runtime = training, .target_runtime = target

/* Sizes that matter are stated, so that a changed default changes no split. */
static const emp_split splits[] = {
    {.name = "size",
     .description = "trained on NMT with 2 and 4 layers, placed: 8 layers",
     UNDER("tf-r1.3", "tf-r1.3"),
     .training_count = 10,
     .training = {NMT("nmt2-10-32", 2, 10, 32), NMT("nmt2-10-64", 2, 10, 64),
                  NMT("nmt2-10-128", 2, 10, 128), NMT("nmt4-10-32", 4, 10, 32),
                  NMT("nmt4-10-64", 4, 10, 64), NMT("nmt4-10-128", 4, 10, 128),
                  NMT("nmt2-40-32", 2, 40, 32), NMT("nmt2-40-64", 2, 40, 64),
                  NMT("nmt4-40-32", 4, 40, 32), NMT("nmt4-40-64", 4, 40, 64)},
     .target_count = 1,
     .target = {TASK("nmt8", "nmt:layers=8", "k40x8", 8)}},
    {.name = "short",
     .description = "as size, with 10 time steps of 40: a quarter of the ops",
     UNDER("tf-r1.3", "tf-r1.3"),
     .training_count = 6,
     .training = {NMT("nmt2-10-32", 2, 10, 32), NMT("nmt2-10-64", 2, 10, 64),
                  NMT("nmt2-10-128", 2, 10, 128), NMT("nmt4-10-32", 4, 10, 32),
                  NMT("nmt4-10-64", 4, 10, 64), NMT("nmt4-10-128", 4, 10, 128)},
     .target_count = 1,
     .target = {NMT("nmt8-10-64", 8, 10, 64)}},
    {.name = "family",
     .description = "trained on translation, language models and a ResNet, placed: "
                    "Inception-V3",
     UNDER("tf-r1.3", "tf-r1.3"),
     .training_count = 3,
     .training = {ON_4("nmt2", "nmt:layers=2"), ON_4("rnnlm2", "rnnlm:layers=2"),
                  ON_4("resnet", "resnet")},
     .target_count = 1,
     .target = {ON_4("inception", "inception_v3")}},
    {.name = "machine",
     .description = "trained on 2 GPUs, placed on 4 and 8",
     UNDER("tf-r1.3", "tf-r1.3"),
     .training_count = 2,
     .training = {TASK("nmt2", "nmt:layers=2", "k40x2", 2),
                  TASK("rnnlm2", "rnnlm:layers=2", "k40x2", 2)},
     .target_count = 2,
     .target = {TASK("nmt2x4", "nmt:layers=2", "k40x4", 4),
                TASK("nmt2x8", "nmt:layers=2", "k40x8", 8)}},
    {.name = "devices",
     .description =
         "trained on 2 and 8 K40 and 4 P100, placed on 4 K40 and on 4 K80 dies",
     UNDER("tf-r1.3", "tf-r1.3"),
     .training_count = 6,
     .training = {NMT_ON("k40x2", 2), RNNLM_ON("k40x2", 2), NMT_ON("k40x8", 8),
                  RNNLM_ON("k40x8", 8), NMT_ON("p100x4", 4), RNNLM_ON("p100x4", 4)},
     .target_count = 4,
     .target = {NMT_ON("k40x4", 4), RNNLM_ON("k40x4", 4), NMT_ON("k80x4", 4),
                RNNLM_ON("k80x4", 4)}},
    {.name = "runtime",
     .description = "trained under ideal, placed under tf-r1.3",
     UNDER("ideal", "tf-r1.3"),
     .training_count = 2,
     .training = {ON_4("nmt2", "nmt:layers=2"), ON_4("rnnlm2", "rnnlm:layers=2")},
     .target_count = 2,
     .target = {ON_4("nmt2", "nmt:layers=2"), ON_4("rnnlm2", "rnnlm:layers=2")}},
    {.name = "giph",
     .description = "GiPH's setting: random graphs on random networks, placed: others",
     UNDER("edges", "edges"),
     .training_count = 10,
     .training = {GIPH(1), GIPH(2), GIPH(3), GIPH(4), GIPH(5), GIPH(6), GIPH(7), GIPH(8),
                  GIPH(9), GIPH(10)},
     .target_count = 10,
     .target = {GIPH(101), GIPH(102), GIPH(103), GIPH(104), GIPH(105), GIPH(106),
                GIPH(107), GIPH(108), GIPH(109), GIPH(110)}}};

emp_status emp_split_find(const emp_split **split, const char *name, emp_error *err)
{
    char list[128] = "";

    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        *split = &splits[i];
        if (strcmp(name, (*split)->name) == 0) return EMP_OK;
        const size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "",
                 (*split)->name);
    }
    return EMP_ERROR(EMP_EINVAL, "there is no split \"%s\"; there are %s", name, list);
}
