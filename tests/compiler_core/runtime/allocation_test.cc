// Every allocation of the calls that a node makes all day fails once: each time there is an error, never a
// crash, never success without a result. (Reading JSON is left out: the library's values allocate when they
// are destroyed, and end the process if they cannot.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "compiler_core/runtime/runtime.h"
#include "tests/compiler_core/runtime/test_artifact.h"

namespace {

// Allocations of this thread that still succeed; negative: all do.
thread_local long left = -1;
thread_local bool refused = false;  // an allocation that must succeed did not

void* allocate(std::size_t bytes) {
  if (left == 0) return nullptr;
  if (left > 0) --left;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = allocate(bytes);
  if (memory == nullptr) {
    refused = true;
    throw std::bad_alloc();
  }
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace kiln::runtime::test {
namespace {

// Calls until no allocation fails any more; how many calls failed. Later allocations are looked at in larger
// steps: a call has thousands.
template <class Call>
int failingCalls(const Call& call) {
  int failed = 0;
  for (long allowed = 0;; allowed += 1 + allowed / 25) {
    left = allowed;
    refused = false;
    kiln_status* const status = call();
    left = -1;
    if (status == nullptr) {
      EXPECT_FALSE(refused) << "an allocation failed and nobody noticed";
      return failed;
    }
    EXPECT_NE(kiln_status_message(status), nullptr);
    if (failed == 0) {
      EXPECT_EQ(kiln_status_class(status), KILN_ALLOCATION_FAILURE) << kiln_status_message(status);
    }
    kiln_status_free(status);
    ++failed;
    if (failed > 2000) {
      ADD_FAILURE() << "it never succeeds";
      return failed;
    }
  }
}

TEST(Allocation, LackOfMemoryIsAnErrorWhereverItHappens) {
  TestArtifact files;
  kiln_artifact* artifact = nullptr;
  ASSERT_EQ(kiln_artifact_open(files.path().c_str(), &artifact), nullptr);
  const kiln_session_options options{.threads = 3, .run_before_ready = 1};
  kiln_session* session = nullptr;
  EXPECT_GT(failingCalls([&] { return kiln_session_open(artifact, &options, &session); }), 3);
  ASSERT_NE(session, nullptr);

  const auto x = sampleInput();
  std::vector<float> y(x.size());
  std::vector<std::uint32_t> state(kRows + 1);
  const std::int64_t shape[] = {kRows, kColumns};
  std::int64_t shapes[3] = {};
  const kiln_tensor input{"x", "f32", shape, 2, x.data(), x.size() * 4};
  kiln_output outputs[] = {{"y", "f32", y.data(), y.size() * 4, shapes, 2, 0},
                           {"state", "u32", state.data(), state.size() * 4, shapes + 2, 1, 0}};
  EXPECT_GT(failingCalls([&] { return kiln_session_run(session, &input, 1, outputs, 2); }), 3);
  EXPECT_EQ(y, expectedOutput(x));
  EXPECT_GT(failingCalls([&] { return kiln_session_output_shapes(session, &input, 1, outputs, 2); }), 3);
  // A session that has failed in every place is as good as a new one.
  std::fill(y.begin(), y.end(), 0.0f);
  EXPECT_EQ(kiln_session_run(session, &input, 1, outputs, 2), nullptr);
  EXPECT_EQ(y, expectedOutput(x));
  kiln_session_close(session);
  kiln_artifact_close(artifact);
}

TEST(Allocation, TheErrorForLackOfMemoryNeedsNone) {
  left = 0;
  kiln_artifact* artifact = nullptr;
  kiln_status* const status = kiln_artifact_open(nullptr, &artifact);
  left = -1;
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(kiln_status_class(status), KILN_ALLOCATION_FAILURE);
  EXPECT_STREQ(kiln_status_message(status), "out of memory");
  kiln_status_free(status);
  kiln_status_free(status);  // nobody's
}

TEST(Allocation, ClassesThatNobodyKnowsAreFailures) {
  EXPECT_STREQ(kiln_class_name(static_cast<kiln_class>(0)), "unknown");
  EXPECT_STREQ(kiln_class_name(static_cast<kiln_class>(77)), "unknown");
  EXPECT_EQ(codeOf(static_cast<kiln_class>(77)), Code::kInternal);
  for (int number = 1; number < 40; ++number) {
    const auto code = static_cast<Code>(number);
    const kiln_class known = errorClass(code);
    EXPECT_TRUE(known == KILN_BACKEND_FAILURE || codeOf(known) == code) << number;
  }
  EXPECT_EQ(errorClass(static_cast<Code>(99)), KILN_BACKEND_FAILURE);
}

}  // namespace
}  // namespace kiln::runtime::test
