// What others have signed of an artifact's inputs: a model signature, or any in-toto statement, such as the
// provenance that Tekton Chains makes. Whoever has seen that it holds and is about this artifact's inputs
// says so in a statement about the artifact, with the envelope inside, so that anyone can see it again.
#pragma once

#include <string>
#include <string_view>

#include "manifest/spec/compile_spec.h"
#include "manifest/statement/input_statement.h"
#include "signing/model/signed_envelope.h"

namespace kiln::signing {

// The predicate: `inputs` (path and digest), `predicateType` of the statement, `payload` (its digest),
// `keyId` and `publicKey` of its signer, and its `envelope`; of a signer by certificate `identity`, `root`
// (the digest of its certificate) and `certificates`, from the signer's to the root's, in base64; of a
// keyless one `issuer`, `time` and the bundle's `verificationMaterial` too. A model signature must cover
// every file of the model, under one folder; any other statement must have one as subject. kDataLoss if it is
// about other files; otherwise as openSignedEnvelope() and ModelManifest::fromStatement().
Result<Json> inputStatement(std::string_view text, const AcceptedSigners& signers, const CompileSpec& spec);

}  // namespace kiln::signing
