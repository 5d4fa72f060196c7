// Value pins: the numbers a CompileSpec fixes the elements of one input to. No JSON, so that MLIR units and
// the runtime can have them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "manifest/artifact/dtype.h"

namespace kiln {

// An integer exactly, any other number as the nearest f64. A number has one form: whole numbers that fit are
// integers.
using PinValue = std::variant<std::int64_t, double>;
using Pins = std::map<std::string, std::vector<PinValue>>;  // by input name

// The shortest decimal text that reads back as the same value: "-1", "0.5", "1e+20".
std::string pinText(const PinValue& value);
// "[1,0.5]", at most 16 of them.
std::string pinListText(std::span<const PinValue> values);
// Any decimal number. kInvalidArgument for other text and for what is not finite.
Result<PinValue> parsePin(std::string_view text);

// A command's "--pin INPUT=VALUE,VALUE..." into `pins`; "INPUT=" is for an input without elements.
// kInvalidArgument names the option.
Status addPin(std::string_view argument, Pins& pins);

// The values as dense elements of `dtype`; Floats narrower than
// f64 round to nearest. kInvalidArgument names the value that the
// type cannot hold, kUnimplemented a type that cannot be pinned.
Result<std::vector<std::uint8_t>> pinBytes(DType dtype, std::span<const PinValue> values);
// The reverse, for messages; `data` holds at least `count` elements of a type that can be pinned.
std::vector<PinValue> pinValues(DType dtype, const void* data, std::size_t count);

}  // namespace kiln
