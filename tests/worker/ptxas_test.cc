// ptxas as a child of a static program under the compile policy: an empty root, no /proc, no /tmp, no clone3.
#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "tests/worker/sandbox_fixture.h"

namespace kiln::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kPtx = R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry kiln_k0(.param .u64 .ptr .align 1 p)
.reqntid 32
{
	.reg .b32 	%r<2>;
	.reg .b64 	%rd<3>;
	ld.param.b64 	%rd1, [p];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r1, %tid.x;
	st.global.b32 	[%rd2], %r1;
	ret;
}
)";

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class PtxasSandbox : public SandboxFixture {
 protected:
  void SetUp() override {
    SandboxFixture::SetUp();
    fs::copy_file(KILN_TEST_ASSEMBLE, dir_ + "/tools/assemble");
    std::ofstream(dir_ + "/root/input/k.ptx") << kPtx;
  }

  // The parts of a toolchain that ptxas needs.
  void addPtxas() {
    const fs::path toolchain = fs::path(KILN_TOOLCHAIN_LIB).parent_path(), to = dir_ + "/tools";
    fs::create_directory(to / "bin");
    fs::create_directory(to / "lib");
    fs::copy_file(toolchain / "bin/ptxas", to / "bin/ptxas");
    for (const auto& entry : fs::directory_iterator(toolchain / "lib"))
      if (entry.path().filename().string().find(".so") != std::string::npos)
        fs::copy_file(entry.path(), to / "lib" / entry.path().filename());
  }

  RunResult assemble() {
    Command made = command({});
    made.arguments = {"/work/toolchain/assemble", "/work/toolchain/bin/ptxas",
                      "/work/toolchain/lib",      "sm_90a",
                      "/work/input/k.ptx",        "/work/output/k.cubin"};
    auto sandbox = Sandbox::make(policy_, host_);
    EXPECT_TRUE(sandbox);
    if (geteuid() == 0) {
      const auto uid = host_.actionUid(0);
      EXPECT_EQ(chown(output().c_str(), uid, uid), 0);
    }
    auto result = sandbox->run(made, {});
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : RunResult{};
  }
};

TEST_F(PtxasSandbox, ACubinIsMadeInAnEmptyRoot) {
  if (!fs::exists(fs::path(KILN_TOOLCHAIN_LIB).parent_path() / "bin/ptxas"))
    GTEST_SKIP() << "CUDA's compiler parts are not installed";
  addPtxas();
  const RunResult result = assemble();
  EXPECT_EQ(result.exitCode, 0) << result.err;
  const std::string cubin = contents(output() + "/k.cubin");
  EXPECT_TRUE(
      cubin.starts_with("\x7f"
                        "ELF"));
  EXPECT_THAT(cubin, HasSubstr(".text.kiln_k0"));
  // The same bytes as outside.
  const std::string outside = dir_ + "/outside.cubin";
  const std::string lib = KILN_TOOLCHAIN_LIB;
  ASSERT_EQ(std::system((std::string(KILN_TEST_ASSEMBLE) + " " + fs::path(lib).parent_path().string() +
                         "/bin/ptxas " + lib + " sm_90a " + dir_ + "/root/input/k.ptx " + outside)
                            .c_str()),
            0);
  EXPECT_TRUE(contents(outside) == cubin);
  EXPECT_EQ(std::distance(fs::directory_iterator(output()), fs::directory_iterator()), 1)
      << "nothing stays behind";
}

TEST_F(PtxasSandbox, AToolchainWithoutItIsNamed) {
  const RunResult result = assemble();
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("this toolchain has no ptxas"));
}

}  // namespace
}  // namespace kiln::sandbox
