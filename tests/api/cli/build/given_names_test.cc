#include "api/cli/build/given_names.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

TEST(GivenNames, FilesAreCalledAsTheUserDoes) {
  const std::map<std::string, std::string> given{{"model.onnx", "m/a model.onnx"},
                                                 {"params/0", "w.npz"},
                                                 {"params/1/b.npy", "/home/b.npy"},
                                                 {"params/10", "ten.npz"}};
  EXPECT_EQ(asGiven("input/model.onnx: byte 7", given), "m/a model.onnx: byte 7");
  EXPECT_EQ(asGiven("x: input/params/0: a; input/params/1/b.npy: b; input/params/10.", given),
            "x: w.npz: a; /home/b.npy: b; ten.npz.");
  EXPECT_EQ(asGiven("opening input/params/0: no, \"input/params/0\"", given), "opening w.npz: no, \"w.npz\"");
}

TEST(GivenNames, OtherPathsStay) {
  const std::map<std::string, std::string> given{{"params/1", "w.npz"}, {"model.onnx", "m"}};
  for (const char* text : {"", "input/", "input/params/12", "input/params/1/x", "input/params/1.bak",
                           "my-input/params/1", "a/input/params/1", "input/model.onnx_data", "params/1"})
    EXPECT_EQ(asGiven(text, given), text);
}

}  // namespace
}  // namespace kiln::cli
