// The console in a real browser before farms that lie: each lie is red, whatever else is shown. And hostile names are
// text, in every view, in the dark and on a phone.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { findings } from "./support/axe.mjs";
import { Browser, driverProgram } from "./support/browser.mjs";
import { evil, hex, honest, recordRef, serve, source } from "./support/farm.mjs";
import { Log, p256, bundles, leafHash } from "./support/forge.mjs";
import { artifactOf, provenance } from "./support/artifact.mjs";
import { unreadable } from "./support/reading.mjs";

const skip = driverProgram() ? false : "chromedriver is not installed; infra/setup has it";
const home = fs.mkdtempSync(path.join(os.tmpdir(), "kiln-console-"));
const axe = fs.existsSync(process.env.KILN_AXE ?? "") ? process.env.KILN_AXE : null;
if (!axe) console.log("axe-core is not there, infra/setup has it: the rules of WCAG are not held against the views");
let browser;

before(async () => {
  if (!skip) browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  fs.rmSync(home, { recursive: true, force: true });
});

async function believe(farm, more = {}) {
  const files = { root: farm.root, policy: farm.policy, ...more };
  await browser.visit("#/trust");
  for (const [name, bytes] of Object.entries(files)) {
    const file = path.join(home, `${name}.json`);
    fs.writeFileSync(file, bytes);
    await browser.type(`input[name=${name}]`, file);
  }
  await browser.run("document.querySelector('main').setAttribute('aria-busy', 'true')");
  await browser.click("#trust-form button");
  await browser.shown();
}

async function withFarm(farm, lie, work, more = {}) {
  const server = await serve(farm, lie);
  try {
    await browser.open(`${server.origin}/`);
    await browser.shown();
    await believe(farm, more);
    await work(server);
    assert.deepEqual((await browser.complaints()).filter((one) => !one.includes("404")), []);
  } finally {
    await server.stop();
  }
}

const bad = () => browser.run("return Array.from(document.querySelectorAll('.notice.bad, .mark.bad'), (one) => one.innerText)");
const good = () => browser.run("return document.querySelectorAll('.notice.good').length");

test("an honest farm is green, and says by whom", { skip }, async () => {
  const farm = honest({ recalls: [{ what: `sha256:${"99".repeat(32)}` }] });
  await withFarm(farm, () => {}, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    const text = await browser.text();
    assert.deepEqual(await bad(), [], text);
    assert.match(text, /Verified: everything holds\. Checked in this page under root\.json, policy\.json/);
    for (const check of ["file manifest.json", "bundle 1", "recalls", "policy minWitnesses", "index target", "w1 (acme)", "witness.kiln.example", "kiln verify sha256:"]) assert.ok(text.includes(check), check);
    for (const from of ["", "?from=1.5", "?from=-3", "?from=x", "?from=1e308", "?from=9007199254740993"]) {
      await browser.visit(`#/log${from}`);
      assert.deepEqual(await bad(), [], `${from} ${await browser.text()}`);
    }
    await browser.visit("#/recalls");
    assert.deepEqual(await bad(), [], await browser.text());
    assert.match(await browser.text(), /it was bad/);
    await browser.visit(`#/provenance/${farm.digest}`);
    assert.equal(await good(), 1);
  });
});

test("a kernel's schedule has the name of where it is from, whatever that name is", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, () => {}, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    const rows = await browser.run("const table = Array.from(document.querySelectorAll('main table')).find((one) => one.caption.textContent.startsWith('Kernels')); const from = Array.from(table.tHead.rows[0].cells).findIndex((one) => one.textContent === 'From'); return Array.from(table.tBodies[0].rows, (row) => row.cells[from].textContent)");
    const name = evil.replace("\u202e", "\ufffd");
    assert.deepEqual(rows, [`entry ${name} of the toolchain's catalogue`, `tuning entry ${name}`, "the default", ""]);
  });
});

test("without a root nothing is green", { skip }, async () => {
  const farm = honest();
  const server = await serve(farm);
  await browser.open(`${server.origin}/#/artifacts/${farm.digest}`);
  await browser.shown();
  assert.equal(await good(), 0);
  assert.match(await browser.text(), /Nothing is verified/);
  await server.stop();
});

