// The page: a bar of views, and the one that the URL names.
import { VerifyError } from "../verify/index";
import { affected } from "./affected";
import { artifact } from "./artifact";
import { artifacts } from "./artifacts";
import { compare } from "./compare";
import { el, link } from "./dom";
import { FarmError } from "./farm";
import { toolchains, workers } from "./fleet";
import { job, jobs } from "./jobs";
import { isLink, openLink } from "./link";
import { logView } from "./log_view";
import { partitionView } from "./partition_view";
import { provenanceView } from "./provenance_view";
import { recallsView } from "./recalls_view";
import { Session } from "./session";
import { timelineView } from "./timeline_view";
import { trustView } from "./trust_view";
import { tuningRecord, tuningView } from "./tuning_view";
import { at, notice, parsePlace, Shown, trouble, View } from "./view";

const bar: ReadonlyArray<readonly [string, string]> = [
  ["artifacts", "Artifacts"], ["affected", "Affected"], ["compare", "Compare"], ["jobs", "Jobs"], ["timeline", "Timeline"], ["workers", "Workers"], ["toolchains", "Toolchains"],
  ["log", "Log"], ["recalls", "Recalls"], ["tuning", "Tuning"], ["trust", "Whom you believe"],
];
const views = new Map<string, View>([
  ["artifacts", (session, place) => (place.parts.length > 0 ? artifact : artifacts)(session, place)], ["affected", affected], ["compare", compare],
  ["jobs", (session, place) => (place.parts.length > 0 ? job : jobs)(session, place)], ["workers", workers], ["toolchains", toolchains], ["log", logView],
  ["recalls", recallsView], ["tuning", (session, place) => (place.parts.length > 0 ? tuningRecord : tuningView)(session, place)], ["trust", trustView],
  ["provenance", provenanceView], ["partition", partitionView], ["timeline", timelineView],
]);

const session = new Session();
const main = el("main", { id: "main", tabindex: "-1" });
const nav = el("nav", { "aria-label": "Views" });
let turn = 0; // of the view that is shown: an earlier one that ends later is dropped

async function show(): Promise<void> {
  const mine = ++turn;
  const left = session.begin();
  const { name, place } = parsePlace(location.hash === "" ? at("artifacts") : location.hash);
  nav.replaceChildren(el("ul", {}, ...bar.map(([view, label]) => {
    const one = link(at(view), label);
    if (view === name) one.setAttribute("aria-current", "page");
    return el("li", {}, one);
  })));
  main.setAttribute("aria-busy", "true");
  main.replaceChildren(notice("plain", "The farm is asked.")); // what was shown is not of this URL
  const view = views.get(name);
  let title = "Not here";
  let content: Shown["content"] = [notice("bad", "There is no such view.")];
  let follow: Shown["follow"];
  try {
    if (view) ({ title, content, follow } = await view(session, place));
  } catch (error) {
    title = bar.find(([one]) => one === name)?.[1] ?? "Trouble";
    const denied = error instanceof FarmError && (error.status === 401 || error.status === 403);
    const known = error instanceof FarmError || error instanceof VerifyError;
    content = [notice("bad", known ? error.message : "The farm's answer has another form than its API, or this page has a fault. Nothing of it is shown.",
      denied ? el("span", {}, " ", link(at("trust"), "Give a token"), ".") : null)];
  }
  if (mine !== turn) return;
  const heading = el("h1", {}, title);
  document.title = `${heading.textContent} \u2013 Kiln`;
  main.replaceChildren(heading, ...content.filter((one): one is Node | string => one !== null && one !== undefined && one !== false));
  main.setAttribute("aria-busy", "false");
  main.focus({ preventScroll: true });
  follow?.(left);
}

document.body.append(
  el("a", { class: "skip", href: "#main", click: (event) => {
    event.preventDefault();
    main.focus();
  } }, "Skip to the view"),
  el("header", {}, el("span", { class: "brand" }, "Kiln"), nav), main,
);
// A link that is pasted into the page begins another session, of which this one keeps nothing.
window.addEventListener("hashchange", () => (isLink(location.hash) ? location.reload() : void show()));
openLink(session).then(show, (error: unknown) => {
  main.replaceChildren(el("h1", {}, "This link leads nowhere"), notice("bad", trouble(error)));
  main.setAttribute("aria-busy", "false");
});
