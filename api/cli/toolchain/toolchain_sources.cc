#include "api/cli/toolchain/toolchain_sources.h"

#include <fcntl.h>

#include "api/cli/base/print.h"
#include "api/client/toolchain_lock.h"
#include "manifest/base/counted.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/file.h"
#include "signing/verify/admission.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 1u << 20;
constexpr char kNotRebuildable[] = "not rebuildable from source";

Json inputsJson(const std::vector<LockedInput>& inputs) {
  Json out = Json::array();
  for (const LockedInput& input : inputs)
    out.push_back(
        {{"what", input.what}, {"digest", input.digest.text()}, {"size", std::to_string(input.digest.size)}});
  return out;
}

std::string inputLine(const LockedInput& input) {
  return "  " + printable(input.what) + "  " + input.digest.text() + "  " + humanBytes(input.digest.size);
}

std::string lackText(std::size_t count) {
  return "the farm lacks " + counted(count, "input");
}

Result<std::optional<ToolchainAdmission>> readAdmission(const Context& context, client::Client& client,
                                                        const v1::Toolchain& toolchain) {
  if (!toolchain.has_admission() || context.trustRoot.empty()) return std::optional<ToolchainAdmission>();
  KILN_ASSIGN(const auto root, signing::TrustRoot::load(context.trustRoot));
  const auto unreadable = [&](const Error& error) { return client.unreadable(error); };
  KILN_ASSIGN(const Digest digest, fromProto(toolchain.admission()).map_error(unreadable));
  KILN_ASSIGN(const Digest toolchainDigest, fromProto(toolchain.toolchain_digest()).map_error(unreadable));
  auto bundle = storage::getBlob(client.blobs(), client.instance(), digest, kMaxBundleBytes);
  if (!bundle) return fail(client.explain(bundle.error()).in("admission"));
  auto admission =
      signing::verifyAdmission(*bundle, toolchainDigest, client.instance(), root, SystemClock().now());
  if (!admission) {
    admission.error().details = Json({{"exitCode", kExitVerification}}).dump();
    return fail(std::move(admission).error());
  }
  std::optional<Digest> lock;
  if (toolchain.has_lock()) {
    KILN_ASSIGN(lock, fromProto(toolchain.lock()).map_error(unreadable));
  }
  if (admission->label != toolchain.label() || admission->lock != lock)
    return fail(Code::kDataLoss,
                "admission: its statement is about another label or lock than the farm says");
  return std::optional(std::move(*admission));
}

}  // namespace

Result<ToolchainSources> findSources(const Context& context, client::Client& client,
                                     const v1::Toolchain& toolchain) {
  ToolchainSources out;
  KILN_ASSIGN(out.admission, readAdmission(context, client, toolchain));
  auto kept = client::keptLock(client, toolchain);
  if (!kept && kept.error().code != Code::kNotFound) return fail(kept.error());
  if (!kept) {
    out.why = kept.error().message;
    return out;
  }
  out.lacking = std::move(kept->lacking);
  if (!out.lacking.empty()) out.why = lackText(out.lacking.size());
  return out;
}

void addSources(Json& json, const v1::Toolchain& toolchain, const ToolchainSources& sources) {
  auto digest = [](bool there, const auto& message) {
    return there ? Json("sha256:" + message.hash()) : Json(nullptr);
  };
  json["lock"] = digest(toolchain.has_lock(), toolchain.lock());
  json["admission"] = digest(toolchain.has_admission(), toolchain.admission());
  if (sources.admission) {
    json["admitted"] = {{"issuer", sources.admission->builderId},
                        {"on", rfc3339(sources.admission->admittedOn)}};
    json["admitted"]["instance"] =
        sources.admission->instance ? Json(*sources.admission->instance) : Json(nullptr);
  }
  json["rebuildable"] = sources.rebuildable();
  json["lacking"] = inputsJson(sources.lacking);
}

void printSources(const v1::Toolchain& toolchain, const ToolchainSources& sources) {
  printLine("lock     " + (toolchain.has_lock() ? "sha256:" + toolchain.lock().hash() : "none"));
  printLine("admitted " + (toolchain.has_admission() ? "sha256:" + toolchain.admission().hash()
                                                     : "unsigned; `kiln toolchain add` again signs it"));
  if (sources.admission)
    printLine("         by " + printable(sources.admission->builderId) + " on " +
              rfc3339(sources.admission->admittedOn) + ", signature verified");
  if (sources.admission && !sources.admission->instance)
    printLine("         it names no instance; `kiln toolchain add` again makes one that does");
  printLine("rebuild  " + (sources.rebuildable() ? "yes, from what the farm keeps"
                                                 : kNotRebuildable + (": " + sources.why)));
  for (const LockedInput& input : sources.lacking) printLine(inputLine(input));
}

Status saveLock(const Context& context, const SaveLockOptions& options) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto toolchain, client->toolchain(options.name));
  auto kept = client::keptLock(*client, toolchain);
  if (!kept) {
    if (kept.error().code != Code::kNotFound) return fail(kept.error());
    return fail(Code::kNotFound,
                std::string(kNotRebuildable) + ": " + kept.error().message + "; its tree still runs");
  }
  if (!options.inputs.empty()) KILN_TRY(client::saveInputs(*client, *kept, options.inputs));
  if (!options.out.empty()) KILN_TRY(writeFile(options.out, asBytes(kept->text), O_EXCL, 0644));
  if (context.json) {
    printJson({{"label", toolchain.label()},
               {"lock", "sha256:" + toolchain.lock().hash()},
               {"inputs", inputsJson(kept->lock.inputs)},
               {"lacking", inputsJson(kept->lacking)}});
  } else if (options.out.empty()) {
    printText(kept->text);
  }
  if (options.inputs.empty() || kept->lacking.empty()) return {};
  Error error{Code::kNotFound, std::string(kNotRebuildable) + ": " + lackText(kept->lacking.size()), {}};
  for (const LockedInput& input : kept->lacking) error.message += "\n" + inputLine(input);
  return fail(std::move(error));
}

}  // namespace kiln::cli
