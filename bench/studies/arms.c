// SPDX-License-Identifier: GPL-3.0-or-later
/* The arms of all studies: methods with one choice changed at a time, and methods side by side. */
#include "bench/studies/study.h"

#include "bench/tables/paper.h"

const emp_task emp_study_task[EMP_STUDY_TASKS] = {
    {"rnnlm10", "RNNLM, 10 steps", "rnnlm:steps=10", "k40x2", 2, NULL},
    {"nmt2w8", "NMT, 2 layers, 8 words", "nmt:layers=2,steps=8", "k40x2", 2, NULL},
    {"resnet50", "ResNet-50", "resnet:depth=50", "k40x2", 2, NULL},
};

#define COUNT(list) ((int32_t)(sizeof list / sizeof *(list)))

/* A first study has one seed. */
#define STUDY(...) STUDY_OF(__VA_ARGS__) /* after the macros of tasks are expanded */
#define STUDY_OF(id, title, learner, set, arms, tasks, keys, seeds, most, first, what) \
    const emp_ablation id = {.name = title,                                            \
                             .method = learner,                                        \
                             .preset = set,                                            \
                             .arm = arms,                                              \
                             .arm_count = COUNT(arms),                                 \
                             .row = tasks,                                             \
                             .row_count = COUNT(tasks),                                \
                             .rows = keys,                                             \
                             .seed_count = seeds,                                      \
                             .first_seed_count = 1,                                    \
                             .budget = most,                                           \
                             .first_budget = first,                                    \
                             .shows = what}
#define SMALL_TASKS emp_study_task, "rnnlm10,nmt2w8,resnet50", 5
#define PAPER_TASKS emp_paper_task

/* An arm that is a method with its own name and defaults. */
#define METHOD(kind, name) EMP_ARM(kind, name, NULL, .method = name)

/* ---- emplace ablate ---- */

/* The planner of the paper, one choice about its groups changed at a time. Its own choices
 * are ColocRL's groups, joined to 256, in the order of positions and rewards -sqrt(t). */
static const emp_arm grouping[] = {
    EMP_ARM("default", "default", NULL),

    EMP_ARM("grouping", "grouping=learned", "grouping=learned"),
    EMP_ARM("grouping", "grouping=none", "grouping=none"),
    EMP_ARM("grouping", "grouping=random", "grouping=random"),
    EMP_ARM("grouping", "grouping=chunks", "grouping=chunks"),
    EMP_ARM("grouping", "grouping=metis", "grouping=metis"),
    EMP_ARM("grouping", "grouping=scotch", "grouping=scotch"),
    EMP_ARM("grouping", "grouping=names", "grouping=names"),

    EMP_ARM("groups", "groups=0", "groups=0"),
    EMP_ARM("groups", "groups=16", "groups=16"),
    EMP_ARM("groups", "groups=32", "groups=32"),
    EMP_ARM("groups", "groups=64", "groups=64"),
    EMP_ARM("groups", "groups=128", "groups=128"),
    EMP_ARM("groups", "groups=512", "groups=512"),

    EMP_ARM("order", "order=number", "order=number"),
    EMP_ARM("order", "order=random", "order=random"),
    EMP_ARM("order", "order=reverse", "order=reverse"),

    /* Without positions groups cannot start as ranges of them: ranges=0 is what window=0
     * is to be compared with. */
    EMP_ARM("window", "window=0", "grouping=learned,window=0,ranges=0"),
    EMP_ARM("window", "ranges=0", "grouping=learned,ranges=0"),
    EMP_ARM("window", "window=3", "grouping=learned,window=3"),
    EMP_ARM("window", "window=12", "grouping=learned,window=12"),
    EMP_ARM("window", "window=16", "grouping=learned,window=16"),

    EMP_ARM("reward", "reward=identity", "reward=identity"),
    EMP_ARM("reward", "reward=log", "reward=log"),

    EMP_ARM("objective", "objective=balance", "objective=balance"),
};
STUDY(emp_ablation_grouping, "grouping", "hdp", "paper", grouping, PAPER_TASKS,
      "inception_v3,nmt2", 3, 2000, 160, 0);

/* The planner as we read the paper, with each of our choices undone, and with all of them undone,
 * which is the preset "literal". Then literal with one of our choices back. */
#define BACK(name, options) EMP_ARM("back", name, options, .preset = "literal")

