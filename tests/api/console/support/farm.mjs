// A farm that answers the console from forged documents, and lies where a test wants it to.
import fs from "node:fs";
import http from "node:http";
import { artifactOf, changed, check, policy, provenance, reproduction, statement } from "./artifact.mjs";
import { bundles, canonical, digestText, ed25519, envelope, Log, member, p256, recallsOf, rootOf, sha256, time, treeHash, leafHash } from "./forge.mjs";

const now = Math.floor(Date.now() / 1000);
export const builder = "urn:kiln:builder:test";
export const evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\u202e'\"&";

const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))]);
const field = (number, bytes) => Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(bytes.length)]), Buffer.from(bytes)]);
// build.bazel.remote.execution.v2.Directory with these files.
const directoryOf = (files) => Buffer.concat(Object.entries(files).map(([name, bytes]) => field(1, Buffer.concat([
  field(1, Buffer.from(name)), field(2, Buffer.concat([field(1, Buffer.from(hex(bytes))), Buffer.from([16, ...varint(bytes.length)])])), Buffer.from([32, 1])]))));

const hex = (bytes) => sha256(bytes).toString("hex");
const ref = (bytes) => ({ hash: hex(bytes), sizeBytes: String(bytes.length) });

const candidates = [1000, 800, 1500].map((median, i) => ({ schedule: { tile: [i, 64] }, state: "finalist", medianNanoseconds: String(median), spreadNanoseconds: "10", samples: 30 }));
const record = Buffer.from(canonical({ apiVersion: "kiln/v1", kind: "TuningRecord", target: evil, device: { kind: "cpu", name: evil }, method: { threads: 1 },
  kernels: [{ signature: `sha256:${"11".repeat(32)}`, template: evil, reason: evil, chosen: 1, candidates: [...candidates, { schedule: { "<b onclick=x>": [1] }, state: "wrong" }] }] }));

export const source = { url: "https://git.example/models", commit: "c0".repeat(20) };
const fromGit = ({ buildDefinition }) => { buildDefinition.resolvedDependencies[1].uri = `git+${source.url}@${source.commit}#m.onnx`; };

// The tuning record that every farm here has.
export const recordRef = () => ref(record);

// Everything that an honest farm has: an artifact in a log that a witness cosigned, recalls, a root. `more`: parts of the toolchain.
export function honest({ recalls = [], more = [] } = {}) {
  const key = p256();
  const rootKey = p256();
  const issuers = [p256()];
  const witness = { name: "witness.kiln.example", key: ed25519(), time: now - 100 };
  const log = new Log("log.kiln.example", [witness]);
  const components = [{ name: "ptxas", version: "13.0", path: "bin/ptxas", digest: `sha256:${"aa".repeat(32)}` }, { name: evil, version: evil, path: evil, digest: evil },
    ...more.map((name) => ({ name, version: "1", path: name, digest: `sha256:${"bb".repeat(32)}` }))];
  const description = Buffer.from(canonical({ components }));
  const tree = directoryOf({ "aaa": Buffer.from("x"), "toolchain.json": description });
  const artifact = changed(artifactOf("manifest.json"), (manifest) => {
    manifest.spec.toolchain = member(tree);
    manifest.stages = { ...manifest.stages,
      capture: { format: "onnx", producer: evil, producerVersion: "1", nodes: 2, nodesByOp: [{ name: evil, count: 2 }], opsets: [], customOps: [], unsupported: [] },
      partition: { partitions: [{ target: "cpu:x86-64-v3", operations: 2, nodes: ["a", evil] }, { target: "cuda:sm_90a", operations: 1, nodes: ["c"] }], transferBytes: "2048",
        transfers: [{ node: "a", from: "cpu:x86-64-v3", to: "cuda:sm_90a", bytes: "2048" }, { node: "in", from: "host", to: "cpu:x86-64-v3", bytes: "64" }],
        fallback: [{ node: evil, op: evil, reason: evil, from: "cuda:sm_90a", to: "cpu:x86-64-v3" }] },
      schedule: { kernels: [{ symbol: evil, nodes: ["a", evil], target: "cpu:x86-64-v3", codeBytes: "10", catalogue: evil, schedule: { "<b onclick=x>": ["1"] } },
        { symbol: "k1", nodes: ["c"], target: "cuda:sm_90a", codeBytes: "30", tuned: evil, schedule: { tile: [evil] } }, { symbol: "k2", nodes: ["d"], target: "cuda:sm_90a", codeBytes: "20", schedule: { tile: ["8", "64"] } }, { symbol: "k3", nodes: ["e"], target: "cuda:sm_90a" }] },
      plan: { profiles: [{ profile: "default", aliveBytes: ["10", "200", "50"], peakBytes: "256", buffers: 3, reuseRatio: "2.0" }] } };
  });
  const made = bundles([provenance(artifact, { builder, now, change: fromGit }), check(artifact, { builder, now }), reproduction(artifact, { builder, now }),
    statement(artifact, "https://example.com/sbom", { name: "sbom" })], key, log);
  const role = { threshold: 1, wideThreshold: 1, scope: 10, keys: issuers.map((one) => one.member) };
  const rootDocument = rootOf({ key, builder, now, recallKeys: role, logs: [log], witnesses: [witness], more: { rootKeys: { threshold: 1, keys: [rootKey.member] } } });
  const root = Buffer.from(JSON.stringify(envelope("application/vnd.kiln.root.v1+json", Buffer.from(canonical(rootDocument)), [rootKey])));
  const recallsFile = (list, version = 1) => recallsOf({ recalls: list.map((one) => ({ apiVersion: "kiln/v1", kind: "Recall", recalls: "artifact", whole: true, listed: [],
    reason: "it was bad", issuedOn: time(now - 60), ...one })), keys: issuers, now, version, log });
  const recallsJson = recallsFile(recalls);
  return { key, log, artifact, tree, description, components, bundles: made, root, recallsJson, recallsFile, digest: digestText(artifact.artifactJson),
    policy: Buffer.from(canonical(policy({ requireLog: true, minWitnesses: 1 }))) };
}

