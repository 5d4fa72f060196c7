// usage: assemble_tool PTXAS LIB ARCH PTX OUT: what kiln-cc does to have a cubin made. Static, for an empty
// root.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "compiler_core/codegen/cuda/assemble.h"

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  std::ostringstream ptx;
  ptx << std::ifstream(argv[4], std::ios::binary).rdbuf();
  const std::string out = argv[5];
  const auto cubin =
      kiln::codegen::assemble(ptx.str(), {argv[1], argv[2], argv[3], out.substr(0, out.rfind('/'))});
  if (!cubin) {
    std::fprintf(stderr, "%s\n", cubin.error().message.c_str());
    return 1;
  }
  std::ofstream(out, std::ios::binary) << *cubin;
  return 0;
}