const stranger = p256();
// Each lie, and what must be among the words that are red.
const lies = {
  "a row with another target": [(state) => { state.row.target = "cuda:sm_90a"; }, /index target/],
  "a row with another toolchain": [(state) => { state.row.toolchainLabel = "kiln-9.9.9"; }, /index toolchain/],
  "a row with a builder who built nothing": [(state) => { state.row.builders.push("w9"); }, /index builders/],
  "a row of another digest": [(state) => { state.row.digest = `sha256:${"00".repeat(32)}`; }, /index digest/],
  "a bundle that is swapped": [(state, farm) => {
    const other = honest();
    const key = farm.bundles[0];
    state.blobs.set(hex(key), other.bundles[0]);
    state.row.bundles[0].sizeBytes = String(other.bundles[0].length);
  }, /signature|bundle 1/],
  "a bundle with a turned bit": [(state, farm) => {
    const bytes = Buffer.from(farm.bundles[1]);
    bytes[bytes.indexOf("payload\":\"") + 40] ^= 1;
    state.blobs.set(hex(farm.bundles[1]), bytes);
  }, /bundle 2/],
  "a bundle by a stranger alone": [(state, farm) => {
    const [made] = bundles([provenance(farm.artifact, { builder: "urn:kiln:builder:test", now: Math.floor(Date.now() / 1000) })], stranger);
    state.blobs.set(hex(made), made);
    state.row.bundles = [{ hash: hex(made), sizeBytes: String(made.length) }];
  }, /signature/],
  "no bundle": [(state) => { state.row.bundles = []; }, /bundles/],
  "a forged checkpoint in a bundle": [(state, farm) => {
    const forger = new Log("log.kiln.example", farm.log.witnesses);
    forger.leaves = farm.log.leaves;
    forger.id = farm.log.id;
    const one = JSON.parse(farm.bundles[0]);
    one.verificationMaterial.tlogEntries[0].inclusionProof.checkpoint.envelope = forger.checkpoint();
    const bytes = Buffer.from(JSON.stringify(one));
    state.blobs.set(hex(bytes), bytes);
    state.row.bundles[0] = { hash: hex(bytes), sizeBytes: String(bytes.length) };
  }, /bundle 1/],
  "another artifact under the digest": [(state) => { state.artifactJson = honest().artifact.files.values().next().value; }, /artifact/],
  "another manifest": [(state, farm) => state.blobs.set(hex(farm.artifact.config), Buffer.from(farm.artifact.config.toString().replace("onnx", "onnz"))), /file manifest\.json/],
  "another program": [(state, farm) => {
    const [, bytes] = [...farm.artifact.files][0];
    state.blobs.set(hex(bytes), Buffer.from(bytes.toString().replace("bytes", "bytez")));
  }, /file program\.so/],
  "a program that goes on": [(state, farm) => {
    const [, bytes] = [...farm.artifact.files][0];
    state.blobs.set(hex(bytes), Buffer.concat([bytes, Buffer.alloc(1 << 20)]));
  }, /file program\.so/],
  "recalls that nobody signed": [(state) => { state.recalls = Buffer.from(state.recalls.toString().replace(/"sig":"..../, '"sig":"AAAA')); }, /recalls of the farm/],
};

for (const [what, [lie, red]] of Object.entries(lies)) {
  test(`${what} is red`, { skip }, async () => {
    const farm = honest();
    await withFarm(farm, lie, async () => {
      await browser.visit(`#/artifacts/${farm.digest}`);
      const found = await bad();
      assert.match(found.join("\n"), red, await browser.text());
      assert.equal(await good(), 0);
    });
  });
}

test("another artifact under a short digest is red", { skip }, async () => {
  const farm = honest();
  const other = `sha256:${"12".repeat(32)}`;
  const named = (state) => { state.short = { [other.slice(0, 19)]: state.row, [farm.digest.slice(0, 19)]: state.row }; };
  await withFarm(farm, named, async () => {
    await browser.visit(`#/artifacts/${farm.digest.slice(0, 19)}`);
    assert.deepEqual(await bad(), []);
    assert.equal(await good(), 1);
    await browser.visit(`#/artifacts/${other.slice(0, 19)}`);
    assert.match((await bad()).join("\n"), /does not begin with/);
    assert.equal(await good(), 0);
  });
});

test("a recalled artifact that is shown as good is red", { skip }, async () => {
  const farm = honest();
  const recalls = farm.recallsFile([{ what: farm.digest }], 2);
  await withFarm(farm, (state) => { state.recalls = recalls; }, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.match((await bad()).join("\n"), /recalls/);
    assert.match(await browser.text(), /it was bad/);
    assert.equal(await good(), 0);
  });
  // The farm keeps the recall to itself; the visitor has it.
  await withFarm(farm, () => {}, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.match((await bad()).join("\n"), /recalls/);
  }, { recalls });
  await withFarm(farm, (state) => { state.artifactJson = undefined; state.recalls = recalls; }, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.match((await bad()).join("\n"), /does not hand it out.*it was bad/s);
  });
});

test("a log that was forged or rewritten is red", { skip }, async () => {
  const farm = honest();
  const forger = new Log("log.kiln.example", farm.log.witnesses);
  forger.leaves = farm.log.leaves;
  forger.id = farm.log.id;
  await withFarm(farm, (state) => { state.checkpoint = forger.checkpoint(); }, async () => {
    await browser.visit("#/log");
    assert.match((await bad()).join("\n"), /Refused/);
  });
  await withFarm(farm, (state) => { state.tile = Buffer.from(state.tile).fill(7, 0, 32); }, async () => {
    await browser.visit("#/log");
    assert.match((await bad()).join("\n"), /do not lead to the root/);
  });
  await withFarm(farm, (state) => { state.logged[2].leaf = state.logged[3].leaf; }, async () => {
    await browser.visit("#/log");
    assert.equal((await bad()).length, 1);
    assert.match(await browser.text(), /holds another entry here than the farm says/);
  });
  await withFarm(farm, (state) => { state.logged.splice(1, 1); }, async () => {
    await browser.visit("#/log");
    assert.equal((await bad()).length, 1);
    assert.match(await browser.text(), /1\s+✘ fails\s+the farm says nothing of what it signed here/);
  });
});

test("answers of another form are refused, and nothing of them is shown", { skip }, async () => {
  const farm = honest();
  const forms = [5, "x", [null], [{ digest: 7 }], { length: 3 }];
  for (const rows of forms) {
    await withFarm(farm, (state) => { state.rows = rows; state.parts = rows; state.logged = rows; }, async () => {
      for (const view of ["#/artifacts", `#/provenance/${farm.digest}`, "#/log"]) {
        await browser.visit(view);
        assert.ok((await browser.text()).length > 20, view);
        assert.equal(await browser.run("return document.images.length"), 0);
      }
    });
  }
  await withFarm(farm, (state) => { state.row.bundles = "x"; }, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.match((await bad()).join("\n"), /another form|without a digest/);
    assert.equal(await good(), 0);
  });
});

