#include "api/transcoding/upload_path.h"

#include "api/transcoding/path_template.h"
#include "api/transcoding/percent.h"

namespace kiln::transcoding {
namespace {

std::optional<std::vector<std::string_view>> fieldsOf(std::string_view path) {
  return PathTemplate::parse(kUploadPath)->match(path);
}

}  // namespace

bool isUploadPath(std::string_view path) {
  return fieldsOf(path).has_value();
}

Result<UploadName> parseUploadPath(std::string_view path) {
  const auto fields = fieldsOf(path);
  if (!fields) return fail(Code::kNotFound, "no blob is put here");
  UploadName out;
  KILN_ASSIGN(out.instance, percentDecode((*fields)[0], "instance"));
  KILN_ASSIGN(const std::string digest, percentDecode((*fields)[1], "digest"));
  if (!digest.starts_with("sha256:"))
    return fail(Code::kInvalidArgument,
                "digest: a blob is put under sha256: and its SHA-256 in 64 lowercase hex digits");
  const auto parsed = Digest::parse(digest, 0);
  if (!parsed) return fail(parsed.error().in("digest"));
  out.digest = *parsed;
  return out;
}

}  // namespace kiln::transcoding
