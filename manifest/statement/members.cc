#include "manifest/statement/members.h"

namespace kiln {

Json digestMember(const Digest& digest) {
  return {{"digest", digest.text()}, {"size", std::to_string(digest.size)}};
}

Result<Digest> readDigestMember(ObjectReader& parent, std::string_view name) {
  KILN_ASSIGN(ObjectReader reader, parent.object(name));
  KILN_ASSIGN(const Digest digest, reader.digest());
  KILN_TRY(reader.finish());
  return digest;
}

Result<TimePoint> readTimeMember(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  auto time = parseRfc3339(text);
  if (!time) return badMember(reader.path(name), time.error().message);
  return *time;
}

}  // namespace kiln