// A farm that lies in the views that show more than an artifact's verdict.
test("a manifest of others is red in the partition map and in a comparison", { skip }, async () => {
  const farm = honest();
  const lie = (state) => state.blobs.set(hex(farm.artifact.config), Buffer.from(farm.artifact.config.toString().replace("cuda:sm_90a", "cuda:sm_90b")));
  await withFarm(farm, lie, async () => {
    for (const view of [`#/partition/${farm.digest}`, `#/compare/${farm.digest}/${farm.digest}`]) {
      await browser.visit(view);
      assert.match((await bad()).join("\n"), /file manifest\.json/, view);
      assert.equal(await good(), 0, view);
    }
  });
});

test("what something touched is proven from what is signed, and from nothing else", { skip }, async () => {
  const farm = honest({ recalls: [{ what: `sha256:${"99".repeat(32)}` }] });
  const proven = async (query) => {
    await browser.visit(`#/affected?${query}&prove=yes`);
    return browser.run("return Array.from(document.querySelectorAll('main table')[0].tBodies[0].rows, (row) => Array.from(row.cells, (cell) => cell.innerText))");
  };
  await withFarm(farm, () => {}, async () => {
    const [row] = await proven("component=ptxas");
    assert.match(row[1], /holds/);
    assert.match(row[2], /w1 \(acme\), w2 \(other\)/);
    assert.match(row[3], /^no, by recalls\.json version 1/);
    assert.match(row[4], /holds.*toolchain\.json names ptxas 13\.0 at bin\/ptxas/s);
    for (const query of ["component=nvcc", "worker=w9", "operator=nobody", "toolchain=kiln-9", "target=cuda:sm_80", "key=AAAA", "toolchain=sha256:", "artifact=sha256:", "source=m", "source=https://git.example/model", "source=c0c0c0c0", "source=git%2Bhttps://git.example/models", `source=sha256:${"77".repeat(32)}`]) {
      assert.match((await proven(query))[0][4], /fails/, query);
    }
    for (const query of ["worker=w1", "operator=acme", "toolchain=kiln-0.1.0%2Bllvm22", "component=ptxas@13.0", `artifact=${farm.digest.slice(0, 19)}`, `source=${source.url}`, `source=${source.commit}`, `source=${encodeURIComponent(`git+${source.url}@${source.commit}#m.onnx`)}`]) assert.match((await proven(query))[0][4], /holds/, query);
    assert.match((await proven("submitter=somebody"))[0][4], /not proven/);
  });
  const changed = (what, bytes) => (state) => state.blobs.set(hex(what), bytes);
  for (const lie of [changed(farm.description, Buffer.from(farm.description.toString().replace("13.0", "13.1"))), changed(farm.tree, Buffer.alloc(farm.tree.length, 255)),
    (state) => state.blobs.delete(hex(farm.tree))]) {
    await withFarm(farm, lie, async () => {
      const [row] = await proven("component=ptxas");
      assert.match(row[1], /fails/);
      assert.doesNotMatch(row.join(), /holds/);
    });
  }
  await withFarm(farm, (state) => { state.affected = ["sha256:zz", `sha256:${"00".repeat(32)}`]; }, async () => {
    for (const row of await proven("component=ptxas")) assert.match(row[1], /fails/);
  });
  await withFarm(farm, (state) => { state.recalls = farm.recallsFile([{ what: farm.digest }], 2); }, async () => {
    const [row] = await proven("component=ptxas");
    assert.match(row[1], /fails.*recalls/s);
    assert.match(row[3], /it was bad/);
    assert.match(row[4], /fails/);
  });
});

test("a record whose bytes are others is refused", { skip }, async () => {
  const farm = honest();
  const place = `#/tuning/${record.hash}?size=${record.sizeBytes}`;
  const forged = [(bytes) => Buffer.from(bytes.toString().replace("1000", "9000")), (bytes) => Buffer.concat([bytes, bytes])];
  for (const forge of forged) {
    await withFarm(farm, (state) => state.blobs.set(record.hash, forge(state.record)), async () => {
      await browser.visit(place);
      assert.match((await bad()).join(), /Refused/);
      assert.equal(await browser.run("return document.querySelectorAll('svg').length"), 0);
    });
  }
  await withFarm(farm, () => {}, async () => {
    await browser.visit(`${place.split("?")[0]}?size=99999999`);
    assert.match((await bad()).join(), /more than one answer/);
  });
});

test("a log that goes back, or goes on from another beginning, is red", { skip }, async () => {
  const farm = honest();
  const other = honest();
  await withFarm(farm, (state) => { state.checkpoints.push({ ...state.checkpoints[0], note: other.log.checkpoint() }, { ...state.checkpoints[0], size: "2" }); }, async () => {
    await browser.visit("#/log");
    assert.equal((await bad()).length, 2, await browser.text());
  });
  await withFarm(farm, () => {}, async (server) => {
    await browser.visit("#/log");
    assert.deepEqual(await bad(), []);
    const shorter = new Log("log.kiln.example", farm.log.witnesses);
    Object.assign(shorter, { key: farm.log.key, id: farm.log.id, leaves: farm.log.leaves.slice(0, 2) });
    server.change((state) => { state.checkpoint = shorter.checkpoint(); state.tile = Buffer.from(state.tile).subarray(0, 64); state.tiles = 2; });
    await browser.visit("#/log");
    assert.match((await bad()).join(), /had \d+ before/, await browser.text());
    assert.equal(await good(), 0);
  });
});

// Lies about what surrounds an artifact, and farms that answer without end, or not at all.
test("parts of a toolchain that the signed tree does not have are red in the graph", { skip }, async () => {
  const farm = honest();
  const drawn = () => browser.run("return Array.from(document.querySelectorAll('.node.part:not(.claimed)'), (one) => one.getAttribute('aria-label'))");
  const changed = (what, bytes) => (state) => state.blobs.set(hex(what), bytes);
  for (const [lie, red] of [[(state) => { state.parts.push({ kind: "component", name: "backdoor", version: "1" }); }, /names backdoor@1, which is in no toolchain/],
    [(state) => { state.parts.shift(); }, /leaves out ptxas@13\.0/],
    [changed(farm.description, Buffer.from(farm.description.toString().replace("13.0", "13.1"))), /parts of sha256:[0-9a-f]{12} are refused/]]) {
    await withFarm(farm, lie, async () => {
      await browser.visit(`#/provenance/${farm.digest}`);
      assert.match((await bad()).join("\n"), red);
      assert.equal(await good(), 0);
      assert.ok((await drawn()).every((one) => !/backdoor|13\.1/.test(one)));
    });
  }
  await withFarm(farm, (state) => state.blobs.delete(hex(farm.tree)), async () => {
    await browser.visit(`#/provenance/${farm.digest}`);
    assert.match(await browser.text(), /The parts are what the farm says: sha256:[0-9a-f]{12} cannot be read here/);
    assert.deepEqual(await drawn(), []);
  });
});

test("a statement about another artifact of the same signer, log and time is red", { skip }, async () => {
  const farm = honest();
  const other = artifactOf("manifest.json");
  const [replayed] = bundles([provenance(other, { builder: "urn:kiln:builder:test", now: Math.floor(Date.now() / 1000) })], farm.key, farm.log);
  await withFarm(farm, (state) => {
    state.blobs.set(hex(replayed), replayed);
    state.row.bundles = [{ hash: hex(replayed), sizeBytes: String(replayed.length) }];
  }, async () => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.match((await bad()).join("\n"), /signature|bundle 1/);
    assert.equal(await good(), 0);
  });
});

test("a recall that was seen once stays, and recalls that are taken away or contradict it are red", { skip }, async () => {
  const farm = honest();
  const recalled = farm.recallsFile([{ what: farm.digest }], 3);
  await withFarm(farm, (state) => { state.recalls = recalled; }, async (server) => {
    await browser.visit("#/recalls");
    assert.deepEqual(await bad(), []);
    server.change((state) => { state.recalls = farm.recallsFile([], 2); }); // an old one is no news
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.match(await browser.text(), /it was bad/);
    assert.equal(await good(), 0);
  });
  const innocent = farm.recallsFile([{ what: `sha256:${"99".repeat(32)}` }], 3);
  await withFarm(farm, (state) => { state.recalls = innocent; }, async (server) => {
    await browser.visit(`#/artifacts/${farm.digest}`);
    assert.equal(await good(), 1, await browser.text());
    for (const [lie, red] of [[(state) => { state.recalls = null; }, /one is known here/], [(state) => { state.recalls = farm.recallsFile([], 4); }, /leaves out recalls/],
      [(state) => { state.recalls = farm.recallsFile([{ what: `sha256:${"98".repeat(32)}` }], 3); }, /contradicts/]]) {
      server.change(lie);
      for (const view of [`artifacts/${farm.digest}`, `compare/${farm.digest}/${farm.digest}`, `provenance/${farm.digest}`, `partition/${farm.digest}`]) {
        await browser.visit(`#/${view}`);
        assert.match((await bad()).join("\n"), /recalls of the farm/, view);
        assert.equal(await good(), 0, view);
      }
      await browser.visit("#/recalls");
      assert.match((await bad()).join("\n"), red);
      assert.equal(await good(), 0);
    }
  });
});

test("a log that was written anew behind what this visit saw is red", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, () => {}, async (server) => {
    await browser.visit("#/log");
    assert.deepEqual(await bad(), []);
    const forked = new Log("log.kiln.example", farm.log.witnesses);
    const leaves = farm.log.leaves.map((leaf, i) => (i === 1 ? Buffer.concat([leaf, Buffer.from(" ")]) : leaf));
    Object.assign(forked, { key: farm.log.key, id: farm.log.id, leaves: [...leaves, leaves[0]] });
    server.change((state) => Object.assign(state, { checkpoint: forked.checkpoint(), tile: Buffer.concat(forked.leaves.map((leaf) => leafHash(leaf))), tiles: forked.leaves.length }));
    await browser.visit("#/log");
    assert.match((await bad()).join(), /first \d+ entries are others than before/, await browser.text());
    assert.equal(await good(), 0);
  });
});

