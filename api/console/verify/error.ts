// Why something is not believed. The codes are those of manifest/base/result.h that a verifier tells apart:
// "invalid" is malformed, "data-loss" is bytes or signatures that are wrong, "denied" is trust or policy,
// "not-found" is absent.

export type Code = "invalid" | "data-loss" | "denied" | "not-found";

export class VerifyError extends Error {
  readonly code: Code;
  constructor(code: Code, message: string) {
    super(message);
    this.name = "VerifyError";
    this.code = code;
  }
  // The same error with the place where it happened in front.
  in(place: string): VerifyError {
    return new VerifyError(this.code, `${place}: ${this.message}`);
  }
}

// The error of a member of a document.
export function badMember(place: string, what: string): VerifyError {
  return new VerifyError("invalid", `${place === "" ? "document" : place}: ${what}`);
}

// Runs `work`; what it refuses is returned. Any other exception is a fault of the page and goes on.
export async function refusalOf(work: () => Promise<unknown>): Promise<VerifyError | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof VerifyError) return error;
    throw error;
  }
}
