// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace cost gemm|attention|comm: what a device model says of kernels, one a line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/csv.h"
#include "cli/cli.h"
#include "sim/cost/kernel.h"
#include "sim/machine/model.h"

enum { SIZES = 4 };

struct args {
    const char *model, *dtype, *file;
};

static const struct argp_option options[] = {
    {"model", CLI_TEXT(struct args, model), "NAME|FILE", 0,
     "Device model, such as h100-sxm (models/NAME.yaml)", 0},
    {"dtype", CLI_TEXT(struct args, dtype), "FORMAT", 0,
     "fp32, tf32, bf16, fp16, fp8, int8, fp4 or fp64, where no column dtype says it "
     "(default "
     "bf16)",
     0},
    {0},
};

/* The columns of an input; -1: it has none of that name. */
struct columns {
    int32_t dtype, op, us, size[SIZES];
    bool    is_decode; /* attention: the length is the cache's */
};

struct input {
    const char             *path;
    const emp_device_model *model;
    emp_csv                 csv;
    struct columns          column;
    emp_format              format; /* of rows without one */
};

/* Seconds of a row's kernel. */
typedef emp_status kernel_fn(double *seconds, emp_form *form, const struct input *in,
                             int32_t row, emp_format format, emp_error *err);
/* Finds the columns that a kind of kernel needs. */
typedef emp_status columns_fn(struct input *in, emp_error *err);

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (a->file != NULL) cli_usage_error("unexpected \"%s\"", arg);
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->model == NULL) cli_usage_error("--model is missing; e.g. h100-sxm");
        return 0;
    default: return cli_store(key, arg, a);
    }
}

static int32_t column_of(const emp_csv *csv, const char *name)
{
    int32_t column;

    return emp_csv_find(&column, csv, name, NULL) == EMP_OK ? column : -1;
}

static emp_status find_sizes(struct input *in, const char *const *name, int32_t count,
                             emp_error *err)
{
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(emp_csv_find(&in->column.size[i], &in->csv, name[i], err));
    return EMP_OK;
}

static emp_status read_sizes(double *size, const struct input *in, int32_t row,
                             int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t column = in->column.size[i];
        EMP_CHECK(emp_csv_real(&size[i], &in->csv, row, column, err));
        if (size[i] >= 1.0 && size[i] < 1e15) continue;
        return EMP_ERROR(EMP_EFORMAT, "%s, row %d: \"%.40s\" is no size of 1 or more",
                         in->path, row + 1, emp_csv_text(&in->csv, row, column));
    }
    return EMP_OK;
}

static emp_status find_gemm(struct input *in, emp_error *err)
{
    return find_sizes(in, (const char *const[]){"m", "n", "k"}, 3, err);
}

static emp_status time_gemm(double *seconds, emp_form *form, const struct input *in,
                            int32_t row, emp_format format, emp_error *err)
{
    double size[3];

    EMP_CHECK(read_sizes(size, in, row, 3, err));
    return emp_product_time(seconds, form, &in->model->device,
                            &(emp_product){format, size[0], size[1], size[2], 1.0}, err);
}

static emp_status find_attention(struct input *in, emp_error *err)
{
    int32_t seq = column_of(&in->csv, "seq"), cached = column_of(&in->csv, "cached");

    if ((seq < 0) == (cached < 0))
        return EMP_ERROR(
            EMP_EFORMAT,
            "%s needs one of the columns seq (new tokens, causal) and cached "
            "(one new token beside so many)",
            in->path);
    in->column.is_decode = cached >= 0;
    return find_sizes(in,
                      (const char *const[]){in->column.is_decode ? "cached" : "seq",
                                            "batch", "heads", "kv_heads"},
                      SIZES, err);
}

static emp_status time_attention(double *seconds, emp_form *form, const struct input *in,
                                 int32_t row, emp_format format, emp_error *err)
{
    double        size[SIZES];
    emp_attention a = {.phase = in->column.is_decode ? EMP_ATTENTION_OF_TOKEN
                                                     : EMP_ATTENTION_OF_PROMPT,
                       .format = format,
                       .head_size = EMP_HEAD_SIZE};

    EMP_CHECK(read_sizes(size, in, row, SIZES, err));
    a.length = size[0];
    a.kv_heads = size[1] * size[3];
    a.group = size[2] / size[3];
    if (a.group < 1.0 || a.group != floor(a.group))
        return EMP_ERROR(
            EMP_EFORMAT,
            "%s, row %d: %.0f heads share %.0f kv_heads; as many heads must share each",
            in->path, row + 1, size[2], size[3]);
    return emp_attention_time(seconds, form, &in->model->device, &a, err);
}

