// SPDX-License-Identifier: GPL-3.0-or-later
/* Methods side by side on the same tasks. */
#include "bench/studies/definitions.h"
#include "bench/tables/paper.h"

/* An arm that is a method with its own name and defaults. */
#define METHOD(kind, name) EMP_ARM(kind, name, NULL, .method = name)
#define ARMS(list)         .arm = list, .arm_count = sizeof list / sizeof *(list)
#define ROWS(list)         .row = list, .row_count = sizeof list / sizeof *(list)

/* ---- what a search costs ---- */

static const emp_arm energy[] = {
    EMP_ARM("default", "expert", NULL),
    METHOD("once", "mincut"),
    METHOD("once", "metis"),
    METHOD("search", "anneal"),
    METHOD("search", "refine"),
    METHOD("learner", "hdp"),
};
const emp_ablation emp_arms_energy = {.name = "energy",
                                      .method = "expert",
                                      ARMS(energy),
                                      ROWS(emp_paper_task),
                                      .rows = "inception_v3,rnnlm,nmt2,nmt4,nmt8",
                                      .seed_count = 5,
                                      .first_seed_count = 1,
                                      .budget = 2000,
                                      .first_budget = 200,
                                      .shows = EMP_SHOWS_COST};

static const emp_arm seconds[] = {
    EMP_ARM("default", "anneal", NULL), METHOD("search", "refine"),
    METHOD("search", "mcmc"),           METHOD("search", "random"),
    METHOD("learner", "hdp"),           METHOD("learner", "colocrl"),
};
const emp_ablation emp_arms_seconds = {.name = "seconds",
                                       .method = "anneal",
                                       ARMS(seconds),
                                       ROWS(emp_study_task),
                                       .rows = "rnnlm10,nmt2w8,resnet50",
                                       .seed_count = 5,
                                       .first_seed_count = 1,
                                       .budget = 2000,
                                       .first_budget = 200,
                                       .shows = EMP_SHOWS_QUALITY};

/* ---- learners against each other ---- */

static const emp_arm earlier[] = {
    EMP_ARM("default", "hdp", NULL),
    METHOD("learner", "colocrl"),
    METHOD("search", "random"),
    METHOD("search", "anneal"),
};
const emp_ablation emp_arms_earlier = {.name = "earlier",
                                       .method = "hdp",
                                       .preset = "paper",
                                       ARMS(earlier),
                                       ROWS(emp_study_task),
                                       .rows = "rnnlm10,nmt2w8,resnet50",
                                       .seed_count = 5,
                                       .first_seed_count = 1,
                                       .budget = 2000,
                                       .first_budget = 200};

static const emp_arm successors[] = {
    EMP_ARM("default", "hdp", NULL),
    EMP_ARM("learner", "placeto", NULL, .method = "placeto", .preset = "emplace"),
    EMP_ARM("learner", "hsdag", NULL, .method = "hsdag", .preset = "emplace"),
    EMP_ARM("learner", "giph", NULL, .method = "giph", .preset = "emplace"),
    EMP_ARM("learner", "go", "samples=16,width=64,hidden=128,heads=4,max_nodes=512",
            .method = "go", .preset = "emplace"),
    EMP_ARM("learner", "doppler",
            "max_nodes=128,width=32,steps=2,mpnn=gated,imitation=50", .method = "doppler",
            .preset = "emplace"),
    METHOD("search", "anneal"),
    METHOD("search", "random"),
};
const emp_ablation emp_arms_successors = {.name = "successors",
                                          .method = "hdp",
                                          .preset = "paper",
                                          ARMS(successors),
                                          ROWS(emp_study_task),
                                          .rows = "rnnlm10,nmt2w8,resnet50",
                                          .seed_count = 5,
                                          .first_seed_count = 1,
                                          .budget = 2000,
                                          .first_budget = 128};

/* ---- other tasks ---- */

static const emp_arm machines[] = {
    EMP_ARM("default", "expert", NULL),
    METHOD("once", "mincut"),
    METHOD("once", "metis"),
    METHOD("search", "refine"),
};
static const emp_task machine_rows[] = {
    {"k40", "NMT-4 on 4 K40", "nmt:layers=4,steps=8", "k40x4", 4, NULL},
    {"k80", "NMT-4 on 2 K80 of two dies", "nmt:layers=4,steps=8", "k80x4", 4, NULL},
    {"p100", "NMT-4 on 4 P100", "nmt:layers=4,steps=8", "p100x4", 4, NULL},
    {"a100", "NMT-4 on 8 A100 with NVSwitch", "nmt:layers=4,steps=8", "dgx-a100", 8,
     NULL},
    {"hosts", "NMT-4 on two hosts of 4 K40", "nmt:layers=4,steps=8", "k40x4x2", 8, NULL},
    {"unlike", "NMT-4 on 2 RTX 4090 and a 3060", "nmt:layers=4,steps=8",
     "rtx4090x2+rtx3060", 3, NULL},
};
const emp_ablation emp_arms_machines = {.name = "machines",
                                        .method = "expert",
                                        ARMS(machines),
                                        ROWS(machine_rows),
                                        .rows = "k40,k80,p100,a100,hosts,unlike",
                                        .seed_count = 5,
                                        .first_seed_count = 1,
                                        .budget = 2000,
                                        .first_budget = 400,
                                        .shows = EMP_SHOWS_BALANCE};

static const emp_arm families[] = {
    EMP_ARM("default", "anneal", NULL),
    METHOD("search", "refine"),
    METHOD("search", "random"),
    METHOD("once", "gpu"),
    METHOD("once", "metis"),
    METHOD("once", "mincut"),
    METHOD("once", "heft"),
    METHOD("once", "m-sct"),
};
static const emp_task family_rows[] = {
    {"transformer_xl", "Transformer-XL", "transformer_xl:layers=2,segments=2", "p100x4",
     4, NULL},
    {"wavenet", "WaveNet, one stack", "wavenet:stacks=1", "p100x4", 4, NULL},
    {"amoeba", "AmoebaNet-D, 3 cells", "cells:cells=3", "p100x4", 4, NULL},
    {"enas", "ENAS, 3 cells", "enas:layers=3", "p100x4", 4, NULL},
    {"rnnlm4", "RNNLM, 4 layers", "rnnlm:layers=4,steps=10", "p100x4", 4, NULL},
    {"nmt4", "NMT, 4 layers", "nmt:layers=4,steps=8", "p100x4", 4, NULL},
    {"resnet", "ResNet-50", "resnet:depth=50", "p100x4", 4, NULL},
    {"bert", "BERT, 4 layers", "bert:layers=4", "p100x4", 4, NULL},
};
const emp_ablation emp_arms_families = {
    .name = "families",
    .method = "anneal",
    ARMS(families),
    ROWS(family_rows),
    .rows = "transformer_xl,wavenet,amoeba,enas,rnnlm4,nmt4,resnet,bert",
    .seed_count = 5,
    .first_seed_count = 1,
    .budget = 2000,
    .first_budget = 300};
