// Artifacts made of a golden Manifest and bytes of our own, and statements about them.
import fs from "node:fs";
import path from "node:path";
import { canonical, digestText, member, sha256, time } from "./forge.mjs";

const golden = process.env.KILN_GOLDEN_DIR;

export function artifactOf(name) {
  const manifest = JSON.parse(fs.readFileSync(path.join(golden, "v1", name), "utf8"));
  const files = new Map();
  const layers = [];
  const take = (file) => {
    const bytes = Buffer.from(`the bytes of ${file.path}`);
    files.set(file.path, bytes);
    Object.assign(file, member(bytes));
    layers.push({
      mediaType: file.mediaType, digest: file.digest, size: bytes.length, annotations: { "org.opencontainers.image.title": file.path },
    });
  };
  take(manifest.program.file);
  for (const device of manifest.program.devices ?? []) take(device.image);
  for (const weight of manifest.program.weights) take(weight);
  return sealed(manifest, layers, files);
}

// The same with what `change` does to the Manifest.
export function changed(artifact, change) {
  const manifest = structuredClone(artifact.manifest);
  change(manifest);
  return sealed(manifest, artifact.layers, artifact.files);
}

function sealed(manifest, layers, files) {
  const text = Buffer.from(canonical(manifest));
  const artifactJson = Buffer.from(canonical({
    schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: "application/vnd.kiln.artifact.v1+json",
    config: { mediaType: "application/vnd.kiln.manifest.v1+json", digest: digestText(text), size: text.length }, layers,
  }));
  return { manifest, layers, files, config: text, artifactJson };
}

export function statement(artifact, predicateType, predicate, subject = artifact.artifactJson) {
  return Buffer.from(canonical({
    _type: "https://in-toto.io/Statement/v1", subject: [{ name: "artifact.json", digest: { sha256: sha256(subject).toString("hex") } }],
    predicateType, predicate,
  }));
}

// Which image a farm made of it, of layers that nobody looks at here; `change` gets the statement.
export function image(artifact, change = () => {}, architecture = "amd64") {
  const layers = ["files", "evidence"].map((text) => member(Buffer.from(text)));
  const descriptor = (mediaType, { digest, size }) => ({ mediaType, digest, size: Number(size) });
  const config = Buffer.from(canonical({ architecture, os: "linux", config: {},
    rootfs: { type: "layers", diff_ids: layers.map((one) => one.digest) } }));
  const made = Buffer.from(canonical({ schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: descriptor("application/vnd.oci.image.config.v1+json", member(config)),
    layers: layers.map((one) => descriptor("application/vnd.oci.image.layer.v1.tar", one)),
    subject: descriptor("application/vnd.oci.image.manifest.v1+json", member(artifact.artifactJson)) }));
  const subject = (name, bytes) => ({ name, digest: { sha256: sha256(bytes).toString("hex") } });
  const said = { _type: "https://in-toto.io/Statement/v1", subject: [subject("artifact.json", artifact.artifactJson), subject("image", made)],
    predicateType: "urn:kiln:predicate:image:v1", predicate: { image: member(made), layers, bundles: [member(Buffer.from("a bundle"))] } };
  change(said);
  return Buffer.from(canonical(said));
}

const hash = (digest) => digest.slice(7);

export function provenance(artifact, { builder, now, workers = [["w1", "acme"], ["w2", "other"]], fixtures = null, change = () => {} }) {
  const { spec } = artifact.manifest;
  const parameters = { model: spec.files[0].digest, toolchain: spec.toolchain.digest, target: spec.target.name,
    outOfProfile: spec.outOfProfile, fallback: spec.fallback, features: canonical(spec.target.features),
    externalData: canonical(spec.files.slice(1)), toolchainLabel: "kiln-0.1.0+llvm22" };
  for (const name of ["profiles", "pins", "numerics", "budgets", "sequences", "parameters", "partition"]) {
    if (name in spec) parameters[name] = canonical(spec[name]);
  }
  const input = (name, { digest, size }) => ({ name, digest: { sha256: hash(digest) }, annotations: { size } });
  const predicate = {
    buildDefinition: {
      buildType: "urn:kiln:build-type:compile:v1", externalParameters: parameters,
      internalParameters: { action: `sha256:${"ab".repeat(32)}`, sandboxPolicy: `sha256:${"cd".repeat(32)}` },
      resolvedDependencies: [input("toolchain", spec.toolchain), ...spec.files.map((file) => input(`input/${file.path}`, file)),
        ...(spec.tuning ? [input("input/tuning.json", spec.tuning)] : [])],
    },
    runDetails: {
      builder: { id: builder, version: { kiln: "0.1.0" } },
      metadata: { invocationId: "job-1", startedOn: time(now - 60), finishedOn: time(now - 30) },
      byproducts: [
        ...workers.map(([worker, operator, sandbox]) => ({ name: "receipt", digest: { sha256: "ef".repeat(32) },
          annotations: { size: "12", worker, operator, ...(sandbox ? { sandbox } : {}) } })),
        ...(fixtures ? [{ name: "fixtures", digest: { sha256: sha256(fixtures).toString("hex") }, annotations: { size: String(fixtures.length) } }] : []),
      ],
    },
  };
  change(predicate);
  return statement(artifact, "https://slsa.dev/provenance/v1", predicate);
}

