import type { Audiences } from '../../engine/fanout/audience.ts';
import type { DispatchBody, Recipient } from '../../engine/fanout/body.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import {
  changeOps,
  type ListOp,
  type MemberListUpdate,
  type RowRange,
  rangesOf,
  type Section,
  sectionsOf,
  syncOps,
} from '../../engine/guild/memberlist.changes.ts';
import { type ListScope, listNeeds, listScope, MemberList } from '../../engine/guild/memberlist.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { channelPermissions } from '../../engine/permissions/permissions.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';
import { P } from '../../protocol/permissions.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface Ports {
  readonly audiences: Audiences;
  readonly wheel: Wheel;
  /** Most members in all lists together: beyond it, no list of another channel is made. */
  readonly membersMax: number;
  nowMs(): number;
  body(t: string, d: object): DispatchBody;
  /** What a list shows must be durable before it is visible. */
  readonly commits: { after(run: (fault: Error | null) => void): void };
  send(work: Work<Guild>): void;
}

/** The ranges of a list that some sessions have, all of which hold the same rows. */
interface View {
  readonly shown: ShownList;
  readonly ranges: readonly RowRange[];
  readonly sessions: Set<Recipient>;
  sections: readonly Section[];
  /** What a session is sent that requests the view now; made on first use. */
  sync: DispatchBody | null;
}

interface ShownList {
  list: MemberList;
  /** By their ranges. */
  readonly views: Map<string, View>;
  /** The groups and the number of members as they were last sent. */
  counts: string;
  /** Removes the list, which no session is sent any more; null while one is. */
  removal: Timer | null;
}

interface Viewer {
  readonly session: Recipient;
  readonly channels: NonNullable<MemberListRequest['channels']>;
  /** By the key of their scope: clients hold the rows of a list by its id, whichever channels they request it for. */
  views: ReadonlyMap<string, View>;
}

/** The member whose row a fact changes; null for other facts. */
function memberIn(fact: GuildFact): UserId | null {
  switch (fact.type) {
    case 'presenceChanged':
      return fact.userId;
    case 'memberAdded':
    case 'memberUpdated':
      return fact.member.user.id;
    case 'memberRemoved':
      return fact.user.id;
    default:
      return null;
  }
}

/** Roles are the groups of lists. */
const changesGroups = ({ type }: GuildFact): boolean => type.startsWith('role');

const isSame = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();

/**
 * The member lists that sessions have requested by ranges of rows. Changes are gathered for `member_list_update_ms` and then
 * sent to those who have rows that changed; sessions with the same ranges share the rows, the changes and their encoding.
 *
 * Nothing of it is stored: a session's shard names what the session is shown whenever it subscribes to the guild.
 */
export class GuildMemberLists {
  readonly #ports: Ports;
  /** By session id. */
  readonly #viewers = new Map<string, Viewer>();
  /** By the key of their scope. */
  readonly #lists = new Map<string, ShownList>();
  /** Members whose rows are not up to date. */
  readonly #changed = new Set<UserId>();
  /** The latest request of each session under this object. */
  readonly #requests = new WeakMap<Recipient, MemberListRequest>();
  /** Requests that wait for another attempt, because the database did not answer. */
  readonly #unshown = new Map<Recipient, MemberListRequest>();
  /** Whether roles or channels changed, so that lists must be made again. */
  #isOutdated = false;
  #visibilityVersion = 0;
  #timer: Timer | null = null;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Work that shows a subscribed session what it requests now, in place of what it was shown before. */
  show(session: Recipient, request: MemberListRequest): Work<Guild> {
    const everyone = once(listNeeds);
    const isMade = (guild: Guild, channelId: ChannelId): boolean => {
      const scope = listScope(guild, channelId);
      return scope === null || this.#lists.has(scope.key);
    };
    return {
      needs: (guild) =>
        (request.channels ?? []).every(({ channelId }) => isMade(guild, channelId)) ? {} : everyone(guild),
      run: (guild) => this.#show(guild, session, request),
      refuse: () => undefined,
      fault: () => {
        this.#unshown.set(session, request);
        this.#updateLater();
      },
    };
  }

