// The subcommands of kiln-signer that make keys, certificates and trust roots. None overwrites a file.
#pragma once

#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/result.h"

namespace kiln::signing {

// A new P-256 key at `out`: a file, mode 0600, or a token (signing/token/key_location.h; wherever a private
// key is named below, too).
Status makeKey(const std::string& out);
// Its public half.
Result<std::string> publicKeyPem(const std::string& key);
// What a development root says, beside its one key.
struct RootOptions {
  std::string key;
  std::string builderId;
  std::string logKey;     // .vkey file of the farm's log; "" for none
  std::string recallKey;  // who alone may recall the farm's artifacts; "" for nobody
  bool development = false;
};
// A root for one key and one builder at `out`. Roots that are not for development are made by several people
// and not by this command: kInvalidArgument unless `development`.
Status makeRoot(const RootOptions& options, const std::string& out, const Clock& clock);
// Gives a development root of an earlier release what it lacks of log and recall key: its next version, in
// its place. Nothing if it lacks none, or is signed by somebody: then it is theirs to change.
Status completeRoot(const RootOptions& options, const std::string& path, const Clock& clock);
// DIR/worker-ca.pem and DIR/worker-ca.key.
Status makeWorkerCa(const std::string& directory, const Clock& clock);
// PREFIX.pem and PREFIX.key, issued by the authority in `caDirectory`.
Status makeWorkerCertificate(const std::string& caDirectory, const std::string& name,
                             const std::string& operatorName, const std::string& prefix, const Clock& clock);

}  // namespace kiln::signing
