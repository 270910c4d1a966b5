// SPDX-License-Identifier: GPL-3.0-or-later
/* Zoltan's hypergraph partitioner on a graph: zoltan_cut PARTS IMBALANCE SEED FILE prints the part of each vertex.
 *
 * The file has the number of vertices, then a line a vertex: its weight, the number of its neighbours, and a pair of
 * neighbour and edge weight for each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <trilinos/zoltan.h>

typedef struct {
    int    count, *row, *neighbor;
    float *weight, *traffic;
} graph_type;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (memory == NULL) abort();
    return memory;
}

static graph_type read_graph(const char *path)
{
    graph_type g = {0};
    FILE      *in = fopen(path, "r");
    int        room = 0, degree = 0;

    if (in == NULL || fscanf(in, "%d", &g.count) != 1) exit(2);
    g.row = allocate((size_t)g.count + 1, sizeof *g.row);
    g.weight = allocate((size_t)g.count, sizeof *g.weight);
    for (int v = 0; v < g.count; v++) {
        if (fscanf(in, "%f%d", &g.weight[v], &degree) != 2) exit(2);
        g.row[v + 1] = g.row[v] + degree;
        if (g.row[v + 1] >= room) {
            room = 2 * g.row[v + 1] + 1;
            g.neighbor = realloc(g.neighbor, (size_t)room * sizeof *g.neighbor);
            g.traffic = realloc(g.traffic, (size_t)room * sizeof *g.traffic);
            if (g.neighbor == NULL || g.traffic == NULL) abort();
        }
        for (int i = g.row[v]; i < g.row[v + 1]; i++)
            if (fscanf(in, "%d%f", &g.neighbor[i], &g.traffic[i]) != 2) exit(2);
    }
    fclose(in);
    return g;
}

static int count_vertices(void *data, int *code)
{
    *code = ZOLTAN_OK;
    return ((const graph_type *)data)->count;
}

static void list_vertices(void *data, int global_size, int local_size,
                          ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int weights,
                          float *weight, int *code)
{
    const graph_type *g = data;

    (void)global_size, (void)local_size, (void)weights;
    for (int v = 0; v < g->count; v++) {
        global[v] = local[v] = (ZOLTAN_ID_TYPE)v;
        weight[v] = g->weight[v];
    }
    *code = ZOLTAN_OK;
}

static void count_edges(void *data, int global_size, int local_size, int count,
                        ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int *degree, int *code)
{
    const graph_type *g = data;

    (void)global_size, (void)local_size, (void)global;
    for (int i = 0; i < count; i++) degree[i] = g->row[local[i] + 1] - g->row[local[i]];
    *code = ZOLTAN_OK;
}

static void list_edges(void *data, int global_size, int local_size, int count,
                       ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int *degree,
                       ZOLTAN_ID_PTR neighbor, int *rank, int weights, float *weight,
                       int *code)
{
    const graph_type *g = data;

    (void)global_size, (void)local_size, (void)global, (void)degree, (void)weights;
    for (int i = 0; i < count; i++) {
        for (int e = g->row[local[i]]; e < g->row[local[i] + 1]; e++) {
            *neighbor++ = (ZOLTAN_ID_TYPE)g->neighbor[e];
            *weight++ = g->traffic[e];
            *rank++ = 0;
        }
    }
    *code = ZOLTAN_OK;
}

int main(int argc, char **argv)
{
    float version = 0;
    int   changes = 0, global_size = 0, local_size = 0, in_count = 0, out_count = 0;
    ZOLTAN_ID_PTR in_global, in_local, out_global, out_local;
    int          *in_rank, *in_part, *out_rank, *out_part;

    if (argc != 5) return 2;
    MPI_Init(&argc, &argv);
    Zoltan_Initialize(argc, argv, &version);
    graph_type            g = read_graph(argv[4]);
    struct Zoltan_Struct *z = Zoltan_Create(MPI_COMM_WORLD);
    const char *const     settings[][2] = {{"DEBUG_LEVEL", "0"},
                                           {"LB_METHOD", "GRAPH"},
                                           {"GRAPH_PACKAGE", "PHG"},
                                           {"LB_APPROACH", "PARTITION"},
                                           {"OBJ_WEIGHT_DIM", "1"},
                                           {"EDGE_WEIGHT_DIM", "1"},
                                           {"RETURN_LISTS", "PARTS"},
                                           {"NUM_GLOBAL_PARTS", argv[1]},
                                           {"IMBALANCE_TOL", argv[2]},
                                           {"SEED", argv[3]},
                                           {"PHG_EDGE_SIZE_THRESHOLD", "1.0"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (Zoltan_Set_Param(z, settings[i][0], settings[i][1]) != ZOLTAN_OK) return 2;
    Zoltan_Set_Num_Obj_Fn(z, count_vertices, &g);
    Zoltan_Set_Obj_List_Fn(z, list_vertices, &g);
    Zoltan_Set_Num_Edges_Multi_Fn(z, count_edges, &g);
    Zoltan_Set_Edge_List_Multi_Fn(z, list_edges, &g);
    double start_s = MPI_Wtime();
    if (Zoltan_LB_Partition(z, &changes, &global_size, &local_size, &in_count, &in_global,
                            &in_local, &in_rank, &in_part, &out_count, &out_global,
                            &out_local, &out_rank, &out_part) != ZOLTAN_OK)
        return 1;
    printf("%.6f", MPI_Wtime() - start_s);
    int *part = allocate((size_t)g.count, sizeof *part);
    for (int i = 0; i < out_count; i++) part[out_local[i]] = out_part[i];
    for (int v = 0; v < g.count; v++) printf(" %d", part[v]);
    printf("\n");
    Zoltan_Destroy(&z);
    MPI_Finalize();
    return 0;
}
