import type { UserId } from '../../protocol/ids.ts';
import type { FactOf } from '../kernel/aggregate.ts';

/** A person's credentials. An account without a password, such as one that an operator made, cannot sign in. */
export interface Account {
  readonly userId: UserId;
  /** The login name: the username in lower case. Unrelated to the display name. */
  readonly loginName: string;
  /** The confirmed e-mail address, as typed; it can be used to sign in. */
  readonly email: string | null;
  /** An address that is not confirmed yet. It proves nothing, as anyone may claim it. */
  readonly claimedEmail: string | null;
  /** Argon2id in its text form, with its own salt and parameters. */
  readonly passwordHash: string | null;
  readonly factor: SecondFactor | null;
  /** Unix milliseconds. */
  readonly createdMs: number;
  /** Networks and browsers with past sign-ins, the most recently used last. Absent before the first. */
  readonly networks?: readonly KnownOrigin[];
  readonly devices?: readonly KnownOrigin[];
}

/** A network or browser that an account has signed in from. */
export interface KnownOrigin {
  /** Keyed with the server's secret. */
  readonly digest: string;
  /** Unix milliseconds of the last sign-in. */
  readonly seenMs: number;
}

/** Time-based one-time codes. */
export interface SecondFactor {
  /** The shared secret, encrypted for this account. */
  readonly sealed: string;
  /** The time step of the last accepted code, so that none is accepted twice. */
  readonly lastStep: number;
  /** SHA-256 of the unused recovery codes, hexadecimal; each has 80 random bits. */
  readonly recoveryHashes: readonly string[];
}

/** A browser that is signed in. */
export interface SignIn {
  /** Snowflake; also the time of the sign-in. */
  readonly id: string;
  readonly userId: UserId;
  /** SHA-256 of the cookie's token, hexadecimal. */
  readonly hash: string;
  /** Unix milliseconds. */
  readonly seenMs: number;
  /** The browser's User-Agent and IP address; shown to the owner only. */
  readonly agent: string;
  readonly address: string;
}

/** Facts of people's accounts: credentials and signed-in browsers. */
export type AccountFacts = {
  accountWritten: { readonly account: Account };
  /** The commit fails when another account has the login. */
  loginTaken: { readonly login: string; readonly userId: UserId };
  loginReleased: { readonly login: string };
  signInStarted: { readonly signIn: SignIn };
  signInSeen: { readonly signInId: string; readonly seenMs: number };
  signInEnded: { readonly signInId: string };
};
export type AccountFact = FactOf<AccountFacts>;
