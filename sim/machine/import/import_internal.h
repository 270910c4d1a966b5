/** \file sim/machine/import/import_internal.h
 * The files of this folder: readers of what programs print of a computer, the plan that import.c makes of it, and
 * write.c, which writes the plan as a machine file.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_IMPORT_INTERNAL_H
#define EMP_SIM_MACHINE_IMPORT_IMPORT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/text.h"
#include "sim/machine/card.h"
#include "sim/machine/import/import.h"

enum { EMP_IMPORT_MODEL_BYTES = 32 };

/* The matrix that `nvidia-smi topo -m` prints: by which way two GPUs reach each other, and a GPU a NIC.
 *
 *             GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
 *     GPU0     X      NV18    PIX     0-55,112-167    0               N/A
 *     GPU1    NV18     X      NODE    0-55,112-167    0               N/A
 *
 * Rows of NICs and the legends below are not read. Older programs print fewer columns behind the
 * NICs, and call a NIC mlx5_0. */

enum {
    EMP_IMPORT_GPUS = EMP_MAX_DEVICES - 1, /**< beside one CPU */
    EMP_IMPORT_NICS = 64,
    EMP_IMPORT_AFFINITY_BYTES = 48
};

/** The farthest thing that a copy by PCIe passes, from near to far. */
typedef enum {
    EMP_WAY_SELF,   /**< X */
    EMP_WAY_PIX,    /**< one PCIe bridge */
    EMP_WAY_PXB,    /**< several PCIe bridges */
    EMP_WAY_PHB,    /**< a host bridge: the CPU */
    EMP_WAY_NODE,   /**< host bridges of one NUMA node */
    EMP_WAY_SYS,    /**< what joins NUMA nodes */
    EMP_WAY_UNKNOWN /**< the matrix does not say: NVLinks hide it */
} emp_way;

typedef struct {
    int32_t gpu_count, nic_count;
    uint8_t pcie[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS]; /**< an emp_way */
    uint8_t nvlinks[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS];
    uint8_t nic[EMP_IMPORT_GPUS][EMP_IMPORT_NICS];             /**< an emp_way */
    char affinity[EMP_IMPORT_GPUS][EMP_IMPORT_AFFINITY_BYTES]; /**< CPUs; "" = unknown */
    int32_t line[EMP_IMPORT_GPUS];                             /**< of its row */
} emp_gpu_matrix;

/** Reads the matrix. Cells of NICs that are damaged make all NICs be left out. O(bytes + GPUs^2).
 * \param text  Cleaned by emp_smi_text_clean().
 * \param path  For messages.
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_gpu_matrix_parse(emp_gpu_matrix *matrix, const char *text, size_t size,
                                const char *path, emp_error *err);

enum { EMP_SMI_MOST_BYTES = 1 << 24 };

/** Removes the escapes by which a terminal underlines, in place. O(bytes).
 * \param size  Of \a text; becomes what is left.
 * \retval EMP_EFORMAT  The text has zero bytes. */
emp_status emp_smi_text_clean(char *text, size_t *size, const char *path, emp_error *err);

/* Shares of documented rates that copies are taken to reach. */
#define EMP_IMPORT_PCIE_FRAC   0.8 /* as in the machines that come with the program */
#define EMP_IMPORT_SOCKET_FRAC 0.7 /* of 16 lanes, between sockets: rtxpro6000x8 */
#define EMP_IMPORT_PAIR_US     10.0

/* The sockets, PCIe switches and NVLinks of a matrix.
 *
 * GPUs with at most PCIe bridges between them hang on one switch; those with at most host bridges
 * between them on one socket, and so do those that have the same CPUs near. Where NVLinks hide the way by
 * PCIe, a NIC near both GPUs tells it, else the CPUs near them. */

typedef struct {
    int32_t socket_count, switch_count;
    int32_t socket_of[EMP_IMPORT_GPUS];
    int32_t switch_of[EMP_IMPORT_GPUS]; /**< -1 = the GPU hangs on its socket by itself */
    int32_t socket_of_switch[EMP_IMPORT_GPUS];
    bool    is_guess; /**< of some GPUs nothing says whether they share a socket */
} emp_gpu_tree;

