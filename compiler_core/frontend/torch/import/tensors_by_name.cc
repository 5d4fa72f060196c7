#include "compiler_core/frontend/torch/import/tensors_by_name.h"

namespace kiln::torch {
namespace {

// Views of views; each is one call deep.
constexpr int kMaxChain = 256;

tl::unexpected<Error> uncertain(std::string_view name) {
  return unserved(
      "tensor " + std::string(name) +
      " may lie in the memory of one that is written in place, which depends on strides; clone() it");
}

}  // namespace

Status TensorsByName::add(const std::string& name, Tensor tensor) {
  if (!tensors_.emplace(name, std::move(tensor)).second) return invalid("two tensors are called " + name);
  return {};
}

Status TensorsByName::define(const std::string& name, Value value) {
  Tensor tensor;
  tensor.value = value;
  return add(name, std::move(tensor));
}

Status TensorsByName::define(const std::string& name, Value value, ViewOf view) {
  KILN_ASSIGN(const Tensor* base, find(view.base));
  Tensor tensor;
  tensor.value = value;
  tensor.seen = base->version;
  tensor.doubtsKnown = base->doubts;
  tensor.view = std::move(view);
  return add(name, std::move(tensor));
}

Status TensorsByName::define(const std::string& name, const std::string& base) {
  Tensor tensor;
  tensor.same = base;
  return add(name, std::move(tensor));
}

Status TensorsByName::poison(const std::string& name) {
  Tensor tensor;
  tensor.isPoisoned = true;
  return add(name, std::move(tensor));
}

bool TensorsByName::isPoisoned(std::string_view name) const {
  for (int i = 0; i < kMaxChain; ++i) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return false;
    if (found->second.isPoisoned) return true;
    if (found->second.same.empty()) return false;
    name = found->second.same;
  }
  return false;
}

Result<TensorsByName::Tensor*> TensorsByName::find(std::string_view name) {
  for (int i = 0; i < kMaxChain; ++i) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      return invalid("tensor " + std::string(name) + " is used where it is not defined");
    if (found->second.same.empty()) return &found->second;
    name = found->second.same;
  }
  return unserved("tensors are written in place too often in a row");
}

Result<Value> TensorsByName::read(std::string_view name) {
  // From the tensor to what it lies in, then back: no recursion over what a file states.
  std::vector<std::pair<std::string, Tensor*>> chain;
  for (std::string at(name);;) {
    if (chain.size() > kMaxChain) return unserved("views of views are nested too deeply");
    KILN_ASSIGN(Tensor * tensor, find(at));
    chain.emplace_back(at, tensor);
    if (tensor->view.base.empty()) break;
    at = tensor->view.base;
  }
  if (chain[0].second->doubts > 0) return uncertain(name);
  for (std::size_t i = chain.size() - 1; i-- > 0;) {
    auto& [own, tensor] = chain[i];
    const Tensor& base = *chain[i + 1].second;
    if (tensor->doubtsKnown != base.doubts) return uncertain(own);
    if (tensor->seen == base.version) continue;
    if (tensor->view.alias == Alias::kMaybe) return uncertain(own);
    KILN_ASSIGN(tensor->value, views_.look(*tensor->view.node, tensor->view.index));
    tensor->seen = base.version;
    ++tensor->version;
  }
  if (!chain[0].second->value) return unserved("a result that serves gradients only is not served");
  return chain[0].second->value;
}

Status TensorsByName::write(const std::string& name, Value value) {
  std::string at = name;
  for (int i = 0; i < kMaxChain; ++i) {
    KILN_ASSIGN(Tensor * tensor, find(at));
    const ViewOf view = tensor->view;
    Value base;
    if (!view.base.empty() && view.alias == Alias::kView) {
      KILN_ASSIGN(base, read(view.base));
      KILN_ASSIGN(base, views_.written(*view.node, view.index, base, value));
    }
    tensor->value = value;
    ++tensor->version;
    if (view.base.empty()) return {};
    if (view.alias == Alias::kMaybe) return doubtBases(*tensor);
    KILN_ASSIGN(const Tensor* under, find(view.base));
    tensor->seen = under->version + 1;
    at = view.base;
    value = base;
  }
  return unserved("views of views are nested too deeply");
}

Status TensorsByName::doubtBases(Tensor& tensor) {
  Tensor* at = &tensor;
  for (int i = 0; !at->view.base.empty(); ++i) {
    if (i >= kMaxChain) return unserved("views of views are nested too deeply");
    KILN_ASSIGN(Tensor * base, find(at->view.base));
    // What was known here stays known: the write came from here.
    const bool isKnown = at->doubtsKnown == base->doubts;
    ++base->doubts;
    if (isKnown) at->doubtsKnown = base->doubts;
    at = base;
  }
  return {};
}

bool TensorsByName::isWritten(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found != tensors_.end() && (found->second.version > 0 || found->second.doubts > 0);
}

}  // namespace kiln::torch
