// SPDX-License-Identifier: GPL-3.0-or-later
/* Output forms and their decision spaces: is every placement that a search may propose written, and does the program
 * that the file is for read the same devices from it? The readers below follow the published grammars: llama.cpp's
 * common/arg.cpp and src/llama-model.cpp, vLLM's get_pp_indices(), Megatron-LM's pipeline_parallel_layer_layout.py and
 * accelerate's device_map. */
#include <jansson.h>
#include <regex.h>

#include "base/mem.h"
#include "base/rng.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/options/placement_output.h"
#include "graphs/transformer/parts.h"
#include "sim/problem/placement.h"
#include "tests/cli/emplace.h"
#include "tests/graphs/import/models/configs.h"
#include "tests/graphs/import/models/gguf_writer.h"
#include "tests/test.h"

TestSuite(forms, .init = emplace_set_up, .fini = emplace_tear_down);

enum { WORDS_MAX = 4096, NOWHERE = -1, LAYERS_MAX = 256, DRAWS = 3, CPU = 0 };

typedef struct {
    char  text[1 << 18];
    char *word[WORDS_MAX];
    int   count;
} words;

static void read_script(words *w, const char *name)
{
    FILE *said = popen(
        scratch_print("sh '%s' sh -c 'echo \"PARTITION=$VLLM_PP_LAYER_PARTITION\"; echo "
                      "\"DEVICES=$CUDA_VISIBLE_DEVICES\"; printf \"%%s\\n\" \"$@\"' sh",
                      scratch_path(name)),
        "r");
    cr_assert_not_null(said);
    const size_t size = fread(w->text, 1, sizeof w->text - 1, said);
    cr_assert_eq(pclose(said), 0);
    w->text[size] = '\0';
    w->count = 0;
    for (char *at = strtok(w->text, "\n"); at != NULL; at = strtok(NULL, "\n"))
        w->word[w->count++] = at;
}

static const char *value_of(const words *w, const char *option)
{
    const size_t length = strlen(option);

    for (int i = 0; i < w->count; i++) {
        if (strcmp(w->word[i], option) == 0 && i + 1 < w->count) return w->word[i + 1];
        if (option[length - 1] == '=' && strncmp(w->word[i], option, length) == 0)
            return w->word[i] + length;
    }
    return NULL;
}

static int read_numbers(int *numbers, int max, const char *text)
{
    int   count = 0;
    char *end;

    cr_assert_not_null(text);
    for (const char *at = text;; at = end + 1) {
        cr_assert_lt(count, max);
        numbers[count++] = (int)strtol(at, &end, 10);
        cr_assert(end > at && (*end == ',' || *end == '\0'), "%s", text);
        if (*end == '\0') return count;
    }
}

typedef struct {
    cli_inputs     inputs;
    cli_form       form;
    char           spec[SCRATCH_PATH_BYTES + 64], file[SCRATCH_PATH_BYTES];
    emp_device_id *device_of_op;
    int            layer_count;
    int            extra_count; /* layers of the file that predict more tokens */
} stage;

static emp_device_id device_named(const emp_machine *m, const char *kind, int number)
{
    const char *name = scratch_print("%s:%d", kind, number);
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (strcmp(m->device[d].name, name) == 0) return d;
    cr_assert_fail("no device %s", name);
    return NOWHERE;
}

static const char *name_of(const stage *s, emp_device_id d)
{
    return d < 0 ? "no device" : s->inputs.machine->device[d].name;
}

/* Ops without a kernel for a GPU are on the CPU wherever the program has their layer. */
static bool is_free(const stage *s, emp_op_id op)
{
    const int32_t c = s->inputs.problem->class_of_op[op];

    return c < 0 || (s->inputs.problem->kinds_of_class[c] & EMP_KIND_GPU) == 0;
}

static void expect_device(const stage *s, emp_op_id op, emp_device_id read)
{
    cr_assert_eq(s->device_of_op[op], read, "%s on %s: %s is on %s, and the file says %s",
                 s->spec, s->inputs.machine->name, s->inputs.step->name[op],
                 name_of(s, s->device_of_op[op]), name_of(s, read));
}

