#include "manifest/artifact/bundle_limit.h"

#include <string>

namespace kiln {

Status BundleCount::add(std::uint64_t bytes) {
  const std::string mend = "; whoever offers them must leave out those that are not the artifact's own";
  if (++count_ > kMaxBundles)
    return fail(Code::kDataLoss, "more than " + std::to_string(kMaxBundles) + " bundles" + mend);
  if (bytes > kMaxBundleBytes)
    return fail(Code::kDataLoss, "bundle " + std::to_string(count_) + ": larger than " +
                                     std::to_string(kMaxBundleBytes) + " bytes" + mend);
  bytes_ += bytes;
  if (bytes_ > kMaxBundlesBytes)
    return fail(Code::kDataLoss, "the first " + std::to_string(count_) + " bundles have " +
                                     std::to_string(bytes_) + " bytes, and all of an artifact may have " +
                                     std::to_string(kMaxBundlesBytes) + mend);
  return {};
}

}  // namespace kiln
