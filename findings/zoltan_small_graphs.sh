#!/usr/bin/env bash
# Zoltan's partitioner PHG ignores all edges of a graph with fewer than eight vertices, and returns ZOLTAN_OK. It turns
# each edge into a hyperedge of two vertices and drops hyperedges that have more than a quarter of all vertices, which is
# meant for dense rows of matrices (PHG_EDGE_SIZE_THRESHOLD). Of two triangles that nothing connects it makes two parts
# with four of six edges cut, and with a threshold of 1 it cuts none. Seen with Debian's libtrilinos-zoltan 13.2.0-4:
#
#   default: status 0, edges cut 4; PHG_EDGE_SIZE_THRESHOLD=1: status 0, edges cut 0
#
# A warning is printed at every DEBUG_LEVEL, and nothing in the result says so. The script needs MPI and PT-Scotch (libscotch-dev).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download libtrilinos-zoltan-dev=13.2.0-4 libtrilinos-zoltan-13.2=13.2.0-4 >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
cat >triangles.c <<'P'
#include <mpi.h>
#include <stdio.h>
#include <trilinos/zoltan.h>

/* Vertices 0, 2, 4 are one triangle and 1, 3, 5 the other. */
static int neighbor_of(int v, int i) { return (v + 2 * (i + 1)) % 6; }

static int count(void *data, int *code)
{
    (void)data;
    *code = ZOLTAN_OK;
    return 6;
}

static void list(void *data, int a, int b, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int c, float *weight, int *code)
{
    (void)data, (void)a, (void)b, (void)c, (void)weight;
    for (int v = 0; v < 6; v++) global[v] = local[v] = (ZOLTAN_ID_TYPE)v;
    *code = ZOLTAN_OK;
}

static void count_edges(void *data, int a, int b, int n, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int *degree, int *code)
{
    (void)data, (void)a, (void)b, (void)global, (void)local;
    for (int i = 0; i < n; i++) degree[i] = 2;
    *code = ZOLTAN_OK;
}

static void list_edges(void *data, int a, int b, int n, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int *degree,
                       ZOLTAN_ID_PTR neighbor, int *rank, int c, float *weight, int *code)
{
    (void)data, (void)a, (void)b, (void)global, (void)degree, (void)c, (void)weight;
    for (int i = 0; i < 2 * n; i++) {
        neighbor[i] = (ZOLTAN_ID_TYPE)neighbor_of((int)local[i / 2], i % 2);
        rank[i] = 0;
    }
    *code = ZOLTAN_OK;
}

static void cut(const char *title, const char *threshold)
{
    int                   changes, sizes[2], counts[2], *rank[2], *part[2], cut_edges = 0;
    ZOLTAN_ID_PTR         global[2], local[2];
    struct Zoltan_Struct *z = Zoltan_Create(MPI_COMM_WORLD);
    const char *const     settings[][2] = {{"DEBUG_LEVEL", "0"}, {"LB_METHOD", "GRAPH"}, {"GRAPH_PACKAGE", "PHG"},
                                           {"LB_APPROACH", "PARTITION"}, {"RETURN_LISTS", "PARTS"},
                                           {"NUM_GLOBAL_PARTS", "2"}, {"SEED", "1"}};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) Zoltan_Set_Param(z, settings[i][0], settings[i][1]);
    if (threshold != NULL) Zoltan_Set_Param(z, "PHG_EDGE_SIZE_THRESHOLD", threshold);
    Zoltan_Set_Num_Obj_Fn(z, count, NULL);
    Zoltan_Set_Obj_List_Fn(z, list, NULL);
    Zoltan_Set_Num_Edges_Multi_Fn(z, count_edges, NULL);
    Zoltan_Set_Edge_List_Multi_Fn(z, list_edges, NULL);
    int status = Zoltan_LB_Partition(z, &changes, &sizes[0], &sizes[1], &counts[0], &global[0], &local[0], &rank[0], &part[0],
                                     &counts[1], &global[1], &local[1], &rank[1], &part[1]);
    int part_of[6] = {0};
    for (int i = 0; i < counts[1]; i++) part_of[local[1][i]] = part[1][i];
    for (int v = 0; v < 6; v++)
        for (int i = 0; i < 2; i++) cut_edges += part_of[v] != part_of[neighbor_of(v, i)];
    printf("%s: status %d, edges cut %d", title, status, cut_edges / 2);
    Zoltan_Destroy(&z);
}

int main(int argc, char **argv)
{
    float version;

    MPI_Init(&argc, &argv);
    Zoltan_Initialize(argc, argv, &version);
    cut("default", NULL);
    printf("; ");
    cut("PHG_EDGE_SIZE_THRESHOLD=1", "1.0");
    printf("\n");
    MPI_Finalize();
    return 0;
}
P
libraries=root/usr/lib/x86_64-linux-gnu
mpicc -Iroot/usr/include triangles.c -o triangles -L"$libraries" -l:libtrilinos_zoltan.so.13.2 -lm -Wl,-rpath-link,"$libraries"
seen=$(LD_LIBRARY_PATH=$PWD/$libraries ./triangles 2>/dev/null)
echo "$seen"
[[ $seen == "default: status 0, edges cut 4; PHG_EDGE_SIZE_THRESHOLD=1: status 0, edges cut 0" ]]
