#include "storage/logging/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "manifest/json/json.h"

namespace kiln::logging {
namespace {

std::string logged(Format format, const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  start("kiln-test", format);
  act();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, TextIsAWordForTheEventThenItsFields) {
  const std::string line =
      logged(Format::kText, [] { info("lease given", {{"worker", "w1"}, {"why", "two words"}, {"n", ""}}); });
  ASSERT_EQ(line.find('T'), 10u) << line;
  EXPECT_EQ(line.substr(24), " info kiln-test lease given worker=w1 why=\"two words\" n=\"\"\n");
}

TEST(Log, JsonIsOneObjectALine) {
  const std::string line = logged(
      Format::kJson, [] { warning("lease given", {{"job", "j1"}, {"trace", ""}, {"path", "a\\b \"c\""}}); });
  const auto json = parseJson(line);
  ASSERT_TRUE(json) << line;
  EXPECT_EQ(json->at("level"), "warning");
  EXPECT_EQ(json->at("process"), "kiln-test");
  EXPECT_EQ(json->at("event"), "lease given");
  EXPECT_EQ(json->at("job"), "j1");
  EXPECT_EQ(json->at("path"), "a\\b \"c\"");
  EXPECT_EQ(json->at("time").get<std::string>().size(), 24u);
  EXPECT_FALSE(json->contains("trace")) << "there is none to tell of";
}

// A worker's error message, a caller's instance, a file's name.
TEST(Log, WhatComesFromOutsideEndsNoLineAndNoObject) {
  const std::string hostile =
      "a\n{\"event\":\"forged\"}\x1b[2J\xff\xe2\x80\xae\"," + std::string(10'000, 'x');
  for (const Format format : {Format::kText, Format::kJson}) {
    const std::string line = logged(format, [&] { error(hostile, {{"error", hostile}, {"job", hostile}}); });
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    EXPECT_EQ(line.find_first_of("\x1b\xff"), std::string::npos) << line;
    EXPECT_LT(line.size(), 3 * 4096u + 1000);
    if (format == Format::kText) continue;
    const auto json = parseJson(line);
    ASSERT_TRUE(json) << line;
    EXPECT_EQ(json->size(), 6u) << "time, level, process, event, error, job";
  }
}

TEST(Log, FormatsHaveTheirNames) {
  EXPECT_EQ(formatNamed("json"), Format::kJson);
  EXPECT_EQ(formatNamed("text"), Format::kText);
}

}  // namespace
}  // namespace kiln::logging
