// A client of the Remote Execution API that does on request what reapi.py has several servers do in turn, and
// times it. It is the same for each server.
// usage: bench_reapi ADDRESS TOOL MIB   (TOOL: the static program that actions run; MIB: size of large blobs)
// Says "ready" once the tool is uploaded; then each line on standard input is answered by a line of numbers:
//   upload KIND SALT       seconds of the upload of an action, all of it new but for the tool; KIND is noop,
//                          megabyte or thousand
//   execute TURN           seconds of its execution; another TURN has another command and the same inputs
//   cached COUNT           seconds of each Execute of the last action, whose result is known; before them
//                          whether all of them were answered from the cache
//   hits STREAMS SECONDS   calls of GetActionResult per second for that action
//   write CODEC DATA SALT  seconds of a ByteStream upload; CODEC is plain or zstd, DATA random or text
//   read CODEC             seconds of a download of what was uploaded last
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include "manifest/base/file.h"
#include "storage/remote/resource_name.h"
#include "storage/remote/zstd_codec.h"
#include "storage/tree/directory.h"
#include "tests/bench/reapi_server.h"

namespace kiln::bench {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Blob blobOf(std::string bytes) {
  return {digestOf(bytes), std::move(bytes)};
}

std::string randomBytes(std::size_t size, std::uint64_t seed) {
  std::string out(size, '\0');
  std::mt19937_64 draw(seed);
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const std::uint64_t word = draw();
    std::memcpy(out.data() + at, &word, 8);
  }
  return out;
}

// Words as a log has them; zstd makes about a third of it.
std::string textBytes(std::size_t size) {
  std::mt19937_64 draw(1);
  std::vector<std::string> words;
  for (int i = 0; i < 2000; ++i) words.push_back(fmt::format("{:x} ", draw() >> (16 + draw() % 32)));
  std::string out;
  out.reserve(size + 16);
  while (out.size() < size) out += words[draw() % words.size()];
  out.resize(size);
  return out;
}

// The blobs of an action; the last is the action itself.
class ActionBlobs {
 public:
  ActionBlobs(const Digest& tool, const std::string& kind, std::uint64_t salt) : kind_(kind), salt_(salt) {
    reapi::Directory root;
    addFile(root, "tool", tool)->set_is_executable(true);
    if (kind == "megabyte") addFile(root, "in", add(randomBytes(1 << 20, salt)));
    if (kind == "thousand") {
      for (int i = 0; i < 10; ++i) {
        reapi::Directory folder;
        for (int j = 0; j < 100; ++j)
          addFile(folder, fmt::format("file{}", j),
                  add(randomBytes(1024, salt * 1000 + static_cast<std::uint64_t>(i * 100 + j))));
        auto& child = *root.add_directories();
        child.set_name(fmt::format("folder{}", i));
        *child.mutable_digest() = toProto(add(storage::serialiseDirectory(folder)));
      }
    }
    root_ = add(storage::serialiseDirectory(root));
  }

  // With a command that no other `turn` or salt has.
  std::vector<Blob> withCommand(int turn) const {
    std::vector<Blob> out = blobs_;
    reapi::Command command;
    for (const std::string& word : {std::string("./tool"), fmt::format("{}.{}", salt_, turn)})
      command.add_arguments(word);
    reapi::Action action;
    if (kind_ == "megabyte") {
      command.add_arguments("in");
      command.add_arguments("out");
      command.add_output_files("out");
      command.add_output_paths("out");
    }
    auto& property = *command.mutable_platform()->add_properties();
    property.set_name("OSFamily");
    property.set_value("linux");
    *action.mutable_platform() = command.platform();
    out.push_back(blobOf(command.SerializeAsString()));
    *action.mutable_command_digest() = toProto(out.back().digest);
    *action.mutable_input_root_digest() = toProto(root_);
    out.push_back(blobOf(action.SerializeAsString()));
    return out;
  }

 private:
  static reapi::FileNode* addFile(reapi::Directory& folder, const std::string& name, const Digest& digest) {
    auto* const file = folder.add_files();
    file->set_name(name);
    *file->mutable_digest() = toProto(digest);
    return file;
  }
  Digest add(std::string bytes) {
    blobs_.push_back(blobOf(std::move(bytes)));
    return blobs_.back().digest;
  }

  const std::string kind_;
  const std::uint64_t salt_;
  std::vector<Blob> blobs_;
  Digest root_;
};

class Client {
 public:
  Client(const std::string& address, std::size_t largeBytes) : server_(address), largeBytes_(largeBytes) {}

