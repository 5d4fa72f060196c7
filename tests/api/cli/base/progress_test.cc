#include "api/cli/base/progress.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cctype>

#include "manifest/spec/action_kind.h"

namespace kiln::cli {
namespace {

TEST(ActionKindName, IsThatOfEachValueOfTheWire) {
  const auto* kinds = v1::ActionKind_descriptor();
  for (int i = 0; i < kinds->value_count(); ++i) {
    const int number = kinds->value(i)->number();
    if (number == v1::ACTION_KIND_UNSPECIFIED) continue;
    std::string name = "ACTION_" + std::string(actionKindName(static_cast<v1::ActionKind>(number)));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    EXPECT_EQ(kinds->value(i)->name(), name) << number;
  }
}

TEST(ActionKindName, OfWhatANewerPeerSaysIsUnknown) {
  EXPECT_EQ("unknown", actionKindName(static_cast<v1::ActionKind>(0)));
  EXPECT_EQ("unknown", actionKindName(static_cast<v1::ActionKind>(4711)));
}

}  // namespace
}  // namespace kiln::cli
