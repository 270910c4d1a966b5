// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/models.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/text.h"
#include "graphs/import/models/families.h"
#include "graphs/import/models/quantised.h"
#include "sim/machine/machine.h"

enum { PATH_BYTES = 1024 };

static bool is_json(const struct dirent *entry, size_t *length)
{
    *length = strlen(entry->d_name);
    if (*length < 6 || strcmp(entry->d_name + *length - 5, ".json") != 0) return false;
    *length -= 5;
    return true;
}

static void list_models(char *list, size_t size)
{
    emp_text       text = {list, size, 0};
    char           folder[PATH_BYTES];
    size_t         length;
    struct dirent *entry;

    list[0] = '\0';
    emp_data_folder(folder, sizeof folder, "models");
    DIR *dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (is_json(entry, &length))
            emp_text_add(&text, "%s%.*s", text.used > 0 ? ", " : "", (int)length,
                         entry->d_name);
    if (dir != NULL) closedir(dir);
}

bool emp_parallel_model_is(const char *name, size_t length)
{
    char path[PATH_BYTES];

    if (length == 0 || memchr(name, '/', length) != NULL) return false;
    emp_data_folder(path, sizeof path, "models/");
    const size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "%.*s.json", (int)length, name);
    return access(path, R_OK) == 0;
}

static emp_status find(char *path, const char *name, emp_error *err)
{
    char list[512];

    snprintf(path, PATH_BYTES, "%s", name);
    if (access(path, R_OK) == 0) return EMP_OK;
    if (strchr(name, '/') == NULL) {
        emp_data_folder(path, PATH_BYTES, "models/");
        const size_t used = strlen(path);
        snprintf(path + used, PATH_BYTES - used, "%s.json", name);
        if (access(path, R_OK) == 0) return EMP_OK;
    }
    list_models(list, sizeof list);
    return EMP_ERROR(EMP_EIO, "%.200s is no file and no known model; models: %s", name,
                     list);
}

void emp_model_files_clear(emp_model_files *files)
{
    emp_json_clear(&files->config);
    emp_json_clear(&files->quant);
}

emp_status emp_parallel_model_load(emp_transformer_model *model, emp_model_files *files,
                                   const char *name_or_path, int32_t layers,
                                   emp_error *err)
{
    emp_status      st = EMP_OK;
    char            path[PATH_BYTES], beside[PATH_BYTES];
    emp_model_files own = {.dtype = EMP_DTYPE_NONE}, *to = files != NULL ? files : &own;

    EMP_TRY(find(path, name_or_path, err));
    EMP_TRY(emp_json_load(&to->config, path, err));
    EMP_TRY(emp_config_read(model, &to->dtype, to->config.root, err));
    if (layers > model->layer_count)
        EMP_FAIL(EMP_EINVAL, "%d layers are wanted of %.200s, which has %d", layers,
                 name_or_path, model->layer_count);
    if (layers > 0) model->layer_count = layers;
    if (files != NULL)
        EMP_TRY(emp_quantised_load_beside(&files->quant, beside, sizeof beside, path,
                                          files->config.root, err));

cleanup:
    emp_model_files_clear(&own);
    return st;
}