typedef struct {
    regex_t       pattern;
    emp_device_id device;
} override;

typedef struct {
    int           gpu_count, layers, n_gpu_layers, override_count;
    emp_device_id gpu[EMP_MAX_DEVICES];
    float         split[EMP_MAX_DEVICES]; /* running sums over the sum */
    override      o[1024];
    int           server_count;
    emp_device_id server[EMP_MAX_DEVICES]; /* the CPU of its host */
} llama;

/* GPU number \a number of a host; NOWHERE: it has fewer. */
static emp_device_id gpu_of_host(const stage *s, emp_device_id cpu, int number)
{
    const emp_machine *m = s->inputs.machine;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU && m->device[d].host == cpu &&
            number-- == 0)
            return d;
    return NOWHERE;
}

/* RPC3 is a device of --device, counted over all servers as ggml_backend_rpc_add_server() does; RPC3[ADDRESS] is a
 * buffer of the server at the address, as ggml_backend_rpc_buffer_type() names them. */
static emp_device_id rpc_device(const llama *l, const stage *s, const char *name)
{
    int  number = atoi(name + 3), server = 0, length = 0;
    bool is_buffer = sscanf(name, "RPC%*d[HOST%d:50052]%n", &server, &length) == 1;

    if (is_buffer) {
        cr_assert_eq(length, (int)strlen(name), "%s", name);
        cr_assert_leq(server, l->server_count);
        return gpu_of_host(s, l->server[server - 1], number);
    }
    cr_assert_eq(strspn(name + 3, "0123456789"), strlen(name + 3), "%s", name);
    for (int i = 0; i < l->server_count; i++)
        for (int k = 0; gpu_of_host(s, l->server[i], k) != NOWHERE; k++)
            if (number-- == 0) return gpu_of_host(s, l->server[i], k);
    cr_assert_fail("no server has %s", name);
    return NOWHERE;
}

static emp_device_id llama_device(const llama *l, const stage *s, const char *name)
{
    if (strcmp(name, "CPU") == 0) return CPU;
    if (strncmp(name, "RPC", 3) == 0) return rpc_device(l, s, name);
    cr_assert_eq(strncmp(name, "CUDA", 4), 0, "%s", name);
    return gpu_of_host(s, CPU, atoi(name + 4));
}

/* The servers of --rpc in order, each with the CPU that a comment of the script names. */
static void read_servers(llama *l, const stage *s, const words *w, const char *file)
{
    const char *list = value_of(w, "--rpc");
    size_t      size;
    char       *text = scratch_bytes(file, &size), wanted[64], line[64];
    int         cpu;

    for (const char *at = list; at != NULL && *at != '\0'; at += *at == ',') {
        const int n = ++l->server_count;
        snprintf(wanted, sizeof wanted, "HOST%d:50052", n);
        cr_assert_eq(strncmp(at, wanted, strlen(wanted)), 0, "%s", list);
        at += strlen(wanted);
        snprintf(line, sizeof line, "# HOST%d is the host of cpu:", n);
        const char *said = strstr(text, line);
        cr_assert_not_null(said);
        cr_assert_eq(sscanf(said + strlen(line), "%d", &cpu), 1);
        l->server[n - 1] = device_named(s->inputs.machine, "cpu", cpu);
    }
}

static void add_override(llama *l, const char *pattern, emp_device_id device)
{
    cr_assert_lt(l->override_count, 1024);
    override *o = &l->o[l->override_count++];
    cr_assert_eq(regcomp(&o->pattern, pattern, REG_EXTENDED | REG_NOSUB), 0, "%s",
                 pattern);
    o->device = device;
}

