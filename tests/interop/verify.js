// Accepts a Kiln bundle with the Sigstore project's verifier, and has it refuse damaged ones.
// usage: node verify.js BUNDLE ROOT [TRUSTED_ROOT]   (bundle.sigstore.json, Kiln's root.json, and the log that the bundle's
// entry is in as Sigstore's trusted root: then the entry is verified too)
'use strict';
const fs = require('fs');
const crypto = require('crypto');
const {bundleFromJSON} = require('@sigstore/bundle');
const {TrustedRoot} = require('@sigstore/protobuf-specs');
const {toSignedEntity, toTrustMaterial, Verifier} = require('@sigstore/verify');

const [bundleFile, rootFile, trustedRootFile] = process.argv.slice(2);
const text = fs.readFileSync(bundleFile, 'utf8');
const keys = {};
for (const key of JSON.parse(fs.readFileSync(rootFile, 'utf8')).keys)
  keys[key.keyid] = {rawBytes: crypto.createPublicKey({key: Buffer.from(key.spki, 'base64'), format: 'der', type: 'spki'})
                                   .export({format: 'pem', type: 'spki'})};
const logged = trustedRootFile && (JSON.parse(text).verificationMaterial.tlogEntries || []).length > 0;
const root = TrustedRoot.fromJSON(logged ? JSON.parse(fs.readFileSync(trustedRootFile, 'utf8'))
                                         : {mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1'});
// Without a log: the signature alone. No timestamps: Kiln's keys are not certificates.
const verifier = new Verifier(toTrustMaterial(root, keys), {tlogThreshold: logged ? 1 : 0, ctlogThreshold: 0, timestampThreshold: 0});

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
if (logged)
  damage.inclusionProof = (b) => {
    b.verificationMaterial.tlogEntries[0].inclusionProof.rootHash = Buffer.alloc(32).toString('base64');
  };
for (const [name, change] of Object.entries(damage)) {
  const bundle = JSON.parse(text);
  change(bundle);
  if (accepts(bundle)) problems.push(`a bundle with a damaged ${name} is accepted`);
}
console.log(problems.join('\n') ||
            `@sigstore/verify accepts the bundle${logged ? ' with its log entry' : ''} and refuses ${Object.keys(damage).length} damaged copies`);
process.exit(problems.length ? 1 : 0);
