// What tuners measured, as the farm's index lists it.
import { command, el, link, short, table } from "./dom";
import { BlobRef, StatementRef } from "./farm";
import { at, Shown, View } from "./view";

interface Row {
  record?: BlobRef; target?: string; statement?: StatementRef; worker?: string; operator?: string; job?: string;
  entries?: Array<{ target?: string; signature?: string; entry?: string }>;
}

export const tuningView: View = async (session, { query }): Promise<Shown> => {
  const said = await session.farm.call<{ records?: Row[]; nextPageToken?: string }>(["index", "tuning"], { pageSize: "100", pageToken: query.get("page") ?? "" });
  const records = said.records ?? [];
  return { title: "Tuning records", content: [
    table("Records", ["Record", "Target", "Worker", "Operator", "Job", "Kernels with another schedule", "Kernels"], records.map((one) => [
      link(at("affected", [], { source: `sha256:${one.record?.hash ?? ""}` }), short(`sha256:${one.record?.hash ?? ""}`)), one.target ?? "", one.worker ?? "", one.operator ?? "",
      one.job ? link(at("jobs", [one.job]), one.job) : "", String((one.entries ?? []).filter((entry) => entry.entry).length), String((one.entries ?? []).length),
    ])),
    ...records.map((one) => el("details", {}, el("summary", {}, `Kernels of ${short(`sha256:${one.record?.hash ?? ""}`)}`),
      table("Kernels", ["Kernel", "Schedule"], (one.entries ?? []).map((entry) => [short(entry.signature ?? ""), entry.entry || "the default is best"])))),
    said.nextPageToken ? el("p", {}, link(at("tuning", [], { page: said.nextPageToken }), "More")) : null,
    command("kiln", "audit"),
  ] };
};
