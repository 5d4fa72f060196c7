#include "storage/remote/tree_pages.h"

#include <fmt/core.h>

#include <charconv>
#include <deque>
#include <unordered_set>

#include "storage/tree/directory.h"

namespace kiln::storage {
namespace {

class Pages {
 public:
  Pages(BlobStore& store, const std::string& instance, const TreePageLimits& limits)
      : store_(store), instance_(instance), limits_(limits) {}

  // Notes a Directory to come, unless it was noted before.
  Status note(const Digest& digest, std::size_t depth) {
    if (depth > limits_.depth)
      return fail(Code::kOutOfRange, fmt::format("the tree is deeper than {} directories", limits_.depth));
    if (!seen_.insert(digest).second) return {};
    if (seen_.size() > limits_.directories)
      return fail(Code::kOutOfRange,
                  fmt::format("the tree has more than {} different directories", limits_.directories));
    waiting_.emplace_back(digest, depth);
    return {};
  }

  bool isDone() const { return waiting_.empty(); }

  // The next one, whose children are noted.
  Result<reapi::Directory> next() {
    const auto [digest, depth] = waiting_.front();
    waiting_.pop_front();
    const std::string where = "directory " + digest.text();
    auto text = getBlob(store_, instance_, digest, kMaxBatchBytes);
    if (!text) return fail(text.error().in(where));
    if (text->size() > limits_.bytes - bytes_)
      return fail(Code::kOutOfRange,
                  fmt::format("the tree has directories of more than {} bytes", limits_.bytes));
    bytes_ += text->size();
    auto directory = parseDirectory(*text, depth);
    if (!directory) return fail(directory.error().in(where));
    for (const auto& child : directory->directories()) {
      KILN_ASSIGN(const Digest below, fromProto(child.digest()));
      KILN_TRY(note(below, depth + 1));
    }
    return directory;
  }

 private:
  BlobStore& store_;
  const std::string& instance_;
  const TreePageLimits& limits_;
  std::deque<std::pair<Digest, std::size_t>> waiting_;
  std::unordered_set<Digest, DigestHash> seen_;
  std::uint64_t bytes_ = 0;
};

std::string tokenAfter(const Digest& root, std::size_t directories) {
  return fmt::format("{}-{}", root.hex(), directories);
}

// How many Directories the token leaves out.
Result<std::size_t> skippedBy(const TreePages& wanted, const TreePageLimits& limits) {
  if (wanted.token.empty()) return std::size_t(0);
  std::size_t count = 0;
  const std::size_t at = wanted.root.hex().size() + 1;
  if (wanted.token.size() > at)
    std::from_chars(wanted.token.data() + at, wanted.token.data() + wanted.token.size(), count);
  if (count == 0 || count >= limits.directories || tokenAfter(wanted.root, count) != wanted.token)
    return fail(Code::kInvalidArgument, "page_token is none that was given for this root; begin without one");
  return count;
}

}  // namespace

Status sendTree(BlobStore& store, const std::string& instance, const TreePages& wanted,
                const std::function<Status(const reapi::GetTreeResponse&)>& send,
                const TreePageLimits& limits) {
  if (wanted.pageSize < 0) return fail(Code::kInvalidArgument, "page_size is negative");
  KILN_ASSIGN(const std::size_t skipped, skippedBy(wanted, limits));
  const std::size_t size =
      wanted.pageSize == 0 ? limits.page : std::min(limits.page, static_cast<std::size_t>(wanted.pageSize));
  Pages pages(store, instance, limits);
  KILN_TRY(pages.note(wanted.root, 0));
  reapi::GetTreeResponse page;
  std::uint64_t bytes = 0;
  std::size_t read = 0;
  for (; !pages.isDone(); ++read) {
    KILN_ASSIGN(reapi::Directory directory, pages.next());
    if (read < skipped) continue;
    const std::uint64_t more = directory.ByteSizeLong();
    if (page.directories_size() != 0 &&
        (static_cast<std::size_t>(page.directories_size()) >= size || bytes + more > kMaxBatchBytes)) {
      page.set_next_page_token(tokenAfter(wanted.root, read));
      KILN_TRY(send(page));
      page.Clear();
      bytes = 0;
    }
    bytes += more;
    *page.add_directories() = std::move(directory);
  }
  if (skipped >= read)
    return fail(Code::kInvalidArgument, "page_token is beyond the end of the tree; begin without one");
  return send(page);
}

}  // namespace kiln::storage
