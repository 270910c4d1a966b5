// SPDX-License-Identifier: GPL-3.0-or-later
/* Learners with graph networks, one choice changed at a time. */
#include "bench/studies/definitions.h"

#define NETWORK(title, learner, set, list, evaluations)                       \
    {                                                                         \
        .name = title, .method = learner, .preset = set, .arm = list,         \
        .arm_count = sizeof list / sizeof *(list), .row = emp_study_task,     \
        .row_count = EMP_STUDY_TASKS, .rows = "rnnlm10,nmt2w8,resnet50",      \
        .seed_count = 5, .first_seed_count = 1, .budget = 10 * (evaluations), \
        .first_budget = evaluations                                           \
    }

/* What the network sees of a set of ops: times, bytes and memory, or types and shapes. */
static const emp_arm memory[] = {
    EMP_ARM("default", "costs", "features=costs"),
    EMP_ARM("features", "types and shapes", "features=paper"),
    EMP_ARM("features", "types alone", "features=code"),
};
const emp_ablation emp_arms_memory = NETWORK("memory", "hsdag", "emplace", memory, 200);

/* A network of GO that is small enough for studies; nodes are at most 512 sets of ops. */
#define SMALL "samples=16,width=64,hidden=128,heads=4,max_nodes=512"

/* How GO knows the graph: by its neighbours, by attention over segments, by both or neither. */
static const emp_arm topology[] = {
    EMP_ARM("default", "3 graph layers", SMALL),
    EMP_ARM("graph", "1 graph layer", SMALL ",graph_layers=1"),
    EMP_ARM("graph", "no graph layer", SMALL ",graph_layers=0"),
    EMP_ARM("attention", "no other segment", SMALL ",memory=0"),
    EMP_ARM("neither", "nodes alone", SMALL ",graph_layers=0,memory=0,segment=1"),
};
const emp_ablation emp_arms_topology =
    NETWORK("topology", "go", "emplace", topology, 128);

static const emp_arm modulation[] = {
    EMP_ARM("default", "modulate=node", SMALL),
    EMP_ARM("modulation", "modulate=graph", SMALL ",modulate=graph"),
    EMP_ARM("modulation", "modulate=none", SMALL ",modulate=none"),
};
const emp_ablation emp_arms_modulation =
    NETWORK("modulation", "go", "emplace", modulation, 128);

static const emp_arm joint[] = {
    EMP_ARM("default", "GO, devices", SMALL),
    EMP_ARM("GO", "GO, in 3 rounds", SMALL ",rounds=3"),
    EMP_ARM("GO", "GO, and order", SMALL,
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER),
    EMP_ARM("GO", "GO, order and fusion", SMALL,
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_MORE),
    EMP_ARM("annealing", "annealing, devices", NULL, .method = "anneal"),
    EMP_ARM("annealing", "annealing, and order", NULL, .method = "anneal",
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER),
    EMP_ARM("annealing", "annealing, all", NULL, .method = "anneal",
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_MORE),
};
const emp_ablation emp_arms_joint = NETWORK("joint", "go", "emplace", joint, 128);