// The page waits by the clock, which goes fast where a test waits for an answer that never comes.
const impatient = "window.patient = window.setTimeout; window.setTimeout = (work, time, ...more) => window.patient(work, time >= 20000 ? time / 50 : time, ...more)";
const patient = "window.setTimeout = window.patient";
// What is shown at once when another view is asked for.
const turn = "return new Promise((resolve) => { addEventListener('hashchange', () => resolve([document.querySelector('main').getAttribute('aria-busy'), " +
  "document.querySelectorAll('.good').length]), { once: true }); location.hash = arguments[0]; })";

test("while a farm does not answer nothing of another view is shown, and it is told in the end", { skip }, async () => {
  const farm = honest();
  const row = `/api/v1/instances/default/artifacts/sha256:${"ab".repeat(32)}`;
  const ways = [() => {}, (response) => response.writeHead(200, { "Content-Type": "application/json" }).write("{"), (response) => response.writeHead(500).write("{")];
  for (const way of ways) {
    await withFarm(farm, (state) => state.broken.set(row, way), async () => {
      await browser.visit(`#/artifacts/${farm.digest}`);
      assert.equal(await good(), 1);
      await browser.run(impatient);
      assert.deepEqual(await browser.run(turn, `#/artifacts/sha256:${"ab".repeat(32)}`), ["true", 0], "no mark of what was shown before");
      await browser.shown();
      await browser.run(patient);
      assert.match((await bad()).join(), /does not answer|does not go on|the farm answers 500/);
      // What stalls holds nothing else up.
      for (let i = 0; i < 12; ++i) await browser.run("location.hash = arguments[0]", `#/artifacts/sha256:${"ab".repeat(32)}?turn=${i}`);
      await browser.visit("#/workers");
      assert.match(await browser.text(), /acme/);
      await browser.complaints(); // the browser notes each answer that failed
    });
  }
});