static const emp_arm hdp[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("literal", "literal", NULL, .preset = "literal"),

    EMP_ARM("undone", "learned groups", "grouping=learned"),
    EMP_ARM("undone", "rate 0.1, epsilon 1e-8", "lr=0.1,epsilon=1e-8,epsilon_hat=1"),
    EMP_ARM("undone", "no elites", "elites=0"),
    EMP_ARM("undone", "no heat", "heat=0"),
    EMP_ARM("undone", "no stretches", "stretches=0"),
    EMP_ARM("undone", "no cap", "cap=0"),
    EMP_ARM("undone", "failures dropped", "failures_share=0"),
    EMP_ARM("undone", "not aligned", "aligned=0"),
    EMP_ARM("undone", "no costs", "costs=0"),
    EMP_ARM("undone", "not standardized", "standardize=0"),
    EMP_ARM("undone", "no bound", "gradient_bound=0"),
    EMP_ARM("undone", "independent draws", "run_shortest=0,run_longest=0"),
    EMP_ARM("undone", "released baseline", "baseline_first=0,baseline_failures=1"),
    EMP_ARM("undone", "Gaussian noise", "noise_form=gaussian"),
    EMP_ARM("undone", "order by number", "order=number"),
    EMP_ARM("undone", "empty groups too", "empty_groups=1"),
    EMP_ARM("undone", "absent -1", "absent=-1"),

    BACK("literal but epsilon 5", "epsilon=5,epsilon_hat=0"),
    BACK("literal but runs", "run_shortest=0.03,run_longest=1"),
    BACK("literal but ranges", "ranges=1"),
    BACK("literal but baseline", "baseline_first=1,baseline_failures=0"),
    BACK("literal but Gumbel", "noise_form=gumbel"),
    BACK("literal but position", "order=position"),
    BACK("literal but used", "empty_groups=0"),
    BACK("literal but own", "absent=own"),

    EMP_ARM("defect", "literal redrawn", "redraw=1", .preset = "literal"),
};
STUDY(emp_ablation_hdp, "hdp", "hdp", "paper", hdp, PAPER_TASKS, "nmt2", 5, 2000, 160, 0);

/* Refining, one choice changed at a time. */
static const emp_arm refine[] = {
    EMP_ARM("default", "default", NULL),

    EMP_ARM("stages", "starts=1", "starts=1"),
    EMP_ARM("stages", "starts=5", "starts=5,start_samples=400"),

    EMP_ARM("grouping", "groups=metis", "groups=metis"),
    EMP_ARM("grouping", "groups=names", "groups=names"),
    EMP_ARM("grouping", "large groups only", "finest=12"),
    EMP_ARM("grouping", "small groups only", "coarsest=768"),
    EMP_ARM("grouping", "cuts=1", "cuts=1"),
    EMP_ARM("grouping", "cuts=4", "cuts=4"),

    EMP_ARM("guiding", "no blame", "alike=1"),
    EMP_ARM("guiding", "no surrogate", "chosen=0"),
    EMP_ARM("guiding", "neither", "alike=1,chosen=0"),
    EMP_ARM("guiding", "surrogate chooses all", "chosen=1"),
    EMP_ARM("guiding", "filter=16", "filter=16"),
    EMP_ARM("guiding", "filter=256", "filter=256"),
};
STUDY(emp_ablation_refine, "refine", "refine", NULL, refine, PAPER_TASKS,
      "inception_v3,rnnlm,nmt2,nmt4", 5, 4000, 400, 0);

/* ---- groups ---- */

/* ColocRL's rules, one of them off at a time, and cuts in their place. */
static const emp_arm colocation[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("rules", "gradients apart", "gradients=0"),
    EMP_ARM("rules", "readers apart", "readers=0"),
    EMP_ARM("rules", "layers apart", "layers=0"),
    EMP_ARM("groups", "groups=metis", "groups=metis"),
    EMP_ARM("groups", "groups=names", "groups=names"),
};
STUDY(emp_arms_colocation, "colocation", "colocrl", NULL, colocation, SMALL_TASKS, 2000,
      100, 0);

/* ---- the planner hdp; emplace ablate grouping has what concerns its groups ---- */

