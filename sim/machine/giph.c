// SPDX-License-Identifier: GPL-3.0-or-later
/* The random device networks of GiPH, as env/utils.py of its repository draws them. Delays and
 * rates of both directions of a pair are one, so a pair has one link. */
#include "sim/machine/machine_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/random.h"
#include "base/text/options.h"
#include "sim/machine/machine.h"

static const char prefix[] = "giph";

typedef struct {
    int32_t devices, seed;
    double  speed, bandwidth, delay, b_speed, b_bandwidth;
} settings;

enum { MAX_DEVICES = 23 }; /* have no more pairs than a machine has links */

static const emp_option list[] = {
    EMP_INTEGER_OPTION("devices", settings, devices, 2, MAX_DEVICES,
                       "of them one is a CPU", 20),
    EMP_REAL_OPTION("speed", settings, speed, 0.001, 1000, "mean of the devices", 5),
    EMP_REAL_OPTION("bandwidth", settings, bandwidth, 0.001, 100000,
                    "of a pair, MB per ms", 100),
    EMP_REAL_OPTION("delay", settings, delay, 0, 1000, "mean of a message, ms", 10),
    EMP_REAL_OPTION("b_speed", settings, b_speed, 0, 1.9,
                    "width of the speeds over their mean", 0.8),
    EMP_REAL_OPTION("b_bandwidth", settings, b_bandwidth, 0, 1.9,
                    "width of the times of a byte over their mean", 0.8),
    EMP_INTEGER_OPTION("seed", settings, seed, 0, 2147483647, "of the random numbers", 0),
    EMP_NO_OPTION};

static const emp_option_table table = {prefix, NULL, list};

bool emp_giph_machine_is(const char *spec)
{
    size_t length = strlen(prefix);

    return strncmp(spec, prefix, length) == 0 &&
           (spec[length] == '\0' || spec[length] == ':');
}

/* A pair's value is the one below the diagonal of a full matrix. */
static void draw_matrix(double value[MAX_DEVICES][MAX_DEVICES], emp_mt19937 *mt,
                        int32_t count, double low, double high)
{
    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < count; j++)
            value[i][j] = emp_mt19937_between(mt, low, high);
    }
}

static void add_link(emp_machine *m, int32_t a, int32_t b, double delay_ms,
                     double ns_per_byte)
{
    int32_t number = m->link_count++;

    m->link[number] =
        (emp_link){.bytes_per_s = 1e9 / ns_per_byte, .latency_s = delay_ms * 1e-3};
    snprintf(m->link[number].name, sizeof m->link[number].name, "%d-%d", a, b);
    m->route[a][b] = m->route[b][a] = (emp_route){.link_count = 1, .link = {number}};
}

static void connect(emp_machine *m, emp_mt19937 *mt, const settings *s)
{
    double delay[MAX_DEVICES][MAX_DEVICES], rate[MAX_DEVICES][MAX_DEVICES];
    double mean = 1 / s->bandwidth;

    draw_matrix(delay, mt, s->devices, 0.0, 2 * s->delay);
    draw_matrix(rate, mt, s->devices, mean * (1 - s->b_bandwidth / 2),
                mean * (1 + s->b_bandwidth / 2));
    m->link_count = 0;
    for (int32_t a = 0; a < s->devices; a++) {
        for (int32_t b = a + 1; b < s->devices; b++)
            add_link(m, a, b, delay[b][a], rate[b][a]);
    }
    emp_machine_time_routes(m);
}

static uint64_t hash_number(uint64_t hash, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return emp_hash_u64(hash, bits);
}

static uint64_t hash_machine(const emp_machine *m)
{
    uint64_t hash = m->hash;

    for (int32_t d = 0; d < m->device_count; d++)
        hash = hash_number(hash, m->device[d].time_factor);
    for (int32_t i = 0; i < m->link_count; i++) {
        hash = hash_number(hash, m->link[i].bytes_per_s);
        hash = hash_number(hash, m->link[i].latency_s);
    }
    return hash;
}

emp_status emp_giph_machine_create(emp_machine **out, const char *spec, emp_error *err)
{
    const char  *text = spec + strlen(prefix);
    settings     s;
    emp_mt19937  mt;
    emp_machine *m;

    *out = NULL;
    EMP_CHECK(emp_options_parse(&s, &table, NULL, *text == ':' ? text + 1 : text, err));
    EMP_CHECK(emp_machine_create(&m, spec, 1, s.devices - 1, INT64_C(1) << 40, err));
    snprintf(m->description, sizeof m->description,
             "a network of %d unlike devices, drawn as GiPH does", s.devices);
    emp_mt19937_seed_numpy(&mt, (uint32_t)s.seed);
    connect(m, &mt, &s);
    for (int32_t d = 0; d < s.devices; d++) {
        double speed = emp_mt19937_between(&mt, s.speed * (1 - s.b_speed / 2),
                                           s.speed * (1 + s.b_speed / 2));
        m->device[d].time_factor = 1 / speed;
    }
    m->hash = hash_machine(m);
    *out = m;
    return EMP_OK;
}