/* --override-tensor PATTERN=TYPE,PATTERN=TYPE, and the patterns that --n-cpu-moe N stands for. */
static void read_overrides(llama *l, const stage *s, const words *w)
{
    char text[4096];
    int  options = 0;

    for (int i = 0; i + 1 < w->count; i++) {
        if (strcmp(w->word[i], "--n-cpu-moe") == 0) {
            for (int layer = 0; layer < atoi(w->word[i + 1]); layer++) {
                snprintf(text, sizeof text,
                         "blk\\.%d\\.ffn_(up|down|gate|gate_up)_(ch|)exps", layer);
                add_override(l, text, CPU);
            }
        }
        if (strcmp(w->word[i], "--override-tensor") != 0) continue;
        cr_assert_eq(++options, 1, "llama.cpp warns of a second one");
        for (char *at = w->word[i + 1], *end; at != NULL; at = end) {
            end = strchr(at, ',');
            if (end != NULL) *end++ = '\0';
            char *equals = strchr(at, '=');
            cr_assert_not_null(equals);
            *equals = '\0';
            add_override(l, at, llama_device(l, s, equals + 1));
        }
    }
}

static void read_llama(llama *l, const stage *s, const words *w, const char *file)
{
    char  text[1024];
    int   parts[EMP_MAX_DEVICES];
    float sum = 0.0f;

    *l = (llama){.layers = s->layer_count + s->extra_count};
    read_servers(l, s, w, file);
    l->n_gpu_layers = atoi(value_of(w, "-ngl"));
    snprintf(text, sizeof text, "%s", value_of(w, "--device"));
    if (strcmp(text, "none") != 0)
        for (char *at = strtok(text, ","); at != NULL; at = strtok(NULL, ","))
            l->gpu[l->gpu_count++] = llama_device(l, s, at);
    if (l->gpu_count > 1) {
        cr_assert_str_eq(value_of(w, "--split-mode"), "layer");
        cr_assert_eq(read_numbers(parts, EMP_MAX_DEVICES, value_of(w, "--tensor-split")),
                     l->gpu_count);
    }
    for (int i = 0; i < l->gpu_count; i++) {
        sum += l->gpu_count > 1 ? (float)parts[i] : 1.0f;
        l->split[i] = sum;
    }
    for (int i = 0; i < l->gpu_count; i++) l->split[i] /= sum;
    read_overrides(l, s, w);
}

/* get_layer_buft_list() of llama_model::load_tensors(). */
static emp_device_id llama_layer(const llama *l, int layer)
{
    const int all = l->layers + 1;
    const int first = all > l->n_gpu_layers ? all - l->n_gpu_layers : 0;
    const int on_gpus = l->gpu_count == 0       ? 0
                        : l->n_gpu_layers < all ? l->n_gpu_layers
                                                : all;

    if (layer < first || layer - first >= on_gpus) return CPU;
    for (int i = 0; i < l->gpu_count; i++)
        if (l->split[i] > (float)(layer - first) / (float)on_gpus) return l->gpu[i];
    cr_assert_fail("no device for layer %d", layer);
    return NOWHERE;
}

static emp_device_id llama_tensor(const llama *l, int layer, const char *name)
{
    for (int i = 0; i < l->override_count; i++)
        if (regexec(&l->o[i].pattern, name, 0, NULL, 0) == 0) return l->o[i].device;
    return llama_layer(l, layer);
}

/* An op with a matrix is where the matrix is, and what follows it in its block, too. */
static void check_llama(const stage *s, const char *file)
{
    static words     w;
    static llama     l;
    const emp_graph *g = s->inputs.step;
    char             matrix[EMP_PART_NAME_BYTES], name[EMP_PART_NAME_BYTES + 32];

    read_script(&w, file);
    read_llama(&l, s, &w, file);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_model_part part = emp_model_part_of(g->name[op]);
        const bool           is_between =
            strcmp(part.role, "act") == 0 || strcmp(part.role, "mul") == 0;
        if (is_free(s, op)) continue;
        if (part.kind == EMP_PART_HEAD)
            expect_device(s, op, llama_tensor(&l, l.layers, "output.weight"));
        if (part.kind == EMP_PART_EMBEDDING && part.role[0] == '\0' &&
            strcmp(g->name[op], "position_embd") == 0)
            expect_device(s, op, CPU);
        if (part.layer < 0) continue;
        snprintf(name, sizeof name, "blk.%d.attn_norm.weight", part.layer);
        if ((part.role[0] == '\0' || is_between) && !part.is_cache &&
            !emp_model_part_is_router(&part) && emp_model_part_gguf(matrix, &part))
            snprintf(name, sizeof name, "blk.%d.%s%s.weight", part.layer,
                     is_between ? "ffn_down" : matrix,
                     !is_between                        ? ""
                     : strstr(matrix, "_exps") != NULL  ? "_exps"
                     : strstr(matrix, "_shexp") != NULL ? "_shexp"
                                                        : "");
        expect_device(s, op, llama_tensor(&l, part.layer, name));
    }
    for (int i = 0; i < l.override_count; i++) regfree(&l.o[i].pattern);
}

