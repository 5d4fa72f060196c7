#include "compiler_core/codegen/cuda/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln::codegen {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// ptxas played by a script.
class Assemble : public ::testing::Test {
 protected:
  void play(const std::string& script) {
    std::ofstream(assembler_.ptxas) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(assembler_.ptxas, fs::perms::owner_all);
  }

  Result<std::string> run() {
    auto cubin = assemble("PTX text", assembler_);
    EXPECT_TRUE(fs::is_empty(assembler_.workDirectory)) << "nothing stays behind";
    return cubin;
  }

  void SetUp() override {
    assembler_ = {directory_ / "ptxas", directory_ / "lib", "sm_90a", directory_ / "work"};
    fs::create_directory(assembler_.workDirectory);
    fs::create_directory(assembler_.toolchainLib);
  }

  testing_support::TempDirectory directory_;
  Assembler assembler_;
};

TEST_F(Assemble, TheTextGoesInAndTheCubinComesOut) {
  play("echo \"$@\"; (pwd; echo \"$@\"; cat \"$2\"; env | grep -v '^PWD\\|^_=\\|^SHLVL\\|^OLDPWD') > \"$4\"");
  ::setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA", 1);
  ::setenv("KILN_SECRET", "x", 1);
  const auto cubin = run();
  ::unsetenv("GLIBC_TUNABLES");
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(*cubin, fs::canonical(assembler_.workDirectory).string() +
                        "\n-arch=sm_90a .kernels-sm_90a.ptx -o .kernels-sm_90a.cubin\nPTX text"
                        "GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA\n");
}

TEST_F(Assemble, TheToolchainsOwnLoaderStartsIt) {
  const std::string loader = assembler_.toolchainLib + "/ld-linux-x86-64.so.2";
  std::ofstream(loader) << "#!/bin/sh\necho \"$@\" > \"$7\"\n";
  fs::permissions(loader, fs::perms::owner_all);
  std::ofstream(assembler_.ptxas) << "never started itself";
  const auto cubin = run();
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(*cubin, "--library-path " + assembler_.toolchainLib + " " + assembler_.ptxas +
                        " -arch=sm_90a .kernels-sm_90a.ptx -o .kernels-sm_90a.cubin\n");
}

TEST_F(Assemble, AToolchainWithoutPtxasSaysSo) {
  for (const std::string& path : {std::string(), directory_ / "nothing"}) {
    assembler_.ptxas = path;
    const auto cubin = run();
    ASSERT_FALSE(cubin);
    EXPECT_EQ(cubin.error().code, Code::kUnimplemented);
    EXPECT_THAT(cubin.error().message, HasSubstr("this toolchain has no ptxas"));
  }
}

TEST_F(Assemble, WhatDoesNotStartIsNamed) {
  std::ofstream(assembler_.ptxas) << "no program";
  auto cubin = run();
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(cubin.error().message, HasSubstr("ptxas does not start: " + assembler_.ptxas));
  EXPECT_THAT(cubin.error().message, HasSubstr("ermission denied"));
  play("echo 'error while loading shared libraries: libc.so.6' >&2; exit 127");
  cubin = run();
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(cubin.error().message, HasSubstr("libc.so.6"));
}

TEST_F(Assemble, WhatItSaysIsPassedOnAndBounded) {
  play("echo 'ptxas kernels, line 7; error : Unknown' >&2; yes | head -c 1000000; exit 255");
  const auto cubin = run();
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, Code::kInternal);
  EXPECT_THAT(cubin.error().message,
              HasSubstr("ptxas refuses the kernels for sm_90a: ptxas kernels, line 7; error"));
  EXPECT_THAT(cubin.error().message, Not(HasSubstr("\n")));
  EXPECT_LT(cubin.error().message.size(), 5000u);
}

TEST_F(Assemble, ABrokenEndIsNoCubin) {
  play("kill -9 $$");
  auto cubin = run();
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, Code::kResourceExhausted);
  EXPECT_THAT(cubin.error().message, HasSubstr("signal 9; it may need more memory or time"));
  play("echo partial > \"$4\"; kill -11 $$");
  cubin = run();
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, Code::kInternal);
  play("exit 0");
  cubin = run();
  ASSERT_FALSE(cubin) << "no output";
  play("ln -s /etc/passwd \"$4\"");
  cubin = run();
  ASSERT_FALSE(cubin) << "no file";
}

}  // namespace
}  // namespace kiln::codegen
