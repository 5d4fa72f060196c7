// Two judges of an artifact directory: the TypeScript verification and `kiln verify`. Both say the same:
// {passed, failed: [{check, detail}]}, `failed` null where nothing came to a verdict.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { verifier } from "./verifier.mjs";

const kiln = process.env.KILN_PROGRAM;

function readIfThere(file) {
  return fs.existsSync(file) ? new Uint8Array(fs.readFileSync(file)) : null;
}

function filesBelow(folder, prefix = "") {
  if (!fs.existsSync(folder)) return [];
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(path.join(folder, entry.name), `${prefix}${entry.name}/`) : [prefix + entry.name]);
}

function requestOf(directory) {
  const bundles = path.join(directory, "bundles");
  const fixtures = path.join(directory, "fixtures");
  const list = readIfThere(path.join(fixtures, "fixtures.json"));
  return {
    artifactJson: readIfThere(path.join(directory, "artifact.json")),
    artifact: null,
    read: async (file) => {
      const bytes = readIfThere(path.join(directory, file.path));
      if (!bytes) throw new verifier.VerifyError("not-found", `${file.path}: No such file or directory`);
      return bytes;
    },
    bundles: filesBelow(bundles).filter((name) => name.endsWith(".sigstore.json")).sort()
      .map((name) => readIfThere(path.join(bundles, name))),
    fixtures: list && { list, files: filesBelow(fixtures).filter((name) => name !== "fixtures.json") },
    statementsOnly: false,
  };
}

export async function judgeHere({ directory, root, policy }) {
  let trust;
  try {
    trust = await verifier.Trust.named(readIfThere(root), readIfThere(policy));
    const recalls = readIfThere(path.join(directory, "recalls.json"));
    if (recalls) await trust.learnCarried(recalls);
  } catch (error) {
    if (!(error instanceof verifier.VerifyError)) throw error;
    return { passed: false, failed: null };
  }
  const verdict = await trust.verify(requestOf(directory), Date.now() / 1000);
  const failed = verdict.lines.filter((line) => !line.ok).map(({ check, detail }) => ({ check, detail }));
  return { passed: verdict.passed, failed, lines: verdict.lines };
}

export function judgeByKiln({ directory, root, policy }) {
  for (const kept of [".state", ".state.lock"]) fs.rmSync(root + kept, { force: true });
  const { status, stdout, stderr } = spawnSync(kiln, ["verify", directory, "--trust-root", root, "--policy", policy, "--json"],
    { encoding: "utf8", env: {} });
  const said = stdout === "" ? {} : JSON.parse(stdout);
  if (status === 0) return { passed: true, failed: [], lines: said.checks };
  if (!said.error) throw new Error(`kiln verify ended with ${status}: ${stderr}`);
  return { passed: false, failed: said.error.details?.failed ?? null, said: said.error };
}
