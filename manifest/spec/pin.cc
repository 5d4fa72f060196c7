#include "manifest/spec/pin.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "manifest/artifact/small_float.h"
#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln {
namespace {

constexpr std::size_t kListed = 16;

// Calls `use` with a value of the C++ type of `dtype`; false for types that cannot be pinned.
template <class Use>
bool withType(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::kI8:
      return use(std::int8_t{}), true;
    case DType::kI16:
      return use(std::int16_t{}), true;
    case DType::kI32:
      return use(std::int32_t{}), true;
    case DType::kI64:
      return use(std::int64_t{}), true;
    case DType::kU8:
      return use(std::uint8_t{}), true;
    case DType::kU16:
      return use(std::uint16_t{}), true;
    case DType::kU32:
      return use(std::uint32_t{}), true;
    case DType::kU64:
      return use(std::uint64_t{}), true;
    case DType::kBool:
      return use(bool{}), true;
    case DType::kF32:
      return use(float{}), true;
    case DType::kF64:
      return use(double{}), true;
    default:
      return false;
  }
}

template <class T>
bool convert(const PinValue& value, T& out) {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  if constexpr (std::is_floating_point_v<T>) {
    out = integer ? static_cast<T>(*integer) : static_cast<T>(*std::get_if<double>(&value));
    return std::isfinite(out);
  } else {
    if (!integer) return false;
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (*integer < 0) return false;
    } else {
      if (*integer < std::int64_t{std::numeric_limits<T>::min()} ||
          *integer > std::int64_t{std::numeric_limits<T>::max()})
        return false;
    }
    out = static_cast<T>(*integer);
    return true;
  }
}

PinValue normal(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const bool negativeZero = value == 0 && std::signbit(value);
  if (value == std::trunc(value) && value >= -kLimit && value < kLimit && !negativeZero)
    return static_cast<std::int64_t>(value);
  return value;
}

// Floats that C++ has no type for, by their codes.
bool encode(DType dtype, const FloatFormat& format, const PinValue& value, std::uint8_t* out) {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  const double number = integer ? static_cast<double>(*integer) : *std::get_if<double>(&value);
  const std::uint32_t code = encodeFloat(format, number, /*overflow=*/true);
  for (std::size_t i = 0; i < dtypeBytes(dtype); ++i) out[i] = static_cast<std::uint8_t>(code >> (8 * i));
  return std::isfinite(decodeFloat(format, code));
}

PinValue decode(DType dtype, const FloatFormat& format, const std::uint8_t* in) {
  std::uint32_t code = 0;
  for (std::size_t i = 0; i < dtypeBytes(dtype); ++i) code |= static_cast<std::uint32_t>(in[i]) << (8 * i);
  return normal(decodeFloat(format, code));
}

}  // namespace

std::string pinText(const PinValue& value) {
  char buffer[32];
  const auto write = [&](auto number) { return std::to_chars(buffer, buffer + sizeof buffer, number).ptr; };
  return {buffer, std::visit(write, value)};
}

std::string pinListText(std::span<const PinValue> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && i < kListed; ++i)
    text += (i > 0 ? "," : "") + pinText(values[i]);
  return text + (values.size() > kListed ? ",...]" : "]");
}

Result<PinValue> parsePin(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t integer = 0;
  if (auto read = std::from_chars(text.data(), end, integer);
      read.ec == std::errc() && read.ptr == end && text != "-0")
    return PinValue(integer);
  double real = 0;
  if (auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc() && read.ptr == end && std::isfinite(real))
    return normal(real);
  return fail(Code::kInvalidArgument, "'" + std::string(text) + "' is no finite decimal number");
}

Status addPin(std::string_view argument, Pins& pins) {
  const auto wrong = [&](const std::string& why) {
    return fail(Code::kInvalidArgument, "--pin " + printable(argument) + ": " + why);
  };
  const std::size_t equals = argument.rfind('=');
  if (equals == std::string_view::npos || equals == 0)
    return wrong("give INPUT=VALUE,VALUE..., such as axes=1,2");
  if (!isUtf8(argument)) return wrong("the input's name is no UTF-8, as the names of models are");
  std::vector<PinValue> values;
  for (std::string_view rest = argument.substr(equals + 1); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    auto value = parsePin(rest.substr(0, comma));
    if (!value) return wrong(value.error().message);
    values.push_back(*value);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return wrong("a value is missing at the end");
  }
  if (!pins.try_emplace(std::string(argument.substr(0, equals)), std::move(values)).second)
    return wrong("the input is given twice");
  return {};
}

Result<std::vector<std::uint8_t>> pinBytes(DType dtype, std::span<const PinValue> values) {
  std::vector<std::uint8_t> bytes(values.size() * dtypeBytes(dtype));
  std::size_t bad = values.size();
  const FloatFormat* format = floatFormat(dtype);
  for (std::size_t i = 0; format && i < values.size() && bad == values.size(); ++i)
    if (!encode(dtype, *format, values[i], bytes.data() + i * dtypeBytes(dtype))) bad = i;
  const bool known = format || withType(dtype, [&]<class T>(T element) {
                       for (std::size_t i = 0; i < values.size() && bad == values.size(); ++i) {
                         if (!convert(values[i], element)) bad = i;
                         std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
                       }
                     });
  if (!known)
    return fail(Code::kUnimplemented,
                "inputs of type " + std::string(dtypeName(dtype)) + " cannot be pinned to a value");
  if (bad != values.size())
    return fail(Code::kInvalidArgument, "value " + std::to_string(bad) + " (" + pinText(values[bad]) +
                                            ") is no " + std::string(dtypeName(dtype)));
  return bytes;
}

std::vector<PinValue> pinValues(DType dtype, const void* data, std::size_t count) {
  std::vector<PinValue> values;
  if (const FloatFormat* format = floatFormat(dtype))
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(
          decode(dtype, *format, static_cast<const std::uint8_t*>(data) + i * dtypeBytes(dtype)));
  withType(dtype, [&]<class T>(T element) {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&element, static_cast<const std::byte*>(data) + i * sizeof(T), sizeof(T));
      if constexpr (std::is_floating_point_v<T>)
        values.push_back(normal(element));
      else
        values.push_back(static_cast<std::int64_t>(element));
    }
  });
  return values;
}

}  // namespace kiln
