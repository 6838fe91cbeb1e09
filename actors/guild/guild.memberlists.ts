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

/** A list that is sent to at least one session. */
interface ShownList {
  list: MemberList;
  /** By their ranges. */
  readonly views: Map<string, View>;
  /** The groups as they were last sent. */
  groups: string;
}

interface Viewer {
  readonly session: Recipient;
  readonly channels: readonly { readonly channelId: ChannelId; readonly ranges: readonly RowRange[] }[];
  /** By channel. */
  readonly views: Map<ChannelId, View>;
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
  readonly #changed = new Set<UserId>();
  #visibilityVersion = 0;
  /** Whether members in the lists have a role that was deleted. */
  #isAnyRoleDeleted = false;
  #timer: Timer | null = null;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Work that shows a subscribed session what it requests now, in place of what it was shown before. */
  show(session: Recipient, request: MemberListRequest): Work<Guild> {
    const { audiences } = this.#ports;
    const needed = once(listNeeds);
    const asks = (request.channels?.length ?? 0) > 0;
    return {
      needs: (guild) => (asks ? needed(guild) : {}),
      run: (guild) => {
        if (audiences.sessions.get(session.sessionId) !== session) return;
        this.#leave(session.sessionId);
        audiences.watch(session, request.memberIds ?? []);
        this.#sendPresences(guild, session, request.memberIds ?? []);
        const channels = (request.channels ?? []).map(({ channelId, ranges }) => {
          return { channelId, ranges: rangesOf(ranges) };
        });
        if (!asks) return;
        const viewer = { session, channels, views: new Map() };
        this.#viewers.set(session.sessionId, viewer);
        this.#place(guild, viewer);
      },
      refuse: () => undefined,
      fault: () => undefined,
    };
  }

