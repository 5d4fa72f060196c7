// The door of this room: a program from an archive of torch.export.save() (.pt2). Source: torch's
// torch/export/pt2_archive and torch/_export/serde/schema.py, schema 8.20 (torch 2.15).
#pragma once

#include <memory>
#include <string>

#include "compiler_core/frontend/torch/program/program.h"
#include "manifest/base/result.h"

namespace kiln::torch {

// Whether the bytes are a zip archive that a version of torch.export has written, also one that read()
// refuses by a name of its own. By content; reads the archive's directory.
bool recognises(Bytes bytes);

// Tensors may view `bytes`, which `owner` keeps; pickles are never looked into. Errors begin with `name`.
// kInvalidArgument for what is wrong; kUnimplemented, which says what to do, for another major version of the
// schema, archives of older versions, compiled code, several programs and pickled tensors. Thread safe.
Result<Program> readProgram(Bytes bytes, const std::string& name, const std::shared_ptr<const void>& owner);

}  // namespace kiln::torch
