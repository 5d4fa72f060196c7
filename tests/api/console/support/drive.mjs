// Drives the console of a real farm: `node drive.mjs JSON`, where JSON has "socket" (of the farm's private HTTP side), "root", "policy",
// "views" and "pictures". Prints per view what is shown. The browser reaches the socket through a server of its own
// origin, which hands requests on as they are.
import http from "node:http";
import { Browser } from "./browser.mjs";

const wanted = JSON.parse(process.argv[2]);

const server = http.createServer((request, response) => {
  const forward = http.request({ socketPath: wanted.socket, path: request.url, method: request.method, headers: { ...request.headers, host: "localhost" } }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  forward.on("error", () => response.destroy());
  request.pipe(forward);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const browser = await Browser.start();
const shown = {};
try {
  await browser.open(`http://127.0.0.1:${server.address().port}/`);
  await browser.shown();
  shown.firstPaint = await browser.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null");
  shown.loaded = await browser.run("return performance.getEntriesByType('resource').filter((one) => /console/.test(one.name)).reduce((sum, one) => sum + one.decodedBodySize, 0)");
  await browser.visit("#/trust");
  await browser.type("input[name=root]", wanted.root);
  await browser.type("input[name=policy]", wanted.policy);
  await browser.run("document.querySelector('main').setAttribute('aria-busy', 'true')");
  await browser.click("#trust-form button");
  await browser.shown();
  shown.trust = await browser.text();
  shown.views = {};
  for (const view of wanted.views) {
    await browser.visit(view);
    shown.views[view] = {
      text: await browser.text(),
      bad: await browser.run("return Array.from(document.querySelectorAll('.notice.bad, .mark.bad'), (one) => one.innerText)"),
      good: await browser.run("return document.querySelectorAll('.notice.good').length"),
      checks: await browser.run("return Array.from(document.querySelectorAll('main table'), (table) => Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.innerText)))"),
      stages: await browser.run("return Array.from(document.querySelectorAll('details.stage summary'), (one) => one.innerText)"),
    };
    if (wanted.pictures) await browser.screenshot(`${wanted.pictures}/${view.replace(/sha256(:|%3A)[0-9a-f]+/g, "one").replace(/[^a-z0-9]+/gi, "-").replace(/^-/, "")}.png`);
  }
  shown.complaints = await browser.complaints();
} finally {
  await browser.stop();
  server.close();
  server.closeAllConnections?.();
}
process.stdout.write(JSON.stringify(shown));
