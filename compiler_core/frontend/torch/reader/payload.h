// Tensors of an archive where they lie: files of raw bytes, and the table that says which part of which file
// a tensor is. Source: torch/export/pt2_archive (_package.py) of torch 2.15.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "compiler_core/frontend/torch/program/program.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::torch {

// The bytes of a file by its name in the table.
struct PayloadFile {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};
using PayloadFiles = std::function<Result<PayloadFile>(const std::string& name)>;

// Adds the tensors of the table (schema: PayloadConfig) to `out`. A dense tensor is a view of its file, any
// other a copy, at most as large as the file. Errors name the tensor: kInvalidArgument where it leaves its
// file, its numbers are no tensor's or its name stands there already; kUnimplemented for pickled ones,
// elements that are not served and strides under which elements share bytes.
Status readPayload(const Json& table, const PayloadFiles& files,
                   std::map<std::string, Tensor, std::less<>>& out);

}  // namespace kiln::torch
