import type { Founding, SignUp } from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { UserFact } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Secret } from '../identity/secret.ts';

/** Slow hashes of passwords. They are made elsewhere than on the main thread, few at one time; null: too many wait. */
export interface Passwords {
  /** Hash in its text form, with salt and parameters. */
  hash(password: string): Promise<string | null>;
  /** False for a text that is no hash. */
  verify(hash: string, password: string): Promise<boolean | null>;
  /** True when the hash was made with other parameters than a new one would be. */
  isDated(hash: string): boolean;
}

/** A letter as the mailer gets it: plain text, no headers of anybody's making. */
export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends e-mail, or keeps it where its operator can read it. */
export interface Mailer {
  /** Resolves when it was taken over. */
  send(email: Email): Promise<void>;
}

/** From where somebody asks. */
export interface ClientInfo {
  /** Null for the embedding program: no limits by address. */
  readonly address: string | null;
  /** What the browser calls itself. */
  readonly agent: string;
  /** Names of this browser, one for each account that has signed in with it; see `deviceOf`. */
  readonly devices?: readonly string[];
}

/** The password was right. With a second factor that is half of it: the ticket is for `secondFactor`. */
type SignInStep =
  | { readonly kind: 'signedIn'; readonly userId: UserId }
  | { readonly kind: 'factor'; readonly userId: UserId; readonly ticket: string };

/** A browser that is signed in, as its cookie proved. */
export interface BrowserSession {
  readonly userId: UserId;
  readonly signInId: string;
}

/** One line of the list of browsers. */
interface SignInView {
  readonly id: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly seenMs: number;
  readonly agent: string;
  readonly address: string;
}

/** What the owner of an account sees of it. */
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

/** A second factor that is not in force yet: the owner must show that their device has it. */
export interface FactorOffer {
  /** Base32, for typing. */
  readonly secret: Secret;
  /** `otpauth://…`, for the picture. */
  readonly uri: Secret;
  /** The secret sealed for this account; comes back with the first code. */
  readonly sealed: string;
}

/**
 * Accounts of people: sign-up, sign-in, second factor, e-mail. Its pages are in `transports/pages/`, its JSON operations
 * in `transports/rest/resources/auth.ts`. Nobody learns here whether an address or a name has an account: neither from
 * an answer, nor from how long it takes. (Names are public: a sign-up says when one is taken.)
 */
export interface Accounts {
  /** False: only the operator makes accounts. */
  readonly registrationOpen: boolean;
  /** A new account. The address gets a letter; who has an account with it already gets another one. */
  register(form: SignUp, client: ClientInfo): Promise<Reply<UserId>>;
  /** The operator's way, open or not, under this id: the facts of `also` are durable with the account, or not at all. */
  create(
    form: Founding,
    also: { readonly userId: UserId; readonly facts: readonly UserFact[] },
  ): Promise<Reply<UserId>>;
  /** Refused 429 with `retryAfterSec` after too many failures, by the login and by the address. */
  signIn(
    form: { readonly login: string; readonly password: string },
    client: ClientInfo,
  ): Promise<Reply<SignInStep>>;
  /** Takes a one-time code or a recovery code. */
  secondFactor(ticket: string, code: string, client: ClientInfo): Promise<Reply<UserId>>;
  /** A token of the platform's own clients, for programs. */
  issueToken(userId: UserId): Promise<Secret>;
  /** Ends one such token. */
  revokeToken(userId: UserId, tokenId: string): Promise<void>;

  /**
   * Signs a browser in: what its cookie will hold, shown once. From now on the account knows the browser by `device`,
   * a new name, and no longer by the one that `client` gives.
   */
  open(userId: UserId, client: ClientInfo, device?: string): Promise<Secret>;
  /** Null when the cookie proves nothing any more. */
  browserSession(cookie: string): Promise<BrowserSession | null>;
  /** Newest first. */
  browserSessions(userId: UserId): Promise<readonly SignInView[]>;
  close(userId: UserId, signInId: string): Promise<void>;
  /** Signs every browser and program out but the browser `keep`. */
  closeAll(userId: UserId, keep: string | null): Promise<void>;

  /** Null for a user who cannot sign in. */
  profile(userId: UserId): Promise<Profile | null>;
  /** For the scope `email`: the confirmed address, else the one that waits; null when there is none. */
  contact(userId: UserId): Promise<{ readonly email: string; readonly verified: boolean } | null>;
  /** The name that is shown and signed in by is the same; an absent `globalName` stays. */
  rename(userId: UserId, names: { username: string; globalName?: string | null }): Promise<Reply<null>>;
  /** Asks for the password once more, before what needs it; the refusal is one of the field `password`. */
  confirm(userId: UserId, password: string, client: ClientInfo): Promise<Reply<null>>;
  /** Everything that is signed in ends, except the browser `keep`. */
  changePassword(
    userId: UserId,
    form: { readonly current: string; readonly password: string },
    keep: string | null,
    client: ClientInfo,
  ): Promise<Reply<null>>;
  /**
   * The operator's way: for users who have no account yet, and for those who lost everything. Two-step sign-in is off
   * then, and every browser is signed out.
   */
  setPassword(userId: UserId, password: string): Promise<Reply<null>>;

  /** The new address gets a letter, and is in force once it was confirmed. */
  changeEmail(
    userId: UserId,
    form: { readonly email: string; readonly current: string },
    client: ClientInfo,
  ): Promise<Reply<null>>;
  /** Sends the letter once more. */
  askToConfirm(userId: UserId, client: ClientInfo): Promise<Reply<null>>;
  /** The link of the letter. */
  confirmEmail(token: string): Promise<Reply<UserId>>;
  /** Sends a letter when somebody has this login and a confirmed address. Never says whether. */
  forgot(login: string, client: ClientInfo): Promise<Reply<null>>;
  /** The link of that letter: a new password, and everything that was signed in ends. */
  reset(token: string, password: string, client?: ClientInfo): Promise<Reply<UserId>>;

  /** With `sealed` the same offer once more, as long as it is good. */
  offerFactor(userId: UserId, sealed?: string): Promise<Reply<FactorOffer>>;
  /** Answers the recovery codes, shown once. */
  enableFactor(
    userId: UserId,
    form: { readonly sealed: string; readonly code: string; readonly current: string },
    client: ClientInfo,
  ): Promise<Reply<readonly Secret[]>>;
  disableFactor(userId: UserId, form: { readonly current: string }, client: ClientInfo): Promise<Reply<null>>;

  /** A keyed digest of a text, for forms: the same on every shard. Base64url, 43 characters. */
  digest(text: string): Promise<string>;
  /** Resolves when no letter is under way: before the stores close. */
  idle(): Promise<void>;
}
