// The rules about checks on devices. As signing/policy/check_rules.h.
import { printable } from "./bytes";
import { formatTime } from "./clock";
import { counts, Policy, WantedCheck } from "./policy";
import { CheckedOn, CheckItem, CheckStatement } from "./statement";

export interface RuleResult {
  readonly ok: boolean;
  readonly rule: string;
  readonly detail: string;
}

function latestOf(checks: readonly CheckStatement[]): CheckStatement | null {
  let latest: CheckStatement | null = null;
  for (const one of checks) if (!latest || one.finishedOn > latest.finishedOn) latest = one;
  return latest;
}

function failuresOf(check: CheckStatement): string {
  let text = "";
  for (const item of check.items) {
    if (item.passed) continue;
    text += `${text === "" ? "" : "; "}${printable(item.kind, 64)} ${printable(item.name, 200)} (${printable(item.detail, 400)})`;
    if (text.length > 2000) return `${text}; ...`;
  }
  return text;
}

// Checks that a policy does not count.
type Refused = Readonly<Record<CheckedOn, number>>;

// What comes nearest to hardware; "" where every check counts.
function bestOf(refused: Refused): string {
  if (refused.hardware > 0) return "hardware";
  if (refused.software > 0) return "a software device";
  return refused.emulated > 0 ? "an emulated device" : "";
}

function refusedText(refused: Refused): string {
  const part = (count: number, before: string, after: string): string[] =>
    count === 0 ? [] : [`${count} ${before}check${count === 1 ? "" : "s"}${after}`];
  return [...part(refused.emulated, "emulated ", ""), ...part(refused.software, "", " on software devices"),
    ...part(refused.hardware, "", " on hardware")].join(", ");
}

const saidOf: Readonly<Record<CheckedOn, string>> = {
  hardware: "", software: ", on a software device: a policy may refuse it", emulated: ", on an emulated device: a policy may refuse it",
};

function checked(required: boolean, last: CheckStatement | null, refused: Refused): RuleResult {
  const rule = "requireCheck";
  if (!last) {
    return { ok: !required, rule, detail: `${required ? "" : "not required; "}the artifact is unchecked` +
      (bestOf(refused) === "" ? "" : `, but for what ${bestOf(refused)} said`) };
  }
  const by = `check by ${printable(last.worker)} at ${formatTime(last.finishedOn)}${saidOf[last.on]}`;
  if (last.passed) return { ok: true, rule, detail: `satisfied by ${by}` };
  return { ok: !required, rule, detail: `${required ? "" : "not required; "}${by} failed: ${failuresOf(last)}` };
}

// Why a number that the item states is not within the wanted bound; "" if it is.
function outOfBound(item: CheckItem, name: string, bound: number | null, isLeast: boolean): string {
  if (bound === null) return "";
  const value = item.measured.get(name);
  if (value === undefined) return `does not state ${name}`;
  if (isLeast ? value >= bound : value <= bound) return "";
  return `${name} is ${value}, ${isLeast ? "at least" : "at most"} ${bound} wanted`;
}

function whyNot(wanted: WantedCheck, item: CheckItem): string {
  if (!item.passed) return "failed";
  return outOfBound(item, "maxAbsolute", wanted.maxAbsolute, false) || outOfBound(item, "maxRelative", wanted.maxRelative, false) ||
    outOfBound(item, "accuracy", wanted.minAccuracy, true);
}

function holds(wanted: WantedCheck, last: CheckStatement | null): RuleResult {
  const rule = "checks";
  const what = printable(wanted.kind) + (wanted.name === "" ? "" : ` ${printable(wanted.name)}`);
  if (!last) return { ok: false, rule, detail: `${what}: the artifact is unchecked` };
  // A golden's items are named after it and its outputs: "golden: output".
  const found = last.items.filter((item) => item.kind === wanted.kind &&
    (wanted.name === "" || item.name === wanted.name || item.name.startsWith(`${wanted.name}: `)));
  for (const item of found) {
    const why = whyNot(wanted, item);
    if (why !== "") return { ok: false, rule, detail: `${what}: ${printable(item.name)} ${why}` };
  }
  if (found.length === 0) return { ok: false, rule, detail: `${what}: the latest check compared nothing of it` };
  return { ok: true, rule, detail: `${what}: satisfied by ${found.length} item${found.length === 1 ? "" : "s"}` };
}

export function addCheckRules(policy: Policy, all: readonly CheckStatement[]): RuleResult[] {
  const out: RuleResult[] = [];
  const checks = all.filter((one) => counts(policy, one.on));
  const refused = { hardware: 0, software: 0, emulated: 0 };
  for (const one of all) if (!counts(policy, one.on)) refused[one.on] += 1;
  const isNamed = policy.checkDevices.length > 0;
  if (policy.refuseEmulated || isNamed) {
    const none = isNamed ? "satisfied: every check counts" : "satisfied: no check was emulated";
    out.push({ ok: true, rule: isNamed ? "checkDevices" : "refuseEmulated",
      detail: bestOf(refused) === "" ? none : `${refusedText(refused)} not counted` });
  }
  const last = latestOf(checks);
  out.push(checked(policy.requireCheck, last, refused));
  out.push(...policy.checks.map((wanted) => holds(wanted, last)));
  return out;
}