static emp_status find_comm(struct input *in, emp_error *err)
{
    EMP_CHECK(emp_csv_find(&in->column.op, &in->csv, "op", err));
    return find_sizes(in, (const char *const[]){"gpus", "bytes"}, 2, err);
}

static emp_status time_comm(double *seconds, emp_form *form, const struct input *in,
                            int32_t row, emp_format format, emp_error *err)
{
    double       size[2];
    emp_exchange e = {.format = format};

    EMP_CHECK(read_sizes(size, in, row, 2, err));
    EMP_CHECK(
        emp_collective_parse(&e.op, emp_csv_text(&in->csv, row, in->column.op), err));
    e.gpus = size[0];
    e.bytes = size[1];
    return emp_exchange_time(seconds, form, &in->model->device, &e, err);
}

static void print_header(const struct input *in)
{
    for (int32_t c = 0; c < in->csv.column_count; c++)
        printf("%s%s\t", c == in->column.us ? "measured_" : "",
               emp_csv_text(&in->csv, -1, c));
    printf("us\tform\n");
}

/* A kernel's time. */
struct result {
    double   us;
    emp_form form;
};

static emp_status time_row(struct result *result, const struct input *in, int32_t row,
                           kernel_fn *kernel, emp_error *err)
{
    emp_format format = in->format;
    emp_error  why = {0};
    emp_status st = EMP_OK;
    double     seconds = 0.0;

    if (in->column.dtype >= 0)
        st = emp_format_parse(&format, emp_csv_text(&in->csv, row, in->column.dtype),
                              &why);
    if (st == EMP_OK) st = kernel(&seconds, &result->form, in, row, format, &why);
    if (st == EMP_EFORMAT) return EMP_ERROR(st, "%s", why.msg);
    if (st != EMP_OK) return EMP_ERROR(st, "%s, row %d: %s", in->path, row + 1, why.msg);
    result->us = seconds * 1e6;
    return EMP_OK;
}

static void print_rows(const struct input *in, const struct result *result)
{
    print_header(in);
    for (int32_t row = 0; row < in->csv.row_count; row++) {
        for (int32_t c = 0; c < in->csv.column_count; c++)
            printf("%s\t", emp_csv_text(&in->csv, row, c));
        printf("%.5g\t%s\n", result[row].us, emp_form_name(result[row].form));
    }
}

/* How far the model is from the measurements of the input: the mean of |ln(us / measured)|. */
static emp_status compare(double *off, const struct input *in,
                          const struct result *result, emp_error *err)
{
    double measured;

    *off = 0.0;
    for (int32_t row = 0; row < in->csv.row_count; row++) {
        EMP_CHECK(emp_csv_real(&measured, &in->csv, row, in->column.us, err));
        if (!(measured > 0.0))
            return EMP_ERROR(EMP_EFORMAT, "%s, row %d: us must be above zero", in->path,
                             row + 1);
        *off += fabs(log(result[row].us / measured)) / in->csv.row_count;
    }
    return EMP_OK;
}

/* Nothing is printed unless all rows are right. */
static emp_status time_all(const struct input *in, kernel_fn *kernel, emp_error *err)
{
    emp_status     st = EMP_OK;
    struct result *result = NULL;
    double         off = 0.0;

    EMP_TRY(EMP_ALLOC(result, (size_t)in->csv.row_count));
    for (int32_t row = 0; row < in->csv.row_count; row++)
        EMP_TRY(time_row(&result[row], in, row, kernel, err));
    if (in->column.us >= 0) EMP_TRY(compare(&off, in, result, err));
    print_rows(in, result);
    if (fflush(stdout) != 0) EMP_FAIL(EMP_EIO, "the output cannot be written");
    if (in->column.us >= 0)
        fprintf(stderr, "%d rows: |ln(us / measured_us)| is %.2f %% in the mean\n",
                in->csv.row_count, 100.0 * off);

cleanup:
    emp_free(result);
    return st;
}