typedef struct {
    emp_device_id layer[LAYERS_MAX], table, head;
} pipeline;

static void check_pipeline(const stage *s, const pipeline *l)
{
    const emp_graph *g = s->inputs.step;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_model_part part = emp_model_part_of(g->name[op]);
        if (is_free(s, op)) continue;
        if (part.layer >= 0) expect_device(s, op, l->layer[part.layer]);
        if (part.kind == EMP_PART_HEAD) expect_device(s, op, l->head);
        if (part.kind == EMP_PART_EMBEDDING && s->device_of_op[op] != l->head)
            expect_device(s, op, l->table); /* a tied table has a copy there */
    }
}

static int read_gpus(emp_device_id *gpu, const stage *s, const words *w)
{
    int       number[EMP_MAX_DEVICES];
    const int count = read_numbers(number, EMP_MAX_DEVICES, value_of(w, "DEVICES="));

    for (int i = 0; i < count; i++) {
        gpu[i] = device_named(s->inputs.machine, "gpu", number[i]);
        for (int k = 0; k < i; k++) cr_assert_neq(gpu[i], gpu[k]);
    }
    return count;
}

/* get_pp_indices(): as many numbers as stages, whose sum is the number of layers. */
static void check_vllm(const stage *s, const char *file)
{
    static words  w;
    pipeline      l;
    emp_device_id gpu[EMP_MAX_DEVICES];
    int           part[EMP_MAX_DEVICES], layer = 0;

    read_script(&w, file);
    const int stages = read_gpus(gpu, s, &w);
    cr_assert_eq(atoi(value_of(&w, "--pipeline-parallel-size")), stages);
    cr_assert_eq(atoi(value_of(&w, "--tensor-parallel-size")), 1);
    cr_assert_eq(read_numbers(part, EMP_MAX_DEVICES, value_of(&w, "PARTITION=")), stages);
    for (int i = 0; i < stages; i++)
        for (int k = 0; k < part[i]; k++) l.layer[layer++] = gpu[i];
    cr_assert_eq(layer, s->layer_count);
    l.table = gpu[0];
    l.head = gpu[stages - 1];
    check_pipeline(s, &l);
}

/* parse_str_to_list() and validate_layer_layout(): stages are split by "|", "x*n" is n times x; E first, L last, a t
 * for each layer. */
static void check_megatron(const stage *s, const char *file)
{
    static words  w;
    pipeline      l = {.table = NOWHERE, .head = NOWHERE};
    emp_device_id gpu[EMP_MAX_DEVICES];
    int           layer = 0, at = 0;

    read_script(&w, file);
    const int   stages = read_gpus(gpu, s, &w);
    const char *layout = value_of(&w, "--pipeline-model-parallel-layout");
    cr_assert_eq(atoi(value_of(&w, "--pipeline-model-parallel-size")), stages);
    cr_assert_eq(atoi(value_of(&w, "--num-layers")), s->layer_count);
    if (stages > 1) cr_assert_not_null(layout);
    if (layout == NULL) {
        for (int i = 0; i < s->layer_count; i++) l.layer[i] = gpu[0];
        l.table = l.head = gpu[0];
        check_pipeline(s, &l);
        return;
    }
    for (const char *c = layout; *c != '\0';) {
        const char kind = *c++;
        int        times = 1, length = 0;
        if (*c == '*') cr_assert_eq(sscanf(c, "*%d%n", &times, &length), 1);
        c += length;
        cr_assert_not_null(strchr("Et|L", kind), "%s", layout);
        cr_assert(kind == 't' || times == 1, "%s", layout);
        if (kind == '|') at++;
        cr_assert_lt(at, stages, "%s", layout);
        if (kind == 'E') {
            cr_assert_eq(c, layout + 1);
            l.table = gpu[at];
        }
        if (kind == 'L') {
            cr_assert_eq(*c, '\0', "%s", layout);
            l.head = gpu[at];
        }
        for (int i = 0; kind == 't' && i < times; i++) l.layer[layer++] = gpu[at];
    }
    cr_assert_eq(layer, s->layer_count, "%s", layout);
    cr_assert_eq(at, stages - 1, "%s", layout);
    cr_assert(l.table != NOWHERE && l.head != NOWHERE, "%s", layout);
    check_pipeline(s, &l);
}

