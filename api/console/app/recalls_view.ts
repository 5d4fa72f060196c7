// What was recalled, and what each touches.
import { digestText, formatTime, RecallEntry } from "../verify/index";
import { Child, command, el, facts, link, short, table } from "./dom";
import { FarmError } from "./farm";
import { Session } from "./session";
import { at, notice, Shown, View } from "./view";

const listedAtOnce = 500;
const askedAtOnce = 20; // recalls, the newest first, whose reach the farm is asked for

function queryOf(kind: string, what: string): Readonly<Record<string, string>> {
  return { [kind === "source-url" || kind === "record" ? "source" : kind]: what };
}

// What the recall itself lists is signed; what else names it is what the farm's index says.
async function touched(session: Session, { recall, lifted }: RecallEntry, ask: boolean): Promise<Child[]> {
  const listed = Array.from(recall.listed);
  let named: Child[][] = [];
  let trouble = "";
  try {
    const said = ask ? await session.farm.call<{ affected?: Array<{ artifact?: string; target?: string }> }>(["affected"], { ...queryOf(recall.kind, recall.what), pageSize: "100" }) : {};
    const targets = new Map((said.affected ?? []).map((one) => [one.artifact ?? "", one.target ?? ""]));
    named = Array.from(targets, ([digest, target]) => [link(at("artifacts", [digest]), short(digest)), target]);
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    trouble = error.message;
  }
  return [el("details", { class: "stage" }, el("summary", {}, `What ${recall.kind} ${recall.what} touches${lifted ? " (lifted)" : ""}: ${listed.length} listed, ${ask ? `${named.length} named by the farm` : "the farm is not asked"}`),
    table(`Listed by the recall of ${recall.what}, which is signed`, ["Digest"], listed.slice(0, listedAtOnce).map((hex) => [link(at("artifacts", [`sha256:${hex}`]), short(`sha256:${hex}`))]),
      recall.whole ? "It lists none: it condemns everything that names it." : "None."),
    listed.length > listedAtOnce && el("p", {}, `The first ${listedAtOnce} of ${listed.length}.`),
    trouble === "" ? table(`Naming ${recall.what} by the farm's index, signed by nobody`, ["Artifact", "Target"], named, "None.") : notice("plain", `The farm does not say what names it: ${trouble}`),
    el("p", {}, link(at("affected", [], { ...queryOf(recall.kind, recall.what), prove: "yes" }), "Prove each here")))];
}

export const recallsView: View = async (session): Promise<Shown> => {
  const said = [command("kiln", "recall", "--help")];
  if (!session.trust) return { title: "Recalls", content: [notice("plain", "Recalls count under a root alone: ", link(at("trust"), "name the root that you believe"), "."), ...said] };
  if (!session.trust.root.recallKeys) return { title: "Recalls", content: [notice("plain", "The root lets nobody recall."), ...said] };
  await session.learnRecalls();
  const { recalls } = session.trust;
  const wrong = session.recallsTrouble === "" ? null : notice("bad", `\u2718 The farm's recalls are refused: ${session.recallsTrouble}`);
  if (!recalls) return { title: "Recalls", content: [wrong, notice("plain", "None are known here."), ...said] };
  const reaching = recalls.entries.filter(({ recall }) => recall.kind !== "lift").reverse();
  return { title: "Recalls", content: [
    wrong ?? notice("good", `\u2714 Signed by the recall keys of the root${recalls.logged ? ", and in its log" : ""}. Checked in this page under ${session.files.join(", ")}.`),
    facts([["Version", String(recalls.version)], ["Issued", formatTime(recalls.issuedOn)], ["Expires", formatTime(recalls.expires)]]),
    table("Recalls, in the order of issue", ["Recalls", "What", "Reason", "Issued", "Reach", "In force", "Id"], recalls.entries.map(({ recall, lifted, id }) => [
      recall.kind, recall.kind === "lift" ? recall.what : link(at("affected", [], queryOf(recall.kind, recall.what)), recall.what), recall.reason, formatTime(recall.issuedOn),
      recall.whole ? "everything that names it" : `${recall.listed.size} listed`, recall.kind === "lift" ? "" : lifted ? "lifted" : "yes",
      el("code", {}, digestText(id).slice(0, 19)),
    ]), "Nothing was recalled."),
    ...(await Promise.all(reaching.slice(0, listedAtOnce).map((entry, i) => touched(session, entry, i < askedAtOnce)))).flat(),
    ...said,
  ] };
};
