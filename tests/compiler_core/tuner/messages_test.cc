#include "compiler_core/tuner/messages.h"

#include <gtest/gtest.h>

namespace kiln::tuner {
namespace {

TEST(Messages, AreReadAsTheyAreWritten) {
  const MeasureSetup setup{{{{Element::kF32, 6}}, {{Element::kI8, 2}, {Element::kF64, 1}}, {}}, 7, {0, 3}};
  const auto read = unpackSetup(pack(setup));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tensors.inputs.at(0).elements, 6u);
  EXPECT_EQ(read->tensors.weights.at(1).element, Element::kF64);
  EXPECT_EQ(read->seed, 7u);
  EXPECT_EQ(read->processors, (std::vector<int>{0, 3}));

  const auto request = unpackRequest(pack(MeasureRequest{
      MeasureRequest::Kind::kSample, 4, 5, {"elf", 6, 8, {{1, 9, 16, 0, 4}}, "cubin", "1.6", {"k0", "k1"}}}));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, MeasureRequest::Kind::kSample);
  EXPECT_EQ(request->program.elf, "elf");
  EXPECT_EQ(request->program.weights, (std::vector<KernelWeight>{{1, 9, 16, 0, 4}}));

  EXPECT_EQ(request->program.image, "cubin");
  EXPECT_EQ(request->program.imageVersion, "1.6");
  EXPECT_EQ(request->program.imageKernels, (std::vector<std::string>{"k0", "k1"}));

  MeasureAnswer answer{Error{Code::kInternal, "why", {}}, digestOf("results"), 0.5, {1, 2, 3}, 9};
  const auto back = unpackAnswer(pack(answer));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->error->message, "why");
  EXPECT_EQ(back->results, answer.results);
  EXPECT_EQ(back->distance, 0.5);
  EXPECT_EQ(back->nanoseconds, answer.nanoseconds);
  EXPECT_EQ(back->runsPerSample, 9u);
  EXPECT_FALSE(back->device || back->isLast);

  answer.device = MeasuredDevice{"a GPU", 9, 0, 132, "vulkan", "1.3.230", "software", "llvmpipe", true};
  answer.isLast = true;
  const auto last = unpackAnswer(pack(answer));
  ASSERT_TRUE(last && last->device);
  EXPECT_EQ(last->device->name + " by " + last->device->driver, "a GPU by llvmpipe");
  EXPECT_EQ(last->device->api + " " + last->device->apiVersion, "vulkan 1.3.230");
  EXPECT_EQ(last->device->type, "software");
  EXPECT_EQ(last->device->major * 10 + last->device->minor, 90);
  EXPECT_EQ(last->device->multiprocessors, 132u);
  EXPECT_TRUE(last->device->isEmulated && last->isLast);
}

TEST(Messages, OfAnotherReleaseAreRefusedByName) {
  std::string other = pack(MeasureSetup{});
  other[0] = 77;
  const auto read = unpackSetup(other);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kFailedPrecondition);
}

// The side that measures may have been overwritten by what it ran.
TEST(Messages, AnythingElseIsRefused) {
  const std::string good = pack(MeasureAnswer{{}, digestOf("results"), 0, {1, 2, 3}, 9});
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(unpackAnswer(std::string_view(good).substr(0, length))) << length;
  EXPECT_FALSE(unpackAnswer(good + "x"));
  for (std::size_t at = 0; at < good.size(); at += 8) {
    std::string bad = good;
    bad.replace(at, 8, 8, '\xff');
    if (const auto read = unpackAnswer(bad)) EXPECT_LE(read->nanoseconds.size(), kMaxSamples) << at;
  }
  std::string many = good;
  many.replace(good.size() - 7 * 8, 8, std::string("\x41\0\0\0\0\0\0\0", 8));  // 65 samples
  EXPECT_FALSE(unpackAnswer(many));
}

}  // namespace
}  // namespace kiln::tuner
