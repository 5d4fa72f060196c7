#include "compiler_core/runtime/session/profiles.h"

#include <algorithm>
#include <optional>

namespace kiln::runtime {
namespace {

const DimRange& rangeOf(const Manifest& manifest, std::size_t profile, std::size_t symbol) {
  return manifest.spec.profiles[profile].dims.at(manifest.symbols[symbol].name);
}

bool holds(const DimRange& range, std::int64_t value) {
  return value >= range.min && value <= range.max && value % range.multiple == 0;
}

// By what factor the symbols' product grows; nothing if the profile cannot serve them.
std::optional<double> growth(const Manifest& manifest, std::size_t profile, ProfileChoice& choice) {
  const bool mayPad = manifest.spec.outOfProfile == "pad";
  double factor = 1;
  for (std::size_t i = 0; i < choice.symbols.size(); ++i) {
    const DimRange& range = rangeOf(manifest, profile, i);
    std::int64_t& value = choice.symbols[i];
    if (holds(range, value)) continue;
    // Results are cut back to the size that was given, which the program counts in multiples too.
    if (value > range.max || value % range.multiple != 0 || !mayPad || !manifest.symbols[i].pad)
      return std::nullopt;
    factor *= (static_cast<double>(range.min) + 1) / (static_cast<double>(value) + 1);
    value = range.min;
    choice.padded = true;
  }
  choice.profile = profile;
  return factor;
}

std::string placeOf(const Symbol& symbol) {
  return "input \"" + symbol.input + "\" " + (symbol.element ? "element " : "dimension ") +
         std::to_string(symbol.index);
}

// "small takes N from 1 to 4", "big takes H from 32 to 640 in multiples of 32".
std::string rangesText(const Manifest& manifest, std::size_t profile, const std::vector<std::size_t>& which) {
  std::string text = manifest.profiles[profile].name + " takes ";
  for (std::size_t k = 0; k < which.size(); ++k) {
    const DimRange& range = rangeOf(manifest, profile, which[k]);
    const std::string& name = manifest.symbols[which[k]].name;
    text += (k == 0 ? "" : ", ") + name + (range.min == range.max ? " = " : " from ") +
            std::to_string(range.min) + (range.min == range.max ? "" : " to " + std::to_string(range.max)) +
            (range.multiple == 1 ? "" : " in multiples of " + std::to_string(range.multiple));
  }
  return text;
}

tl::unexpected<Error> outside(const Manifest& manifest, const std::vector<std::int64_t>& symbols) {
  // A symbol that no profile holds by itself, else all of them: they do not fit together.
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < symbols.size() && which.empty(); ++i) {
    bool somewhere = false;
    for (std::size_t p = 0; p < manifest.profiles.size(); ++p)
      somewhere = somewhere || holds(rangeOf(manifest, p, i), symbols[i]);
    if (!somewhere) which.push_back(i);
  }
  const bool together = which.empty();
  for (std::size_t i = 0; together && i < symbols.size(); ++i) which.push_back(i);
  std::string text;
  for (const std::size_t i : which) {
    const Symbol& symbol = manifest.symbols[i];
    text += (text.empty() ? "" : ", ") + placeOf(symbol) + ": " + symbol.name + " is " +
            std::to_string(symbols[i]);
  }
  text += together ? "; no profile takes these together: " : "; profile ";
  for (std::size_t p = 0; p < manifest.profiles.size(); ++p)
    text += (p == 0 ? "" : "; ") + rangesText(manifest, p, which);
  return fail(Code::kOutOfRange, text + "; build the artifact with a profile for it");
}

}  // namespace

Result<ProfileChoice> chooseProfile(const Manifest& manifest, const std::vector<std::int64_t>& symbols) {
  std::optional<ProfileChoice> best;
  double least = 0;
  for (std::size_t p = 0; p < manifest.profiles.size(); ++p) {
    ProfileChoice choice{p, symbols};
    const auto factor = growth(manifest, p, choice);
    if (!factor) continue;
    if (!choice.padded) return choice;
    if (!best || *factor < least) {
      best = std::move(choice);
      least = *factor;
    }
  }
  if (!best) return outside(manifest, symbols);
  return std::move(*best);
}

Result<ProfileChoice> takeProfile(const Manifest& manifest, std::size_t profile,
                                  const std::vector<std::int64_t>& symbols) {
  ProfileChoice choice{profile, symbols};
  if (!growth(manifest, profile, choice)) return outside(manifest, symbols);
  return choice;
}

}  // namespace kiln::runtime
