// What the compiler's stages say of themselves, from a Manifest.
import { Manifest } from "../verify/index";
import { bytesText, Child, el, facts, link, table } from "./dom";
import { list, object, rows, text } from "./json_view";
import { planPicture } from "./plan_picture";
import { at } from "./view";

// Where a kernel's schedule is from, as `kiln show` says it.
function scheduleOrigin(kernel: ReturnType<typeof object>): string {
  const [entry, catalogued] = [text(kernel.get("tuned")), text(kernel.get("catalogue"))];
  if (entry !== "") return `tuning entry ${entry}`;
  if (!kernel.get("schedule") && !kernel.get("tile")) return ""; // it leaves nothing to choose
  return catalogued === "" ? "the default" : `entry ${catalogued} of the toolchain's catalogue`;
}

function stage(title: string, ...content: Child[]): HTMLElement {
  return el("details", { class: "stage" }, el("summary", {}, title), ...content);
}

function program(manifest: Manifest): HTMLElement {
  const tensors = (of: Manifest["inputs"]) => of.map((one) => [one.name, one.dtype, `[${one.shape.join(", ")}]`]);
  return stage("Program: inputs, outputs, profiles and guards",
    table("Inputs", ["Name", "Type", "Shape"], tensors(manifest.inputs)),
    table("Outputs", ["Name", "Type", "Shape"], tensors(manifest.outputs)),
    table("Profiles", ["Name", "Arena", "Scratch of a slot"], manifest.profiles.map((one) => [one.name, bytesText(one.arenaBytes), bytesText(one.scratchBytes)])),
    table("Sizes that a profile serves", ["Profile", "Dimension", "Least", "Usual", "Most", "Multiple of"],
      list(manifest.spec.json.get("profiles")).flatMap((profile) => list(object(profile).get("dims")).map((dim) =>
        [text(object(profile).get("name")), ...["dim", "min", "opt", "max"].map((name) => text(object(dim).get(name))), text(object(dim).get("multiple")) || "1"]))),
    table("Guards: values that an input must have", ["Input", "Values"], rows(manifest.spec.json.get("pins"), ["input", "values"]), "No input is pinned."),
    facts([["Outside of every profile", manifest.spec.outOfProfile], ["Fallback", manifest.spec.fallback],
      ["Numerics", text(manifest.spec.numerics)], ["Target", manifest.spec.target], ["Features", manifest.spec.features.join(" ")]]));
}

// Of the artifact `digest`, whose manifest was verified.
export function evidence(manifest: Manifest, digest: string): HTMLElement[] {
  const { stages } = manifest;
  const capture = object(stages.get("capture"));
  const rewrite = object(stages.get("rewrite"));
  const partition = object(stages.get("partition"));
  const schedule = object(stages.get("schedule"));
  const codegen = object(stages.get("codegen"));
  const kernels = list(schedule.get("kernels")).map(object);
  const code = kernels.reduce((sum, one) => sum + Number(text(one.get("codeBytes")) || 0), 0);
  return [
    program(manifest),
    stage("Capture: what the model is",
      facts([["Format", text(capture.get("format"))], ["Producer", `${text(capture.get("producer"))} ${text(capture.get("producerVersion"))}`.trim()],
        ["Nodes", text(capture.get("nodes"))], ["Operator sets", text(capture.get("opsets"))], ["Custom operators", text(capture.get("customOps"))],
        ["Not served", text(capture.get("unsupported"))]]),
      table("Operators", ["Operator", "Nodes"], rows(capture.get("nodesByOp"), ["name", "count"]))),
    stage("Rewrite: passes and fusion groups",
      table("Passes on the graph", ["Pass", "Operations before", "After"], rows(rewrite.get("passes"), ["name", "before", "after"])),
      table("Fusion groups", ["Nodes", "Operations"], rows(rewrite.get("fusionGroups"), ["nodes", "operations"]))),
    stage("Partition: what runs where",
      el("p", {}, link(at("partition", [digest]), "The partition map as a graph")),
      table("Partitions, in the order of execution", ["Target", "Operations", "Nodes"], rows(partition.get("partitions"), ["target", "operations", "nodes"])),
      table("Fallback", ["Node", "Operator", "Reason", "From", "To"], rows(partition.get("fallback"), ["node", "op", "reason", "from", "to"]), "Nothing fell back."),
      facts([["Bytes between partitions", bytesText(text(partition.get("transferBytes")) || 0)]])),
    stage("Schedule: kernels",
      table("Kernels", ["Kernel", "Nodes", "Rule", "Schedule", "From", "Code", "Share", "Moved"], kernels.map((one) => {
        const size = Number(text(one.get("codeBytes")) || 0);
        return [text(one.get("symbol")), text(one.get("nodes")), text(one.get("rule") ?? one.get("template")), text(one.get("schedule") ?? one.get("tile")),
          scheduleOrigin(one), bytesText(size), code > 0 ? `${((100 * size) / code).toFixed(1)} %` : "",
          bytesText(text(one.get("movedBytes")) || 0)];
      })),
      table("Passes on kernels", ["Pass", "Operations before", "After"], rows(schedule.get("passes"), ["name", "before", "after"]))),
    stage("Code", facts([["Code", bytesText(text(codegen.get("codeBytes")) || 0)], ["Program", bytesText(text(codegen.get("programBytes")) || 0)],
      ["Kernels", text(codegen.get("kernels"))], ["Processor", text(codegen.get("cpu"))], ["Triple", text(codegen.get("triple"))]])),
    stage("Plan: memory", ...list(object(stages.get("plan")).get("profiles")).flatMap((one) => {
      const profile = object(one);
      return [
        el("h3", {}, `Profile ${text(profile.get("profile"))}`),
        planPicture(text(profile.get("profile")), list(profile.get("aliveBytes")).map((bytes) => Number(text(bytes))), Number(text(profile.get("peakBytes")) || 0)),
        facts(["peakBytes", "lowerBoundBytes", "unsharedBytes", "inputBytes", "outputBytes", "weightBytes", "scratchBytesPerSlot"]
          .map((name) => [name.replace(/([A-Z])/g, " $1").toLowerCase(), bytesText(text(profile.get(name)) || 0)] as const)),
        table(`Regions of the arena of profile ${text(profile.get("profile"))}`, ["Target", "Offset", "Bytes"], rows(profile.get("regions"), ["target", "offset", "bytes"]), "The arena is one target's."),
        facts([["buffers", text(profile.get("buffers"))], ["reuse ratio", text(profile.get("reuseRatio"))]]),
      ];
    })),
    stage("Files", table("Files of the artifact", ["Path", "Size", "Digest"], [manifest.program, ...manifest.devices.map((one) => one.image), ...manifest.weights]
      .map((file) => [file.path, bytesText(file.digest.size), el("code", {}, `sha256:${file.digest.hex}`)]))),
  ];
}
