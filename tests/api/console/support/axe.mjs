// The rules of WCAG 2.2, A and AA, and best practices, by axe-core, over the view that a browser shows.
import fs from "node:fs";

const rules = ["best-practice", "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

// "rule: element, why" for each finding. `script`: the path of axe.min.js.
export function findings(browser, script) {
  return browser.run(`${fs.readFileSync(script, "utf8")}; return axe.run(document, { runOnly: arguments[0] })` +
    ".then((said) => said.violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).join('; ')}`))", rules);
}
