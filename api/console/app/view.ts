// What a view is: a function from the parts and the query of its URL to what is shown. "#/artifacts/sha256:…?x=y".
import { VerifyError } from "../verify/index";
import { Child, el } from "./dom";
import { FarmError } from "./farm";
import { Session } from "./session";

export interface Place {
  readonly parts: readonly string[]; // behind the name of the view
  readonly query: URLSearchParams;
}
export interface Shown {
  readonly title: string;
  readonly content: readonly Child[];
  // Called once it is shown, with what ends when another view is: for what changes while it is looked at.
  readonly follow?: (left: AbortSignal) => void;
}
export type View = (session: Session, place: Place) => Promise<Shown>;

// The URL of a view.
export function at(name: string, parts: readonly string[] = [], query: Readonly<Record<string, string>> = {}): string {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${[name, ...parts].map(encodeURIComponent).join("/")}${asked === "" ? "" : `?${asked}`}`;
}

export function parsePlace(hash: string): { name: string; place: Place } {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  let names: string[];
  try {
    names = path.split("/").map(decodeURIComponent);
  } catch {
    names = [""];
  }
  return { name: names[0], place: { parts: names.slice(1), query: new URLSearchParams(query) } };
}

// What went wrong, for people. Anything but what a farm or a document did is a fault of the page and goes on.
export function trouble(error: unknown): string {
  if (error instanceof FarmError || error instanceof VerifyError) return error.message;
  throw error;
}

// Why a question has no answer, where whoever asked it can ask otherwise. What is denied, or broken, goes on.
export function mendable(error: unknown): string {
  if (error instanceof VerifyError || (error instanceof FarmError && (error.status === 400 || error.status === 404))) return error.message;
  throw error;
}

// "holds" or "fails" with a sign and a word beside the colour.
export function mark(ok: boolean): HTMLElement {
  return el("span", { class: ok ? "mark good" : "mark bad" }, ok ? "\u2714 holds" : "\u2718 fails");
}
export function notice(kind: "good" | "bad" | "plain", text: string, ...more: Child[]): HTMLElement {
  return el("p", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" }, text, ...more);
}

// Of a view that shows what nobody signed.
export function unsigned(what: string, more = ""): HTMLElement {
  return notice("plain", `What the farm says of ${what}, signed by nobody.${more}`);
}

// A form that leads to a URL made of its fields.
export function leading(fields: readonly HTMLElement[], button: string, lead: (data: FormData) => string): HTMLFormElement {
  const form = el("form", { class: "ask", submit: (event) => {
    event.preventDefault();
    location.hash = lead(new FormData(form));
  } }, ...fields, el("button", { type: "submit" }, button));
  return form;
}
export function field(name: string, label: string, value = "", type = "text"): HTMLElement {
  return el("label", {}, `${label} `, el("input", { name, type, value, autocomplete: "off", spellcheck: "false" }));
}
export function choice(name: string, label: string, options: readonly string[], chosen = ""): HTMLElement {
  return el("label", {}, `${label} `, el("select", { name }, ...options.map((one) => el("option", { value: one, selected: one === chosen }, one))));
}
export function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value.trim() : "";
}
