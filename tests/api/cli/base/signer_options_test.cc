#include "api/cli/base/signer_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/signing/sigstore/small_sigstore.h"
#include "tests/support/temp_directory.h"

namespace kiln::cli {
namespace {

using testing_support::SmallSigstore;

class SignerOptionsTest : public ::testing::Test {
 protected:
  SignerOptionsTest() {
    std::ofstream(home_ / "ca.pem") << here_.middle.pem() << here_.root.pem();
    std::ofstream(home_ / "leaf.pem") << here_.leaf().pem();
    std::ofstream(home_ / "trusted.json") << here_.trustedRoot().dump();
  }
  // Whose signatures count by these words, of a command that calls the options so.
  Result<signing::AcceptedSigners> read(std::vector<std::string> words, const SignerWords& called = {}) {
    CLI::App app;
    SignerOptions options;
    addSignerOptions(app, options, called);
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return fail(Code::kInvalidArgument, error.what());
    }
    return loadSigners(options, here_.now);
  }

  testing_support::TempDirectory home_;
  const SmallSigstore here_;
  const std::string ca_ = home_ / "ca.pem", trusted_ = home_ / "trusted.json";
};

TEST_F(SignerOptionsTest, NameAPrivateAuthorityAndATime) {
  const auto now =
      read({"--certificate-root", ca_, "--certificate-identity", "a", "--certificate-identity", "b"});
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->certificates->roots.anchors.size(), 1u);
  EXPECT_EQ(now->certificates->roots.intermediates.size(), 1u);
  EXPECT_EQ(now->certificates->identities, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(now->certificates->at, here_.now);
  EXPECT_FALSE(now->keyless);
  for (const char* time : {"2025-03-01", "2025-03-01T00:00:00Z"})
    EXPECT_EQ(
        rfc3339(read({"--certificate-root", ca_, "--certificate-identity", "a", "--certificate-time", time})
                    ->certificates->at),
        "2025-03-01T00:00:00Z");
}

TEST_F(SignerOptionsTest, NameASigstoreByTheWordsOfTheCommand) {
  const auto here = read({"--model-trusted-root", trusted_, "--model-certificate-identity", "a",
                          "--model-certificate-oidc-issuer", "https://x"},
                         {"--model-signed-by", "--model-certificate", "--model-trusted-root"});
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ(here->keyless->roots.size(), 1u);
  EXPECT_EQ(here->keyless->identities, std::vector<std::string>{"a"});
  EXPECT_EQ(here->keyless->issuers, std::vector<std::string>{"https://x"});
  EXPECT_FALSE(here->certificates);
}

TEST_F(SignerOptionsTest, WhatGoesTogetherIsGivenTogether) {
  const std::vector<std::vector<std::string>> lines{
      {},
      {"--certificate-root", ca_},
      {"--certificate-identity", "a"},
      {"--certificate-oidc-issuer", "a"},
      {"--trusted-root", trusted_},
      {"--trusted-root", trusted_, "--certificate-identity", "a"},
      {"--trusted-root", trusted_, "--certificate-oidc-issuer", "a"},
      {"--certificate-root", ca_, "--certificate-identity", "a", "--certificate-oidc-issuer", "a"},
      {"--certificate-root", ca_, "--trusted-root", trusted_, "--certificate-identity", "a",
       "--certificate-oidc-issuer", "a"},
      {"--trusted-root", trusted_, "--certificate-identity", "a", "--certificate-oidc-issuer", "a",
       "--certificate-time", "2025-03-01"},
      {"--certificate-root", ca_, "--certificate-identity", "a", "--certificate-time", "soon"},
      {"--certificate-root", ca_, "--certificate-identity", "a", "--certificate-crl", ca_},
      {"--trusted-root", trusted_, "--certificate-identity", "a", "--certificate-oidc-issuer", "a",
       "--certificate-crl", ca_},
      {"--certificate-root", home_ / "leaf.pem", "--certificate-identity", "a"},
      {"--trusted-root", ca_, "--certificate-identity", "a", "--certificate-oidc-issuer", "a"}};
  for (const auto& words : lines) {
    const auto got = read(words);
    ASSERT_FALSE(got) << testing::PrintToString(words);
    EXPECT_EQ(got.error().code, Code::kInvalidArgument) << got.error().message;
  }
}

}  // namespace
}  // namespace kiln::cli
