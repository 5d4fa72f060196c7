// Memory for a call's outputs whose sizes only the program knows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler_core/runtime/kiln_runtime.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// The manifest's outputs as kiln_output, first without data. Not movable: the entries point into it.
class OutputBuffers {
 public:
  explicit OutputBuffers(const std::vector<TensorInfo>& outputs)
      : shapes_(outputs.size()), data_(outputs.size()) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      shapes_[i].resize(outputs[i].shape.size());
      outputs_.push_back({outputs[i].name.c_str(), dtypeName(outputs[i].dtype).data(), nullptr, 0,
                          shapes_[i].data(), shapes_[i].size(), 0});
    }
  }
  OutputBuffers(const OutputBuffers&) = delete;
  OutputBuffers& operator=(const OutputBuffers&) = delete;

  std::span<kiln_output> outputs() { return outputs_; }
  // Gives each output the bytes it asks for.
  void allocate() {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      data_[i].resize(outputs_[i].bytes);
      outputs_[i].data = data_[i].data();
      outputs_[i].capacity = data_[i].size();
    }
  }
  // What a run has written.
  Bytes bytes(std::size_t i) const { return Bytes(data_[i]).first(outputs_[i].bytes); }

 private:
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::vector<std::uint8_t>> data_;
  std::vector<kiln_output> outputs_;
};

}  // namespace kiln::runtime
