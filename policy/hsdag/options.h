/** \file policy/hsdag/options.h
 * Every constant of HSDAG, by name; a text "lr=0.01,levels=3" changes single ones. README.md
 * says where each value comes from.
 */
#ifndef EMP_POLICY_HSDAG_OPTIONS_H
#define EMP_POLICY_HSDAG_OPTIONS_H

#include "base/text/options.h"
#include "policy/hsdag/inputs.h"
#include "policy/hsdag/parsing_net.h"
#include "policy/reinforce/learner.h"

#define EMP_HSDAG_UPDATE_WORDS "episode|step"
typedef enum {
    EMP_HSDAG_UPDATE_EPISODE, /**< one number for all steps of an episode */
    EMP_HSDAG_UPDATE_STEP     /**< each step its own advantage */
} emp_hsdag_update;

/** Meaning, range and presets of each: emp_hsdag_option_list. */
typedef struct {
    emp_learner_options   learner;
    int32_t               nodes, width, levels, groups_per_device;
    double                dropout, discount;
    emp_hsdag_inputs_form features;
    emp_hsdag_update      update;
    bool                  single;
} emp_hsdag_options;

extern const emp_option emp_hsdag_option_list[];
/** "paper": the released code, as far as it can be run. "emplace": with our update. */
#define EMP_HSDAG_PRESETS "paper|emplace"

/** Fills \a options from \a preset (NULL = "paper") and then from \a text (NULL = nothing
 * more). \retval EMP_EINVAL  Unknown preset or key, or a value out of range. */
emp_status emp_hsdag_options_parse(emp_hsdag_options *options, const char *preset,
                                   const char *text, emp_error *err);

#endif /* EMP_POLICY_HSDAG_OPTIONS_H */
