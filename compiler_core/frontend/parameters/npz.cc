#include "compiler_core/frontend/archive/zip.h"
#include "compiler_core/frontend/parameters/formats.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/base/printable.h"

namespace kiln::parameters {
namespace {

constexpr std::string_view kEnding = ".npy";

Result<ir::Weight> readArray(Bytes file, const Owner& owner, std::string_view name) {
  auto view = npy::view(file);
  if (!view) return fail(view.error().in(tensorPlace(name)));
  return ir::Weight{std::string(name), view->dtype, std::move(view->shape), view->data, owner};
}

}  // namespace

Result<Tensors> readNpz(Bytes file, const Owner& owner) {
  KILN_ASSIGN(const auto members, archive::readZip(file));
  for (const archive::ZipMember& member : members) {
    if (member.name.ends_with("data.pkl")) {
      return fail(Code::kInvalidArgument,
                  "a PyTorch checkpoint, which is code to unpickle; save its tensors with safetensors");
    }
  }
  Tensors out;
  for (const archive::ZipMember& member : members) {
    if (!member.name.ends_with(kEnding) || member.name.size() == kEnding.size()) {
      return fail(Code::kInvalidArgument,
                  "member " + inQuotes(member.name) + " is no .npy file; an .npz archive holds nothing else");
    }
    KILN_ASSIGN(const archive::ZipContents contents, archive::contentsOf(member, owner));
    const std::string_view name = member.name.substr(0, member.name.size() - kEnding.size());
    KILN_ASSIGN(ir::Weight tensor, readArray(contents.bytes, contents.owner, name));
    out.push_back(std::move(tensor));
  }
  KILN_TRY(checkTensors(out));
  return out;
}

Result<Tensors> readNpy(Bytes file, const Owner& owner, std::string_view name) {
  Tensors out;
  KILN_ASSIGN(ir::Weight tensor, readArray(file, owner, name));
  out.push_back(std::move(tensor));
  KILN_TRY(checkTensors(out));
  return out;
}

}  // namespace kiln::parameters
