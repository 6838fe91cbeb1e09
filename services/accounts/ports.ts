import type { Founding, SignUp } from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { UserFact } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Secret } from '../../protocol/secret.ts';

/** Slow password hashes, computed off the main thread, few at a time. Null when too many wait. */
export interface Passwords {
  /** The hash as text, with salt and parameters. */
  hash(password: string): Promise<string | null>;
  /** False for malformed hashes. */
  verify(hash: string, password: string): Promise<boolean | null>;
  /** True when the parameters of the hash differ from those of new hashes. */
  isDated(hash: string): boolean;
}

/** A plain-text e-mail. The mailer adds all headers, so users cannot inject any. */
export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends e-mail, or stores it where the operator can read it. */
export interface Mailer {
  /** Resolves when the mail server has accepted the e-mail. */
  send(email: Email): Promise<void>;
}

/** The client that a request comes from. */
export interface ClientInfo {
  /** Null for the embedding program, which has no limits by address. */
  readonly address: string | null;
  /** The User-Agent header. */
  readonly agent: string;
  /** Device names of this browser, one per account that has signed in with it; see `deviceOf`. */
  readonly devices?: readonly string[];
}

/** Result of a correct password. With a second factor the ticket continues at `secondFactor`. */
type SignInStep =
  | { readonly kind: 'signedIn'; readonly userId: UserId }
  | { readonly kind: 'factor'; readonly userId: UserId; readonly ticket: string };

/** A signed-in browser, authenticated by its cookie. */
export interface BrowserSession {
  readonly userId: UserId;
  readonly signInId: string;
}

/** One entry of the list of signed-in browsers. */
interface SignInView {
  readonly id: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly seenMs: number;
  readonly agent: string;
  readonly address: string;
}

/** An account as its owner sees it. */
export interface Profile {
  readonly userId: UserId;
  readonly username: string;
  readonly globalName: string | null;
  readonly loginName: string;
  readonly email: string | null;
  readonly claimedEmail: string | null;
  readonly hasFactor: boolean;
  readonly recoveryCodesLeft: number;
}

/** A second factor that is not active yet: the owner must first enter a code of it. */
export interface FactorOffer {
  /** Base32, for manual entry. */
  readonly secret: Secret;
  /** `otpauth://…`, for the QR code. */
  readonly uri: Secret;
  /** The secret, sealed for this account; returned with the first code. */
  readonly sealed: string;
}

/**
 * Accounts of people: sign-up, sign-in, second factor, e-mail. Its pages are in `transports/pages/`, its JSON operations
 * in `transports/rest/resources/auth.ts`. Neither a reply nor its timing reveals whether an e-mail address has an account.
 * Names are public: a sign-up says when one is taken.
 */
export interface Accounts {
  /** False when only the operator creates accounts. */
  readonly registrationOpen: boolean;
  /** Creates an account and e-mails its address. An address that already has an account gets a different e-mail. */
  register(form: SignUp, client: ClientInfo): Promise<Reply<UserId>>;
  /** Creates an account for the operator, with a given id, also while registration is closed. Commits `also.facts` atomically with it. */
  create(
    form: Founding,
    also: { readonly userId: UserId; readonly facts: readonly UserFact[] },
  ): Promise<Reply<UserId>>;
  /** Refused with 429 and `retryAfterSec` after too many failures by login or by address. */
  signIn(
    form: { readonly login: string; readonly password: string },
    client: ClientInfo,
  ): Promise<Reply<SignInStep>>;
  /** Accepts a one-time code or a recovery code. */
  secondFactor(ticket: string, code: string, client: ClientInfo): Promise<Reply<UserId>>;
  /** Issues a user token, as the platform's own clients use, for programs. */
  issueToken(userId: UserId): Promise<Secret>;
  /** Revokes one such token. */
  revokeToken(userId: UserId, tokenId: string): Promise<void>;

  /**
   * Signs a browser in and returns the value of its cookie. `device`, a new name, replaces the device name in `client` as
   * the one by which the account recognises the browser.
   */
  open(userId: UserId, client: ClientInfo, device?: string): Promise<Secret>;
  /** Null for an invalid or expired cookie. */
  browserSession(cookie: string): Promise<BrowserSession | null>;
  /** Newest first. */
  browserSessions(userId: UserId): Promise<readonly SignInView[]>;
  close(userId: UserId, signInId: string): Promise<void>;
  /** Signs out every browser and program except the browser `keep`. */
  closeAll(userId: UserId, keep: string | null): Promise<void>;

  /** Null for a user who cannot sign in. */
  profile(userId: UserId): Promise<Profile | null>;
  /** For the scope `email`: the confirmed address, else the unconfirmed one, else null. */
  contact(userId: UserId): Promise<{ readonly email: string; readonly verified: boolean } | null>;
  /** Changes the username, which is also the login. An absent `globalName` is left unchanged. */
  rename(userId: UserId, names: { username: string; globalName?: string | null }): Promise<Reply<null>>;
  /** Verifies the password before a sensitive operation; a refusal names the field `password`. */
  confirm(userId: UserId, password: string, client: ClientInfo): Promise<Reply<null>>;
  /** Also signs out everything except the browser `keep`. */
  changePassword(
    userId: UserId,
    form: { readonly current: string; readonly password: string },
    keep: string | null,
    client: ClientInfo,
  ): Promise<Reply<null>>;
  /**
   * Sets a password for the operator: for users without an account, and for those who lost all credentials. Disables
   * two-step sign-in and signs out every browser.
   */
  setPassword(userId: UserId, password: string): Promise<Reply<null>>;

  /** E-mails the new address, which becomes active when it is confirmed. */
  changeEmail(
    userId: UserId,
    form: { readonly email: string; readonly current: string },
    client: ClientInfo,
  ): Promise<Reply<null>>;
  /** Sends the confirmation e-mail again. */
  askToConfirm(userId: UserId, client: ClientInfo): Promise<Reply<null>>;
  /** Redeems the link of the confirmation e-mail. */
  confirmEmail(token: string): Promise<Reply<UserId>>;
  /** E-mails a reset link if the login has an account with a confirmed address. The reply does not reveal whether it has. */
  forgot(login: string, client: ClientInfo): Promise<Reply<null>>;
  /** Redeems a reset link: sets a new password and signs out everything. */
  reset(token: string, password: string, client?: ClientInfo): Promise<Reply<UserId>>;

  /** With `sealed`, returns the same offer again until it expires. */
  offerFactor(userId: UserId, sealed?: string): Promise<Reply<FactorOffer>>;
  /** Returns the recovery codes, which are shown once. */
  enableFactor(
    userId: UserId,
    form: { readonly sealed: string; readonly code: string; readonly current: string },
    client: ClientInfo,
  ): Promise<Reply<readonly Secret[]>>;
  disableFactor(userId: UserId, form: { readonly current: string }, client: ClientInfo): Promise<Reply<null>>;

  /** Keyed digest of a text, for form tokens; equal on every shard. Base64url, 43 characters. */
  digest(text: string): Promise<string>;
  /** Resolves when no e-mail is pending; awaited before the stores close. */
  idle(): Promise<void>;
}
