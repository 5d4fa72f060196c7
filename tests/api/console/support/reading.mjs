// Whether what a view shows can be read: held against what a browser has laid out, not against the style sheet.

// Runs in the page. A word is what no line may end in: letters, digits, and what stands within names and times; of a mark and a
// short cell it is all that they say. What has no blank for longer than a line of a phone's cell may be broken.
const broken = String.raw`
  const longest = 24;
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (!holder.checkVisibility() || holder.closest("svg, pre, option")) continue;
    const whole = holder.closest(".mark, td.whole") !== null;
    for (const { 0: run, index: start } of node.data.matchAll(/\S+/g)) {
      if (run.length > longest) continue;
      for (const { 0: word, index } of run.matchAll(whole ? /.+/g : /[\p{L}\p{N}_:.]+/gu)) {
        const range = document.createRange();
        range.setStart(node, start + index);
        range.setEnd(node, start + index + word.length);
        const lines = new Set(Array.from(range.getClientRects(), (one) => Math.round(one.top)));
        if (lines.size > 1) found.push(word + " in " + holder.tagName.toLowerCase() + ": " + node.data.slice(0, 60));
      }
    }
  }
  return found;`;

// Runs in the page. Nothing ends right of the window but what lies in a part that scrolls by itself.
const outside = String.raw`
  const wide = document.documentElement.clientWidth;
  return Array.from(document.body.querySelectorAll("*")).filter((one) => !one.closest(".scroll *, svg, thead, .skip") && one.getBoundingClientRect().right > wide + 1)
    .map((one) => one.tagName.toLowerCase() + "." + one.className + ": " + one.textContent.slice(0, 60));`;

// Runs in the page. What a missing member leaves in a sentence, in text and in what is read aloud.
const holes = String.raw`
  const blocks = Array.from(document.querySelectorAll("h1, h3, h4, p, td, th, dt, dd, summary, caption, figcaption, label, button, svg text, svg title"), (one) => one.textContent);
  const spoken = Array.from(document.querySelectorAll("[aria-label]"), (one) => one.getAttribute("aria-label"));
  return [...blocks, ...spoken].filter((text) => / [,.;:](\s|$)|\(\s*\)|\b(undefined|NaN|null|Infinity)\b|\[object|[:,;(]\s*$|^[:,;]/.test(text.trim()));`;

// What cannot be read of the view that is shown: a list of complaints.
export async function unreadable(browser) {
  const all = [];
  for (const [what, script] of Object.entries({ "a word is broken": broken, "it sticks out": outside, "it has a hole": holes })) {
    for (const one of await browser.run(script)) all.push(`${what}: ${one}`);
  }
  return all;
}