/** GPUs that NVLinks join: two, or more by NVSwitch. */
typedef struct {
    uint64_t members; /**< bit i: GPU i */
    int32_t  nvlinks; /**< of each pair */
    bool     is_switch;
} emp_nvlink_set;

typedef struct {
    int32_t        count;
    emp_nvlink_set set[EMP_MAX_FABRICS];
} emp_nvlink_sets;

/** O(GPUs^2 x NICs). */
void emp_gpu_tree_find(emp_gpu_tree *tree, const emp_gpu_matrix *matrix);

/** GPUs that are all joined, by more links than one has, reach each other by NVSwitch; any other
 * linked pair is a set. O(GPUs^2).
 * \param nvlinks  [gpu] that its model has.
 * \param path     Of the matrix, for messages.
 * \retval EMP_EUNSUPPORTED  There are more sets than a machine has fabrics. */
emp_status emp_nvlink_sets_find(emp_nvlink_sets *sets, const emp_gpu_matrix *matrix,
                                const int32_t *nvlinks, const char *path, emp_error *err);

/* The facts that `nvidia-smi -q` prints of each GPU: an indented tree of keys and values, of which few
 * are read. `nvidia-smi -q -x` prints the same tree as XML.
 *
 *     Attached GPUs                         : 2
 *     GPU 00000000:18:00.0
 *         Product Name                      : NVIDIA H100 80GB HBM3
 *         GPU C2C Mode                      : N/A
 *         PCI
 *             GPU Link Info
 *                 PCIe Generation
 *                     Max                   : 5
 *                 Link Width
 *                     Current               : 16x
 *         FB Memory Usage
 *             Total                         : 81559 MiB
 *         Max Clocks
 *             SM                            : 1980 MHz */

/** The facts about one GPU; a number is 0 where the text lacks it. */
typedef struct {
    char    product[64];
    char    bus[24]; /**< "00000000:18:00.0" */
    int32_t memory_mib;
    int32_t pcie_generation; /**< that GPU and host can reach; idle links run slower */
    int32_t pcie_lanes;      /**< in use, else the most */
    int32_t clock_mhz;       /**< of the multiprocessors, at most */
    bool    has_c2c;         /**< NVLink-C2C joins it to its CPU */
} emp_gpu_facts;

typedef struct {
    int32_t       gpu_count;
    emp_gpu_facts gpu[EMP_IMPORT_GPUS];
} emp_gpu_query;

/** Reads the text, or the XML. O(bytes).
 * \param text  Cleaned by emp_smi_text_clean().
 * \param path  For messages.
 * \retval EMP_EFORMAT  It has no GPU, one without a name, or fewer than it announces. */
emp_status emp_gpu_query_parse(emp_gpu_query *query, const char *text, size_t size,
                               const char *path, emp_error *err);

/* The matrices that `rocm-smi --showtopo` and `amd-smi topology` print: which GPUs an XGMI link joins, how
 * many hops lie between them, and the NUMA node of each.
 *
 *     ================= Link Type between two GPUs =================      LINK TYPE TABLE:
 *            GPU0         GPU1                                                         0000:05:00.0 ...
 *     GPU0   0            XGMI                                            0000:05:00.0 SELF         ...
 *
 *     GPU[0]          : (Topology) Numa Node: 0
 *
 * An XGMI link counts as one NVLink of the matrix, and GPUs of one NUMA node as near the same CPUs.
 * Weights and other tables are not read. `rocm-smi --showtopo --showproductname` tells the product, too. */

/** Whether a text has the table of link types. O(bytes). */
bool emp_amd_topology_is(const char *text, size_t size);

