#include "manifest/base/counted.h"

namespace kiln {
namespace {

std::string several(std::string_view one) {
  const std::string noun(one);
  for (const char* hiss : {"s", "x", "ch", "sh"})
    if (noun.ends_with(hiss)) return noun + "es";
  const bool isIes = noun.size() > 1 && noun.back() == 'y' &&
                     std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string_view::npos;
  return isIes ? noun.substr(0, noun.size() - 1) + "ies" : noun + "s";
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view one) {
  const std::string number = std::to_string(count);
  return number + " " + nounFor(number, one);
}

std::string nounFor(std::string_view number, std::string_view one) {
  return number == "1" ? std::string(one) : several(one);
}

}  // namespace kiln