test("answers and messages without end are cut off", { skip }, async () => {
  const farm = honest();
  const endless = (status) => (response) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    const block = Buffer.alloc(1 << 20, "[");
    const more = () => {
      while (!response.destroyed && response.write(block));
    };
    response.on("drain", more);
    more();
  };
  for (const status of [200, 500]) {
    await withFarm(farm, (state) => state.broken.set("/api/v1/instances/default/jobs", endless(status)), async () => {
      await browser.visit("#/jobs");
      assert.match((await bad()).join(), /longer than \d+ bytes|the farm answers 500/);
      await browser.complaints();
    });
  }
  await withFarm(farm, (state) => { state.reshape = (api) => ({ ...api, workers: `{"workers":[${"{},".repeat(300000)}{}]}` }); }, async () => {
    await browser.visit("#/workers");
    assert.match((await bad()).join(), /more than 200000 objects/);
  });
});

test("a long list is shown in part, and says so", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, (state) => { state.affected = Array.from({ length: 60000 }, (_, i) => `sha256:${String(i).padStart(64, "0")}`); }, async () => {
    await browser.visit("#/affected?component=ptxas");
    assert.equal(await browser.run("return document.querySelectorAll('main tbody tr').length"), 5000);
    assert.match(await browser.text(), /\(60000, of which the first 5000 are shown\)/);
  });
});

test("a farm that has news without end is not asked without end", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, (state) => Object.assign(state, { jobState: "JOB_RUNNING", flood: true }), async (server) => {
    await browser.visit("#/jobs/job-1");
    server.seen();
    const begin = Date.now();
    let asked = 0;
    await until(() => (asked += server.seen().filter(({ url }) => url.endsWith("/job-1")).length) >= 5, "news are asked for");
    assert.ok(asked <= (Date.now() - begin) / 250 + 3, `asked ${asked} times in ${Date.now() - begin} ms`);
    await browser.visit("#/trust");
  });
});

// Every value of an answer, at one depth, is something else.
function twisted(value, depth, other) {
  if (depth === 0) return other;
  if (Array.isArray(value)) return value.map((one) => twisted(one, depth - 1, other));
  if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, twisted(one, depth - 1, other)]));
  return value;
}

test("whatever form the answers have, a view is shown, with no mark and no error of the page", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, () => {}, async (server) => {
    for (const depth of [0, 1, 2, 3, 4, 5]) {
      for (const other of [null, 7, "x", true, [], {}, [null], ["x"]]) {
        server.change((state) => { state.reshape = (api) => Object.fromEntries(Object.entries(api).map(([name, one]) => [name, twisted(typeof one === "function" ? one(new URLSearchParams()) : one, depth, other)])); });
        for (const view of ["artifacts", `artifacts/${farm.digest}`, `provenance/${farm.digest}`, "jobs", "jobs/job-1", "timeline", "workers", "toolchains", "tuning", "affected?component=ptxas"]) {
          await browser.visit(`#/${view}`);
          const [length, heads, marks] = await browser.run("return [document.querySelector('main').innerText.length, document.querySelectorAll('main h1').length, document.querySelectorAll('main .good').length]");
          assert.ok(length > 20 && heads === 1, `${view} with ${JSON.stringify(other)} at ${depth}`);
          if (depth < 2 && !view.startsWith("artifacts/")) assert.equal(marks, 0, `${view} with ${JSON.stringify(other)} at ${depth}`);
        }
      }
    }
  });
});

