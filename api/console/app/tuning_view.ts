// What tuners measured: the farm's list of records, and one record with its candidates as plots.
import { checkBytes, parseHex, parseStrictJson } from "../verify/index";
import { Child, command, cut, el, facts, link, scrolling, short, svg, table } from "./dom";
import { BlobRef, blobDigest, StatementRef } from "./farm";
import { count, list, object, text } from "./json_view";
import { at, notice, Shown, trouble, View } from "./view";

interface Row {
  record?: BlobRef; target?: string; statement?: StatementRef; worker?: string; operator?: string; job?: string;
  entries?: Array<{ target?: string; signature?: string; entry?: string }>;
}

export const tuningView: View = async (session, { query }): Promise<Shown> => {
  const said = await session.farm.call<{ records?: Row[]; nextPageToken?: string }>(["index", "tuning"], { pageSize: "100", pageToken: query.get("page") ?? "" });
  const records = said.records ?? [];
  return { title: "Tuning records", content: [
    table("Records, as the farm's index lists them", ["Record", "Target", "Worker", "Operator", "Job", "Kernels with another schedule", "Kernels"], records.map((one) => [
      link(at("tuning", [one.record?.hash ?? ""], { size: one.record?.sizeBytes ?? "0" }), short(`sha256:${one.record?.hash ?? ""}`)), one.target ?? "", one.worker ?? "", one.operator ?? "",
      one.job ? link(at("jobs", [one.job]), one.job) : "", String((one.entries ?? []).filter((entry) => entry.entry).length), String((one.entries ?? []).length),
    ])),
    said.nextPageToken ? el("p", {}, link(at("tuning", [], { page: said.nextPageToken }), "More")) : null,
    command("kiln", "audit"),
  ] };
};

interface Candidate { readonly schedule: string; readonly state: string; readonly median: number; readonly spread: number; readonly samples: string }
interface Kernel { readonly signature: string; readonly template: string; readonly reason: string; readonly chosen: number; readonly candidates: readonly Candidate[] }

function microseconds(nanoseconds: number): string {
  return `${(nanoseconds / 1000).toPrecision(3)} \u00b5s`;
}

const wide = 720;
const left = 260;
const high = 20;
const mostOpened = 500; // kernels of a record
const shownAtOnce = 40; // candidates of a kernel that are drawn

// A point for each candidate's median with its spread, the fastest first; the default and the chosen one are named.
function plot(kernel: Kernel): Element {
  const measured = kernel.candidates.map((one, i) => ({ ...one, i })).filter((one) => one.median > 0).sort((a, b) => a.median - b.median);
  if (measured.length === 0) return el("p", {}, "Nothing of it was measured.");
  const named = (i: number) => i === 0 || i === kernel.chosen;
  const drawn = measured.filter((one, rank) => rank < shownAtOnce || named(one.i));
  const most = drawn.reduce((sum, one) => Math.max(sum, one.median + one.spread), 0);
  const place = (value: number) => left + (Math.max(0, value) / most) * (wide - left - 90);
  const rows = drawn.flatMap((one, row) => {
    const y = row * high + high / 2;
    const kind = `${one.i === 0 ? "default" : ""}${named(one.i) && one.i === kernel.chosen ? `${one.i === 0 ? ", " : ""}chosen` : ""}`;
    const label = `${one.schedule}: ${microseconds(one.median)} \u00b1 ${microseconds(one.spread)}${kind === "" ? "" : `, ${kind}`}`;
    return [svg("g", {}, svg("title", {}, label), svg("text", { x: 4, y: y + 4 }, cut(`${kind === "" ? "" : `${kind}: `}${one.schedule}`, 40)),
      svg("line", { x1: place(one.median - one.spread).toFixed(1), x2: place(one.median + one.spread).toFixed(1), y1: y, y2: y, class: "whisker" }),
      svg("circle", { cx: place(one.median).toFixed(1), cy: y, r: one.i === kernel.chosen ? 6 : 4, class: one.i === kernel.chosen ? "point chosen" : "point" }),
      svg("text", { x: (place(one.median + one.spread) + 10).toFixed(1), y: y + 4 }, microseconds(one.median)))];
  });
  return el("figure", {}, scrolling(`Candidates of ${short(kernel.signature)}`, svg("svg", { viewBox: `0 0 ${wide} ${drawn.length * high + 4}`, class: "plot", role: "img",
    "aria-label": `Medians of ${drawn.length} candidates from ${microseconds(drawn[0].median)} to ${microseconds(most)}; the table says the same` }, ...rows)),
  el("figcaption", {}, `Median and spread, the fastest first, from 0 to ${microseconds(most)}${drawn.length < measured.length ? `; ${measured.length - drawn.length} slower ones are in the table alone` : ""}.`));
}

