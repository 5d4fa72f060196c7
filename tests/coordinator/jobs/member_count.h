// How many members an aggregate has, so that a table with a case for each can tell that one is missing.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace kiln::jobs::testing {

// Stands for a value of any member's type.
struct AnyMember {
  template <class T>
  operator T() const;
};

template <class Aggregate, std::size_t... Is>
constexpr bool takes(std::index_sequence<Is...>) {
  return requires { Aggregate{(static_cast<void>(Is), AnyMember{})...}; };
}

template <class Aggregate, std::size_t count = 1>
constexpr std::size_t memberCount() {
  static_assert(std::is_aggregate_v<Aggregate> && count < 64);
  if constexpr (!takes<Aggregate>(std::make_index_sequence<count>()))
    return count - 1;
  else
    return memberCount<Aggregate, count + 1>();
}

}  // namespace kiln::jobs::testing
