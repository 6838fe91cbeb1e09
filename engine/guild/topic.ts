import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { Env, Outcome } from '../outcome.ts';
import type { Guild } from './guild.ts';

/** Who asks, as the transport has proved it. */
export interface By {
  readonly userId: UserId;
  readonly bot: boolean;
  /** The application of a bot (or of an OAuth2 token). */
  readonly applicationId: ApplicationId | null;
  /** Application flags (privileged intents); 0 for a user. */
  readonly applicationFlags: number;
  /** `X-Audit-Log-Reason`, decoded. */
  readonly reason: string | null;
  /** The server itself (its operator, an internal step): not a member, and not asked for permissions. */
  readonly system?: true;
}

/**
 * What a command must find in the windows of `Guild` before it is decided. The shell reads what is absent.
 * Whoever asks is always read; a topic names the rest.
 */
export interface Needs {
  readonly members?: readonly UserId[];
  /** All members, if there are no more than this. */
  readonly everyoneUpTo?: number;
  readonly messages?: readonly { readonly channelId: ChannelId; readonly id: MessageId }[];
  readonly bans?: readonly UserId[];
  readonly users?: readonly UserId[];
  readonly invites?: readonly string[];
}

/** Who may receive a dispatch; the DISPATCH table adds intent and permission. */
export type Audience =
  | { readonly kind: 'guild' }
  | { readonly kind: 'channel'; readonly channelId: ChannelId }
  /** Only the sessions of these users. */
  | { readonly kind: 'users'; readonly userIds: readonly UserId[] };

export interface Dispatch {
  readonly t: DispatchName;
  /** The payload, in the wire's shape. */
  readonly d: object;
  readonly to: Audience;
}

/** Types of a topic's commands: name to what it takes and what it answers. */
export type Commands = Record<string, { input: object; value: unknown }>;
/** Types of a topic's facts: name to payload. */
export type Facts = Record<string, object>;

export type FactOf<F extends Facts> = { [K in keyof F & string]: { readonly type: K } & F[K] }[keyof F &
  string];

/**
 * One subject of the guild aggregate (channels, roles, messages, …): its rules, complete. `decide` and `needs`
 * are keyed by command, `apply` and `dispatches` by fact; the tables are total, so forgetting one does not compile.
 */
export interface Topic<C extends Commands, F extends Facts, AllFacts = FactOf<F>> {
  readonly needs: { readonly [K in keyof C]: (input: C[K]['input'], guild: Guild) => Needs };
  readonly decide: {
    readonly [K in keyof C]: (
      guild: Guild,
      input: C[K]['input'],
      by: By,
      env: Env,
    ) => Outcome<C[K]['value'], AllFacts>;
  };
  readonly apply: { readonly [K in keyof F]: (guild: Guild, fact: F[K]) => void };
  /** Called right after `apply`, so the state already holds the fact. */
  readonly dispatches: { readonly [K in keyof F]: (guild: Guild, fact: F[K]) => readonly Dispatch[] };
}