/** Reads the tables. O(bytes + GPUs^2).
 * \param query Its GPUs become the GPUs whose product is named; none if no product is.
 * \param text   Cleaned by emp_smi_text_clean().
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_amd_topology_parse(emp_gpu_matrix *matrix, emp_gpu_query *query,
                                  const char *text, size_t size, const char *path,
                                  emp_error *err);

/* The XML file of `lstopo`, of any version of hwloc: packages, cores and memory of a computer, its GPUs on
 * PCI, and what lies between them.
 *
 *     <object type="Package" ...><info name="CPUModel" value="AMD EPYC 7742 64-Core Processor"/>
 *       <object type="Bridge" bridge_type="0-1" ...>
 *         <object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b0] ..." pci_link_speed="31.507692">
 *           <object type="OSDev" name="cuda0" ...><info name="GPUModel" value="NVIDIA A100-SXM4-40GB"/>
 *
 * A GPU is a PCI device of class 03 (display) or 12 (accelerator) of NVIDIA, AMD or, behind a bridge, Intel.
 * NVLinks and XGMI links are not in the file. */

/** The file's facts about the computer. Texts are "" and numbers 0 where it says nothing. */
typedef struct {
    int32_t packages, cores;
    int64_t memory_bytes; /**< of all NUMA nodes */
    double  clock_hz;     /**< the highest that is named */
    char    cpu[64];      /**< "AMD EPYC 7742 64-Core Processor" */
    char    product[48];  /**< of the computer: "NVIDIA_DGX_Spark" */
    char    architecture[16];
    double
        link_bytes_per_s[EMP_IMPORT_GPUS]; /**< by the state of the PCIe link; 0 = idle */
} emp_lstopo;

/** Whether an XML text is of lstopo: its first element is `topology`. */
bool emp_lstopo_is(const char *text, size_t size);

/** Reads the file. O(bytes + GPUs^2).
 * \param matrix  The ways between the GPUs; no NVLinks. There may be no GPU.
 * \param query   Product, bus and memory of each.
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_lstopo_parse(emp_lstopo *lstopo, emp_gpu_matrix *matrix,
                            emp_gpu_query *query, const char *text, size_t size,
                            const char *path, emp_error *err);

/* GPUs and computers as their makers call them, and what is documented of the links of the device models. */

/** Links of a device model. Rates are one way. */
typedef struct {
    const char *model;
    int32_t     pcie_generation;
    int32_t     nvlinks;           /**< or XGMI links that a GPU has; 0 = none */
    double      nvlink_gb_per_s;   /**< of one link, documented */
    double      copy_latency_us;   /**< of a small copy by PCIe */
    double      pair_frac;         /**< of the documented rate, by the links of a pair */
    double      switch_frac;       /**< of the documented rate, by NVSwitch */
    double      switch_latency_us; /**< of a small copy by NVSwitch */
    const char *switch_source; /**< machine that both were measured for; NULL = assumed */
} emp_gpu_links;

/** A computer whose GPU is not on PCI, or whose CPU and GPU are one product. */
typedef struct {
    const char *product;    /**< of the computer, as its board tells it; NULL = any */
    const char *cpu;        /**< a pattern of the CPU's name; NULL = any */
    const char *gpu, *host; /**< device models */
} emp_known_computer;

/** The computer of these names; NULL = it is not known. Valid for ever. */
const emp_known_computer *emp_computer_find(const char *product, const char *cpu);

/** The model of the CPU that is one product with that GPU; NULL = none. Valid for ever. */
const char *emp_computer_host_of(const char *gpu);

/** The links of that model; for any other one the commonest, with `model` NULL. Valid for ever. */
const emp_gpu_links *emp_gpu_links_of(const char *model);

/* By which text the computer is known. */
typedef enum {
    EMP_IMPORT_QUERY, /* no topology: one GPU */
    EMP_IMPORT_NVIDIA,
    EMP_IMPORT_AMD,
    EMP_IMPORT_LSTOPO
} emp_import_source;

/* How a GPU hangs on its host. */
typedef enum {
    EMP_BUS_PCIE,    /* generation and lanes, read or assumed */
    EMP_BUS_RATE,    /* PCIe, of which the rate was read */
    EMP_BUS_C2C,     /* NVLink-C2C */
    EMP_BUS_UNIFIED, /* it shares the CPU's memory */
    EMP_BUSES
} emp_import_bus;

