// Names of targets. As manifest/spec/target.h; which of them a release serves is nothing to a verifier.
import { utf8 } from "./bytes";

export function targetNames(name: string): string[] {
  return name.split(",");
}

function isWellFormed(name: string): boolean {
  return /^cpu:(x86-64(-v[234])?|(aarch64|riscv64)(-[a-z0-9-]+)?|cortex-[a-z0-9-]+)(\+[a-z0-9._-]+)*$/.test(name) ||
    /^cuda:sm_[0-9]{2,4}[a-f]?$/.test(name) || /^vulkan:1\.[0-9]{1,4}$/.test(name);
}

// Whether a text is one target or several, each once.
export function isTarget(name: string): boolean {
  const parts = targetNames(name);
  return utf8(name).length <= 1024 && parts.every(isWellFormed) && new Set(parts).size === parts.length;
}