/* The device of the longest path that begins the module's. */
static emp_device_id find_in_json(const stage *s, json_t *map, const char *path,
                                  size_t length)
{
    const char   *key;
    json_t       *value;
    size_t        best = 0;
    emp_device_id device = NOWHERE;

    json_object_foreach(map, key, value)
    {
        const size_t size = strlen(key);
        if (size > length || size < best || memcmp(key, path, size) != 0) continue;
        if (size < length && path[size] != '.') continue;
        best = size;
        if (json_is_integer(value))
            device =
                device_named(s->inputs.machine, "gpu", (int)json_integer_value(value));
        else
            cr_assert_str_eq(json_string_value(value), "cpu");
        if (json_is_string(value)) device = CPU;
    }
    return device;
}

static emp_device_id find_in_python(const stage *s, const cli_map_file *map,
                                    const char *path, size_t length)
{
    const int32_t entry = cli_map_file_find(map, path, length);

    if (entry < 0) return NOWHERE;
    if (map->entry[entry].gpu == CLI_MAP_CPU) return CPU;
    return device_named(s->inputs.machine, "gpu", map->entry[entry].gpu);
}

static void check_map(const stage *s, const char *file)
{
    const emp_graph *g = s->inputs.step;
    size_t           size;
    char            *text = scratch_bytes(file, &size);
    const bool       is_json = strstr(file, ".json") != NULL;
    cli_map_file     map = {0};
    json_t          *root = NULL;

    if (is_json)
        cr_assert_not_null(root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), "%s",
                           text);
    else
        ASSERT_OK(cli_map_file_parse(&map, text, size, file, &err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_model_part part = emp_model_part_of(g->name[op]);
        if (is_free(s, op) || part.kind == EMP_PART_OTHER) continue;
        const emp_device_id read =
            is_json ? find_in_json(s, root, g->name[op], part.path_length)
                    : find_in_python(s, &map, g->name[op], part.path_length);
        if (part.kind == EMP_PART_LAYER || read != NOWHERE) expect_device(s, op, read);
    }
    cli_map_file_clear(&map);
    json_decref(root);
}

typedef struct {
    const char *file;
    const char *options; /* of the spec */
    void (*check)(const stage *s, const char *file);
} form;

static const form forms[] = {
    {"p.sh", ",phase=decode,batch=1,seq=64", check_llama},
    {"q.sh", ",phase=prefill,batch=1,seq=64", check_llama},
    {"p.vllm.sh", ",phase=decode,batch=1,seq=64", check_vllm},
    {"p.megatron.sh", ",phase=train,batch=1,seq=32", check_megatron},
    {"p.py", ",phase=decode,batch=1,seq=64", check_map},
    {"q.py", ",phase=train,batch=1,seq=32", check_map},
    {"p.device_map.json", ",phase=prefill,batch=1,seq=64", check_map},
    {"m.sh", ",phase=prefill,batch=1,seq=64,ubatch=16", check_llama}};

static const char *const machines[] = {
    "rtx4090x2+rtx3060", "rtx3090x4", "dgx-h100", "k40x4", "k40x4x2", "dgx-h100x2"};

/* Dense and routed, tied and not, with latent attention, and one with norms in other places. */
static const char *const models[] = {"Qwen/Qwen3-0.6B", "Llama-2-7b",
                                     "openai/gpt-oss-20b", "Qwen/Qwen3-30B-A3B",
                                     "deepseek-ai/DeepSeek-V3"};

