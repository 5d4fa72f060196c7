#include "storage/lfs/client.h"

#include <fmt/core.h>

#include <algorithm>

#include "storage/lfs/lfs_config.h"
#include "storage/lfs/redirects.h"
#include "storage/lfs/server_url.h"

namespace kiln::lfs {
namespace {

constexpr std::size_t kMaxBatch = 100;  // as git-lfs asks

}  // namespace

Result<LfsClient> LfsClient::make(const std::string& url, const source::GitFetchOptions& options,
                                  const std::string& config) {
  KILN_ASSIGN(const source::GitUrl repository, source::parseGitUrl(url));
  // As libcurl has it, which leaves out a port that is the scheme's own.
  std::string server = textOf(serverOf(repository));
  KILN_ASSIGN(const source::GitUrl own, placeOf(server));
  KILN_ASSIGN(const std::string named, lfsServerIn(config));
  if (!named.empty()) {
    KILN_ASSIGN(server, checkedServer(named));
  }
  KILN_ASSIGN(source::GitUrl place, placeOf(server));
  return LfsClient(std::move(server), std::move(place), own, options);
}

LfsClient::LfsClient(std::string server, source::GitUrl place, source::GitUrl own,
                     source::GitFetchOptions options)
    : server_(std::move(server)),
      place_(std::move(place)),
      own_(std::move(own)),
      options_(std::move(options)),
      deadline_(std::chrono::steady_clock::now() + options_.timeLimit),
      left_(options_.maxTransferBytes) {}

Result<std::vector<Download>> LfsClient::ask(std::span<const LargeFile> files) const {
  Request request{place_, server_ + "/objects/batch", {}, {}, isSameServer(place_, own_)};
  request.headers = {fmt::format("Accept: {}", kBatchType), fmt::format("Content-Type: {}", kBatchType)};
  KILN_ASSIGN(request.post, batchRequest(files));
  std::string answer;
  const Status asked = exchangeFollowed(request, options_, deadline_, [&](Bytes bytes) -> Status {
    if (bytes.size() > kMaxBatchBytes - answer.size())
      return fail(Code::kDataLoss, "the answer of the Git LFS server has more than 4 MiB");
    answer.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
  if (!asked) return fail(asked.error().in(describe(files.front())));
  return readBatch(answer, files);
}

Status LfsClient::download(const LargeFile& file, const Download& from) const {
  const auto place = placeOf(from.href);
  if (!place) return fail(place.error().in(describe(file)));
  const Request request{*place, from.href, from.headers, {}, !from.authorizes && isSameServer(*place, own_)};
  KILN_ASSIGN(ObjectWriter writer, ObjectWriter::open(file));
  const Status came =
      exchangeFollowed(request, options_, deadline_, [&](Bytes bytes) { return writer.take(bytes); });
  if (!came)
    return fail(came.error().message.starts_with(describe(file)) ? came.error()
                                                                 : came.error().in(describe(file)));
  return writer.finish();
}

Status LfsClient::fetch(std::span<const LargeFile> files) {
  for (const LargeFile& file : files) {
    if (file.object.size > left_)
      return fail(Code::kResourceExhausted,
                  fmt::format("{} has {} bytes, and no more than {} are left to fetch", describe(file),
                              file.object.size, left_));
    left_ -= file.object.size;
  }
  for (std::size_t at = 0; at < files.size(); at += kMaxBatch) {
    const auto some = files.subspan(at, std::min(kMaxBatch, files.size() - at));
    KILN_ASSIGN(const std::vector<Download> downloads, ask(some));
    for (std::size_t i = 0; i < some.size(); ++i) KILN_TRY(download(some[i], downloads[i]));
  }
  return {};
}

}  // namespace kiln::lfs
