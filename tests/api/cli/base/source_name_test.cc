#include "api/cli/base/source_name.h"

#include <gtest/gtest.h>

#include "manifest/base/digest.h"

namespace kiln::cli {
namespace {

// What `kiln build` records of a folder whose path no URL can hold is found by the path as people write it.
TEST(SourceName, IsWhatABuildRecords) {
  EXPECT_EQ(sourceName("git+file:///a b/\u00e9").value(), "git+file:///a%20b/%C3%A9");
  EXPECT_EQ(sourceName("git+file:///a%20b/%C3%A9").value(), "git+file:///a%20b/%C3%A9");
  const std::string commit(40, 'a');
  EXPECT_EQ(sourceName("git+file:///a b@" + commit + "#c d.onnx").value(),
            "git+file:///a%20b@" + commit + "#c d.onnx");
  for (const std::string& asItIs : {std::string("git+https://host/a b"), commit, digestOf("x").text()})
    EXPECT_EQ(sourceName(asItIs).value(), asItIs);
  EXPECT_EQ(sourceName("no such file").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kiln::cli
