// Whom the visitor believes, and how they ask the farm. Files are read here and go nowhere; nothing is kept.
import { formatTime } from "../verify/index";
import { command, el, facts } from "./dom";
import { NamedFile, Session } from "./session";
import { notice, Shown, textOf, trouble, View } from "./view";

function fileField(name: string, label: string, required: boolean): HTMLElement {
  return el("label", {}, `${label} `, el("input", { name, type: "file", accept: ".json,application/json", required }));
}

async function chosen(data: FormData, name: string): Promise<NamedFile | null> {
  const value = data.get(name);
  return value instanceof File && value.size > 0 ? { name: value.name, bytes: new Uint8Array(await value.arrayBuffer()) } : null;
}

async function believeChosen(session: Session, data: FormData): Promise<void> {
  const root = await chosen(data, "root");
  if (root) await session.believe(root, await chosen(data, "policy"), await chosen(data, "recalls"));
}

function rootForm(session: Session, again: () => void): HTMLElement {
  const said = el("div");
  const form = el("form", { class: "ask", id: "trust-form", submit: (event) => {
    event.preventDefault();
    believeChosen(session, new FormData(form)).then(again, (error: unknown) => {
      said.replaceChildren(notice("bad", `\u2718 Not believed: ${trouble(error)}`));
    });
  } },
  fileField("root", "Trust root (root.json)", true), fileField("policy", "Policy (without one: any builder of a root that is not for development)", false),
  fileField("recalls", "Recalls (recalls.json), if you have one", false), el("button", { type: "submit" }, "Believe"), said);
  return form;
}

function askForm(session: Session, again: () => void): HTMLElement {
  const form = el("form", { class: "ask", id: "ask-form", submit: (event) => {
    event.preventDefault();
    const data = new FormData(form);
    session.ask(textOf(data, "instance"), textOf(data, "token"));
    again();
  } },
  el("label", {}, "Instance ", el("input", { name: "instance", value: session.instance, autocomplete: "off" })),
  el("label", {}, "Token (kept in memory, forgotten with the page) ", el("input", { name: "token", type: "password", autocomplete: "off" })),
  el("button", { type: "submit" }, "Ask so"));
  return form;
}

function believed(session: Session): HTMLElement {
  const root = session.trust?.root;
  if (!root) return notice("plain", "No root is named yet: roots are named by you, and never looked for.");
  const recalls = session.trust?.recalls;
  return el("section", {},
    notice("good", `Believed: ${session.files.join(", ")}.`),
    facts([["Version", String(root.version)], ["Expires", formatTime(root.expires)], ["Development", root.development ? "yes: for trying things out" : "no"],
      ["Builders", root.builders.map((one) => one.id).join(", ")], ["Logs", root.logs.map((one) => one.origin).join(", ")],
      ["Witnesses", root.witnesses.map((one) => one.name).join(", ")], ["Revoked keys", root.revocations.map((one) => one.keyId).join(", ")],
      ["Policy", session.trust?.policy.name ?? ""], ["Recalls known", recalls ? `version ${recalls.version} of ${formatTime(recalls.issuedOn)}` : ""]]));
}

export const trustView: View = async (session): Promise<Shown> => {
  const again = () => window.dispatchEvent(new HashChangeEvent("hashchange"));
  return { title: "Whom you believe", content: [
    believed(session), el("h2", {}, "Name a root"), rootForm(session, again), el("h2", {}, "How to ask the farm"), askForm(session, again),
    command("kiln", "trust", "show", "ROOT.json"),
  ] };
};