typedef struct {
    char                 model[EMP_IMPORT_MODEL_BYTES];
    const emp_gpu_links *links;
    emp_card             card;
    emp_import_bus       bus;
    int32_t              pcie_generation, pcie_lanes;
    bool                 is_pcie_assumed;
    double               latency_us; /* of a small copy */
    double               gb_per_s;   /* from the host, as copies reach it */
} emp_import_gpu;

/* NVLinks that become a fabric. */
typedef struct {
    emp_nvlink_set set;
    double         gb_per_s, latency_us;
} emp_import_fabric;

typedef struct {
    const emp_machine_import *request;
    emp_import_source         source;
    emp_lstopo                lstopo;
    bool            is_known_computer; /* its GPU and CPU are of the list of known ones */
    bool            makes_host;        /* a model of the CPU goes with the file */
    char            model[EMP_IMPORT_MODEL_BYTES]; /* of all GPUs; "" = not named */
    char            host[EMP_IMPORT_MODEL_BYTES];
    emp_gpu_matrix  matrix;
    emp_gpu_query   query; /* no GPUs: nothing tells their products */
    emp_gpu_tree    tree;
    emp_nvlink_sets sets;
    emp_import_gpu  gpu[EMP_IMPORT_GPUS];
    int32_t         fabric_count;
    emp_import_fabric fabric[EMP_MAX_FABRICS];
    double            socket_gb_per_s; /* 0: sockets have no links of their own */
} emp_import_plan;

/* Whether a GPU hangs on its host that way. */
bool emp_import_has_bus(const emp_import_plan *plan, emp_import_bus bus);

/* \retval EMP_ENOMEM, EMP_EUNSUPPORTED */
emp_status emp_import_write(char **yaml, const emp_import_plan *plan, emp_error *err);

/* The model of the CPU that lstopo names. \retval EMP_ENOMEM */
emp_status emp_import_write_host(char **yaml, const emp_import_plan *plan,
                                 emp_error *err);

/* Elements, attributes and texts of an XML document, one after the other: enough for what lstopo and
 * nvidia-smi write. libhwloc of Debian 12 refuses files of hwloc 3, and cannot read nvidia-smi's.
 *
 *     emp_xml x = {.at = text, .end = text + size, .path = path};
 *     do {
 *         EMP_CHECK(emp_xml_next(&x, err));
 *         if (x.event == EMP_XML_OPEN && emp_slice_is(x.name, "gpu")) ...
 *     } while (x.event != EMP_XML_END);
 *
 * Document types are skipped, and no entities but the five of XML and numbers are known. */

enum { EMP_XML_DEPTH = 64 };

typedef enum {
    EMP_XML_START, /**< nothing was read */
    EMP_XML_OPEN,  /**< an element begins; `name`, `attributes` */
    EMP_XML_CLOSE, /**< it ends; `name` */
    EMP_XML_TEXT,  /**< between two tags, not blank; `text` */
    EMP_XML_END    /**< of the document */
} emp_xml_event;

/** Set `at`, `end` and `path`; all else is zero. Spans are of the text. */
typedef struct {
    const char   *at, *end;
    const char   *path; /**< for messages; borrowed */
    emp_xml_event event;
    emp_slice     name, attributes, text;
    int32_t       line;  /**< of `at`, less one */
    int32_t       depth; /**< elements that are open, with the one that begins or ends */
    emp_slice     open[EMP_XML_DEPTH]; /**< their names */
    bool          is_empty;            /**< the element that begins has no content */
} emp_xml;

/** Whether a text begins as XML does. */
bool emp_xml_is(const char *text, size_t size);

/** Reads the next event. O(bytes). \retval EMP_EFORMAT  The message names the file and the line. */
emp_status emp_xml_next(emp_xml *xml, emp_error *err);

/** Copies the value of an attribute of the element that begins, as emp_xml_copy().
 * \return false and "" if it has none. */
bool emp_xml_attribute(const emp_xml *xml, const char *name, char *to, size_t size);

/** Copies a text without blanks at its ends and with its entities replaced; all but printable ASCII
 * becomes '?'. */
void emp_xml_copy(char *to, size_t size, emp_slice text);

#endif /* EMP_SIM_MACHINE_IMPORT_IMPORT_INTERNAL_H */
