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

/* How GO knows the graph: by its neighbours, by attention over segments, by both or neither. */
static const emp_arm topology[] = {
    EMP_ARM("default", "3 graph layers", "samples=16"),
    EMP_ARM("graph", "1 graph layer", "samples=16,graph_layers=1"),
    EMP_ARM("graph", "no graph layer", "samples=16,graph_layers=0"),
    EMP_ARM("attention", "no other segment", "samples=16,memory=0"),
    EMP_ARM("neither", "nodes alone", "samples=16,graph_layers=0,memory=0,segment=1"),
};
const emp_ablation emp_arms_topology =
    NETWORK("topology", "go", "emplace", topology, 128);

static const emp_arm modulation[] = {
    EMP_ARM("default", "modulate=node", "samples=16"),
    EMP_ARM("modulation", "modulate=graph", "samples=16,modulate=graph"),
    EMP_ARM("modulation", "modulate=none", "samples=16,modulate=none"),
};
const emp_ablation emp_arms_modulation =
    NETWORK("modulation", "go", "emplace", modulation, 128);

static const emp_arm joint[] = {
    EMP_ARM("default", "GO, devices", "samples=16"),
    EMP_ARM("GO", "GO, and order", "samples=16",
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER),
    EMP_ARM("GO", "GO, order and fusion", "samples=16",
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_MORE),
    EMP_ARM("annealing", "annealing, devices", NULL, .method = "anneal"),
    EMP_ARM("annealing", "annealing, and order", NULL, .method = "anneal",
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER),
    EMP_ARM("annealing", "annealing, all", NULL, .method = "anneal",
            .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_MORE),
};
const emp_ablation emp_arms_joint = NETWORK("joint", "go", "emplace", joint, 128);

/* Ops of one group draw one device, and groups by names are the same in every layer. */
static const emp_arm symmetry[] = {
    EMP_ARM("default", "coupled draws", "samples=16"),
    EMP_ARM("draws", "independent draws", "samples=16,draws=independent"),
    EMP_ARM("nodes", "groups are nodes", "samples=16,nodes=groups"),
    EMP_ARM("layers", "planner, learned groups", NULL, .method = "hdp",
            .preset = "paper"),
    EMP_ARM("layers", "planner, layers by names", "grouping=names", .method = "hdp",
            .preset = "paper"),
};
const emp_ablation emp_arms_symmetry =
    NETWORK("symmetry", "go", "emplace", symmetry, 128);
