// Workers with their devices, and toolchains with their parts.
import { bytesText, command, el, link, moment, short, table } from "./dom";
import { at, Shown, unsigned, View } from "./view";

const mostOpened = 500; // toolchains whose parts can be opened

interface Device {
  id?: string; kind?: string; name?: string; arch?: string; memoryBytes?: string; driver?: string; emulated?: boolean; healthy?: boolean; reason?: string;
  api?: string; apiVersion?: string; type?: string; conformance?: string;
}
interface Worker {
  description?: { name?: string; operator?: string; targets?: string[]; slots?: number; hostLevel?: string; devices?: Device[] };
  lastContact?: string; running?: string[]; lost?: boolean; draining?: boolean; heldBackUntil?: string;
}
interface Toolchain { label?: string; toolchainDigest?: { hash?: string }; isDefault?: boolean; descriptionJson?: string; added?: string; lock?: object; admission?: object }
interface Component { name?: string; version?: string; path?: string; digest?: string }

function stateOf(worker: Worker): string {
  if (worker.lost) return "lost";
  if (worker.draining) return "draining";
  return worker.heldBackUntil ? `held back until ${moment(worker.heldBackUntil)}` : "at work";
}

// As kiln workers has it.
function driverOf(device: Device): string {
  if (!device.driver) return "";
  if (device.api !== "vulkan") return `CUDA ${device.driver}`;
  return `Vulkan ${device.apiVersion ?? ""} (${device.driver}, conformance ${device.conformance ?? ""})`;
}

export const workers: View = async (session): Promise<Shown> => {
  const { workers: list = [] } = await session.farm.call<{ workers?: Worker[] }>(["workers"]);
  return { title: "Workers and devices", content: [
    unsigned("its workers"),
    table("Workers", ["Worker", "Operator", "State", "Running", "Slots", "Compiles for", "Last seen"], list.map((one) => [
      link(at("affected", [], { worker: one.description?.name ?? "" }), one.description?.name ?? ""), one.description?.operator ?? "", stateOf(one),
      String((one.running ?? []).length), String(one.description?.slots ?? 0), (one.description?.targets ?? []).join(", "), moment(one.lastContact),
    ])),
    table("Devices", ["Worker", "Device", "Name", "Runs", "Memory", "Driver", "Health"], list.flatMap((one) => (one.description?.devices ?? []).map((device) => [
      one.description?.name ?? "", `${device.kind ?? ""} ${device.id ?? ""}${device.emulated ? ", emulated" : device.type ? `, ${device.type}` : ""}`, device.name ?? "", device.arch ?? "",
      device.memoryBytes ? bytesText(device.memoryBytes) : "", driverOf(device), device.healthy ? "healthy" : `not healthy: ${device.reason ?? ""}`,
    ]))),
    command("kiln", "workers"), command("kiln", "top"),
  ] };
};

function componentsOf(toolchain: Toolchain): Component[] {
  try {
    const said = JSON.parse(toolchain.descriptionJson ?? "{}") as { components?: unknown };
    return Array.isArray(said.components) ? said.components.filter((one): one is Component => typeof one === "object" && one !== null) : [];
  } catch {
    return [];
  }
}

export const toolchains: View = async (session): Promise<Shown> => {
  const { toolchains: list = [] } = await session.farm.call<{ toolchains?: Toolchain[] }>(["toolchains"]);
  return { title: "Toolchains", content: [
    unsigned("its toolchains", " What an artifact was built with is proven under Affected."),
    table("Toolchains", ["Label", "Tree", "Default", "Admitted", "Lock", "Added"], list.map((one) => [
      link(at("affected", [], { toolchain: one.label ?? "" }), one.label ?? ""), short(`sha256:${one.toolchainDigest?.hash ?? ""}`), one.isDefault ? "yes" : "no",
      one.admission ? "signed" : "no statement", one.lock ? "named" : "none", moment(one.added),
    ])),
    ...list.slice(0, mostOpened).map((one) => el("details", {}, el("summary", {}, `Parts of ${one.label || "no label"}`),
      table(`Parts of ${one.label || "no label"}, as its toolchain.json names them`, ["Part", "Version", "Path", "Digest"], componentsOf(one).map((part) => [
        link(at("affected", [], { component: String(part.name ?? "") }), String(part.name ?? "")), String(part.version ?? ""), String(part.path ?? ""), short(String(part.digest ?? "")),
      ])))),
    command("kiln", "toolchain", "list"), command("kiln", "toolchain", "show", "LABEL"),
  ] };
};
