// Members of JSON that is free inside, as text for people.
import { Json, JsonObject } from "../verify/index";
import { Child } from "./dom";

export function object(json: Json | undefined): JsonObject {
  return json instanceof Map ? json : new Map();
}
export function list(json: Json | undefined): Json[] {
  return Array.isArray(json) ? json : [];
}
export function text(json: Json | undefined): string {
  if (json === undefined || json === null) return "";
  if (Array.isArray(json)) return json.map(text).join(", ");
  if (json instanceof Map) return Array.from(json, ([name, value]) => `${name} ${text(value)}`).join("; ");
  return String(json);
}
// A number, 0 for what is none.
export function count(json: Json | undefined): number {
  const value = Number(text(json) || 0);
  return Number.isFinite(value) ? value : 0;
}
export function rows(json: Json | undefined, members: readonly string[]): Child[][] {
  return list(json).map((one) => members.map((member) => text(object(one).get(member))));
}
