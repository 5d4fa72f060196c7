// Walks of a list that comes in pages: what gives them may lie, and each walk has an end.
#pragma once

#include <cstddef>
#include <string>

#include "manifest/base/result.h"

namespace kiln::audit {

// Pages without an entry in a row, of what is searched in steps of some thousand rows.
inline constexpr std::size_t kSearchedPages = 10'000;

// Not thread safe.
class PageWalk {
 public:
  // `what` the list is of, for messages. As many as `emptyPages` in a row may have no entry: what they had
  // has gone meanwhile, or, in many more, the list is searched in steps.
  explicit PageWalk(std::string what, std::size_t emptyPages = 100)
      : what_(std::move(what)), emptyPages_(emptyPages) {}

  // For each entry of a list that is ordered by `key`: so none comes twice, under whatever token. kDataLoss.
  Status takeInOrder(const std::string& key);

  // After each page, with the token of the next ("" for none) and how many entries it had. kDataLoss if the
  // pages lead nowhere: in a circle, on and on without an entry, or further than any list.
  Status check(const std::string& next, int entries);

 private:
  tl::unexpected<Error> nowhere(const std::string& why) const;

  const std::string what_;
  const std::size_t emptyPages_;
  std::size_t pages_ = 0, empty_ = 0;
  // A token of before, moved on whenever the walk has doubled: in a circle it comes again.
  std::string known_;
  std::string last_;  // entry
};

}  // namespace kiln::audit
