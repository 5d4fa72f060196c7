#include "storage/s3/answer_body.h"

#include <gtest/gtest.h>

namespace kiln::s3 {
namespace {

TEST(S3AnswerBody, FindsTextsOfElements) {
  const std::string xml =
      "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>a &lt;b&gt; &amp;amp; "
      "&quot;c&quot;</Message></Error>";
  EXPECT_EQ(elementText(xml, "Code"), "SlowDown");
  EXPECT_EQ(elementText(xml, "Message"), "a <b> &amp; \"c\"");
  EXPECT_EQ(elementText(xml, "Key"), std::nullopt);
  EXPECT_EQ(elementText(xml, "Error"), std::nullopt) << "has children";
  EXPECT_TRUE(isErrorBody(xml));
  EXPECT_FALSE(isErrorBody("<Result><Error>x</Error></Result>"));
  EXPECT_EQ(escaped("\"a\"<&>"), "&quot;a&quot;&lt;&amp;&gt;");
}

TEST(S3AnswerBody, WhatIsCutOrHostileIsNothing) {
  const std::string xml = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code></Error>";
  for (std::size_t size = 0; size < xml.size(); ++size) {
    static_cast<void>(isErrorBody(std::string_view(xml).substr(0, size)));
    const auto code = elementText(std::string_view(xml).substr(0, size), "Code");
    EXPECT_TRUE(!code || *code == "SlowDown");
  }
  EXPECT_EQ(elementText("<Code>" + std::string(5000, 'x') + "</Code>", "Code"), std::nullopt);
  EXPECT_FALSE(isErrorBody(std::string(1000, '<')));
}

}  // namespace
}  // namespace kiln::s3
