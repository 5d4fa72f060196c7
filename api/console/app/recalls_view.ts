// What was recalled, and what each touches.
import { digestText, formatTime } from "../verify/index";
import { command, el, facts, link, table } from "./dom";
import { at, notice, Shown, View } from "./view";

export const recallsView: View = async (session): Promise<Shown> => {
  const said = [command("kiln", "recall", "--help")];
  if (!session.trust) return { title: "Recalls", content: [notice("plain", "Recalls count under a root alone: ", link(at("trust"), "name the root that you believe"), "."), ...said] };
  if (!session.trust.root.recallKeys) return { title: "Recalls", content: [notice("plain", "The root lets nobody recall."), ...said] };
  await session.learnRecalls();
  const { recalls } = session.trust;
  const wrong = session.recallsTrouble === "" ? null : notice("bad", `\u2718 The farm's recalls are refused: ${session.recallsTrouble}`);
  if (!recalls) return { title: "Recalls", content: [wrong, notice("plain", "None are known here."), ...said] };
  const query = (kind: string, what: string): Readonly<Record<string, string>> => kind === "lift" ? {} : { [kind === "source-url" || kind === "record" ? "source" : kind]: what };
  return { title: "Recalls", content: [
    wrong ?? notice("good", `\u2714 Signed by the recall keys of the root${recalls.logged ? ", and in its log" : ""}. Checked in this page under ${session.files.join(", ")}.`),
    facts([["Version", String(recalls.version)], ["Issued", formatTime(recalls.issuedOn)], ["Expires", formatTime(recalls.expires)]]),
    table("Recalls, in the order of issue", ["Recalls", "What", "Reason", "Issued", "Reach", "In force", "Id"], recalls.entries.map(({ recall, lifted, id }) => [
      recall.kind, recall.kind === "lift" ? recall.what : link(at("affected", [], query(recall.kind, recall.what)), recall.what), recall.reason, formatTime(recall.issuedOn),
      recall.whole ? "everything that names it" : `${recall.listed.size} listed`, recall.kind === "lift" ? "" : lifted ? "lifted" : "yes",
      el("code", {}, digestText(id).slice(0, 19)),
    ]), "Nothing was recalled."),
    ...said,
  ] };
};
