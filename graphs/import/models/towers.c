// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/towers.h"

#include <string.h>

#include "base/text/units.h"
#include "graphs/import/models/fields.h"

static const struct {
    const char *key, *name;
} towers[] = {
    {"vision_config", "vision tower"}, {"vit_config", "vision tower"},
    {"audio_config", "audio tower"},   {"speech_config", "audio tower"},
    {"encoder_config", "encoder"},
};

/* Larger sizes are no tower's. */
enum { SIZE_MAX_OF_TOWER = 1 << 20 };

/* The first of these members that is a size; \a missing where there is none. */
static double size_of(const emp_fields *f, const char *names, double missing)
{
    const emp_json *value = emp_fields_find(f, names);
    const double    size = emp_json_number(value);

    return size > 0 && size <= SIZE_MAX_OF_TOWER ? size : missing;
}

static bool is_gated(const emp_fields *f)
{
    const char *name = emp_json_string(emp_fields_find(f, "hidden_act"));

    return name != NULL && (strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0);
}

/* Estimates the parameters of a transformer's encoder from its sizes: four square matrices and two
 * or three of the inner size a layer, and the matrix that takes a patch. Biases, norms, positions and
 * the projector are left out. 0: the config does not have the sizes. */
static double parameters_of(const emp_json *tower)
{
    const emp_fields f = {.object = tower, .family = "tower"};
    const double     layers = size_of(&f,
                                      "num_hidden_layers|depth|vt_num_hidden_layers|"
                                          "encoder_layers|num_layers|n_layers",
                                      0);
    const double     hidden =
        size_of(&f, "embed_dim|hidden_size|vt_hidden_size|d_model|hidden_dim", 0);
    const double ratio = size_of(&f, "mlp_ratio|feedforward_mult", 4);
    const double inner =
        size_of(&f, "intermediate_size|vt_intermediate_size|encoder_ffn_dim|ffn_dim",
                ratio * hidden);
    const double side = size_of(&f, "patch_size|spatial_patch_size", 0);
    const double depth = size_of(&f, "temporal_patch_size", 1);
    const double channels = size_of(&f, "num_channels|in_channels|in_chans", 3);

    return layers * hidden * (4 * hidden + (is_gated(&f) ? 3 : 2) * inner) +
           hidden * channels * depth * side * side * (layers > 0);
}

void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype)
{
    char count[32], size[32];

    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++) {
        const emp_json *tower = emp_json_get(config, towers[i].key);
        if (emp_json_count(tower) == 0) continue;
        const double parameters = parameters_of(tower);
        if (parameters <= 0) {
            emp_import_notes_warn(notes,
                                  "the %s (\"%s\") is left out; its config does not say "
                                  "how large it is",
                                  towers[i].name, towers[i].key);
            continue;
        }
        emp_units_format_si(parameters, "", count, sizeof count);
        emp_units_format_bytes((int64_t)(parameters * emp_dtype_bytes(dtype)), size,
                               sizeof size);
        emp_import_notes_warn(
            notes, "the %s (\"%s\") is left out: about %s parameters, %s in %s",
            towers[i].name, towers[i].key, count, size, emp_dtype_name(dtype));
    }
}
