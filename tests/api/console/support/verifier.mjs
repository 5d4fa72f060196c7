// The verification of api/console/verify as it was bundled for tests; KILN_CONSOLE_VERIFY names the file.
import { webcrypto } from "node:crypto";
import path from "node:path";

globalThis.crypto ??= webcrypto; // Node 18 has it under this name behind a flag only

export const verifier = await import(path.resolve(process.env.KILN_CONSOLE_VERIFY));
