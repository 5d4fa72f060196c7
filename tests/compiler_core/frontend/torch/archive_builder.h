// A small archive of torch.export for tests, with every text in it at hand to be wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/compiler_core/frontend/archive/zip_writer.h"

namespace kiln::testing_support {

// `text` with the first `from` replaced, which must be there.
std::string replaced(std::string text, std::string_view from, std::string_view to);

// y = x + w, where x is f32[s0, 2] and w is the parameter "layer.w", f32[2], with the values 10 and 20.
struct TorchArchive {
  TorchArchive();

  std::string program;    // models/model.json
  std::string weights;    // data/weights/model_weights_config.json
  std::string constants;  // data/constants/model_constants_config.json
  std::string weight0;    // data/weights/weight_0
  std::vector<ZipWritten> more;

  std::string build() const;
};

}  // namespace kiln::testing_support