static void load_stage(stage *s, const form *f, const char *machine)
{
    snprintf(s->spec, sizeof s->spec, "hf:path=%s%s", s->file, f->options);
    s->form = cli_form_of(f->file, s->spec);
    ASSERT_OK(cli_placement_output_check(f->file, s->spec, &err));
    s->inputs = (cli_inputs){.form = s->form};
    ASSERT_OK(cli_inputs_load(&s->inputs, s->spec, machine, NULL, &err));
    const emp_graph *g = s->inputs.step;
    s->device_of_op = calloc((size_t)g->op_count, sizeof *s->device_of_op);
    s->layer_count = 0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const int layer = emp_model_part_of(g->name[op]).layer;
        if (layer >= s->layer_count) s->layer_count = layer + 1;
    }
    cr_assert_gt(s->layer_count, 1);
}

static void clear_stage(stage *s)
{
    free(s->device_of_op);
    cli_inputs_clear(&s->inputs);
}

/* One device; pieces that follow one another; pieces with other devices strewn in; every op by itself. */
static void draw(stage *s, emp_rng *rng, int kind)
{
    const int32_t ops = s->inputs.step->op_count;
    const int32_t devices = s->inputs.machine->device_count;
    const int32_t pieces = 1 + (int32_t)emp_rng_below(rng, 6);
    emp_device_id of_piece[6];

    for (int i = 0; i < 6; i++)
        of_piece[i] = (emp_device_id)emp_rng_below(rng, (uint32_t)devices);
    for (emp_op_id op = 0; op < ops; op++) {
        s->device_of_op[op] = of_piece[(int64_t)op * pieces / ops];
        if (kind == 2 || (kind == 1 && emp_rng_below(rng, 10) == 0))
            s->device_of_op[op] = (emp_device_id)emp_rng_below(rng, (uint32_t)devices);
    }
    emp_problem_legalize(s->inputs.problem, s->device_of_op);
}

static void expect_written(stage *s, const form *f)
{
    const emp_decision        d = {.device_of_op = s->device_of_op};
    const emp_named_placement p = emp_placement_name(s->inputs.problem, &d, 1.0);
    emp_device_id            *again;
    const size_t              bytes = (size_t)s->inputs.step->op_count * sizeof *again;
    emp_error                 why = {0};

    ASSERT_OK(cli_placement_output_check_ops(f->file, &p, s->spec, &err));
    cr_assert_eq(cli_placement_output_write(scratch_path(f->file), &p, s->spec,
                                            s->inputs.machine, &why),
                 EMP_OK, "%s on %s: %s", s->spec, s->inputs.machine->name, why.msg);
    f->check(s, f->file);
    again = malloc(bytes);
    memcpy(again, s->device_of_op, bytes);
    emp_problem_legalize(s->inputs.problem, again);
    cr_assert_eq(memcmp(again, s->device_of_op, bytes), 0, "it moves once more");
    free(again);
}

static void write_config(const char *name)
{
    scratch_write_json("config.json", published_model_named(name)->config);
}

/* The last two machines have two hosts, which only llama.cpp reaches. */
static void draw_and_write(stage *s, const form *f, emp_rng *rng, int *count)
{
    const size_t all = sizeof machines / sizeof *machines;

    for (size_t k = 0; k < (f->check == check_llama ? all : all - 2); k++) {
        load_stage(s, f, machines[k]);
        for (int i = 0; i < 2 * DRAWS; i++, ++*count) {
            draw(s, rng, i % DRAWS);
            expect_written(s, f);
        }
        clear_stage(s);
    }
}

static void expect_all_written(const form *f)
{
    static stage s;
    emp_rng      rng;
    int          count = 0;

    emp_rng_init(&rng, 11, 0, 0);
    snprintf(s.file, sizeof s.file, "%s", scratch_path("config.json"));
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        /* prompts of the last model, which has latent keys, are read whole */
        if (strstr(f->options, "ubatch=") != NULL &&
            strstr(models[m], "DeepSeek") != NULL)
            continue;
        write_config(models[m]);
        draw_and_write(&s, f, &rng, &count);
    }
    cr_expect_geq(count, strstr(f->options, "ubatch=") != NULL ? 80 : 100);
}