test("what the farm alone says has no mark", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, () => {}, async () => {
    for (const view of ["artifacts", "jobs", "jobs/job-1", "timeline", "workers", "toolchains", "tuning", `tuning/${record.hash}?size=${record.sizeBytes}`, "affected?component=ptxas"]) {
      await browser.visit(`#/${view}`);
      assert.equal(await browser.run("return document.querySelectorAll('.good').length"), 0, view);
      assert.match(await browser.text(), /signed by nobody|as the farm lists them|as the farm's index lists them|not checked here/, view);
    }
  });
});

test("an open job is followed, can be paused, and a farm that talks without end is not listened to", { skip }, async () => {
  const farm = honest();
  const text = (wanted) => until(async () => wanted.test(await browser.text()), String(wanted));
  await withFarm(farm, (state) => { state.jobState = "JOB_RUNNING"; }, async (server) => {
    await browser.visit("#/jobs/job-1");
    assert.ok(await browser.run("return document.querySelectorAll('svg.timeline .running').length === 1"));
    server.change((state) => { state.jobState = "JOB_PUBLISHING"; });
    await text(/publishing/);
    await browser.click(".live button");
    server.change((state) => { state.jobState = "JOB_RUNNING"; });
    await new Promise((resolve) => setTimeout(resolve, 3500));
    assert.match(await browser.text(), /publishing/);
    await browser.click(".live button");
    await text(/running/);
    server.change(() => {});
    await text(/It has ended/);
    await browser.visit("#/trust");
  });
  const many = Array.from({ length: 5000 }, (_, i) => ({ kind: "ACTION_COMPILE", target: "t", attempt: i, outcome: "done", leased: "2026-01-01T00:00:00Z", ended: "2026-01-01T00:00:01Z", builder: { worker: `w${i % 9}` } }));
  await withFarm(farm, (state) => { Object.assign(state, { jobState: "JOB_RUNNING", logs: many, events: ["x".repeat(5 << 20)] }); }, async () => {
    await browser.visit("#/jobs/job-1");
    assert.ok((await browser.run("return document.querySelectorAll('svg.timeline a').length")) <= 600);
  });
});

// A farm has no logs of a job while nothing of it has ended.
test("a job of which nothing has ended is shown, with who has what since when", { skip }, async () => {
  const farm = honest();
  const since = new Date(Date.now() - 90e3).toISOString();
  const running = ["w1", "w2"].map((worker) => ({ worker, stage: "codegen", attempt: 1, leased: since }));
  const queued = { kind: "ACTION_CHECK", target: "cpu:x86-64-v3", state: "queued" };
  for (const [actions, bars] of [[[queued], 0], [[{ kind: "ACTION_COMPILE", target: "cpu:x86-64-v3", state: "running", worker: "w1", attempt: 1, running }, queued], 2]]) {
    await withFarm(farm, (state) => Object.assign(state, { jobState: "JOB_RUNNING", actions, logs: null }), async () => {
      for (const view of ["#/jobs/job-1", "#/timeline"]) {
        await browser.visit(view);
        assert.deepEqual(await bad(), [], view);
        assert.equal(await browser.run("return document.querySelectorAll('svg.timeline .running').length"), bars, view);
        const text = await browser.text();
        assert.match(text, /queued/);
        if (bars > 0) assert.match(text, new RegExp(`w1 since ${since.slice(11, 19)}, w2 since ${since.slice(11, 19)}`));
      }
      assert.deepEqual((await browser.complaints()).filter((one) => one.includes("logs")), [], "what is not there is not asked for");
    });
  }
});

test("a farm whose pages do not go on is not asked for ever", { skip }, async () => {
  const farm = honest();
  const same = (state) => {
    const page = Array.from({ length: 1000 }, (_, i) => ({ ...state.row, digest: `sha256:${String(i).padStart(64, "0")}` }));
    let asked = 0;
    state.pageOf = () => (++asked % 2 ? page : [...page].reverse());
  };
  await withFarm(farm, same, async () => {
    await browser.visit("#/artifacts?q=nowhere");
    assert.match(await browser.text(), /The newest 50000 artifacts were searched/);
  });
});

test("a token is shown to the farm alone, and is forgotten with the page", { skip }, async () => {
  const farm = honest();
  const token = "secret-of-the-visitor";
  const kept = "return JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML, history.state])";
  await withFarm(farm, () => {}, async (server) => {
    await browser.visit("#/trust");
    await browser.type("input[name=token]", token);
    await browser.run("document.querySelector('main').setAttribute('aria-busy', 'true')");
    await browser.click("#ask-form button");
    await browser.shown();
    server.seen();
    await browser.visit("#/jobs");
    assert.deepEqual(new Set(server.seen().map(({ headers }) => headers.authorization)), new Set([`Bearer ${token}`]));
    await browser.visit(`#/artifacts/${farm.digest}`);
    const asked = server.seen();
    assert.ok(asked.length > 5);
    for (const { url, headers } of asked) {
      assert.equal(url.includes(token), false);
      assert.equal(headers.cookie ?? headers.referer, undefined);
    }
    assert.equal((await browser.run(kept)).includes(token), false);
    assert.deepEqual(await browser.run("return indexedDB.databases().then((all) => all.length)"), 0);
    await browser.call("POST", `${browser.session}/refresh`, {});
    await browser.shown();
    server.seen();
    await browser.visit("#/workers");
    assert.deepEqual(server.seen().map(({ headers }) => headers.authorization), [undefined]);
  });
});