static emp_status read_input(struct input *in, const struct args *args, emp_error *err)
{
    emp_error why = {0};

    if (emp_format_parse(&in->format, args->dtype != NULL ? args->dtype : "bf16", &why) !=
        EMP_OK)
        cli_usage_error("--dtype: %s", why.msg);
    if (in->model->device.kind != EMP_DEVICE_GPU)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s is the model of a CPU; kernels run on GPUs", args->model);
    if (args->file == NULL || strcmp(args->file, "-") == 0) {
        in->path = "standard input";
        return emp_csv_read(&in->csv, stdin, in->path, err);
    }
    in->path = args->file;
    return emp_csv_load(&in->csv, args->file, err);
}

static emp_status run(const struct argp *argp, int argc, char **argv, columns_fn *find,
                      kernel_fn *kernel, emp_error *err)
{
    emp_status       st = EMP_OK;
    struct args      args = {0};
    emp_device_model model = {0};
    struct input     in = {.model = &model};

    cli_parse(argp, argc, argv, &args);
    EMP_TRY(emp_device_model_load(&model, args.model, err));
    EMP_TRY(read_input(&in, &args, err));
    in.column.dtype = column_of(&in.csv, "dtype");
    in.column.us = column_of(&in.csv, "us");
    EMP_TRY(find(&in, err));
    EMP_TRY(time_all(&in, kernel, err));

cleanup:
    emp_csv_clear(&in.csv);
    emp_device_model_clear(&model);
    return st;
}

static const char gemm_doc[] =
    "Print the microseconds of matrix products C[m,n] = A[m,k] B[k,n] on a device model. "
    "The "
    "input is tab- or comma-separated with columns m, n, k and perhaps dtype; the output "
    "adds "
    "us and form.\v"
    "Form is table (measured), beyond (a table, outside its sizes), formula, or bound "
    "(by the "
    "rate of memory or the peak). No host's time is in us. A column us of the input is "
    "taken as "
    "measured: how far the model is from it is printed at the end.\n\n"
    "  printf 'm\\tn\\tk\\n4096\\t4096\\t1024\\n' | emplace cost gemm --model h100-sxm\n"
    "  emplace cost gemm shapes.tsv --model a100-sxm --dtype int8";
static const char attention_doc[] =
    "Print the microseconds of the forward pass of attention with heads of 128 on a "
    "device "
    "model. Columns of the input: batch, heads, kv_heads, and seq (new tokens, causal) "
    "or "
    "cached (one new token beside so many).\v"
    "  emplace cost attention shapes.tsv --model h100-sxm\n"
    "  printf 'batch\\tseq\\theads\\tkv_heads\\n1\\t2048\\t32\\t8\\n' | \\\n"
    "    emplace cost attention --model h100-sxm";
static const char comm_doc[] =
    "Print the microseconds of collectives among GPUs of one host. Columns of the input: "
    "op "
    "(all_reduce, all_gather, reduce_scatter, alltoall), gpus, bytes, and perhaps "
    "dtype.\v"
    "Bytes are the buffer of one GPU (all_reduce, alltoall) or the whole. Form is table, "
    "beyond, or like (the table of another collective, by the bytes that GPUs send).\n\n"
    "  emplace cost comm ops.tsv --model a100-sxm\n"
    "  printf 'op\\tgpus\\tbytes\\nall_reduce\\t8\\t1048576\\n' | \\\n"
    "    emplace cost comm --model h100-sxm";

const struct argp cmd_cost_gemm_argp = {options, parse, "[FILE]", gemm_doc,
                                        NULL,    NULL,  NULL};
const struct argp cmd_cost_attention_argp = {options, parse, "[FILE]", attention_doc,
                                             NULL,    NULL,  NULL};
const struct argp cmd_cost_comm_argp = {options, parse, "[FILE]", comm_doc,
                                        NULL,    NULL,  NULL};

emp_status cmd_cost_gemm(int argc, char **argv, emp_error *err)
{
    return run(&cmd_cost_gemm_argp, argc, argv, find_gemm, time_gemm, err);
}

emp_status cmd_cost_attention(int argc, char **argv, emp_error *err)
{
    return run(&cmd_cost_attention_argp, argc, argv, find_attention, time_attention, err);
}

emp_status cmd_cost_comm(int argc, char **argv, emp_error *err)
{
    return run(&cmd_cost_comm_argp, argc, argv, find_comm, time_comm, err);
}
