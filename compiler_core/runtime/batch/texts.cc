#include "compiler_core/runtime/batch/texts.h"

#include <algorithm>
#include <cstring>

namespace kiln::runtime {

npy::Tensor numbersOf(const npy::TextArray& texts, const std::vector<std::string>& strings) {
  npy::Tensor tensor{DType::kI64, texts.shape,
                     std::vector<std::uint8_t>(texts.texts.size() * sizeof(std::int64_t))};
  for (std::size_t i = 0; i < texts.texts.size(); ++i) {
    const auto found = std::ranges::lower_bound(strings, texts.texts[i]);
    const std::int64_t number =
        found != strings.end() && *found == texts.texts[i] ? found - strings.begin() : -1;
    std::memcpy(tensor.data.data() + i * sizeof number, &number, sizeof number);
  }
  return tensor;
}

Result<npy::TextArray> textsOf(const npy::Tensor& tensor, const std::vector<std::string>& strings) {
  npy::TextArray out{tensor.shape, {}};
  for (std::size_t at = 0; at < tensor.data.size(); at += sizeof(std::int64_t)) {
    std::int64_t number = 0;
    std::memcpy(&number, tensor.data.data() + at, sizeof number);
    if (number < 0 || static_cast<std::uint64_t>(number) >= strings.size())
      return fail(Code::kDataLoss, "the program gave the number " + std::to_string(number) +
                                       ", which stands for none of its manifest's strings");
    out.texts.push_back(strings[static_cast<std::size_t>(number)]);
  }
  return out;
}

}  // namespace kiln::runtime