test("a link that is pasted into the page, used up or cut is told, and its secret leaves the URL", { skip }, async () => {
  const farm = honest();
  const server = await serve(farm);
  await browser.open(`${server.origin}/`);
  await browser.shown();
  for (const [secret, told] of [["ab".repeat(32), /opened before/], ["ab".repeat(31), /was cut/], [`${"ab".repeat(32)}.`, /was cut/]]) {
    await browser.run("location.hash = `#link=${arguments[0]}`", secret);
    await until(async () => told.test(await browser.text()), String(told));
    assert.match(await browser.text(), /This link leads nowhere/);
    assert.equal(await browser.run("return location.hash"), "#/artifacts");
  }
  await browser.complaints(); // the answer 404 among them
  await server.stop();
});

test("whoever asks for what is not there can ask again, and an artifact may be named by its first digits", { skip }, async () => {
  const farm = honest();
  const cut = farm.digest.slice(0, 19);
  const refuses = (response) => response.writeHead(404, { "Content-Type": "application/json" }).end('{"code":5,"message":"no such thing"}');
  await withFarm(farm, (state) => { state.short = { [cut]: state.row }; state.broken.set("/api/v1/instances/default/affected", refuses); }, async () => {
    for (const [view, told] of [["affected?component=nvc", /no such thing/], ["compare/abc/def", /"abc" is no digest of an artifact/], [`compare/${farm.digest}/sha256:${"00".repeat(32)}`, /no such thing/]]) {
      await browser.visit(`#/${view}`);
      assert.match((await bad()).join(), told);
      assert.equal(await browser.run("return document.querySelectorAll('main form.ask').length"), 1, view);
    }
    for (const view of ["artifacts", "provenance", "partition"]) {
      await browser.visit(`#/${view}/mnist.onnx`);
      assert.match((await bad()).join(), /"mnist\.onnx" is no digest of an artifact/);
      await browser.visit(`#/${view}/${cut}`);
      assert.deepEqual(await bad(), [], view);
      assert.equal(await good(), 1, view);
    }
    await browser.visit(`#/compare/${cut}/${farm.digest}`);
    assert.equal(await good(), 2, await browser.text());
  });
});

test("an older root is not believed after a newer one", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, () => {}, async () => {
    const other = honest();
    await browser.visit("#/trust");
    const file = path.join(home, "other.json");
    fs.writeFileSync(file, other.root);
    await browser.type("input[name=root]", file);
    await browser.click("#trust-form button");
    const end = Date.now() + 5000;
    while ((await bad()).length === 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 30));
    assert.match((await bad()).join("\n"), /Not believed: root version 1 is not after version 1/);
  });
});

const record = recordRef();
async function until(holds, what) {
  const end = Date.now() + 15000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const views = (digest) => ["artifacts", `artifacts/${digest}`, `provenance/${digest}`, `partition/${digest}`, "timeline", "affected?component=ptxas&prove=yes",
  `tuning/${record.hash}?size=${record.sizeBytes}`, `compare/${digest}/${digest}`, "compare", "affected", "affected?component=ptxas",
  "jobs", "jobs/job-1", "workers", "toolchains", "log", "recalls", "tuning", "trust", "nothing"];

test("hostile names are text in every view", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, (state) => { state.rows = [{ ...state.row, models: [evil], toolchainLabel: evil, builders: [evil] }]; }, async () => {
    let seen = 0;
    for (const view of views(farm.digest)) {
      await browser.visit(`#/${view}`);
      const found = await browser.run("return { images: document.images.length, scripts: document.scripts.length, title: document.title, " +
        "turned: /[\\u202a-\\u202e]/.test(document.title + document.body.textContent), named: document.body.textContent.includes(arguments[0]), handlers: document.querySelectorAll('[onerror],[onload],[onclick],[style]').length }", evil.replace("\u202e", "\ufffd"));
      assert.equal(found.images, 0, view);
      assert.equal(found.scripts, 1, view);
      assert.equal(found.handlers, 0, view);
      assert.equal(found.turned, false, `${view} turns text around`);
      assert.notEqual(found.title, "owned", view);
      if (found.named) ++seen;
      const inert = await browser.run("return document.querySelectorAll('main h1').length === 1 && document.querySelectorAll('a:not([href^=\"#\"])').length === 0");
      assert.ok(inert, `${view} has one heading and leads nowhere else`);
    }
    assert.ok(seen >= 6, `the names were shown in ${seen} views`);
  });
});