/* The same groups for an LSTM that reads them in some order, and for attention, which has none. */
static const emp_arm forgetting[] = {
    EMP_ARM("default", "LSTM", "grouping=scotch,groups=48"),
    EMP_ARM("order", "LSTM, last first", "grouping=scotch,groups=48,order=reverse"),
    EMP_ARM("order", "LSTM, any order", "grouping=scotch,groups=48,order=random"),
    EMP_ARM("network", "attention", "nodes=groups,groups=48,samples=8", .method = "go",
            .preset = "emplace"),
};
STUDY(emp_arms_forgetting, "forgetting", "hdp", "paper", forgetting, SMALL_TASKS, 2000,
      160, 0);

static const emp_arm constants[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("rate", "lr=0.01", "lr=0.01"),
    EMP_ARM("rate", "lr=0.03", "lr=0.03"),
    EMP_ARM("rate", "lr=0.3", "lr=0.3"),
    EMP_ARM("temperature", "temperature=1", "temperature=1"),
    EMP_ARM("temperature", "temperature=3", "temperature=3"),
    EMP_ARM("constant", "tanh_constant=2", "tanh_constant=2"),
    EMP_ARM("constant", "tanh_constant=10", "tanh_constant=10"),
};
STUDY(emp_arms_constants, "constants", "hdp", "paper", constants, SMALL_TASKS, 2000, 160,
      0);

/* ---- learners with graph networks ---- */

/* The network's features of a set of ops: times, bytes and memory, or types and shapes. */
static const emp_arm memory[] = {
    EMP_ARM("default", "costs", "features=costs"),
    EMP_ARM("features", "types and shapes", "features=paper"),
    EMP_ARM("features", "types alone", "features=code"),
};
STUDY(emp_arms_memory, "memory", "hsdag", "emplace", memory, SMALL_TASKS, 2000, 200, 0);

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
STUDY(emp_arms_topology, "topology", "go", "emplace", topology, SMALL_TASKS, 1280, 128,
      0);

static const emp_arm modulation[] = {
    EMP_ARM("default", "modulate=node", SMALL),
    EMP_ARM("modulation", "modulate=graph", SMALL ",modulate=graph"),
    EMP_ARM("modulation", "modulate=none", SMALL ",modulate=none"),
};
STUDY(emp_arms_modulation, "modulation", "go", "emplace", modulation, SMALL_TASKS, 1280,
      128, 0);

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
STUDY(emp_arms_joint, "joint", "go", "emplace", joint, SMALL_TASKS, 1280, 128, 0);

/* ---- methods side by side ---- */

/* The cost of a search. */
static const emp_arm energy[] = {
    EMP_ARM("default", "expert", NULL),
    METHOD("once", "mincut"),
    METHOD("once", "metis"),
    METHOD("search", "anneal"),
    METHOD("search", "refine"),
    METHOD("learner", "hdp"),
};
STUDY(emp_arms_energy, "energy", "expert", NULL, energy, PAPER_TASKS,
      "inception_v3,rnnlm,nmt2,nmt4,nmt8", 5, 2000, 200, EMP_SHOWS_COST);

static const emp_arm seconds[] = {
    EMP_ARM("default", "anneal", NULL), METHOD("search", "refine"),
    METHOD("search", "mcmc"),           METHOD("search", "random"),
    METHOD("learner", "hdp"),           METHOD("learner", "colocrl"),
};
STUDY(emp_arms_seconds, "seconds", "anneal", NULL, seconds, SMALL_TASKS, 2000, 200,
      EMP_SHOWS_QUALITY);

static const emp_arm earlier[] = {
    EMP_ARM("default", "hdp", NULL),
    METHOD("learner", "colocrl"),
    METHOD("search", "random"),
    METHOD("search", "anneal"),
};
STUDY(emp_arms_earlier, "earlier", "hdp", "paper", earlier, SMALL_TASKS, 2000, 200, 0);

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
STUDY(emp_arms_successors, "successors", "hdp", "paper", successors, SMALL_TASKS, 2000,
      128, 0);

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
STUDY(emp_arms_machines, "machines", "expert", NULL, machines, machine_rows,
      "k40,k80,p100,a100,hosts,unlike", 5, 2000, 400, EMP_SHOWS_BALANCE);

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
STUDY(emp_arms_families, "families", "anneal", NULL, families, family_rows,
      "transformer_xl,wavenet,amoeba,enas,rnnlm4,nmt4,resnet,bert", 5, 2000, 300, 0);
