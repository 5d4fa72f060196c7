#include "manifest/spec/target.h"

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"

namespace kiln {
namespace {

using Features = std::vector<std::string>;

Features joined(Features features, const Features& more) {
  features.insert(features.end(), more.begin(), more.end());
  std::ranges::sort(features);
  return features;
}

// Levels of the x86-64 psABI (System V ABI, AMD64 supplement, 3.1.1) and processors, in LLVM's feature names,
// implied ones included. In order of what a newcomer should choose.
std::vector<Target> makeTargets() {
  const Features v3 = {"+64bit",  "+avx",    "+avx2",   "+bmi",  "+bmi2", "+cmov",  "+crc32",
                       "+cx16",   "+cx8",    "+f16c",   "+fma",  "+fxsr", "+lzcnt", "+mmx",
                       "+movbe",  "+nopl",   "+popcnt", "+sahf", "+sse",  "+sse2",  "+sse3",
                       "+sse4.1", "+sse4.2", "+ssse3",  "+x87",  "+xsave"};
  const Features v4 = joined(v3, {"+avx512bw", "+avx512cd", "+avx512dq", "+avx512f", "+avx512vl"});
  const Features armv8 = {"+fp-armv8", "+neon", "+v8a"};
  // Arm Neoverse N1 Technical Reference Manual, r4p1, section A1: Armv8.2-A with these extensions (and SSBS,
  // which no program's code uses and which emulators do not report).
  const Features n1 = joined(
      armv8, {"+aes", "+crc", "+dotprod", "+fullfp16", "+lse", "+rcpc", "+rdm", "+sha2", "+v8.1a", "+v8.2a"});
  // Arm Neoverse V2 Technical Reference Manual, r0p2, section A1: Armv9.0-A with these extensions, of which
  // code makes use.
  const Features v2 =
      joined(armv8, {"+bf16", "+complxnum", "+crc", "+dotprod", "+fp16fml", "+fullfp16", "+i8mm", "+jsconv",
                     "+lse", "+rcpc", "+rdm", "+sve", "+sve-bitperm", "+sve2"});
  // RISC-V Profiles, RVA22U64: what of it code makes use of, and the vector extension, which implies vectors
  // of 128 bits at least.
  const Features rva22v = {"+64bit", "+a",   "+c",   "+d",   "+f",      "+m",
                           "+v",     "+zba", "+zbb", "+zbs", "+zfhmin", "+zicsr"};
  // Arm Cortex-M55 Processor Technical Reference Manual, r1p1, with its floating-point unit and the M-profile
  // vector extension. Of that the integers alone: its floating-point lanes take subnormals for zero.
  const Features cortexM55 = {"+dsp", "+fp-armv8d16", "+fp64",         "+fullfp16", "+hwdiv",     "+lob",
                              "+mve", "+ras",         "+strict-align", "+thumb2",   "+v8.1m.main"};
  const std::string x86 = "x86_64-unknown-linux-gnu", arm = "aarch64-unknown-linux-gnu",
                    riscv = "riscv64-unknown-linux-gnu", m55 = "thumbv8.1m.main-none-unknown-eabihf";
  return {
      {"cpu:x86-64-v3", x86, "x86-64-v3", v3},
      {"cpu:x86-64-v4", x86, "x86-64-v4", v4},
      {"cpu:x86-64-v4+avx512vnni+avx512bf16", x86, "x86-64-v4", joined(v4, {"+avx512bf16", "+avx512vnni"})},
      {"cpu:aarch64", arm, "generic", armv8},
      {"cpu:aarch64-neoverse-n1", arm, "neoverse-n1", n1},
      {"cpu:aarch64-neoverse-v2", arm, "neoverse-v2", v2},
      {"cpu:riscv64-rva22+v", riscv, "generic-rv64", rva22v},
      {"cpu:cortex-m55", m55, "generic", cortexM55},
      {"cuda:sm_80", x86, "x86-64-v3", v3, "sm_80"},
      {"cuda:sm_90a", x86, "x86-64-v3", v3, "sm_90a"},
      {"cuda:sm_100a", x86, "x86-64-v3", v3, "sm_100a"},
      {"vulkan:1.3", x86, "x86-64-v3", v3, "vulkan-1.3"}};
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all = makeTargets();
  return all;
}

bool isWord(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || extra.find(c) != std::string_view::npos;
  });
}
bool isNumber(std::string_view text) {
  return !text.empty() && text.size() <= 4 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "", "+f16+int8dot".
bool areFeatures(std::string_view text) {
  while (!text.empty()) {
    if (text.front() != '+') return false;
    text.remove_prefix(1);
    const std::size_t plus = std::min(text.find('+'), text.size());
    if (!isWord(text.substr(0, plus), ".-_")) return false;
    text.remove_prefix(plus);
  }
  return true;
}

bool isCpu(std::string_view text) {
  const std::size_t plus = std::min(text.find('+'), text.size());
  const std::string_view level = text.substr(0, plus);
  bool known = level == "x86-64" || level == "x86-64-v2" || level == "x86-64-v3" || level == "x86-64-v4" ||
               level == "aarch64" || (level.starts_with("aarch64-") && isWord(level.substr(8), "-")) ||
               (level.starts_with("cortex-") && isWord(level.substr(7), "-")) || level == "riscv64" ||
               (level.starts_with("riscv64-") && isWord(level.substr(8), "-"));
  return known && areFeatures(text.substr(plus));
}

bool isWellFormed(std::string_view name) {
  if (name.starts_with("cpu:")) return isCpu(name.substr(4));
  if (name.starts_with("cuda:sm_")) {
    name.remove_prefix(8);
    if (!name.empty() && name.back() >= 'a' && name.back() <= 'f') name.remove_suffix(1);
    return isNumber(name) && name.size() >= 2;
  }
  if (name.starts_with("vulkan:1.")) {
    name.remove_prefix(9);
    const std::size_t plus = std::min(name.find('+'), name.size());
    return isNumber(name.substr(0, plus)) && areFeatures(name.substr(plus));
  }
  return false;
}

std::string served() {
  std::string out;
  for (const std::string& name : servedTargets()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// ": vulkan:1.3 is, without +f16" where a part is a served target of Vulkan but for features.
std::string featuresOf(std::string_view name) {
  for (const std::string& part : targetNames(name)) {
    const std::size_t plus = std::min(part.find('+'), part.size());
    const std::string base = part.substr(0, plus);
    if (plus != part.size() && base.starts_with("vulkan:") &&
        std::ranges::find(targets(), base, &Target::name) != targets().end())
      return ": " + base + " is, without " + part.substr(plus);
  }
  return "";
}

}  // namespace

std::vector<std::string> servedTargets() {
  std::vector<std::string> names;
  for (const Target& target : targets()) names.push_back(target.name);
  return names;
}

std::vector<std::string> targetNames(std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t comma = 0; comma != std::string_view::npos; name.remove_prefix(comma + 1)) {
    comma = name.find(',');
    names.emplace_back(name.substr(0, comma));
    if (comma == std::string_view::npos) break;
  }
  return names;
}

Result<Target> parseTarget(std::string_view name) {
  KILN_ASSIGN(std::vector<Target> parts, parseTargets(name));
  Target whole = std::move(parts.front());
  whole.name = name;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    whole.features = joined(whole.features, parts[i].features);
    whole.device += parts[i].device;  // at most one of them is for a device
  }
  const auto repeated = std::ranges::unique(whole.features);
  whole.features.erase(repeated.begin(), repeated.end());
  return whole;
}

