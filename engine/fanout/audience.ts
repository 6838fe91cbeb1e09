import { CHANNEL, THREADS, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import { DISPATCH, DISPATCH_ROWS, type DispatchName, type DispatchRow } from '../../protocol/dispatches.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { INTENTS, takesLobbyChanges } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { present } from '../../protocol/present.ts';
import type { Guild, GuildChannel, ThreadRecord } from '../guild/guild.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Authorization } from '../oauth/authorization.ts';
import { channelById, channelIn } from '../permissions/permissions.ts';
import { isFarIn, nearTo } from '../presence/near.ts';
import type { Recipient } from './body.ts';
import { blank, lacksContent, readersOf } from './content.ts';
import { Gate } from './gate.ts';

/** Whether the session is sent GUILD_CREATE and GUILD_DELETE. */
export const receivesGuilds = ({ bot, intents }: Pick<Recipient, 'bot' | 'intents'>): boolean =>
  !bot || (intents & INTENTS.GUILDS) !== 0;

/** One payload and the sessions that receive it. The list is shared and never changes: keep it as long as needed. */
export interface Delivery {
  readonly d: object;
  readonly to: readonly Recipient[];
}

/** Sessions that receive the same dispatches. */
interface AudienceList {
  readonly sessions: readonly Recipient[];
  /**
   * Expiry of the list, Unix milliseconds: the end of a time-out changes permissions without a fact. Infinite for lists
   * that depend on no time-out.
   */
  readonly untilMs: number;
  /** The members of a private thread when the list was computed, which decide who sees it; null for other lists. */
  readonly threadMembers: ThreadRecord['members'] | null;
  /** The sessions by user, built on first use. */
  byUser: ReadonlyMap<string, readonly Recipient[]> | null;
}

const NOBODY: readonly Recipient[] = [];

/** Overwrites beyond this are not compared between channels: the comparison would cost more than it saves. */
const COMPARED_OVERWRITES_MAX = 16;

/** The parts of the cache keys of a list's sessions that may not read message content, and that may. */
const LACKING = '-';
const READING = '+';

const listOf = (
  sessions: readonly Recipient[],
  untilMs = Number.POSITIVE_INFINITY,
  threadMembers: AudienceList['threadMembers'] = null,
): AudienceList => ({ sessions, untilMs, threadMembers, byUser: null });

/** The part of a memo key that the row decides: rows with the same requirements share their lists. */
const ROW_KEYS = Object.fromEntries(
  Object.keys(DISPATCH).map((t) => {
    const { intent, permission, onlyNearInLarge } = DISPATCH_ROWS[t as DispatchName];
    const near = onlyNearInLarge ? ':near' : '';
    return [t, `:${intent ?? ''}:${permission ? `${permission.at}${permission.anyOf}` : ''}${near}`];
  }),
) as Readonly<Record<DispatchName, string>>;

/**
 * Selects sessions for a dispatch outside guilds (to a private channel's recipients, friends, members of a lobby). For
 * bots the direct-message intent decides, for OAuth2 tokens the intent and scope.
 */
export function directRecipients<S extends Recipient>(sessions: Iterable<S>, t: DispatchName): S[] {
  const row = DISPATCH_ROWS[t];
  const intent = row.dmIntent ?? row.intent;
  const oauth2Intent = row.oauth2Intent ?? intent;
  const { lobbyChanges } = row;
  return [...sessions].filter(
    (session) =>
      (lobbyChanges === undefined || takesLobbyChanges(session.intents) === lobbyChanges) &&
      (session.authorization
        ? isScoped(session.authorization, row) && asksFor(session, oauth2Intent)
        : receives(session, intent)),
  );
}

const asksFor = (session: Recipient, intent: number | null): boolean =>
  intent === null || (session.intents & intent) !== 0;

/**
 * In guilds a bot receives the dispatches of its intents, and a person's own session receives all. The session of an
 * application that acts for a user receives none.
 */
const receives = (session: Recipient, intent: number | null): boolean =>
  session.bot ? asksFor(session, intent) : !session.authorization;

function isScoped({ scopes }: Authorization, { scope }: DispatchRow): boolean {
  if (scope === undefined) return false;
  if (scope === 'any') return true;
  return typeof scope === 'string' ? scopes.has(scope) : scope.some((one) => scopes.has(one));
}

const deliver = (d: object, to: readonly Recipient[]): Delivery[] => (to.length === 0 ? [] : [{ d, to }]);

/** The channel of a dispatch. A deleted channel is no longer in the guild; its dispatch contains it. */
function channelOf(guild: Guild, { t, d, to }: Dispatch): GuildChannel | undefined {
  if (to.kind !== 'channel') return undefined;
  const resident = channelIn(guild, to.channelId);
  if (resident) return resident;
  return t === 'CHANNEL_DELETE' || t === 'THREAD_DELETE' ? (d as GuildChannel) : undefined;
}

/** Equal for channels in which every member has equal permissions; null where a comparison costs too much. */
function channelPermissionKey(guild: Guild, channel: GuildChannel): string | null {
  // Each private thread has members of its own.
  if (channel.type === CHANNEL.PRIVATE_THREAD) return null;
  const bearer = THREADS.has(channel.type) ? channelById(guild, channel.parent_id) : channel;
  const overwrites = bearer?.permission_overwrites ?? [];
  if (!bearer || overwrites.length > COMPARED_OVERWRITES_MAX) return null;
  const kind = THREADS.has(channel.type)
    ? `thread${channel.type}`
    : VOICE_LIKE.has(channel.type)
      ? 'voice'
      : 'text';
  return overwrites.reduce((key, { id, type, allow, deny }) => `${key};${id},${type},${allow},${deny}`, kind);
}

/** Subscribers that are members, have the row's intent, and hold the permissions for the row and the channel. */
function admit(
  subscribers: Iterable<Recipient>,
  guild: Guild,
  row: DispatchRow,
  channel: GuildChannel | null,
  nowMs: number,
): AudienceList {
  const gate = channel || row.permission ? new Gate(guild, row.permission, channel, nowMs) : null;
  const sessions: Recipient[] = [];
  for (const session of subscribers) {
    if (!receives(session, row.intent)) continue;
    if (row.onlyNearInLarge && isFarIn(guild, session)) continue;
    const member = guild.members.get(session.userId);
    if (member && (!gate || gate.passes(member))) sessions.push(session);
  }
  const threadMembers = channel?.type === CHANNEL.PRIVATE_THREAD ? membersOf(guild, channel.id) : null;
  return listOf(sessions, gate?.untilMs, threadMembers);
}

const membersOf = (guild: Guild, threadId: ChannelId): AudienceList['threadMembers'] =>
  guild.threads.get(threadId)?.members ?? null;

function byUser(list: AudienceList): ReadonlyMap<string, readonly Recipient[]> {
  if (list.byUser) return list.byUser;
  const index = new Map<string, Recipient[]>();
  for (const session of list.sessions) {
    const own = index.get(session.userId);
    if (own) own.push(session);
    else index.set(session.userId, [session]);
  }
  list.byUser = index;
  return index;
}

const userOf = (d: object): string | undefined => (d as { user?: { id: string } }).user?.id;

/** The user who receives a dispatch with `ownWithoutIntent` or `ownAlways` because it is about them. */
function subjectOf(d: object, row: DispatchRow): string | undefined {
  if (row.ownAlways) return (d as { user_id?: string }).user_id;
  return row.ownWithoutIntent ? userOf(d) : undefined;
}

/** The users of a list in a payload: ids, or objects with `user_id`. */
function idsIn(d: object, field: string): string[] {
  const list: unknown = Object.entries(d).find(([key]) => key === field)?.[1];
  if (!Array.isArray(list)) return [];
  return list.map((one: unknown) =>
    typeof one === 'object' && one !== null && 'user_id' in one ? String(one.user_id) : String(one),
  );
}

/**
 * The sessions that are subscribed to a guild, and which of them receive a dispatch. It belongs to the guild's actor: the
 * guild's state holds no session.
 *
 * The lists of recipients are cached. Facts that may change who sees what raise `Guild.visibilityVersion`, and the lists
 * are computed again at the next dispatch. Lists already handed out do not change.
 */
export class Audiences {
  readonly #sessions = new Map<string, Recipient>();
  readonly #sessionCounts = new Map<UserId, number>();
  readonly #sessionsByUser = new Map<string, Recipient[]>();
  readonly #lists = new Map<string, AudienceList>();
  /** Sessions that named members whose presences they want, and these members. */
  readonly #watched = new Map<Recipient, readonly UserId[]>();
  readonly #watchers = new Map<string, Set<Recipient>>();
  /** The version of the guild's visibility that the lists were computed for. */
  #visibilityVersion = 0;

  constructor(sessions: Iterable<Recipient> = []) {
    for (const session of sessions) this.add(session);
  }

  /** The subscribed sessions, by session id. */
  get sessions(): ReadonlyMap<string, Recipient> {
    return this.#sessions;
  }

  /** Subscribed sessions by user; the guild's state shows them to its rules. */
  get sessionCounts(): ReadonlyMap<UserId, number> {
    return this.#sessionCounts;
  }

  /** Subscribes a session, in place of another of its id. */
  add(session: Recipient): void {
    this.delete(session.sessionId);
    const { userId } = session;
    const own = this.#sessionsByUser.get(userId);
    this.#sessions.set(session.sessionId, session);
    if (own) own.push(session);
    else this.#sessionsByUser.set(userId, [session]);
    this.#sessionCounts.set(userId, own?.length ?? 1);
  }

  delete(sessionId: string): void {
    this.#lists.clear();
    const session = this.#sessions.get(sessionId);
    if (!session) return;
    const { userId } = session;
    const own = present(this.#sessionsByUser.get(userId));
    this.#sessions.delete(sessionId);
    own.splice(own.indexOf(session), 1);
    this.watch(session, []);
    this.#sessionCounts.set(userId, own.length);
    if (own.length > 0) return;
    this.#sessionCounts.delete(userId);
    this.#sessionsByUser.delete(userId);
  }

  /** A session receives the presences of these members, however large the guild is; in place of those it named before. */
  watch(session: Recipient, userIds: readonly UserId[]): void {
    for (const userId of this.#watched.get(session) ?? []) {
      const watchers = this.#watchers.get(userId);
      watchers?.delete(session);
      if (watchers?.size === 0) this.#watchers.delete(userId);
    }
    if (userIds.length === 0) {
      this.#watched.delete(session);
      return;
    }
    this.#watched.set(session, userIds);
    for (const userId of userIds) {
      const watchers = this.#watchers.get(userId);
      if (watchers) watchers.add(session);
      else this.#watchers.set(userId, new Set([session]));
    }
  }

  /** How many lists are cached; bounded by `LIMITS.audience_slots_max`. */
  get listCount(): number {
    return this.#lists.size;
  }

  /**
   * Selects the recipients of a dispatch and their payloads: usually one payload, two when some sessions may not read
   * message content.
   *
   * Cost when nothing changed since the last dispatch of this kind: a lookup per list, whatever their length. After a
   * change of visibility, or at the end of a time-out that matters, O(sessions) once per list.
   *
   * @param nowMs Unix milliseconds.
   */
  recipients(guild: Guild, dispatch: Dispatch, nowMs: number): Delivery[] {
    const { t, d, to } = dispatch;
    const row = DISPATCH_ROWS[t];
    if (this.#visibilityVersion !== guild.visibilityVersion) {
      this.#visibilityVersion = guild.visibilityVersion;
      this.#lists.clear();
    }
    if (to.kind === 'users') {
      const sessions = this.#sessionsOfUsers(to.userIds, row, d);
      return row.contentGated ? this.#deliverContent(d, sessions, null) : deliver(d, sessions);
    }
    // Lists of a missing channel are not cached: its deletion carries the channel, and other dispatches name none.
    const key =
      to.kind !== 'channel'
        ? `guild${ROW_KEYS[t]}`
        : channelIn(guild, to.channelId)
          ? to.channelId + ROW_KEYS[t]
          : null;
    let list = key === null ? undefined : this.#fresh(key, row, nowMs);
    const known = list?.threadMembers;
    // The members of a private thread changed, which affects no other channel.
    if (key !== null && known && to.kind === 'channel' && known !== membersOf(guild, to.channelId)) {
      this.#forget(key);
      list = undefined;
    }
    if (!list) {
      list =
        to.kind === 'channel'
          ? this.#ofChannel(guild, dispatch, row, nowMs)
          : admit(this.#sessions.values(), guild, row, null, nowMs);
      if (key !== null) this.#remember(key, list);
    }
    const { sessions } = list;
    if (row.ownAlways || (row.ownWithoutIntent && to.kind === 'guild')) {
      return deliver(d, this.#withOwn(guild, sessions, row, d));
    }
    if (row.onlyNearInLarge) return deliver(d, this.#withNear(guild, sessions, row, d));
    if (row.ownAmongMembers) return deliver(d, this.#withChanged(sessions, d, row.ownAmongMembers));
    return row.contentGated ? this.#deliverContent(d, sessions, key) : deliver(d, sessions);
  }

  /** The cached list, if no time-out that it depends on has ended at `nowMs`. */
  #fresh(key: string, row: DispatchRow, nowMs: number): AudienceList | undefined {
    const known = this.#lists.get(key);
    // A channel's visibility does not depend on time-outs, so only lists of rows with a permission expire.
    if (!known || !row.permission || nowMs < known.untilMs) return known;
    this.#lists.clear();
    return undefined;
  }

  #forget(key: string): void {
    for (const part of ['', LACKING, READING]) this.#lists.delete(key + part);
  }

  #remember(key: string, list: AudienceList): void {
    if (this.#lists.size * this.#sessions.size > LIMITS.audience_slots_max) this.#lists.clear();
    this.#lists.set(key, list);
  }

  /** A channel's list; channels with equal overwrites, such as the synced ones of a category, share one. */
  #ofChannel(guild: Guild, dispatch: Dispatch, row: DispatchRow, nowMs: number): AudienceList {
    const channel = channelOf(guild, dispatch);
    if (!channel) return listOf(NOBODY);
    const alike = channelPermissionKey(guild, channel);
    if (alike === null) return admit(this.#sessions.values(), guild, row, channel, nowMs);
    const key = alike + ROW_KEYS[dispatch.t];
    let list = this.#fresh(key, row, nowMs);
    if (!list) {
      list = admit(this.#sessions.values(), guild, row, channel, nowMs);
      this.#remember(key, list);
    }
    return list;
  }

  /** All sessions of a user in this guild. */
  #sessionsOf(userId: string): readonly Recipient[] {
    return this.#sessionsByUser.get(userId) ?? NOBODY;
  }

  #sessionsOfUsers(userIds: readonly UserId[], row: DispatchRow, d: object): readonly Recipient[] {
    const own = subjectOf(d, row);
    return userIds.flatMap((userId) =>
      this.#sessionsOf(userId).filter((session) => userId === own || receives(session, row.intent)),
    );
  }

  /** Adds the subject's own sessions that were excluded by the intent or by an invisible channel. */
  #withOwn(guild: Guild, sessions: readonly Recipient[], row: DispatchRow, d: object): readonly Recipient[] {
    const own = subjectOf(d, row);
    if (own === undefined || !guild.members.get(own as UserId)) return sessions;
    const missed = this.#sessionsOf(own).filter((session) =>
      row.ownAlways ? !sessions.includes(session) : !receives(session, row.intent),
    );
    return missed.length === 0 ? sessions : [...sessions, ...missed];
  }

  /** Adds the sessions that are shown only what is near them: of users near the subject, and those that named the subject. */
  #withNear(guild: Guild, sessions: readonly Recipient[], row: DispatchRow, d: object): readonly Recipient[] {
    const subject = userOf(d);
    if (subject === undefined) return sessions;
    const near = nearTo<string>(guild, subject).flatMap((userId) => this.#sessionsOf(userId));
    const watchers = this.#watchers.get(subject);
    const named = watchers ? [...new Set([...near, ...watchers])] : near;
    const missed = named.filter(
      (session) =>
        isFarIn(guild, session) && receives(session, row.intent) && guild.members.get(session.userId),
    );
    return missed.length === 0 ? sessions : [...sessions, ...missed];
  }

  /** Adds the sessions of thread members who were added or removed, and who have the intent of threads. */
  #withChanged(sessions: readonly Recipient[], d: object, intent: number): readonly Recipient[] {
    const changed = [...idsIn(d, 'added_members'), ...idsIn(d, 'removed_member_ids')];
    const listed = new Set(sessions);
    const missed = changed
      .flatMap((userId) => this.#sessionsOf(userId))
      .filter((session) => !listed.has(session) && receives(session, intent));
    return missed.length === 0 ? sessions : [...sessions, ...missed];
  }

  /**
   * Splits a list into sessions that may read message content and sessions that get it blanked.
   *
   * @param key Cache key of `sessions`; null when they are not cached.
   */
  #deliverContent(d: object, sessions: readonly Recipient[], key: string | null): Delivery[] {
    const part = (name: string, holds: (session: Recipient) => boolean): AudienceList => {
      const known = key === null ? undefined : this.#lists.get(key + name);
      if (known) return known;
      const chosen = listOf(sessions.filter(holds));
      if (key !== null) this.#remember(key + name, chosen);
      return chosen;
    };
    const lackingList = part(LACKING, lacksContent);
    const { sessions: lacking } = lackingList;
    if (lacking.length === 0) return deliver(d, sessions);
    const { sessions: reading } = part(READING, (session) => !lacksContent(session));
    const index = byUser(lackingList);
    const exempt = new Set(readersOf(d).flatMap((userId) => index.get(userId) ?? []));
    if (exempt.size === 0) return [...deliver(d, reading), { d: blank(d), to: lacking }];
    const kept = lacking.filter((session) => !exempt.has(session));
    return [...deliver(d, [...reading, ...exempt]), ...(kept.length === 0 ? [] : deliver(blank(d), kept))];
  }
}