  #show(guild: Guild, session: Recipient, request: MemberListRequest): void {
    const { audiences } = this.#ports;
    const known = this.#requests.get(session);
    if (known && known.atMs > request.atMs) return;
    this.#requests.set(session, request);
    // The request may be faster than the subscription of the session, which shows it then.
    if (audiences.sessions.get(session.sessionId) !== session) return;
    const named = request.memberIds ?? [];
    // A client that scrolls sends the same members again and again.
    if (!isSame(known?.memberIds ?? [], named)) {
      audiences.watch(session, named);
      this.#sendPresences(guild, session, named);
    }
    const before = this.#viewers.get(session.sessionId);
    this.#viewers.delete(session.sessionId);
    if (request.channels && request.channels.length > 0) {
      const viewer = { session, channels: request.channels, views: new Map() };
      this.#viewers.set(session.sessionId, viewer);
      this.#place(guild, viewer);
    }
    if (before) this.#leaveViews(before);
  }

  /**
   * A session was subscribed that wants to be shown this, perhaps again: it may have received nothing in between. What it requested
   * since under the same object is newer.
   */
  arrived(session: Recipient, request: MemberListRequest | null | undefined): void {
    const known = this.#requests.get(session);
    const latest = known && known.atMs >= (request?.atMs ?? 0) ? known : request;
    if (!latest) return;
    this.#requests.delete(session);
    this.#ports.send(this.show(session, latest));
  }

  /** A fact was applied to the guild. */
  applied(guild: Guild, fact: GuildFact): void {
    if (this.#lists.size === 0) return;
    const userId = memberIn(fact);
    const changesSight = guild.visibilityVersion !== this.#visibilityVersion;
    this.#visibilityVersion = guild.visibilityVersion;
    if (userId !== null) this.#changed.add(userId);
    else if (changesSight || changesGroups(fact)) this.#isOutdated = true;
    else return;
    this.#updateLater();
  }

  end(): void {
    this.#timer?.cancel();
    for (const { removal } of this.#lists.values()) removal?.cancel();
    this.#viewers.clear();
    this.#lists.clear();
  }

  #updateLater(): void {
    this.#timer ??= this.#ports.wheel.add(() => {
      this.#timer = null;
      this.#ports.send(this.#updating());
      for (const [session, request] of this.#unshown) this.#ports.send(this.show(session, request));
      this.#unshown.clear();
    }, LIMITS.member_list_update_ms);
  }

  /** Work that sends what has changed. */
  #updating(): Work<Guild> {
    const everyone = once(listNeeds);
    const changed = once((): Needs => ({ members: [...this.#changed] }));
    return {
      needs: (guild) => (this.#makesLists(guild) ? everyone(guild) : changed(guild)),
      run: (guild) => this.#update(guild),
      refuse: () => undefined,
      fault: () => this.#updateLater(),
    };
  }

  #makesLists(guild: Guild): boolean {
    return this.#isOutdated || [...this.#lists.values()].some(({ list }) => list.isStale(guild));
  }

  #update(guild: Guild): void {
    const { audiences } = this.#ports;
    for (const [sessionId, viewer] of [...this.#viewers]) {
      if (audiences.sessions.get(sessionId) === viewer.session) continue;
      this.#viewers.delete(sessionId);
      this.#leaveViews(viewer);
    }
    // A member who was evicted meanwhile is read again for the next update.
    const changed = [...this.#changed].filter((userId) => guild.members.get(userId) !== undefined);
    for (const userId of changed) this.#changed.delete(userId);
    if (this.#changed.size > 0) this.#updateLater();
    for (const shown of this.#lists.values()) {
      if (this.#isOutdated || shown.list.isStale(guild)) shown.list = this.#make(guild, shown.list.scope);
      else for (const userId of changed) shown.list.update(guild, userId);
    }
    const users = new Set<string>(changed);
    for (const viewer of this.#viewers.values())
      if (this.#isOutdated || users.has(viewer.session.userId)) this.#place(guild, viewer);
    this.#isOutdated = false;
    for (const shown of this.#lists.values()) this.#sendChanges(guild, shown);
  }

  #sendChanges(guild: Guild, shown: ShownList): void {
    const counts = countsOf(guild, shown.list);
    const isRecounted = counts !== shown.counts;
    shown.counts = counts;
    for (const view of shown.views.values()) {
      const before = view.sections;
      view.sections = sectionsOf(shown.list, view.ranges);
      const ops = changeOps(view.ranges, before, view.sections);
      if (ops.length === 0 && !isRecounted) continue;
      view.sync = null;
      this.#send(this.#bodyOf(guild, shown.list, ops), [...view.sessions]);
    }
  }

  /** Shows a viewer the lists of the channels that its user may see, and ends the others. */
  #place(guild: Guild, viewer: Viewer): void {
    const { session, channels } = viewer;
    const wanted = new Map<string, { readonly scope: ListScope; readonly ranges: RowRange[] }>();
    for (const { channelId, ranges } of channels) {
      const scope = listScope(guild, channelId);
      if (!scope) continue;
      const held = channelPermissions(guild, session.userId, scope.channel, this.#ports.nowMs());
      if ((held & P.VIEW_CHANNEL) === 0n) continue;
      const same = wanted.get(scope.key);
      if (same) same.ranges.push(...ranges);
      else wanted.set(scope.key, { scope, ranges: [...ranges] });
    }
    const before = viewer.views;
    const after = new Map<string, View>();
    for (const [key, { scope, ranges }] of wanted) {
      const view = this.#viewOf(guild, scope, rangesOf(ranges));
      if (!view) continue;
      after.set(key, view);
      if (before.get(key) === view) continue;
      view.sessions.add(session);
      view.sync ??= this.#bodyOf(guild, view.shown.list, syncOps(view.ranges, view.sections));
      this.#send(view.sync, [session]);
    }
    viewer.views = after;
    for (const [key, view] of before) if (after.get(key) !== view) this.#leaveView(view, session);
  }

  /** The view of these ranges; null for none, and where the guild's lists have no room for another one. */
  #viewOf(guild: Guild, scope: ListScope, ranges: readonly RowRange[]): View | null {
    if (ranges.length === 0) return null;
    let shown = this.#lists.get(scope.key);
    if (!shown) {
      let members = 0;
      for (const { list } of this.#lists.values()) members += list.size;
      if (members > 0 && members + guild.presences.size > this.#ports.membersMax) return null;
      if (members === 0) this.#visibilityVersion = guild.visibilityVersion;
      const list = this.#make(guild, scope);
      shown = { list, views: new Map(), counts: countsOf(guild, list), removal: null };
      this.#lists.set(scope.key, shown);
    }
    shown.removal?.cancel();
    shown.removal = null;
    const key = JSON.stringify(ranges);
    let view = shown.views.get(key);
    if (!view) {
      view = { shown, ranges, sessions: new Set(), sections: sectionsOf(shown.list, ranges), sync: null };
      shown.views.set(key, view);
    }
    return view;
  }

  #make(guild: Guild, scope: ListScope): MemberList {
    for (const userId of guild.presences.keys())
      if (guild.members.get(userId) === undefined) this.#changed.add(userId);
    if (this.#changed.size > 0) this.#updateLater();
    return new MemberList(guild, scope, this.#ports.nowMs());
  }

  /** Ends the views that a viewer had before, but for those that it still has. */
  #leaveViews({ session, views }: Viewer): void {
    const now = this.#viewers.get(session.sessionId);
    const kept = new Set(now?.session === session ? now.views.values() : []);
    for (const view of views.values()) if (!kept.has(view)) this.#leaveView(view, session);
  }

  /** A list without viewers is kept for a while, because the next request may be for it again, and to make one takes long. */
  #leaveView({ shown, ranges, sessions }: View, session: Recipient): void {
    sessions.delete(session);
    if (sessions.size > 0) return;
    shown.views.delete(JSON.stringify(ranges));
    if (shown.views.size > 0) return;
    const { key } = shown.list.scope;
    shown.removal ??= this.#ports.wheel.add(() => this.#lists.delete(key), LIMITS.member_list_kept_ms);
  }

  #bodyOf(guild: Guild, list: MemberList, ops: readonly ListOp[]): DispatchBody {
    const update: MemberListUpdate = {
      ...{ guild_id: guild.id, id: list.scope.id, member_count: guild.memberCount },
      ...{ online_count: list.onlineCount, groups: list.groups, ops },
    };
    return this.#ports.body('GUILD_MEMBER_LIST_UPDATE', update);
  }

  #sendPresences(guild: Guild, session: Recipient, userIds: readonly UserId[]): void {
    for (const userId of userIds) {
      const presence = guild.presences.get(userId);
      if (presence) this.#send(this.#ports.body('PRESENCE_UPDATE', presence), [session]);
    }
  }

  #send(body: DispatchBody, to: readonly Recipient[]): void {
    const { audiences, commits } = this.#ports;
    commits.after((fault) => {
      if (fault) return;
      for (const session of to)
        if (audiences.sessions.get(session.sessionId) === session) session.deliver(body);
    });
  }
}

const countsOf = ({ memberCount }: Guild, { groups }: MemberList): string =>
  JSON.stringify([memberCount, groups]);

/** Needs that are read once: rows that are evicted before the work runs are not read again, which might never end. */
function once(needs: (guild: Guild) => Needs): (guild: Guild) => Needs {
  let isRead = false;
  return (guild) => {
    if (isRead) return {};
    isRead = true;
    return needs(guild);
  };
}
