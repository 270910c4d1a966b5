// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/options.h"

const emp_option emp_hsdag_option_list[] = {
    EMP_WORD_OPTION(
        "features", emp_hsdag_options, features, EMP_HSDAG_INPUT_WORDS,
        "what is seen of a set of ops: what the paper lists; type and number, as "
        "the released code; or its costs, which alone make weights that fit other graphs",
        EMP_HSDAG_INPUTS_PAPER, EMP_HSDAG_INPUTS_COSTS),
    EMP_INTEGER_OPTION(
        "nodes", emp_hsdag_options, nodes, 0, 1000000,
        "that ops are merged into at most, before what the paper merges; 0: "
        "as many as there are classes that may move",
        0, 1000),
    EMP_INTEGER_OPTION("width", emp_hsdag_options, width, 1, 1024, "units of each layer",
                       128),
    EMP_INTEGER_OPTION("levels", emp_hsdag_options, levels, 0, EMP_HSDAG_MAX_LEVELS,
                       "of pooling at most; 0: until nothing merges, as released", 2),
    EMP_INTEGER_OPTION("groups_per_device", emp_hsdag_options, groups_per_device, 0, 4096,
                       "groups that pooling leaves, over devices; 0: any number, as "
                       "released",
                       4),
    EMP_REAL_OPTION("dropout", emp_hsdag_options, dropout, 0, 0.9,
                    "probability that a unit is left out, also when placements are drawn",
                    0.2, 0),
    EMP_WORD_OPTION(
        "update", emp_hsdag_options, update, EMP_HSDAG_UPDATE_WORDS,
        "episode: all steps weigh the discounted sum of 1 / seconds; step: each "
        "its own advantage, of -sqrt(seconds), over a moving average",
        EMP_HSDAG_UPDATE_EPISODE, EMP_HSDAG_UPDATE_STEP),
    EMP_REAL_OPTION("discount", emp_hsdag_options, discount, 0, 1,
                    "of update=episode: weight of a step over that of the step after it",
                    0.95),
    EMP_BOOL_OPTION(
        "single", emp_hsdag_options, single,
        "1: all on one device is a placement, 0: it is a failure, as released", 0, 1),
    EMP_INTEGER_OPTION("samples", emp_hsdag_options, learner.samples, 1, EMP_MAX_BATCH,
                       "steps of an episode, each a placement", 20),
    EMP_REAL_OPTION("lr", emp_hsdag_options, learner.adam.learning_rate, 0, 10,
                    "learning rate of Adam", 1e-3),
    EMP_REAL_OPTION("epsilon", emp_hsdag_options, learner.adam.epsilon, 1e-30, 1e6,
                    "Adam's epsilon", 1e-8),
    EMP_REAL_OPTION("clip", emp_hsdag_options, learner.clip, 1e-6, 1e9,
                    "largest norm of the gradient", 1e9, 1),
    EMP_REAL_OPTION(
        "failure", emp_hsdag_options, learner.rules.failure, 0, 1e6,
        "of update=step: a failure counts as a step of failure^2 times all ops "
        "one after another",
        10),
    EMP_REAL_OPTION("baseline_decay", emp_hsdag_options, learner.rules.baseline_decay, 0,
                    1, "of update=step: of the moving average of rewards", 0.9),
    EMP_REAL_OPTION("entropy", emp_hsdag_options, learner.entropy, 0, 1e6,
                    "weight of the devices' entropy in the objective", 0),
    EMP_NO_OPTION};

emp_status emp_hsdag_options_parse(emp_hsdag_options *options, const char *preset,
                                   const char *text, emp_error *err)
{
    static const emp_option_table table = {"hsdag", EMP_HSDAG_PRESETS,
                                           emp_hsdag_option_list};
    emp_learner_options          *learner = &options->learner;

    *options = (emp_hsdag_options){0};
    EMP_CHECK(emp_options_parse(options, &table, preset, text, err));
    learner->adam.beta1 = 0.9;
    learner->adam.beta2 = 0.999;
    learner->rules.form = EMP_REWARD_SQRT;
    learner->rules.baseline_first = true;
    learner->rules.updates_failures = INT32_MAX;
    return EMP_OK;
}