/* Each by itself, as together they would take longer than a test may. */
#define WRITTEN(name, number) \
    Test(forms, written_##name) { expect_all_written(&forms[number]); }
WRITTEN(llama_decodes, 0)
WRITTEN(llama_reads_prompts, 1)
WRITTEN(vllm, 2)
WRITTEN(megatron, 3)
WRITTEN(a_device_map, 4)
WRITTEN(a_device_map_of_training, 5)
WRITTEN(a_device_map_in_json, 6)
WRITTEN(llama_reads_prompts_in_micro_batches, 7)

/* A llama of four layers, whose head is the table of tokens unless it has its own; with a table of positions if it is
 * tied, and with layers behind that predict more tokens. */
static void write_gguf(const char *name, bool is_tied, int extra)
{
    enum { LAYERS = 4, HIDDEN = 256, F16 = 1 };
    static const struct {
        const char *name;
        uint64_t    columns, rows; /* rows 0: a norm */
    } tensor[] = {
        {"attn_norm.weight", HIDDEN, 0},         {"attn_q.weight", HIDDEN, HIDDEN},
        {"attn_k.weight", HIDDEN, HIDDEN},       {"attn_v.weight", HIDDEN, HIDDEN},
        {"attn_output.weight", HIDDEN, HIDDEN},  {"ffn_norm.weight", HIDDEN, 0},
        {"ffn_gate.weight", HIDDEN, 2 * HIDDEN}, {"ffn_up.weight", HIDDEN, 2 * HIDDEN},
        {"ffn_down.weight", 2 * HIDDEN, HIDDEN}};
    static gguf_writer w;

    memset(&w, 0, sizeof w);
    gguf_begin(&w, "llama");
    gguf_integer(&w, "block_count", (uint32_t)(LAYERS + extra));
    if (extra > 0) gguf_integer(&w, "nextn_predict_layers", (uint32_t)extra);
    gguf_integer(&w, "context_length", 4096);
    gguf_integer(&w, "embedding_length", HIDDEN);
    gguf_integer(&w, "feed_forward_length", 2 * HIDDEN);
    gguf_integer(&w, "attention.head_count", 4);
    gguf_integer(&w, "attention.head_count_kv", 4);
    gguf_tensor(&w, "token_embd.weight", F16, 16, HIDDEN, 1000, 0);
    if (is_tied) gguf_tensor(&w, "position_embd.weight", 0, 32, HIDDEN, 4096, 0);
    for (int i = 0; i < LAYERS + extra; i++)
        for (size_t k = 0; k < sizeof tensor / sizeof *tensor; k++)
            gguf_layer_tensor(&w, i, tensor[k].name, tensor[k].rows > 0 ? F16 : 0,
                              tensor[k].rows > 0 ? 16 : 32, tensor[k].columns,
                              tensor[k].rows, 0);
    gguf_tensor(&w, "output_norm.weight", 0, 32, HIDDEN, 0, 0);
    if (!is_tied) gguf_tensor(&w, "output.weight", F16, 16, HIDDEN, 1000, 0);
    gguf_finish(&w);
    scratch_write(name, w.bytes, w.size);
}

Test(forms, a_gguf_file_goes_to_llama_and_vllm)
{
    static stage s;
    emp_rng      rng;
    int          count = 0;

    emp_rng_init(&rng, 12, 0, 0);
    snprintf(s.file, sizeof s.file, "%s", scratch_path("m.gguf"));
    for (int i = 0; i < 4; i++) {
        s.extra_count = i;
        write_gguf("m.gguf", i % 2 == 1, i);
        draw_and_write(&s, &forms[2 * (i / 2)], &rng, &count);
    }
    cr_expect_eq(count, (2 * 4 + 2 * 6) * 2 * DRAWS);
}

Test(forms, what_no_placement_can_have_is_refused_before_the_search)
{
#define PHASE(phase) "place hf:path=config.json,phase=" phase ",batch=1,seq=16 "
    static const char *const wrong[][2] = {
        {PHASE("train") "-m k40x2 --out p.sh", "phase=decode"},
        {PHASE("train") "-m k40x2 --out p.vllm.sh", "vLLM"},
        {PHASE("decode") "-m k40x2 --out p.megatron.sh", "Megatron-LM|loss"},
        {PHASE("decode") "-m k40x4x2 --out p.vllm.sh", "vLLM|k40x4x2"},
        {PHASE("decode") "-m k40x2 --out p.sh -M anneal --decide devices,order",
         "p.sh|order"},
        {"place rnnlm:steps=2 -m k40x2 --out p.megatron.sh", "model.layers.0"},
        {"place rnnlm:steps=2 -m k40x2 --out p.device_map.json", "PyTorch"},
        {PHASE("decode") "-m k40x4x2 --out p.py", "one computer"},
        {"place onnx:path=m.onnx -m k40x2 --out p.py", "m.onnx"},
        {"place m.txt -m k40x2 --out p.py", "m.txt"}};

    write_config("Qwen/Qwen3-0.6B");
    emplace_write("m.txt",
                  "HloModule m\nENTRY e {\nROOT a = f32[2] constant({1, 2})\n}\n");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        emplace_refuses(wrong[i][0], wrong[i][1]);
}

Test(forms, survive_every_allocation_failure)
{
    static const int numbers[] = {0, 2, 3, 4};
    static stage     s;
    write_config("Qwen/Qwen3-0.6B");
    snprintf(s.file, sizeof s.file, "%s", scratch_path("config.json"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const form *f = &forms[numbers[i]];
        load_stage(&s, f, "rtx3090x4");
        const emp_decision        d = {.device_of_op = s.device_of_op};
        const emp_named_placement p = emp_placement_name(s.inputs.problem, &d, 1.0);
        for (emp_op_id op = 0; op < s.inputs.step->op_count; op++) s.device_of_op[op] = 1;
        emp_problem_legalize(s.inputs.problem, s.device_of_op);
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            cli_form_join(s.form, s.inputs.step, s.spec, NULL), (void)0);
        SURVIVES_EVERY_ALLOCATION_FAILURE(cli_form_bind(s.form, s.inputs.problem, NULL),
                                          (void)0);
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            cli_placement_output_write(scratch_path(f->file), &p, s.spec,
                                       s.inputs.machine, NULL),
            (void)0);
        clear_stage(&s);
    }
}