// A page of a list as a farm cuts it; a list of another form is not cut.
function pageOf(rows, query) {
  if (!Array.isArray(rows) || rows.length < 2) return rows;
  const before = query.get("before");
  const from = before ? rows.findIndex((one) => one.digest === before) + 1 : 0;
  return rows.slice(from, from + Number(query.get("limit") ?? 50));
}

// What the farm answers, by path: bytes, JSON, or a function of the query that gives JSON. `lie` changes it.
function answersOf(farm, lie) {
  const { artifact, log, digest } = farm;
  const blobs = new Map();
  const put = (bytes, as = bytes) => blobs.set(hex(as), bytes);
  put(artifact.config);
  for (const bytes of artifact.files.values()) put(bytes);
  for (const bytes of farm.bundles) put(bytes);
  const row = {
    digest, manifest: ref(artifact.artifactJson), bundles: farm.bundles.map(ref), target: artifact.manifest.spec.target.name,
    toolchainLabel: "kiln-0.1.0+llvm22", published: time(now).replace("Z", ".123456Z"), jobs: ["job-1"], builders: ["w1", "w2"], models: [evil],
  };
  const leaves = log.leaves.map((leaf) => leafHash(leaf));
  put(farm.tree);
  put(farm.description);
  put(record);
  const checkpoints = [{ size: String(log.leaves.length), root: treeHash(log.leaves).toString("base64"), note: log.checkpoint() }];
  const parts = [...farm.components.map(({ name, version }) => ({ kind: "component", name, version })), { kind: "package", name: "lock-only", version: "1" }];
  const state = { pageOf, reshape: (api) => api, broken: new Map(), record, checkpoints, logs: [], jobState: "JOB_SUCCEEDED", events: ["data: {}\n\n"], affected: [digest], row, rows: [row], parts, blobs, artifactJson: artifact.artifactJson, checkpoint: log.checkpoint(), tile: Buffer.concat(leaves), recalls: farm.recallsJson,
    logged: log.leaves.map((leaf, i) => ({ place: String(i), leaf: leaf.toString("base64"), payload: `sha256:${"00".repeat(32)}`, table: "statements" })) };
  lie(state, farm);
  const worker = { description: { name: evil, operator: "acme", targets: ["cpu:x86-64-v3"], slots: 2, devices: [{ id: "cpu", kind: "cpu", name: evil, healthy: true, memoryBytes: "1024" }] }, lastContact: time(now), running: [] };
  const action = { kind: "ACTION_COMPILE", target: "cpu:x86-64-v3", state: "done", worker: "w1", attempt: 1, endedAttempts: 2 };
  const job = { id: "job-1", state: state.jobState, submitted: time(now - 60), ended: time(now), modelName: evil,
    actions: state.actions ?? [action, { kind: "ACTION_CHECK", target: evil, state: "running", worker: evil, stage: evil, attempt: 1,
      running: [{ worker: evil, stage: evil, attempt: 1, leased: time(now - 10) }] }], artifacts: [{ target: "cpu:x86-64-v3", digest, builders: ["w1"] }] };
  const api = {
    ...Object.fromEntries(Object.entries(state.short ?? {}).map(([name, row]) => [`artifacts/${name}`, row])),
    artifacts: (query) => ({ artifacts: state.pageOf(state.rows, query) }), [`artifacts/${digest}`]: state.row,
    [`artifacts/${digest}/provenance`]: { parts: state.parts },
    [`artifacts/${digest}/differences/${digest}`]: { differences: [{ what: "parameter", name: evil, first: "a", second: "b" }] },
    affected: { affected: state.affected.map((one) => ({ artifact: one, target: "cpu:x86-64-v3", statement: { predicateType: evil, recorded: time(now) } })) },
    jobs: { jobs: [job] }, "jobs/job-1": job,
    "jobs/job-1/logs": { logs: [...(state.logs ?? []), { kind: "ACTION_COMPILE", target: evil, attempt: 1, outcome: evil, error: evil, leased: time(now - 55), ended: time(now - 52), builder: { worker: evil } }, { kind: "ACTION_COMPILE", target: "cpu:x86-64-v3", attempt: 1, outcome: "done", leased: time(now - 50), ended: time(now - 20), builder: { worker: "w1" } }] },
    workers: { workers: [worker] },
    toolchains: { toolchains: [{ label: evil, toolchainDigest: { hash: "ab".repeat(32) }, isDefault: true, descriptionJson: JSON.stringify({ components: [{ name: "ptxas", version: evil }] }) }] },
    log: { entries: state.logged, checkpoints: state.checkpoints },
    "index/tuning": { records: [{ record: ref(state.record), target: "cpu:x86-64-v3", worker: "w1", entries: [{ signature: `sha256:${"11".repeat(32)}`, entry: evil }] }] },
  };
  if (state.logs === null) delete api["jobs/job-1/logs"];
  const answers = new Map(Object.entries(state.reshape(api)).map(([path, value]) => [`/api/v1/instances/default/${path}`, value]));
  answers.set("/api/v1/recalls", state.recalls ? { document: state.recalls.toString("base64"), version: "1" } : {});
  answers.set(`/v2/default/artifacts/manifests/${digest}`, state.artifactJson);
  for (const [name, bytes] of state.blobs) answers.set(`/v2/default/artifacts/blobs/sha256:${name}`, bytes);
  answers.set("blobs", state.blobs);
  answers.set("events", state.events);
  answers.set("flood", state.flood);
  answers.set("broken", state.broken); // by path, who answers instead
  answers.set("/log/checkpoint", Buffer.from(state.checkpoint));
  answers.set(`/log/tile/0/000.p/${state.tiles ?? log.leaves.length}`, state.tile);
  return answers;
}

