// Judges Sigstore bundles with the Sigstore project's verifier.
// stdin: [{bundle, trustedRoot or null, keys: {hint: PEM}}...]; stdout: true (accepted) or false for each, as one JSON list.
// Without a trusted root the signature alone counts. No timestamps: Kiln's keys are not certificates.
'use strict';
const {createRequire} = require('module');
const load = createRequire(process.argv[2] + '/');
const {bundleFromJSON} = load('@sigstore/bundle');
const {TrustedRoot} = load('@sigstore/protobuf-specs');
const {toSignedEntity, toTrustMaterial, Verifier} = load('@sigstore/verify');
const none = {mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1'};

function accepts({bundle, trustedRoot, keys}) {
  const pems = Object.fromEntries(Object.entries(keys).map(([hint, rawBytes]) => [hint, {rawBytes}]));
  const material = toTrustMaterial(TrustedRoot.fromJSON(trustedRoot || none), pems);
  const verifier = new Verifier(material, {tlogThreshold: trustedRoot ? 1 : 0, ctlogThreshold: 0, timestampThreshold: 0});
  try {
    verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
    return true;
  } catch (error) {
    if (process.env.KILN_INTEROP_DEBUG) console.error(error);
    return false;
  }
}

let text = '';
process.stdin.on('data', (chunk) => { text += chunk; });
process.stdin.on('end', () => console.log(JSON.stringify(JSON.parse(text).map(accepts))));
