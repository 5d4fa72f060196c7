// Drives the console of a real farm through `kiln console`: `node drive.mjs JSON`, where JSON has "views", "audit" (the name of a
// component, or ""), "once" (in light alone), "pictures" (a folder, or "") and "axe" (axe-core's script, or ""). Prints per view what is shown. Nothing is
// typed but what a person would: the farm's root and policy come from the environment of `kiln console`.
import { spawn } from "node:child_process";
import fs from "node:fs";
import readline from "node:readline";
import { findings } from "./axe.mjs";
import { Browser } from "./browser.mjs";
import { unreadable } from "./reading.mjs";

const wanted = JSON.parse(process.argv[2]);
const door = spawn("kiln", ["console"], { stdio: ["ignore", "pipe", "ignore"] });
const links = readline.createInterface({ input: door.stdout })[Symbol.asyncIterator]();
const nextLink = async () => (await links.next()).value;

// What lies in a closed part of the page has no innerText.
const tables = "return Array.from(document.querySelectorAll('main table'), (table) => Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.innerText || cell.textContent)))";
const red = "return Array.from(document.querySelectorAll('.notice.bad, .mark.bad'), (one) => one.innerText)";

async function look(browser) {
  return {
    text: await browser.text(), bad: await browser.run(red), checks: await browser.run(tables),
    good: await browser.run("return document.querySelectorAll('.notice.good').length"),
    stages: await browser.run("return Array.from(document.querySelectorAll('details.stage summary'), (one) => one.innerText)"),
    commands: await browser.run("return Array.from(document.querySelectorAll('.command code'), (one) => one.innerText)"),
    pictures: await browser.run("return Array.from(document.querySelectorAll('main svg'), (one) => one.getAttribute('class'))"),
  };
}

// Clicks what leads to another view, as a person does, and waits for that.
async function follow(browser, click) {
  await browser.run("document.querySelector('main').setAttribute('aria-busy', 'true')");
  await click();
  await browser.shown();
}
const clickLink = (browser, text) => follow(browser, () => browser.run("Array.from(document.querySelectorAll('a')).find((one) => one.textContent === arguments[0]).click()", text));

// What did this part touch, who built it, is it recalled, prove it: by the keyboard and the mouse alone.
async function audit(browser, component) {
  const seen = {};
  await clickLink(browser, "Affected");
  await browser.type("input[name=name]", component);
  await follow(browser, () => browser.click("form.ask button"));
  seen.asked = await look(browser);
  await clickLink(browser, "Prove it here");
  seen.proven = await look(browser);
  await follow(browser, () => browser.run("document.querySelector('main table a').click()"));
  seen.artifact = await look(browser);
  await clickLink(browser, "Provenance graph");
  seen.graph = await look(browser);
  await clickLink(browser, "Recalls");
  seen.recalls = await look(browser);
  return seen;
}

const shown = { views: {}, complaints: [], axe: {}, unreadable: {} };
const all = [["light", {}], ["dark", { dark: true }], ["phone", { phone: { width: 390, height: 844 } }]];
const looks = wanted.once ? all.slice(0, 1) : all;
for (const [name, options] of looks) {
  const browser = await Browser.start(options);
  try {
    await browser.open(await nextLink());
    await browser.shown();
    if (name === "light") {
      shown.firstPaint = await browser.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null");
      shown.loaded = await browser.run("return performance.getEntriesByType('resource').filter((one) => /console\\.(js|css)/.test(one.name)).reduce((sum, one) => sum + one.decodedBodySize, 0)");
      shown.secretLeft = await browser.run("return location.href");
    }
    for (const view of wanted.views) {
      const begin = Date.now();
      await browser.visit(view);
      const took = Date.now() - begin; // milliseconds, of the browser's driver as well
      if (name === "light") shown.views[view] = { took, ...(await look(browser)) };
      for (const one of await unreadable(browser)) (shown.unreadable[`${name} ${view}`] ??= []).push(one);
      if (wanted.axe) for (const one of await findings(browser, wanted.axe)) (shown.axe[`${name} ${view}`] ??= []).push(one);
      const file = view.replace(/sha256(:|%3A)[0-9a-f]+/g, "one").replace(/[0-9a-f]{40,}/g, "one").replace(/[^a-z0-9]+/gi, "-").replace(/^-/, "");
      if (wanted.pictures) await browser.screenshot(`${wanted.pictures}/${name === "light" ? "" : `${name}-`}${file}.png`);
      if (wanted.pictures && name === "light") await browser.screenshot(`${wanted.pictures}/window-${file}.png`, 900); // for the documents
    }
    if (wanted.audit && name === "light") shown.audit = await audit(browser, wanted.audit);
    // What is recalled is not handed out: the browser notes the answer.
    shown.complaints.push(...(await browser.complaints()).filter((one) => !(wanted.recalled && /status of 40[34]/.test(one))));
  } finally {
    await browser.stop();
  }
}
door.kill();
fs.writeSync(1, JSON.stringify(shown));
process.exit(0);