Result<std::vector<Target>> parseTargets(std::string_view name) {
  std::vector<Target> parts;
  std::set<std::string_view> seen;
  bool allServed = true;
  std::string_view rest = name.substr(0, 1024);
  if (rest.size() != name.size()) return fail(Code::kInvalidArgument, "target name longer than 1024 bytes");
  while (true) {
    std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    std::string_view kind = part.substr(part.find(':') == std::string_view::npos ? 0 : part.find(':') + 1);
    if (kind == "native" || kind == "host")
      return fail(Code::kInvalidArgument,
                  "target " + inQuotes(name) + ": " + std::string(kind) +
                      " means something else on every machine; name a target, such as " + served());
    if (!isWellFormed(part))
      return fail(Code::kInvalidArgument,
                  "target " + inQuotes(name) + ": not a target; this release serves " + served());
    const auto known = std::ranges::find(targets(), part, &Target::name);
    if (known != targets().end()) parts.push_back(*known);
    allServed &= known != targets().end();
    if (!seen.insert(part).second)
      return fail(Code::kInvalidArgument,
                  "target " + inQuotes(name) + " names " + std::string(part) + " twice");
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (allServed) {
    if (std::ranges::count_if(parts, [](const Target& part) { return !part.device.empty(); }) > 1)
      return fail(Code::kUnimplemented,
                  "target " + inQuotes(name) +
                      " names two GPUs, and an artifact runs on one; build one artifact for each");
    for (const Target& part : parts)
      if (part.triple != parts.front().triple)
        return fail(Code::kUnimplemented,
                    "target " + inQuotes(name) + ": " + parts.front().name + " and " + part.name +
                        " are code for two architectures, and an artifact runs on one machine");
    return parts;
  }
  return fail(Code::kUnimplemented, "target " + inQuotes(name) + " is not served" + featuresOf(name) +
                                        "; this release serves " + served());
}

}  // namespace kiln
