// `kiln run --jitdump`: what perf reads, byte for byte as its specification says, and by perf itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "manifest/base/run_program.h"
#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

using testing::HasSubstr;

struct KilnJitdump : testing_support::SignedProgram {
  std::filesystem::path onlyFile() const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(directory / "jit")) {
      EXPECT_TRUE(found.empty()) << entry.path();
      found = entry.path();
    }
    return found;
  }
};

// Takes numbers and texts off a file's bytes.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class Number>
  Number number() {
    Number out{};
    EXPECT_LE(at_ + sizeof out, bytes_.size());
    if (at_ + sizeof out <= bytes_.size()) std::memcpy(&out, bytes_.data() + at_, sizeof out);
    at_ += sizeof out;
    return out;
  }
  std::string text() {
    std::string out(bytes_.c_str() + at_);
    at_ += out.size() + 1;
    return out;
  }
  void skip(std::size_t bytes) { at_ += bytes; }
  std::size_t at() const { return at_; }
  bool ended() const { return at_ >= bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

TEST_F(KilnJitdump, HoldsTheKernelsAsTheSpecificationSays) {
  const auto result = kiln({"run", artifact.path(), "--input", "x=x.npy", "--jitdump", "jit"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("perf inject --jit"));
  const std::filesystem::path file = onlyFile();
  std::stringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  Reader reader(bytes.str());
  EXPECT_EQ(reader.number<std::uint32_t>(), 0x4A695444u);
  EXPECT_EQ(reader.number<std::uint32_t>(), 1u) << "the version";
  EXPECT_EQ(reader.number<std::uint32_t>(), 40u) << "the header's size";
  EXPECT_EQ(reader.number<std::uint32_t>(), 62u) << "EM_X86_64";
  EXPECT_EQ(reader.number<std::uint32_t>(), 0u);
  const auto process = reader.number<std::uint32_t>();
  EXPECT_EQ(file.filename(), "jit-" + std::to_string(process) + ".dump");
  auto time = reader.number<std::uint64_t>();
  EXPECT_EQ(reader.number<std::uint64_t>(), 0u) << "flags";
  std::map<std::string, std::uint64_t> functions;
  for (std::uint64_t index = 0; !reader.ended(); ++index) {
    const std::size_t begin = reader.at();
    EXPECT_EQ(reader.number<std::uint32_t>(), 0u) << "JIT_CODE_LOAD";
    const auto total = reader.number<std::uint32_t>();
    const auto at = reader.number<std::uint64_t>();
    EXPECT_GE(at, time);
    time = at;
    EXPECT_EQ(reader.number<std::uint32_t>(), process);
    EXPECT_EQ(reader.number<std::uint32_t>(), process) << "the thread that wrote it";
    const auto address = reader.number<std::uint64_t>();
    EXPECT_EQ(reader.number<std::uint64_t>(), address);
    const auto size = reader.number<std::uint64_t>();
    EXPECT_GT(size, 0u);
    EXPECT_EQ(reader.number<std::uint64_t>(), index);
    functions[reader.text()] = size;
    reader.skip(size);
    ASSERT_EQ(reader.at() - begin, total);
  }
  EXPECT_TRUE(functions.contains("row")) << "the kernel of the program";
}

// perf makes a file of each function, which its report then reads.
TEST_F(KilnJitdump, PerfTakesIt) {
  const std::string data = directory / "perf.data", named = directory / "named.data";
  const auto perf = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "/usr/bin/perf");
    return runProgram(words, {.limit = std::chrono::minutes(1),
                              .directory = directory.path(),
                              .standardError = StandardError::kJoined});
  };
  const auto probe = perf({"record", "-k", "1", "-e", "cpu-clock", "-o", directory / "probe.data", "true"});
  if (!probe || probe->exitCode != 0) GTEST_SKIP() << "no perf here that may record (linux-perf)";
  std::filesystem::create_directory(directory / "jit");
  const auto recorded =
      perf({"record", "-k", "1", "-e", "cpu-clock", "-o", data, "--", KILN_PROGRAM, "run", artifact.path(),
            "--input", "x=" + (directory / "x.npy"), "--jitdump", directory / "jit", "--trust-root",
            directory / "root.json", "--policy", directory / "policy.json"});
  ASSERT_TRUE(recorded && recorded->exitCode == 0) << recorded->out;
  const auto injected = perf({"inject", "--jit", "-i", data, "-o", named});
  ASSERT_TRUE(injected && injected->exitCode == 0) << injected->out;
  bool row = false;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "jit")) {
    if (entry.path().extension() != ".so") continue;
    std::stringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    row = row || bytes.str().find(std::string("\0row\0", 5)) != std::string::npos;
  }
  EXPECT_TRUE(row) << injected->out;
}

TEST_F(KilnJitdump, AFolderThatIsNoneIsNamed) {
  std::ofstream(directory / "file") << "kept";
  const auto result = kiln({"run", artifact.path(), "--input", "x=x.npy", "--jitdump", "file"});
  EXPECT_EQ(result.exit, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("file"));
  EXPECT_EQ(kiln({"run", artifact.path(), "--input", "x=x.npy", "--jitdump", "jit", "--isolated"}).exit, 2);
}

}  // namespace
}  // namespace kiln
