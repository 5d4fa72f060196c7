#include "coordinator/view/page_token.h"

#include "manifest/base/digest.h"

namespace kiln::service {
namespace {

constexpr std::size_t kSeal = 12;  // bytes of the digest
constexpr std::size_t kMaxToken = 1024;

std::string sealOf(std::string_view question, std::string_view position) {
  const Digest digest =
      digestOf(std::to_string(position.size()) + " " + std::string(position) + std::string(question));
  return {reinterpret_cast<const char*>(digest.hash.data()), kSeal};
}

}  // namespace

Result<int> pageSize(int asked) {
  if (asked < 0 || asked > kMaxPage)
    return fail(Code::kInvalidArgument, "page_size must be 1 to " + std::to_string(kMaxPage) + ", or 0 for " +
                                            std::to_string(kDefaultPage));
  return asked == 0 ? kDefaultPage : asked;
}

std::string makePageToken(std::string_view question, std::string_view position) {
  return toBase64(asBytes(sealOf(question, position) + std::string(position)));
}

Result<std::string> readPageToken(std::string_view question, std::string_view token) {
  if (token.empty()) return std::string();
  const auto bytes = token.size() <= kMaxToken ? fromBase64(token) : fail(Code::kInvalidArgument, "");
  if (bytes && bytes->size() >= kSeal) {
    std::string position = bytes->substr(kSeal);
    if (bytes->substr(0, kSeal) == sealOf(question, position)) return position;
  }
  return fail(Code::kInvalidArgument, "page_token: was not given for this request; begin without one");
}

}  // namespace kiln::service
