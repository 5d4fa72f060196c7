#include "manifest/spec/composite.h"

#include <charconv>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxRank = 32;

std::optional<std::int64_t> parseCount(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

// "[2,3],[]" from the front on; nullopt when it is something else.
std::optional<std::vector<std::int64_t>> takeShape(std::string_view& text) {
  const std::size_t end = text.find(']');
  if (text.empty() || text.front() != '[' || end == std::string_view::npos) return std::nullopt;
  std::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  std::vector<std::int64_t> shape;
  while (!inside.empty()) {
    const std::size_t comma = std::min(inside.find(','), inside.size());
    const auto dim = parseCount(inside.substr(0, comma));
    if (!dim || shape.size() == kMaxRank || comma + 1 == inside.size()) return std::nullopt;
    shape.push_back(*dim);
    inside.remove_prefix(std::min(comma + 1, inside.size()));
  }
  return shape;
}

}  // namespace

Status addComposite(std::string_view argument, Composites& composites) {
  const auto bad = [&] {
    return fail(Code::kInvalidArgument,
                "--sequence " + std::string(argument) +
                    ": expected INPUT=COUNT, INPUT=[DIM,DIM...],[...]... or INPUT=none, at most " +
                    std::to_string(kMaxCompositeTensors) + " tensors");
  };
  const std::size_t equals = argument.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return bad();
  if (!isUtf8(argument))
    return fail(Code::kInvalidArgument, "--sequence " + printable(argument) +
                                            ": the input's name is no UTF-8, as the names of models are");
  const std::string name(argument.substr(0, equals));
  std::string_view text = argument.substr(equals + 1);
  Composite composite;
  if (text == "none") {
    composite.present = false;
  } else if (const auto count = parseCount(text)) {
    if (*count > static_cast<std::int64_t>(kMaxCompositeTensors)) return bad();
    composite.tensors.resize(static_cast<std::size_t>(*count));
  } else {
    while (true) {
      auto shape = takeShape(text);
      if (!shape || composite.tensors.size() == kMaxCompositeTensors) return bad();
      composite.tensors.push_back(std::move(*shape));
      if (text.empty()) break;
      if (text.front() != ',') return bad();
      text.remove_prefix(1);
    }
  }
  if (!composites.emplace(name, std::move(composite)).second)
    return fail(Code::kInvalidArgument,
                "--sequence " + std::string(argument) + ": given twice for this input");
  return {};
}

}  // namespace kiln
