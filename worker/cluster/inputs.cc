#include "worker/cluster/inputs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "storage/action/timeout.h"
#include "storage/blob/download.h"
#include "storage/tree/tree_walk.h"
#include "worker/cluster/connection.h"
#include "worker/cluster/execution.h"

namespace kiln::cluster {
namespace {

constexpr std::uint64_t kMaxMessage = 1 << 20;  // of an Action or a Command
constexpr std::uint64_t kBatchBytes = 3 << 20;
constexpr std::size_t kBatchBlobs = 1000;

template <class Message>
Result<Message> fetchMessage(const Store& farm, const Digest& digest, const char* what) {
  const auto bytes = storage::getBlob(farm.blobs, farm.instance, digest, kMaxMessage);
  if (!bytes) return fail(bytes.error().in(what));
  Message message;
  if (!message.ParseFromString(*bytes))
    return fail(Code::kInvalidArgument, std::string(what) + ": not a message");
  return message;
}

void setPlatform(const std::map<std::string, std::string>& platform, reapi::Platform* out) {
  out->Clear();
  for (const auto& [name, value] : platform) {
    auto* property = out->add_properties();
    property->set_name(name);
    property->set_value(value);
  }
}

// The time limit that an action states itself; zero for none.
Digest keep(ClusterAction& out, std::string bytes) {
  const Digest digest = digestOf(bytes);
  out.made.emplace(digest, std::move(bytes));
  return digest;
}

}  // namespace

Status SmallBlobs::add(const Digest& digest, std::string bytes) {
  bytes_ += bytes.size();
  texts_.emplace_back(digest, std::move(bytes));
  return bytes_ >= kBatchBytes || texts_.size() >= kBatchBlobs ? flush() : Status{};
}

Status SmallBlobs::flush() {
  if (texts_.empty()) return {};
  std::vector<storage::BlobBytes> blobs;
  for (const auto& [digest, text] : texts_) blobs.push_back({digest, asBytes(text)});
  const std::vector<Status> all = to_.blobs.putBatch(to_.instance, blobs);
  texts_.clear();
  bytes_ = 0;
  for (const Status& one : all) KILN_TRY(one);
  return {};
}

Result<ClusterAction> copyForCluster(const Store& farm, const Digest& digest, const Copied& copied) {
  KILN_ASSIGN(auto action, fetchMessage<reapi::Action>(farm, digest, "action"));
  KILN_ASSIGN(const Digest commandDigest, fromProto(action.command_digest()));
  KILN_ASSIGN(const Digest inputRoot, fromProto(action.input_root_digest()));
  KILN_ASSIGN(auto command, fetchMessage<reapi::Command>(farm, commandDigest, "command"));
  if (!command.working_directory().empty() || command.output_paths_size() != 1)
    return fail(Code::kInvalidArgument,
                "command: a cluster gets actions that run in their input root and have one output path");
  ClusterAction out;
  out.output = command.output_paths(0);
  // Servers of API 2.0 know this form alone; others ignore it.
  command.clear_output_directories();
  command.add_output_directories(out.output);
  setPlatform(copied.platform, command.mutable_platform());
  *action.mutable_command_digest() = toProto(keep(out, command.SerializeAsString()));
  setPlatform(copied.platform, action.mutable_platform());
  out.timeLimit = copied.timeLimit;
  if (const Duration own = storage::timeoutOf(action); own > Duration::zero())
    out.timeLimit = std::min(out.timeLimit, own);
  action.mutable_timeout()->set_seconds(std::chrono::ceil<std::chrono::seconds>(out.timeLimit).count());
  action.mutable_timeout()->set_nanos(0);
  action.set_do_not_cache(true);
  action.set_salt(copied.salt);
  out.action = keep(out, action.SerializeAsString());

  const auto tree = storage::walkTree(farm.blobs, farm.instance, inputRoot);
  if (!tree) return fail(tree.error().in("input tree"));
  std::set<Digest> all{inputRoot};
  for (const storage::TreeEntry& entry : *tree)
    if (entry.kind != storage::EntryKind::kSymlink) all.insert(entry.digest);
  out.inputs.assign(all.begin(), all.end());
  return out;
}

Status copyBlob(const Transfer& transfer, const Digest& digest) {
  const auto writeError = [&](const Error& error) {
    return transfer.toCluster ? ofCluster(error, "upload to the cluster") : error;
  };
  const auto readError = [&](const Error& error) {
    return transfer.toCluster ? error : ofCluster(error, "download from the cluster");
  };
  auto writer = transfer.to.blobs.beginWrite(transfer.to.instance, digest);
  if (!writer) return fail(writeError(writer.error()));
  std::optional<Error> own;  // not of `from`
  const Status read =
      transfer.from.blobs.read(transfer.from.instance, digest, 0, 0, [&](Bytes bytes) -> Status {
        if (isCancelled(transfer.cancel))
          own = Error{Code::kCancelled, "cancelled", {}};
        else if (const Status written = (*writer)->write(bytes); !written)
          own = writeError(written.error());
        return own ? fail(*own) : Status{};
      });
  if (own) return fail(*own);
  if (!read) return fail(readError(read.error()));
  if (const Status done = (*writer)->commit(); !done) return fail(writeError(done.error()));
  return {};
}

Status uploadInputs(const Store& farm, const Store& cluster, const ClusterAction& action,
                    const std::vector<Digest>& forced, const sandbox::Cancel* cancel) {
  std::vector<Digest> all = action.inputs;
  for (const auto& [digest, bytes] : action.made) all.push_back(digest);
  const auto lacking = cluster.blobs.findMissing(cluster.instance, all);
  if (!lacking) return fail(ofCluster(lacking.error(), "asking the cluster for missing blobs"));
  std::set<Digest> wanted(lacking->begin(), lacking->end());
  // What it names beside is not a part of this action, and so none of its business.
  const std::set<Digest> known(all.begin(), all.end());
  for (const Digest& one : forced)
    if (known.contains(one)) wanted.insert(one);
  SmallBlobs batch(cluster);
  const auto sent = [](const Status& status) -> Status {
    if (status) return status;
    return fail(ofCluster(status.error(), "upload of inputs to the cluster"));
  };
  std::vector<Digest> small;
  for (const Digest& digest : wanted) {
    if (isCancelled(cancel)) return fail(Code::kCancelled, "cancelled");
    if (const auto made = action.made.find(digest); made != action.made.end())
      KILN_TRY(sent(batch.add(digest, made->second)));
    else if (digest.size <= kSmallBytes)
      small.push_back(digest);
    else
      KILN_TRY(copyBlob({farm, cluster, true, cancel}, digest));
  }
  KILN_TRY(storage::readSmallBlobs(farm.blobs, farm.instance, small,
                                   [&](const Digest& digest, Result<std::string> bytes) -> Status {
                                     if (isCancelled(cancel)) return fail(Code::kCancelled, "cancelled");
                                     if (!bytes) return fail(bytes.error());
                                     return sent(batch.add(digest, std::move(*bytes)));
                                   }));
  return sent(batch.flush());
}

}  // namespace kiln::cluster
