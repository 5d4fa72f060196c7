#include "storage/s3/answer_body.h"

#include <array>
#include <utility>

namespace kiln::s3 {
namespace {

constexpr std::size_t kMaxText = 2048;
constexpr std::array<std::pair<std::string_view, char>, 7> kEntities{{{"&amp;", '&'},
                                                                      {"&lt;", '<'},
                                                                      {"&gt;", '>'},
                                                                      {"&quot;", '"'},
                                                                      {"&#34;", '"'},
                                                                      {"&apos;", '\''},
                                                                      {"&#39;", '\''}}};

std::string resolved(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 0;
    if (text.front() == '&')
      for (const auto& [entity, c] : kEntities)
        if (text.starts_with(entity)) {
          out += c;
          taken = entity.size();
        }
    if (taken == 0) {
      out += text.front();
      taken = 1;
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::optional<std::string> elementText(std::string_view xml, std::string_view name) {
  const std::string open = "<" + std::string(name) + ">";
  const auto at = xml.find(open);
  if (at == xml.npos) return std::nullopt;
  const std::string_view rest = xml.substr(at + open.size());
  const auto end = rest.find('<');
  if (end == rest.npos || end > kMaxText || !rest.substr(end).starts_with("</" + std::string(name) + ">"))
    return std::nullopt;
  return resolved(rest.substr(0, end));
}

bool isErrorBody(std::string_view xml) {
  while (!xml.empty()) {
    const auto at = xml.find('<');
    if (at == xml.npos) return false;
    xml.remove_prefix(at);
    if (!xml.starts_with("<?") && !xml.starts_with("<!")) break;
    xml.remove_prefix(1);
  }
  return xml.starts_with("<Error>") || xml.starts_with("<Error ");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    std::string_view as;
    for (const auto& [entity, plain] : kEntities)
      if (plain == c && as.empty()) as = entity;
    if (as.empty())
      out += c;
    else
      out += as;
  }
  return out;
}

}  // namespace kiln::s3
