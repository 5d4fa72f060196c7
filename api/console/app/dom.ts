// Elements of the page. Text goes in as text nodes and attributes by name: nothing is ever read as markup, so
// that whatever a farm calls things stays inert.

export type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>;

const mostRows = 5000; // of a table; a browser lays out no more in a time that a person waits
const svgSpace = "http://www.w3.org/2000/svg";

// What would change how the text beside it is read, or hides in it: controls, what turns the direction, what cannot be seen (as
// manifest/base/printable.cc has it), and marks that are stacked until they cover other lines.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
function inert(text: string): string {
  return text.replace(hidden, "\ufffd").replace(/(\p{M}{4})\p{M}+/gu, "$1\ufffd");
}

function fill<T extends Element>(element: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, typeof value === "string" && name !== "value" && name !== "href" ? inert(value) : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(typeof child === "string" ? inert(child) : child);
  return element;
}

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS(svgSpace, tag) as SVGElement, attributes, children);
}

// A link to a view.
export function link(hash: string, ...children: Child[]): HTMLAnchorElement {
  return el("a", { href: hash }, ...children);
}

// What may be wider than the page: it scrolls by itself, and a keyboard reaches it.
export function scrolling(name: string, content: Child): HTMLElement {
  return el("div", { class: "scroll", role: "region", "aria-label": name, tabindex: "0" }, content);
}

// A name, a target or a time of ordinary length stays on one line; a word that is longer may be broken.
function widthOf(cell: Child): string | undefined {
  const text = typeof cell === "string" ? cell : cell instanceof Node ? cell.textContent ?? "" : "";
  if (/\S{25}/.test(text)) return "long";
  return /^\S+$/.test(text) ? "whole" : undefined;
}

// A table with a caption that names it; `columns` are its heads. On a phone each row is a list of its own (console.css), where
// `data-head` names what a cell is; the roles keep it a table for whoever hears it.
export function table(caption: string, columns: readonly string[], rows: ReadonlyArray<readonly Child[]>, none = "There is nothing here."): HTMLElement {
  if (rows.length === 0) return el("section", {}, el("p", { class: "caption" }, caption), el("p", {}, none));
  const shown = rows.slice(0, mostRows);
  const cellOf = (cell: Child, i: number) => el("td", { role: "cell", "data-head": columns[i], class: widthOf(cell) }, cell);
  return scrolling(caption, el("table", { role: "table" },
    el("caption", {}, `${caption} (${rows.length}${shown.length < rows.length ? `, of which the first ${shown.length} are shown` : ""})`),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...columns.map((one) => el("th", { scope: "col", role: "columnheader" }, one)))),
    el("tbody", { role: "rowgroup" }, ...shown.map((row) => el("tr", { role: "row" }, ...row.map(cellOf))))));
}

// Facts as a list of terms.
export function facts(list: ReadonlyArray<readonly [string, Child]>): HTMLElement {
  return el("dl", {}, ...list.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value || "none")]));
}

// A word that is safe in a shell, as it is or in quotes.
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

// The command that says the same as the view.
export function command(...words: string[]): HTMLElement {
  return el("p", { class: "command" }, "On the command line: ", el("code", {}, words.map(shellWord).join(" ")));
}

// A digest as far as people read it; "" where there is none.
export function short(digest: string): string {
  if (digest === "sha256:") return "";
  return digest.startsWith("sha256:") ? digest.slice(0, 19) : digest;
}

// A time as the farm says it, to the second.
export function moment(time: string | undefined): string {
  return (time ?? "").replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{1,9}Z$/, "$1Z");
}

// As many characters as a picture has room for; what is left out is seen to be.
export function cut(text: string, most: number): string {
  const letters = Array.from(text);
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}\u2026`;
}

export function bytesText(value: string | number | bigint): string {
  let size = Number(value);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (size < 1024) return `${unit === "B" ? size : size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} TiB`;
}