const some = { digest: `sha256:${"12".repeat(32)}`, size: "5" };

export function check(artifact, { builder, now, passed = true, emulated = false, gpu = null, worker = "w1", name = "cpu", measured = { maxAbsolute: "0.0001" } }) {
  return statement(artifact, "urn:kiln:predicate:check:v1", {
    checker: { id: builder, worker, operator: "acme" }, invocationId: "job-1", action: some, plan: some, receipt: some,
    startedOn: time(now - 20), finishedOn: time(now - 10),
    report: { passed, items: [{ kind: "fixture", name: "default", detail: "compared", passed, measured }],
      measured: {}, device: { name, ...(emulated ? { emulated: true } : {}), ...(gpu ? { gpu } : {}) } },
  });
}

export function reproduction(artifact, { builder, now, worker = "w3", manifest = artifact.config }) {
  return statement(artifact, "urn:kiln:predicate:reproduction:v1", {
    rebuilder: { id: builder, worker, operator: "third" }, invocationId: "job-2",
    compile: { digest: `sha256:${"ab".repeat(32)}`, size: "5" }, manifest: member(manifest), sandboxPolicy: some, absent: [],
    startedOn: time(now - 20), finishedOn: time(now - 10),
  });
}

// The IR that its compile left, of files that nobody looks at here; `change` gets the predicate.
export function ir(artifact, { builder, now, worker = "w3", change = () => {} }) {
  const files = ["01-capture.mlir", "10-program.ll"].map((name) => ({ path: name, ...member(Buffer.from(name)) }));
  const descriptor = (mediaType, { digest, size }, more = {}) => ({ mediaType, digest, size: Number(size), ...more });
  const manifestType = "application/vnd.oci.image.manifest.v1+json";
  const made = Buffer.from(canonical({ schemaVersion: 2, mediaType: manifestType, artifactType: "application/vnd.kiln.ir.v1",
    config: descriptor("application/vnd.oci.empty.v1+json", member(Buffer.from("{}"))),
    layers: files.map((one) => descriptor("application/octet-stream", one, { annotations: { "org.opencontainers.image.title": one.path } })),
    subject: descriptor(manifestType, member(artifact.artifactJson)) }));
  const predicate = { compiler: { id: builder, worker, operator: "acme" }, invocationId: "job-1", action: some, receipt: some,
    startedOn: time(now - 20), finishedOn: time(now - 10), toolchain: artifact.manifest.spec.toolchain, ir: member(made), files };
  change(predicate);
  return statement(artifact, "urn:kiln:predicate:ir:v1", predicate);
}

export function tombstone(artifact, { builder, now }) {
  return statement(artifact, "urn:kiln:predicate:tombstone:v1",
    { issuer: { id: builder }, issuedOn: time(now - 5), reason: "space", statements: [some.digest] });
}

export function summary(artifact, { builder, now, policy, failed = null }) {
  return statement(artifact, "https://slsa.dev/verification_summary/v1", {
    verifier: { id: builder, version: { kiln: "0.1.0" } }, timeVerified: time(now - 5),
    resourceUri: `urn:kiln:artifact:${digestText(artifact.artifactJson)}`,
    policy: { uri: "urn:kiln:policy:test", digest: { sha256: policy } }, inputAttestations: [],
    verificationResult: failed ? "FAILED" : "PASSED", verifiedLevels: [failed ? "FAILED" : "SLSA_BUILD_LEVEL_2"], slsaVersion: "1.0",
    "urn:kiln:vsa:agreement:v1": { builders: ["w1 (acme)"], operators: ["acme"], reproduced: false, independently: false },
    ...(failed ? { "urn:kiln:vsa:failed:v1": failed } : {}),
  });
}

// Writes an artifact directory and the root and policy beside it.
export function write(home, { artifact, bundles, root, policy, recalls = null, fixtures = null }) {
  const directory = path.join(home, "artifact");
  const put = (name, bytes) => {
    fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true, mode: 0o755 });
    fs.writeFileSync(path.join(home, name), bytes, { mode: 0o644 });
  };
  fs.rmSync(home, { recursive: true, force: true });
  put("artifact/artifact.json", artifact.artifactJson);
  put("artifact/manifest.json", artifact.config);
  for (const [name, bytes] of artifact.files) put(`artifact/${name}`, bytes);
  bundles.forEach((bytes, i) => put(`artifact/bundles/${String(i).padStart(3, "0")}.sigstore.json`, bytes));
  if (recalls) put("artifact/recalls.json", recalls);
  for (const [name, bytes] of fixtures ?? []) put(`artifact/fixtures/${name}`, bytes);
  put("root.json", Buffer.isBuffer(root) ? root : Buffer.from(canonical(root)));
  put("policy.json", Buffer.from(canonical(policy)));
  return { directory, root: path.join(home, "root.json"), policy: path.join(home, "policy.json") };
}

export const policy = (more = {}) => ({ apiVersion: "kiln/v1", kind: "Policy", name: "test", allowDevelopment: false, builderIds: ["*"],
  minBuilders: 1, minOperators: 1, targets: ["*"], toolchains: ["*"], ...more });
