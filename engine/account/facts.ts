import type { UserId } from '../../protocol/ids.ts';
import type { FactOf } from '../kernel/topic.ts';

/** How a person proves who they are. Without a password nobody can sign in, as with accounts that an operator made. */
export interface Account {
  readonly userId: UserId;
  /** The name it signs in by: the username, in lower case. The display name has nothing to do with it. */
  readonly loginName: string;
  /** The address its owner has confirmed, as it was typed; it signs in by it too. */
  readonly email: string | null;
  /** An address that waits to be confirmed. It proves nothing: anybody may claim it. */
  readonly claimedEmail: string | null;
  /** Argon2id in its text form, with its own salt and parameters. */
  readonly passwordHash: string | null;
  readonly factor: SecondFactor | null;
  /** Unix milliseconds. */
  readonly createdMs: number;
  /** Networks and browsers that it has signed in from, the most recently used last. Absent: none yet. */
  readonly networks?: readonly KnownPlace[];
  readonly devices?: readonly KnownPlace[];
}

/** A network or browser that an account has signed in from. */
export interface KnownPlace {
  /** Keyed with the server's secret. */
  readonly digest: string;
  /** Unix milliseconds of the last sign-in. */
  readonly seenMs: number;
}

/** One-time codes by time. */
export interface SecondFactor {
  /** The shared secret, encrypted for this account. */
  readonly sealed: string;
  /** The time step of the last code that was taken: none counts twice. */
  readonly lastStep: number;
  /** SHA-256 of the recovery codes that are left, hexadecimal; each has 80 random bits. */
  readonly recoveryHashes: readonly string[];
}

/** A browser that is signed in. */
export interface SignIn {
  /** Snowflake; also the time it began. */
  readonly id: string;
  readonly userId: UserId;
  /** SHA-256 of the cookie's token, hexadecimal. */
  readonly hash: string;
  /** Unix milliseconds. */
  readonly seenMs: number;
  /** What the browser calls itself, and where it came from; shown to the owner only. */
  readonly agent: string;
  readonly address: string;
}

/** Facts of accounts of people: credentials and browsers that are signed in. */
export type AccountFacts = {
  accountWritten: { readonly account: Account };
  /** The commit fails when somebody else has it. */
  loginTaken: { readonly login: string; readonly userId: UserId };
  loginReleased: { readonly login: string };
  signInStarted: { readonly signIn: SignIn };
  signInSeen: { readonly signInId: string; readonly seenMs: number };
  signInEnded: { readonly signInId: string };
};
export type AccountFact = FactOf<AccountFacts>;