  Status begin(const std::string& tool) {
    KILN_ASSIGN(std::string bytes, readRegular(tool, 64 << 20));
    const Blob blob = blobOf(std::move(bytes));
    tool_ = blob.digest;
    return server_.upload({blob});
  }

  Result<std::string> answer(const std::string& line) {
    std::istringstream words(line);
    std::string what, first, second;
    std::uint64_t salt = 0;
    words >> what >> first;
    if (what == "upload" && words >> salt) return upload(first, salt);
    if (what == "execute") return execute(std::stoi(first));
    if (what == "cached") return cached(std::stoi(first));
    if (what == "hits" && words >> second) return hits(std::stoi(first), std::stod(second));
    if (what == "write" && words >> second >> salt) return write(first == "zstd", second, salt);
    if (what == "read") return read(first == "zstd");
    return fail(Code::kInvalidArgument, "not understood: " + line);
  }

 private:
  Result<std::string> upload(const std::string& kind, std::uint64_t salt) {
    action_ = std::make_unique<ActionBlobs>(tool_, kind, salt);
    const auto blobs = action_->withCommand(1);
    const Stopwatch watch;
    KILN_TRY(server_.upload(blobs));
    return fmt::format("{:.6f}", watch.seconds());
  }

  Result<std::string> execute(int turn) {
    if (!action_) return fail(Code::kFailedPrecondition, "upload an action first");
    const auto blobs = action_->withCommand(turn);
    KILN_TRY(server_.upload(blobs));
    const Stopwatch watch;
    KILN_ASSIGN(const bool cached, server_.execute(blobs.back().digest));
    const double seconds = watch.seconds();
    if (cached) return fail(Code::kInternal, "a new action was answered from the cache");
    last_ = blobs.back().digest;
    return fmt::format("{:.6f}", seconds);
  }

  Result<std::string> cached(int count) {
    bool all = true;
    std::string times;
    for (int i = 0; i < count; ++i) {
      const Stopwatch watch;
      KILN_ASSIGN(const bool known, server_.execute(last_));
      times += fmt::format(" {:.6f}", watch.seconds());
      all = all && known;
    }
    return (all ? "1" : "0") + times;
  }

  Result<std::string> hits(int streams, double seconds) {
    std::atomic<std::uint64_t> done = 0, failed = 0;
    const Stopwatch watch;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < streams; ++i)
        threads.emplace_back([&] {
          while (watch.seconds() < seconds && failed == 0) ++(server_.getResult(last_) ? done : failed);
        });
    }
    KILN_TRY(server_.getResult(last_));
    return fmt::format("{:.3f}", static_cast<double>(done) / watch.seconds());
  }

  Result<std::string> write(bool zstd, const std::string& data, std::uint64_t salt) {
    std::string& bytes = data == "text" ? text_ : random_;
    if (bytes.empty()) bytes = data == "text" ? textBytes(largeBytes_) : randomBytes(largeBytes_, 1);
    std::memcpy(bytes.data(), &salt, sizeof salt);
    large_ = digestOf(bytes);
    const std::string compressed = zstd ? storage::zstdCompress(bytes) : "";
    const Stopwatch watch;
    KILN_TRY(server_.write(named(storage::writeName("", large_), zstd), zstd ? compressed : bytes));
    return fmt::format("{:.6f}", watch.seconds());
  }

  Result<std::string> read(bool zstd) {
    const Stopwatch watch;
    KILN_ASSIGN(const std::uint64_t came, server_.read(named(storage::readName("", large_), zstd)));
    const double seconds = watch.seconds();
    if (came == 0 || (!zstd && came != large_.size)) return fail(Code::kDataLoss, "a read came short");
    return fmt::format("{:.6f}", seconds);
  }

  static std::string named(std::string name, bool zstd) {
    return zstd ? name.replace(name.find("blobs/"), 6, "compressed-blobs/zstd/") : name;
  }

  ReapiServer server_;
  const std::size_t largeBytes_;
  std::unique_ptr<ActionBlobs> action_;
  Digest tool_, last_, large_;
  std::string random_, text_;
};

Status serve(const std::string& address, const std::string& tool, std::size_t mib) {
  Client client(address, mib << 20);
  KILN_TRY(client.begin(tool));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = client.answer(line);
    // A message may have several lines.
    std::cout << (answer ? *answer
                         : "refused " + answer.error().message.substr(0, answer.error().message.find('\n')))
              << std::endl;
  }
  return {};
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_reapi ADDRESS TOOL MIB\n");
    return 2;
  }
  const auto done = kiln::bench::serve(argv[1], argv[2], std::stoul(argv[3]));
  if (!done) std::fprintf(stderr, "bench_reapi: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
