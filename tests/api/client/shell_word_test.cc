// What is printed to be pasted is what a shell makes of it.
#include "api/client/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>

#include "manifest/base/printable.h"

namespace kiln::client {
namespace {

// The words that `sh` hands to a program, one by one.
std::vector<std::string> shellSplits(const std::string& line) {
  const std::string script = "show() { for word; do printf '%s\\0' \"$word\"; done; }\nshow " + line;
  ::setenv("KILN_TEST_SCRIPT", script.c_str(), 1);
  FILE* const pipe = ::popen("sh -c \"$KILN_TEST_SCRIPT\"", "r");
  std::string all;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    all.append(buffer.data(), got);
  EXPECT_EQ(::pclose(pipe), 0) << script;
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\0', at);
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

TEST(ShellWord, ComesBackWhateverIsInIt) {
  std::vector<std::string> texts{"plain",    "",         " ",        "it's",  "$HOME `id` \\ \"q\" !",
                                 "*",        "a\nb",     "\n",       "a\n\n", "\n\na",
                                 "\n\n9",    "\x1b[31m", "\xff\xfe", "ä",     "\u202e",
                                 "100%\t%d", "~",        "#",        "-x",    "--",
                                 "a=b;rm",   "\r\n",     "x\n'"};
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (int length = static_cast<int>(random() % 12); length > 0; --length)
      text += static_cast<char>(random() % 3 == 0 ? "\n'\"\\$0-"[random() % 7] : 1 + random() % 255);
    texts.push_back(text);
  }
  std::string line;
  for (const std::string& text : texts) {
    const std::string word = shellWord(text);
    if (!text.ends_with('\n'))
      EXPECT_EQ(printable(word, word.size()), word) << "nothing reaches a terminal raw";
    line += word + " ";
  }
  EXPECT_EQ(shellSplits(line), texts);
}

TEST(ShellWord, ValuesAndPathsAreNoOptions) {
  const std::string line = shellPath("-m.onnx") + " " + shellPath("m.onnx") + " " +
                           shellOption("--pin", "-a\nb=1") + " " + shellOption("--pin", "a=-1");
  EXPECT_EQ(shellSplits(line),
            (std::vector<std::string>{"./-m.onnx", "m.onnx", "--pin=-a\nb=1", "--pin", "a=-1"}));
}

}  // namespace
}  // namespace kiln::client
