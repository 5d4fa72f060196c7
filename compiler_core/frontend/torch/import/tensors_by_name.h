// The tensors of a graph by name while it is imported: what each is now, although nodes write in place into
// tensors and into views of them. A view is made anew from its base when it is read after the base was
// written; a view that is written is written back into its base.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {

// How views are followed; the importer's part.
class Views {
 public:
  virtual ~Views() = default;
  // The result number `index` of the view's node, from what its base is now.
  virtual Result<Value> look(const Node& node, std::size_t index) = 0;
  // What the base is when `part` is written through the view.
  virtual Result<Value> written(const Node& node, std::size_t index, Value base, Value part) = 0;
};

// Where a name lies in the memory of another.
struct ViewOf {
  std::string base;
  const Node* node = nullptr;
  std::size_t index = 0;
  Alias alias = Alias::kView;
};

class TensorsByName {
 public:
  explicit TensorsByName(Views& views) : views_(views) {}

  // kInvalidArgument where the name stands for another tensor already.
  Status define(const std::string& name, Value value);
  Status define(const std::string& name, Value value, ViewOf view);
  // Another name for what `base` is: the result of a node that writes in place.
  Status define(const std::string& name, const std::string& base);
  // What the name is could not be made, which has been noted.
  Status poison(const std::string& name);
  bool isPoisoned(std::string_view name) const;
  bool isDefined(std::string_view name) const { return tensors_.contains(name); }

  // kInvalidArgument for a name that is not defined there; kUnimplemented where a write may or may not have
  // changed it.
  Result<Value> read(std::string_view name);
  // Puts `value` in the place of the tensor, and of what it lies in.
  Status write(const std::string& name, Value value);
  // Whether a node has written it since it was defined.
  bool isWritten(std::string_view name) const;

 private:
  struct Tensor {
    Value value;  // null: poisoned, or a result that nobody may read
    bool isPoisoned = false;
    std::string same;                    // another name that this one stands for
    ViewOf view;                         // base "": it is none
    std::int64_t version = 0, seen = 0;  // its own, and of its base when `value` was made
    // How often something was written that may lie in its memory; of its base, how often that was known here.
    std::int64_t doubts = 0, doubtsKnown = 0;
  };
  Status add(const std::string& name, Tensor tensor);
  // Follows `same`.
  Result<Tensor*> find(std::string_view name);
  // All that `tensor` lies in may have been written through it.
  Status doubtBases(Tensor& tensor);

  std::map<std::string, Tensor, std::less<>> tensors_;
  Views& views_;
};

}  // namespace kiln::torch
