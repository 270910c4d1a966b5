// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* PATH_MAX, NAME_MAX */
#include "base/text/nearest.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/text.h"

enum { MOST_LETTERS = 63 };

static int lower(char letter) { return tolower((unsigned char)letter); }

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

int32_t emp_edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int32_t d[MOST_LETTERS + 1][MOST_LETTERS + 1];

    if (a_length > MOST_LETTERS || b_length > MOST_LETTERS) return INT32_MAX;
    for (size_t i = 0; i <= a_length; i++) d[i][0] = (int32_t)i;
    for (size_t j = 0; j <= b_length; j++) d[0][j] = (int32_t)j;
    for (size_t i = 1; i <= a_length; i++) {
        for (size_t j = 1; j <= b_length; j++) {
            int32_t change = lower(a[i - 1]) != lower(b[j - 1]);
            d[i][j] =
                least(d[i - 1][j - 1] + change, least(d[i - 1][j], d[i][j - 1]) + 1);
            bool is_exchange = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                               lower(a[i - 2]) == lower(b[j - 1]);
            if (is_exchange) d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a_length][b_length];
}

emp_nearest emp_nearest_begin(const char *word, size_t length, const char *prefix)
{
    return (emp_nearest){
        .word = word, .length = length, .prefix = prefix, .distance = INT32_MAX};
}

static bool begins_with(const char *name, size_t length, const char *word, size_t letters)
{
    if (letters < 3 || letters > length) return false;
    for (size_t i = 0; i < letters; i++)
        if (lower(name[i]) != lower(word[i])) return false;
    return true;
}

void emp_nearest_offer(emp_nearest *near, const char *name, size_t length)
{
    size_t  longer = length > near->length ? length : near->length;
    int32_t most = longer < 4 ? 1 : (int32_t)((longer + 2) / 4);
    int32_t distance = emp_edit_distance(near->word, near->length, name, length);

    if (distance >= (int32_t)longer) return; /* not one letter in common */
    if (begins_with(name, length, near->word, near->length))
        distance = least(distance, 1);
    if (distance > most || distance >= near->distance) return;
    near->name = name;
    near->name_length = length;
    near->distance = distance;
}

void emp_nearest_offer_list(emp_nearest *near, const char *list)
{
    static const char between[] = ", |";

    for (list += strspn(list, between); *list != '\0'; list += strspn(list, between)) {
        size_t length = strcspn(list, between);
        emp_nearest_offer(near, list, length);
        list += length;
    }
}

const char *emp_nearest_hint(const emp_nearest *near, char text[EMP_NEAREST_BYTES])
{
    text[0] = '\0';
    if (near->name != NULL)
        snprintf(text, EMP_NEAREST_BYTES, " (did you mean \"%s%.*s\"?)", near->prefix,
                 (int)near->name_length, near->name);
    return text;
}

/* How far a file is from what was meant. Where the endings are equal the rest decides: a.yaml is not near
 * b.yaml. */
static int32_t distance_of_file(const char *meant, const char *file)
{
    const char *ending = strrchr(meant, '.'), *other = strrchr(file, '.');
    size_t      meant_length = strlen(meant), length = strlen(file);

    if (ending != NULL && other != NULL && strcmp(ending, other) == 0) {
        meant_length -= strlen(ending);
        length -= strlen(ending);
    }
    emp_nearest near = emp_nearest_begin(meant, meant_length, "");
    emp_nearest_offer(&near, file, length);
    return near.distance;
}

const char *emp_nearest_file(const char *path, char text[EMP_NEAREST_BYTES])
{
    enum { SENTENCE = sizeof " (did you mean \"\"?)" };
    const char          *slash = strrchr(path, '/');
    const char          *meant = slash == NULL ? path : slash + 1;
    const size_t         length = (size_t)(meant - path);
    char                 folder[PATH_MAX] = ".", best[NAME_MAX + 1] = "";
    int32_t              least_distance = INT32_MAX;
    emp_text             hint = {text, EMP_NEAREST_BYTES, 0};
    const struct dirent *file;

    text[0] = '\0';
    if (access(path, F_OK) == 0) return text; /* it is there, and cannot be read */
    if (length > 0) snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    DIR *files = length < sizeof folder ? opendir(folder) : NULL;
    while (files != NULL && (file = readdir(files)) != NULL) {
        const int32_t distance = distance_of_file(meant, file->d_name);
        const bool    is_before = strcmp(file->d_name, best) < 0; /* of equals */
        if (file->d_name[0] == '.' || distance > least_distance) continue;
        if (!emp_text_is_utf8(file->d_name)) continue; /* sentences are UTF-8 */
        if (distance == least_distance && !is_before) continue;
        snprintf(best, sizeof best, "%s", file->d_name);
        least_distance = distance;
    }
    if (files != NULL) closedir(files);
    /* far ones are equals of the empty name, which is before all */
    if (least_distance == INT32_MAX) return text;
    const bool has_room = SENTENCE + length + strlen(best) <= EMP_NEAREST_BYTES;
    emp_text_add(&hint, " (did you mean \"%.*s%s\"?)", has_room ? (int)length : 0, path,
                 best);
    return text;
}
