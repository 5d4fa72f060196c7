#include "coordinator/reapi/client_result.h"

#include <fmt/format.h>

#include <set>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "manifest/spec/path.h"
#include "storage/index/reapi/client_results.h"

namespace kiln::reapi_cache {
namespace {

constexpr std::size_t kMaxTarget = 4095;

Error bad(std::string_view field, std::string_view path, std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("action_result.{} {}: {}", field, inQuotes(path), why)};
}

// The paths of one result, each once.
class Paths {
 public:
  Status add(std::string_view field, const std::string& path, bool isDirectory) {
    const bool isRoot = isDirectory && path.empty();
    if (!isRoot)
      if (const Status good = checkRelativePath(path); !good)
        return fail(bad(field, path, good.error().message));
    if (!all_.insert(path).second) return fail(bad(field, path, "another output has this path"));
    if (!isDirectory) leaves_.insert(path);
    return {};
  }
  // None stands below a file or a link.
  Status checkNesting() const {
    for (const std::string& path : all_)
      for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
        if (leaves_.contains(path.substr(0, slash)))
          return fail(bad("outputs", path, "it stands below an output that is no directory"));
    return {};
  }

 private:
  std::set<std::string> all_, leaves_;
};

Status checkDigest(std::string_view field, std::string_view path, const reapi::Digest& wire) {
  const auto digest = fromProto(wire);
  return digest ? Status() : fail(bad(field, path, digest.error().message));
}

Status checkLink(std::string_view field, const reapi::OutputSymlink& link) {
  const std::string& target = link.target();
  if (target.empty() || target.size() > kMaxTarget || printable(target, kMaxTarget) != target)
    return fail(bad(field, link.path(), "its target is empty, too long, or cannot be read"));
  if (target.front() == '/')
    return fail(bad(field, link.path(), "its target is absolute, which GetCapabilities says is not allowed"));
  return {};
}

Status checkOutputs(const reapi::ActionResult& result) {
  Paths paths;
  for (const auto& file : result.output_files()) {
    KILN_TRY(paths.add("output_files", file.path(), false));
    KILN_TRY(checkDigest("output_files", file.path(), file.digest()));
  }
  for (const auto& directory : result.output_directories()) {
    KILN_TRY(paths.add("output_directories", directory.path(), true));
    if (directory.has_tree_digest() || !directory.has_root_directory_digest())
      KILN_TRY(checkDigest("output_directories", directory.path(), directory.tree_digest()));
    if (directory.has_root_directory_digest())
      KILN_TRY(checkDigest("output_directories", directory.path(), directory.root_directory_digest()));
  }
  // The forms of API 2.0 may say the same as that of 2.1.
  for (const auto& link : result.output_symlinks()) {
    KILN_TRY(paths.add("output_symlinks", link.path(), false));
    KILN_TRY(checkLink("output_symlinks", link));
  }
  Paths before;
  for (const auto& link : result.output_file_symlinks()) {
    KILN_TRY(before.add("output_file_symlinks", link.path(), false));
    KILN_TRY(checkLink("output_file_symlinks", link));
  }
  for (const auto& link : result.output_directory_symlinks()) {
    KILN_TRY(before.add("output_directory_symlinks", link.path(), false));
    KILN_TRY(checkLink("output_directory_symlinks", link));
  }
  return paths.checkNesting();
}

}  // namespace

Result<reapi::ActionResult> readClientResult(const reapi::ActionResult& result) {
  const int outputs = result.output_files_size() + result.output_directories_size() +
                      result.output_symlinks_size() + result.output_file_symlinks_size() +
                      result.output_directory_symlinks_size();
  if (outputs > kMaxOutputs)
    return fail(Code::kInvalidArgument,
                fmt::format("action_result has {} outputs; at most {}", outputs, kMaxOutputs));
  reapi::ActionResult kept = result;
  kept.DiscardUnknownFields();
  for (auto& file : *kept.mutable_output_files()) file.clear_contents();
  if (kept.ByteSizeLong() > index::kMaxClientResult)
    return fail(Code::kInvalidArgument,
                fmt::format("action_result has {} bytes; at most {}: upload logs as blobs",
                            kept.ByteSizeLong(), index::kMaxClientResult));
  KILN_TRY(checkOutputs(kept));
  if (kept.has_stdout_digest()) KILN_TRY(checkDigest("stdout_digest", "", kept.stdout_digest()));
  if (kept.has_stderr_digest()) KILN_TRY(checkDigest("stderr_digest", "", kept.stderr_digest()));
  return kept;
}

}  // namespace kiln::reapi_cache
