// Accepts a Kiln bundle with the Sigstore project's verifier, and has it refuse damaged ones.
// usage: node verify.js BUNDLE ROOT   (bundle.sigstore.json and Kiln's root.json)
'use strict';
const fs = require('fs');
const crypto = require('crypto');
const {bundleFromJSON} = require('@sigstore/bundle');
const {TrustedRoot} = require('@sigstore/protobuf-specs');
const {toSignedEntity, toTrustMaterial, Verifier} = require('@sigstore/verify');

const [bundleFile, rootFile] = process.argv.slice(2);
const text = fs.readFileSync(bundleFile, 'utf8');
const keys = {};
for (const key of JSON.parse(fs.readFileSync(rootFile, 'utf8')).keys)
  keys[key.keyid] = {rawBytes: crypto.createPublicKey({key: Buffer.from(key.spki, 'base64'), format: 'der', type: 'spki'})
                                   .export({format: 'pem', type: 'spki'})};
const root = TrustedRoot.fromJSON({mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1'});
// No log, no timestamps: the signature alone.
const verifier = new Verifier(toTrustMaterial(root, keys), {tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0});

function accepts(json) {
  try {
    verifier.verify(toSignedEntity(bundleFromJSON(json)));
    return true;
  } catch (error) {
    return false;
  }
}

const problems = [];
if (!accepts(JSON.parse(text))) problems.push('a good bundle is refused');
const damage = {
  payload: (b) => { b.dsseEnvelope.payload = Buffer.from('{}').toString('base64'); },
  payloadType: (b) => { b.dsseEnvelope.payloadType = 'application/x'; },
  signature: (b) => { b.dsseEnvelope.signatures[0].sig = b.dsseEnvelope.signatures[0].sig.replace(/^..../, 'AAAA'); },
  hint: (b) => { b.verificationMaterial.publicKey.hint = 'unknown'; },
};
for (const [name, change] of Object.entries(damage)) {
  const bundle = JSON.parse(text);
  change(bundle);
  if (accepts(bundle)) problems.push(`a bundle with a damaged ${name} is accepted`);
}
console.log(problems.join('\n') || '@sigstore/verify accepts the bundle and refuses four damaged copies');
process.exit(problems.length ? 1 : 0);