// The protobuf mapping leaves out what has its default, and names may be as long as a farm lets them be.
test("what is left out leaves no hole, and what is long stays in its place", { skip }, async () => {
  const farm = honest();
  const each = (value, work) => (Array.isArray(value) ? value.map((one) => each(one, work)) : value !== null && typeof value === "object"
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, each(one, work)])) : work(value));
  const empty = (value) => (Array.isArray(value) ? value.map((one) => (typeof one === "object" ? {} : one)) : value);
  const thin = (api) => Object.fromEntries(Object.entries(api).map(([name, answer]) => {
    const whole = typeof answer === "function" ? answer(new URLSearchParams()) : answer;
    return [name, name.startsWith("artifacts/") ? whole : Object.fromEntries(Object.entries(whole).map(([member, value]) => [member, empty(value)]))];
  }));
  const long = `${"w".repeat(3000)}${"\u0301".repeat(300)}\u200b`;
  const stretched = (api) => each(api, (value) => (value === evil ? long : typeof value === "function" ? stretched(value(new URLSearchParams())) : value));
  for (const reshape of [thin, stretched]) {
    await withFarm(farm, (state) => { state.reshape = reshape; }, async () => {
      for (const view of views(farm.digest)) {
        await browser.visit(`#/${view}`);
        await browser.run("for (const one of document.querySelectorAll('details')) one.open = true");
        assert.deepEqual(await unreadable(browser), [], view);
        assert.ok(await browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), view);
        assert.ok(await browser.run("return !/\\p{M}{5}|\\u200b/u.test(document.body.textContent)"), `${view} shows what covers or hides`);
      }
    });
  }
});

test("the graph is reached and moved by keyboard", { skip }, async () => {
  const farm = honest();
  await withFarm(farm, () => {}, async () => {
    await browser.visit(`#/provenance/${farm.digest}`);
    const box = () => browser.run("return document.querySelector('svg.graph').getAttribute('viewBox')");
    await browser.run("document.querySelector('.graph-frame').focus()");
    const first = await box();
    await browser.press("+");
    const near = await box();
    assert.notEqual(near, first);
    await browser.press("\uE014");
    assert.notEqual(await box(), near);
    await browser.press("0");
    assert.equal(await box(), first);
    await browser.press("\uE004");
    assert.ok(await browser.run("return document.activeElement.classList.contains('node') && document.activeElement.getAttribute('aria-label').length > 0"));
  });
});

test("10,000 artifacts and a graph of 2,000 nodes can be used", { skip }, async () => {
  const farm = honest({ more: Array.from({ length: 2000 }, (_, i) => `part-${i}`) });
  const many = (state) => {
    state.rows = Array.from({ length: 10000 }, (_, i) => ({ ...state.row, digest: `sha256:${String(i).padStart(64, "0")}`, target: i === 9007 ? "cuda:sm_90a" : state.row.target }));
  };
  const timed = async (what, view) => {
    const begin = Date.now();
    await browser.visit(view);
    console.log(`${what}: ${Date.now() - begin} ms`);
  };
  await withFarm(farm, many, async () => {
    await timed("the first of 10,000 artifacts listed", "#/artifacts");
    await browser.run("document.querySelector('main').setAttribute('aria-busy', 'true')");
    await browser.run("Array.from(document.querySelectorAll('a')).find((one) => one.textContent === 'Older').click()");
    await browser.shown();
    assert.match(await browser.text(), /sha256:000000000000/);
    assert.equal(await browser.run("return document.querySelectorAll('main tbody tr').length"), 500);
    assert.match(await browser.run("return location.hash"), /before=sha256%3A0+499$/);
    await timed("one found among 10,000", "#/artifacts?q=sm_90a");
    assert.match(await browser.text(), /All 10000 artifacts were searched/);
    assert.match(await browser.text(), /Artifacts, newest first, as the farm lists them \(1\)/);
    await timed("a graph of 2,000 nodes drawn, after the artifact was verified", `#/provenance/${farm.digest}`);
    assert.ok((await browser.run("return document.querySelectorAll('.node').length")) > 2000);
    const begin = Date.now();
    await browser.run("document.querySelector('.graph-frame').focus()");
    for (let i = 0; i < 10; ++i) await browser.press("+");
    console.log(`zoomed ten times in it: ${Date.now() - begin} ms`);
  });
});

for (const [name, options] of [["light", {}], ["dark", { dark: true }], ["phone", { phone: { width: 390, height: 844 } }]]) {
  test(`every view fits, ${name}`, { skip }, async () => {
    const farm = honest({ recalls: [{ what: `sha256:${"99".repeat(32)}` }] });
    const before_ = browser;
    browser = await Browser.start(options);
    try {
      await withFarm(farm, () => {}, async () => {
        const dark = await browser.run("return matchMedia('(prefers-color-scheme: dark)').matches");
        assert.equal(dark, name === "dark");
        if (options.phone) assert.equal(await browser.run("return innerWidth"), options.phone.width);
        for (const view of views(farm.digest)) {
          await browser.visit(`#/${view}`);
          const [wide, window_] = await browser.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]");
          assert.ok(wide <= window_, `${view} is ${wide} wide on ${window_}`);
          if (view !== "nothing") assert.ok(await browser.run("return document.querySelectorAll('.command code').length > 0"), `${view} says which command says the same`);
          await browser.run("for (const one of document.querySelectorAll('details')) one.open = true");
          assert.deepEqual(await unreadable(browser), [], view);
          if (axe) assert.deepEqual(await findings(browser, axe), [], view);
          const pictures = process.env.KILN_CONSOLE_PICTURES;
          if (pictures) {
            fs.mkdirSync(pictures, { recursive: true });
            await browser.screenshot(path.join(pictures, `${name}-${view.replace(/sha256:[0-9a-f]+/g, "one").replace(/[0-9a-f]{64}/g, "one").replace(/[^a-z0-9]+/g, "-")}.png`));
          }
        }
      });
    } finally {
      await browser.stop();
      browser = before_;
    }
  });
}