function timesFaster(kernel: Kernel): number {
  const [first, chosen] = [kernel.candidates[0], kernel.candidates[kernel.chosen]];
  return first && chosen && chosen.median > 0 ? first.median / chosen.median : 1;
}

// How many times faster each kernel became.
function overview(kernels: readonly Kernel[]): Element {
  const shown = kernels.slice(0, 200);
  const most = shown.reduce((sum, one) => Math.max(sum, timesFaster(one)), 1);
  const step = wide / Math.max(1, shown.length);
  const bars = shown.map((one, i) => {
    const height = (timesFaster(one) / most) * 120;
    return svg("rect", { x: (i * step).toFixed(1), y: (120 - height).toFixed(1), width: Math.max(1, Math.min(60, step - 2)).toFixed(1), height: height.toFixed(1), class: "bar" },
      svg("title", {}, `${short(one.signature)}: ${timesFaster(one).toFixed(2)} times as fast`));
  });
  return el("figure", {}, svg("svg", { viewBox: `0 0 ${wide} 120`, class: "bars", role: "img", "aria-label": `How many times as fast as its default each of ${shown.length} kernels became, at most ${most.toFixed(2)}` }, ...bars),
    el("figcaption", {}, `How many times as fast as by its default schedule each kernel became: at most ${most.toFixed(2)}.`));
}

function kernelsOf(record: Uint8Array): { device: string; target: string; method: string; kernels: Kernel[] } {
  const document = object(parseStrictJson(record));
  const device = object(document.get("device"));
  return { target: text(document.get("target")), method: text(document.get("method")), device: `${text(device.get("kind"))} ${text(device.get("name"))}`,
    kernels: list(document.get("kernels")).map(object).map((one) => ({
      signature: text(one.get("signature")), template: text(one.get("template")), reason: text(one.get("reason")), chosen: count(one.get("chosen")),
      candidates: list(one.get("candidates")).map(object).map((candidate) => ({ schedule: text(candidate.get("schedule")), state: text(candidate.get("state")),
        median: count(candidate.get("medianNanoseconds")), spread: count(candidate.get("spreadNanoseconds")), samples: text(candidate.get("samples")) })),
    })) };
}

function kernelPart(kernel: Kernel): Child {
  return el("details", { class: "stage" }, el("summary", {}, `${kernel.template} ${short(kernel.signature)}: ${timesFaster(kernel).toFixed(2)} times as fast, ${kernel.reason}`), plot(kernel),
    table(`Candidates of ${short(kernel.signature)}, the default first`, ["Schedule", "State", "Median", "Spread", "Samples", "Chosen"], kernel.candidates.map((one, i) => [
      one.schedule, one.state, one.median > 0 ? microseconds(one.median) : "", one.median > 0 ? microseconds(one.spread) : "", one.samples, i === kernel.chosen ? "chosen" : ""])));
}

export const tuningRecord: View = async (session, { parts: [hex = ""], query }): Promise<Shown> => {
  const title = `Tuning record ${short(`sha256:${hex}`)}`;
  const digest = blobDigest({ hash: hex, sizeBytes: query.get("size") ?? "0" });
  const said = [command("kiln", "affected", "--source", `sha256:${hex}`), el("p", {}, link(at("affected", [], { source: `sha256:${hex}`, prove: "yes" }), "What was built with it"))];
  if (!digest || !parseHex(hex)) return { title, content: [notice("bad", "A record is named by 64 digits, and its size.")] };
  try {
    const bytes = await session.farm.casBlob(digest);
    await checkBytes(bytes, digest);
    const { device, target, method, kernels } = kernelsOf(bytes);
    return { title, content: [
      notice("plain", "The bytes have this digest. What they say is a worker's measurement; whose statement it is in is not checked here: kiln audit checks it."),
      facts([["Digest", el("code", {}, `sha256:${hex}`)], ["Target", target], ["Device", device], ["Method", method], ["Kernels", String(kernels.length)]]),
      kernels.length > 0 && overview(kernels), ...kernels.slice(0, mostOpened).map(kernelPart),
      kernels.length > mostOpened && notice("plain", `The first ${mostOpened} of ${kernels.length} kernels.`), ...said,
    ] };
  } catch (error) {
    return { title, content: [notice("bad", `\u2718 Refused: ${trouble(error)}`), ...said] };
  }
};