Test(forms, of_gpus_alone_need_one)
{
    static const char *const  name[] = {"model.layers.0.self_attn.key_cache"};
    const emp_named_placement p = {.origin = {.machine = "box"},
                                   .device_count = 1,
                                   .device_name = {"cpu:0"},
                                   .op_count = 1,
                                   .op_name = name};

    ASSERT_OK(cli_form_check(CLI_FORM_LLAMA, &p, "", &err));
    EXPECT_REFUSED(cli_form_check(CLI_FORM_VLLM, &p, "", &err), EMP_EINVAL,
                   "box has none");
}

/* A run that was searched without a form may have none. A form of a placement near by is found while the graph is
 * there. */
Test(forms, a_record_of_another_search_has_a_placement_near_by)
{
    write_config("Qwen/Qwen3-0.6B");
    emplace_ok("place hf:path=config.json,phase=decode,batch=1,seq=16 -m "
               "rtx4090x2+rtx3060 --method random --budget 1 --no-bound --record r.h5");
    emplace_warns("record r.h5 --out p.vllm.sh", "p.vllm.sh has a placement near");
    static words w;
    int          part[EMP_MAX_DEVICES], sum = 0;
    read_script(&w, "p.vllm.sh");
    const int stages = read_numbers(part, EMP_MAX_DEVICES, value_of(&w, "PARTITION="));
    for (int i = 0; i < stages; i++) sum += part[i];
    cr_expect_eq(sum, 28);
    remove(scratch_path("p.vllm.sh"));
    remove(scratch_path("config.json"));
    emplace_refuses("record r.h5 --out p.vllm.sh", "vLLM|layer 0|cannot be found");
}