// Serves the console and these answers; `origin` is its own, `stop` ends it.
export async function serve(farm, lie = () => {}) {
  const consoleDirectory = process.env.KILN_CONSOLE_DIR;
  const sources = process.env.KILN_CONSOLE_SOURCES;
  const policyText = /kPagePolicy\[\] =\s*((?:"[^"]*"\s*)+);/.exec(fs.readFileSync(process.env.KILN_CONSOLE_POLICY, "utf8"))[1].replace(/"\s*"/g, "").replace(/"/g, "").trim();
  const files = new Map([["/", ["text/html; charset=utf-8", `${sources}/index.html`]], ["/console.js", ["text/javascript", `${consoleDirectory}/console.js`]], ["/console.css", ["text/css", `${sources}/console.css`]]]);
  const answers = answersOf(farm, lie);
  const batchRead = (request, response) => {
    let body = "";
    request.on("data", (piece) => { body += piece; });
    request.on("end", () => {
      const responses = JSON.parse(body).digests.map((digest) => {
        const bytes = answers.get("blobs").get(digest.hash);
        return bytes ? { digest, data: bytes.toString("base64") } : { digest, status: { code: 5, message: evil } };
      });
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ responses }));
    });
  };
  let seen = [];
  const server = http.createServer((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    const path = decodeURIComponent(request.url.split("?")[0]);
    const broken = answers.get("broken").get(path);
    if (broken) return broken(response);
    if (path.endsWith("/blobs:batchRead")) return batchRead(request, response);
    if (path.endsWith(":watch")) {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const one of answers.get("events")) response.write(one);
      const flood = answers.get("flood") && setInterval(() => response.write("data: {}\n\n"), 1);
      response.on("close", () => clearInterval(flood));
      return undefined; // it stays open, as a farm's does
    }
    if (files.has(path)) {
      const [type, file] = files.get(path);
      response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": policyText, "X-Content-Type-Options": "nosniff" });
      return response.end(fs.readFileSync(file));
    }
    const found = answers.get(path);
    const answer = typeof found === "function" ? found(new URL(request.url, "http://farm").searchParams) : found;
    if (answer === undefined) {
      response.writeHead(404, { "Content-Type": "application/json" });
      return response.end('{"code":5,"message":"no such thing"}');
    }
    response.writeHead(200, { "Content-Type": Buffer.isBuffer(answer) ? "application/octet-stream" : "application/json" });
    return response.end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A farm changes its mind.
  const change = (again) => {
    for (const [path, answer] of answersOf(farm, again)) answers.set(path, answer);
  };
  // What was asked since this was asked before.
  const seenSince = () => {
    const asked = seen;
    seen = [];
    return asked;
  };
  return { change, seen: seenSince, origin: `http://127.0.0.1:${server.address().port}`, stop: () => new Promise((resolve) => { server.closeAllConnections?.(); server.close(resolve); }) };
}

export { hex, treeHash };
