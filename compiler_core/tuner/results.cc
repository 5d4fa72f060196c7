#include "compiler_core/tuner/results.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

namespace kiln::tuner {
namespace {

constexpr double kNotNear = std::numeric_limits<double>::infinity();

template <class T>
double distance(std::span<const T> here, std::span<const T> there) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const auto a = static_cast<double>(here[i]), b = static_cast<double>(there[i]);
    if (std::isfinite(a)) largest = std::max(largest, std::fabs(a));
    if (std::memcmp(&here[i], &there[i], sizeof(T)) == 0) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return kNotNear;
    most = std::max(most, std::fabs(b - a));
  }
  return most == 0 ? 0 : most / largest;
}

template <class T>
double distance(const void* here, const void* there, std::uint64_t elements) {
  return distance(std::span(static_cast<const T*>(here), elements),
                  std::span(static_cast<const T*>(there), elements));
}

}  // namespace

Results::Results(const std::vector<KernelTensor>& tensors, const std::vector<void*>& places)
    : tensors_(tensors) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto* bytes = static_cast<const std::uint8_t*>(places[i]);
    bytes_.emplace_back(bytes, bytes + tensors_[i].bytes());
  }
}

double Results::distanceOf(const std::vector<void*>& places) const {
  double most = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (std::memcmp(bytes_[i].data(), places[i], bytes_[i].size()) == 0) continue;
    const std::uint64_t elements = tensors_[i].elements;
    if (tensors_[i].element == Element::kF32)
      most = std::max(most, distance<float>(bytes_[i].data(), places[i], elements));
    else if (tensors_[i].element == Element::kF64)
      most = std::max(most, distance<double>(bytes_[i].data(), places[i], elements));
    else
      return kNotNear;
  }
  return most;
}

}  // namespace kiln::tuner
