#include "compiler_core/frontend/stablehlo/bytecode/vhlo_codes.h"

#include <span>

#include "compiler_core/frontend/stablehlo/program/element.h"

namespace kiln::stablehlo {
namespace {

constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kCompareTypes[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr std::string_view kApiVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                             "API_VERSION_STATUS_RETURNING",
                                             "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
constexpr std::string_view kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kPrecisions[] = {"DEFAULT", "HIGH", "HIGHEST"};
constexpr std::string_view kAlgorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
constexpr std::string_view kDistributions[] = {"", "UNIFORM", "NORMAL"};
constexpr std::string_view kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr std::string_view kAccuracyModes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};

struct Enumeration {
  std::uint64_t code;
  std::span<const std::string_view> names;
};
constexpr Enumeration kEnumerations[] = {{3, kDirections},     {4, kCompareTypes}, {5, kApiVersions},
                                         {7, kFftTypes},       {11, kPrecisions},  {12, kAlgorithms},
                                         {13, kDistributions}, {16, kTransposes},  {19, kAccuracyModes}};

struct Scalar {
  std::uint64_t code;
  Element element;
  std::string_view other = {};
};
constexpr Scalar kScalars[] = {{0, Element::kI1},
                               {2, Element::kBF16},
                               {3, Element::kF16},
                               {4, Element::kF32},
                               {5, Element::kF64},
                               {10, Element::kI4},
                               {11, Element::kI8},
                               {12, Element::kI16},
                               {13, Element::kI32},
                               {14, Element::kI64},
                               {15, Element::kUI4},
                               {16, Element::kUI8},
                               {17, Element::kUI16},
                               {18, Element::kUI32},
                               {19, Element::kUI64},
                               {31, Element::kI2},
                               {32, Element::kUI2},
                               {6, Element::kOther, "f8E4M3FN"},
                               {7, Element::kOther, "f8E5M2"},
                               {9, Element::kOther, "index"},
                               {27, Element::kOther, "f8E4M3FNUZ"},
                               {28, Element::kOther, "f8E5M2FNUZ"},
                               {29, Element::kOther, "f8E4M3B11FNUZ"},
                               {34, Element::kOther, "tf32"},
                               {35, Element::kOther, "f8E4M3"},
                               {36, Element::kOther, "f8E3M4"},
                               {37, Element::kOther, "f4E2M1FN"},
                               {38, Element::kOther, "f6E2M3FN"},
                               {39, Element::kOther, "f6E3M2FN"},
                               {40, Element::kOther, "f8E8M0FNU"}};

const Enumeration* findEnumeration(std::uint64_t code) {
  for (const Enumeration& enumeration : kEnumerations)
    if (enumeration.code == code) return &enumeration;
  return nullptr;
}

}  // namespace

std::optional<VhloScalar> vhloScalar(std::uint64_t code) {
  for (const Scalar& scalar : kScalars)
    if (scalar.code == code)
      return VhloScalar{scalar.element,
                        scalar.element == Element::kOther ? scalar.other : elementName(scalar.element)};
  return std::nullopt;
}

bool isVhloEnumeration(std::uint64_t code) {
  return findEnumeration(code) != nullptr;
}

std::string_view vhloEnumerated(std::uint64_t code, std::uint64_t value) {
  const Enumeration* enumeration = findEnumeration(code);
  return enumeration && value < enumeration->names.size() ? enumeration->names[value] : std::string_view();
}

}  // namespace kiln::stablehlo
