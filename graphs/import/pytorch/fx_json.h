/** \file graphs/import/pytorch/fx_json.h
 * The JSON of a torch.fx graph as scripts/export/export_torch.py writes it (docs/formats.md).
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_FX_JSON_H
#define EMP_GRAPHS_IMPORT_PYTORCH_FX_JSON_H

#include "base/text/json.h"
#include "graphs/import/pytorch/program.h"

/** Reads all nodes. O(size). The caller clears \a program, also after a failure.
 * \retval EMP_EFORMAT       The message tells what is wrong with up to 20 nodes.
 * \retval EMP_EUNSUPPORTED  Too many nodes. \retval EMP_ENOMEM */
emp_status emp_fx_json_read(emp_torch_program *program, const emp_json *root,
                            emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_FX_JSON_H */
