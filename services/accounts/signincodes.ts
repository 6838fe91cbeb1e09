import type { PlaygroundEntry } from '../../embedding.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { hashOf } from '../identity/identity.ts';

interface CodePorts {
  randomBytes(size: number): Uint8Array;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

/** One-time codes that sign a browser in without a password. They are in memory only, so a restart ends them. */
export interface SignInCodes {
  /** A code for one use. Beyond `CODES_MAX` open codes the oldest ends. */
  offer(entry: PlaygroundEntry): string;
  /** The page entry behind a code; null for a code that is unknown, used or older than `CODE_MS`. */
  redeem(code: string): PlaygroundEntry | null;
}

const CODES_MAX = 64;
const CODE_MS = 15 * 60_000;
const CODE_BYTES = 24;
const CODE = /^[\w-]{32}$/;

export function createSignInCodes({ randomBytes, monotonic }: CodePorts): SignInCodes {
  /** By the hash of the code, so that a look-up takes the same time for all wrong codes. */
  const open = new Map<string, { readonly entry: PlaygroundEntry; readonly untilMs: number }>();
  return {
    offer(entry) {
      const code = Buffer.from(randomBytes(CODE_BYTES)).toString('base64url');
      open.set(hashOf(code), { entry, untilMs: monotonic() + CODE_MS });
      dropOldest(open, CODES_MAX);
      return code;
    },
    redeem(code) {
      if (!CODE.test(code)) return null;
      const hash = hashOf(code);
      const found = open.get(hash);
      open.delete(hash);
      return found !== undefined && monotonic() < found.untilMs ? found.entry : null;
    },
  };
}
