#include "api/client/artifact_ref.h"

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"

namespace kiln::client {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxFiles = 4096;
constexpr std::uint64_t kMaxDirectoryBytes = 1 << 20;

tl::unexpected<Error> refused(std::string message) {
  return fail(Error{Code::kDataLoss, std::move(message), R"({"exitCode":5})"});
}

Status listTree(Client& client, const Digest& directory, const std::string& prefix, int depth,
                std::vector<node::FixtureFile>& files) {
  if (depth > kMaxDepth) return refused("fixtures: nested too deep");
  KILN_ASSIGN(const auto bytes, storage::getBlob(client.blobs(), client.instance(), directory, kMaxDirectoryBytes));
  build::bazel::remote::execution::v2::Directory message;
  if (!message.ParseFromString(bytes)) return refused("fixtures: " + directory.text() + " is no directory");
  for (const auto& file : message.files()) {
    if (files.size() >= kMaxFiles) return refused("fixtures: too many files");
    KILN_ASSIGN(const Digest digest, fromProto(file.digest()));
    files.push_back({prefix + file.name(), digest});
  }
  for (const auto& child : message.directories()) {
    KILN_ASSIGN(const Digest digest, fromProto(child.digest()));
    KILN_TRY(listTree(client, digest, prefix + child.name() + "/", depth + 1, files));
  }
  return {};
}

}  // namespace

Result<node::ArtifactRef> findArtifact(Client& client, const std::string& digest) {
  auto wanted = digest.starts_with("sha256:") ? Digest::parse(digest, 0) : fail(Code::kInvalidArgument, "");
  if (!wanted) {
    return fail(Code::kInvalidArgument, "\"" + digest + "\" is no artifact; give sha256:<64 lowercase hex digits>");
  }
  KILN_ASSIGN(const auto artifact, client.artifact(digest));
  node::ArtifactRef ref;
  ref.instance = client.instance();
  KILN_ASSIGN(ref.artifact, fromProto(artifact.manifest()));
  if (ref.artifact.hash != wanted->hash) return refused("the index answers " + digest + " with another artifact");
  for (const auto& bundle : artifact.bundles()) {
    KILN_ASSIGN(const Digest each, fromProto(bundle));
    ref.bundles.push_back(each);
  }
  if (artifact.has_fixtures()) {
    KILN_ASSIGN(const Digest root, fromProto(artifact.fixtures()));
    KILN_TRY(listTree(client, root, "", 0, ref.fixtures));
  }
  return ref;
}

}  // namespace kiln::client