  /** A session was subscribed that wants to be shown this. What it requested since under the same object is newer. */
  arrived(session: Recipient, request: MemberListRequest | null | undefined): void {
    if (request && this.#viewers.get(session.sessionId)?.session !== session)
      this.#ports.send(this.show(session, request));
  }

  /** A fact was applied to the guild. */
  applied(guild: Guild, fact: GuildFact): void {
    if (this.#viewers.size === 0) return;
    if (fact.type === 'roleDeleted') this.#isAnyRoleDeleted = true;
    const userId = memberIn(fact);
    if (userId !== null) this.#changed.add(userId);
    else if (!changesGroups(fact) && guild.visibilityVersion === this.#visibilityVersion) return;
    this.#timer ??= this.#ports.wheel.add(() => {
      this.#timer = null;
      this.#ports.send(this.#updating());
    }, LIMITS.member_list_update_ms);
  }

  end(): void {
    this.#timer?.cancel();
    this.#viewers.clear();
    this.#lists.clear();
  }

  /** Work that sends what has changed. */
  #updating(): Work<Guild> {
    const everyone = once(listNeeds);
    const changed = once((): Needs => ({ members: [...this.#changed] }));
    return {
      needs: (guild) => (this.#isAnyStale(guild) ? everyone(guild) : changed(guild)),
      run: (guild) => this.#update(guild),
      refuse: () => undefined,
      fault: () => undefined,
    };
  }

  #isAnyStale(guild: Guild): boolean {
    return [...this.#lists.values()].some(({ list }) => this.#isStale(guild, list));
  }

  #isStale(guild: Guild, list: MemberList): boolean {
    return this.#isAnyRoleDeleted || list.isStale(guild);
  }

  #update(guild: Guild): void {
    const { audiences } = this.#ports;
    for (const { session } of [...this.#viewers.values()])
      if (audiences.sessions.get(session.sessionId) !== session) this.#leave(session.sessionId);
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const shown of this.#lists.values()) {
      if (this.#isStale(guild, shown.list)) shown.list = this.#make(guild, shown.list.scope);
      else for (const userId of changed) shown.list.update(guild, userId);
    }
    this.#isAnyRoleDeleted = false;
    if (this.#visibilityVersion !== guild.visibilityVersion) {
      this.#visibilityVersion = guild.visibilityVersion;
      for (const viewer of this.#viewers.values()) this.#place(guild, viewer);
    }
    for (const shown of this.#lists.values()) this.#sendChanges(guild, shown);
  }

  #sendChanges(guild: Guild, shown: ShownList): void {
    const groups = JSON.stringify(shown.list.groups);
    const isRegrouped = groups !== shown.groups;
    shown.groups = groups;
    for (const view of shown.views.values()) {
      const before = view.sections;
      view.sections = sectionsOf(shown.list, view.ranges);
      view.sync = null;
      const ops = changeOps(view.ranges, before, view.sections);
      if (ops.length > 0 || isRegrouped) this.#send(this.#bodyOf(guild, shown.list, ops), [...view.sessions]);
    }
  }

  /** Shows a viewer the lists of the channels that its user may see, and ends the others. */
  #place(guild: Guild, viewer: Viewer): void {
    const { session, channels, views } = viewer;
    for (const { channelId, ranges } of channels) {
      const scope = listScope(guild, channelId);
      const isSeen =
        scope !== null &&
        (channelPermissions(guild, session.userId, scope.channel, this.#ports.nowMs()) & P.VIEW_CHANNEL) !==
          0n;
      const before = views.get(channelId);
      const after = isSeen ? this.#viewOf(guild, scope, ranges) : null;
      if (before === after) continue;
      if (before) this.#leaveView(before, session);
      if (!after) {
        views.delete(channelId);
        continue;
      }
      views.set(channelId, after);
      after.sessions.add(session);
      after.sync ??= this.#bodyOf(guild, after.shown.list, syncOps(ranges, after.sections));
      this.#send(after.sync, [session]);
    }
  }

  /** The view of these ranges; null where the guild's lists have no room for another one. */
  #viewOf(guild: Guild, scope: ListScope, ranges: readonly RowRange[]): View | null {
    let shown = this.#lists.get(scope.key);
    if (!shown) {
      let members = 0;
      for (const { list } of this.#lists.values()) members += list.size;
      if (members > 0 && members + guild.presences.size > LIMITS.member_list_members_max) return null;
      const list = this.#make(guild, scope);
      shown = { list, views: new Map(), groups: JSON.stringify(list.groups) };
      this.#lists.set(scope.key, shown);
      this.#visibilityVersion ||= guild.visibilityVersion;
    }
    const key = JSON.stringify(ranges);
    let view = shown.views.get(key);
    if (!view) {
      view = { shown, ranges, sessions: new Set(), sections: sectionsOf(shown.list, ranges), sync: null };
      shown.views.set(key, view);
    }
    return view;
  }

  #make(guild: Guild, scope: ListScope): MemberList {
    const now = listScope(guild, scope.channelId) ?? scope;
    return new MemberList(guild, now.key === scope.key ? now : scope, this.#ports.nowMs());
  }

  #leave(sessionId: string): void {
    const viewer = this.#viewers.get(sessionId);
    if (!viewer) return;
    this.#viewers.delete(sessionId);
    for (const view of viewer.views.values()) this.#leaveView(view, viewer.session);
    if (this.#viewers.size === 0) this.#changed.clear();
  }

  #leaveView(view: View, session: Recipient): void {
    const { shown, ranges, sessions } = view;
    sessions.delete(session);
    if (sessions.size > 0) return;
    shown.views.delete(JSON.stringify(ranges));
    if (shown.views.size === 0) this.#lists.delete(shown.list.scope.key);
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

/** Needs that are read once: rows that are evicted before the work runs are not read again, which might never end. */
function once(needs: (guild: Guild) => Needs): (guild: Guild) => Needs {
  let isRead = false;
  return (guild) => {
    if (isRead) return {};
    isRead = true;
    return needs(guild);
  };
}
