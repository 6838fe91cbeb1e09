import { AutoModeration } from '../../engine/automod/state.ts';
import { Audiences } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import { expressionsOf } from '../../engine/guild/expressions.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { type LinkUpdate, linkEnded, linksEnded, linkUpdates } from '../../engine/guild/lobbylinks.ts';
import { slowmodeRuns } from '../../engine/guild/messages.scope.ts';
import { type GuildCommands, guildRules } from '../../engine/guild/rules.ts';
import { isActive, threadsOf } from '../../engine/guild/threads.state.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { scheduledEventsOf } from '../../engine/scheduledevent/event.ts';
import { dispatchRow } from '../../protocol/dispatches.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';
import type { CommandRecord } from '../../storage/cluster/port.ts';
import type { GuildSnapshot, GuildStore } from '../../storage/guild/port.ts';
import { addMessageWindows, recallNonces } from '../channel/messagereads.ts';
import type { Subscribed } from '../placement/ports.ts';
import type { AggregatePorts, Ending, OutgoingDispatch, Signing } from '../runtime/aggregate.ports.ts';
import { AggregateShell, notifyListeners } from '../runtime/aggregate.ts';
import { oldestFirst, PinningWindow, Window, Windows } from '../runtime/cache.ts';
import type { Timer } from '../runtime/clock.ts';
import type { KeptStates } from '../runtime/keptstates.ts';
import { epochNumber } from '../runtime/ownerepoch.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { Wheel } from '../runtime/wheel.ts';
import {
  type HandoverState,
  handoverStateOf,
  isEmpty,
  restoreHandoverState,
  restoreVoice,
} from './guild.handover.ts';
import { GuildMemberLists } from './guild.memberlists.ts';
import { GUILD_NOTIFICATIONS, type GuildListener } from './guild.notifications.ts';
import { type GuildReads, guildReads, MessageWindow } from './guild.reader.ts';
import { dismiss, type Entering, type SubscribedBefore, subscription } from './guild.subscription.ts';
import { GuildVoiceMembers } from './guild.voicemembers.ts';

/** Subscribed sessions. */
export type KeptSessions = readonly Entering['subscriber'][];

interface GuildPorts extends AggregatePorts, GuildReads, Signing {
  readonly guilds: GuildReads['guilds'] & Pick<GuildStore, 'load'>;
  /** Members without a session, and messages, that a guild keeps in memory. */
  readonly windows: { readonly members: number; readonly messages: number };
  /** For the ends of time-outs. */
  readonly wheel: Wheel;
  /** The subscribed sessions of guilds whose actors failed, which receive what the next one sends first. */
  readonly kept: KeptStates<KeptSessions>;
  /** Receives durable changes, and the end of the guild. */
  readonly listener: GuildListener;
}

/** After a change of owner, how long members in voice may take to subscribe again before they leave voice. In one process they are subscribed. */
const RETURN_MS = 30_000;
/** Archived threads that stay in memory for later commands. */
const THREADS_MAX = 64;

/** Runs the effects of one guild. */
export class GuildShell extends AggregateShell<Guild, GuildFact, Dispatch, GuildId> {
  readonly #ports: GuildPorts;
  readonly #windows = new Windows();
  readonly #voiceMembers: GuildVoiceMembers;
  /** The subscribed sessions. */
  readonly audiences = new Audiences();
  readonly #subscribed: SubscribedBefore & { readonly memberLists: GuildMemberLists };
  /** Sessions of removed members, which are notified when the removal is durable; null before the first. */
  #leaving: Map<GuildFact, readonly Recipient[]> | null = null;
  readonly #send: Send<Guild>;
  #restored = false;
  /** Whether the last owner handed state over. */
  #wasHandedOver = false;
  #dropping: Promise<void> | null = null;
  /** Runs when members in voice have had time to subscribe again. */
  #strandedCheck: Timer | null = null;
  /** Updates for linked lobbies, collected while facts are applied. */
  readonly #lobbyUpdates: LinkUpdate[] = [];

  constructor(id: string, ports: GuildPorts, send: Send<Guild>) {
    super(id as GuildId, guildRules, ports, send);
    this.#ports = ports;
    this.#send = send;
    const { listener, clock, wheel } = ports;
    const settle = () =>
      send({ type: 'work', work: this.command('settleVoice', {}, SYSTEM, ignore, ignore) });
    this.#voiceMembers = new GuildVoiceMembers({ guildId: this.id, listener, clock, wheel, settle });
    this.#subscribed = {
      ...{
        arriving: new Set(),
        shown: new WeakSet(),
        subscribedAt: new WeakMap(),
        displacedAt: new WeakMap(),
      },
      memberLists: new GuildMemberLists({
        ...{ audiences: this.audiences, wheel, commits: this.commits, nowMs: () => clock.now() },
        membersMax: LIMITS.member_list_members_max,
        // Number 0: it belongs to the guild's stream, so that a late one of an earlier owner is dropped, and has no position in it.
        body: (t, d) => this.body(t, d, { ownerId: this.id, n: 0 }),
        send: (work) => send({ type: 'work', work }),
      }),
    };
  }

  /** For the next actor here. On shards the sessions miss nothing without. */
  #keep(): void {
    const { sessions } = this.audiences;
    if (!this.epoch && sessions.size > 0) this.#ports.kept.keep(this.id, 0, [...sessions.values()]);
  }

  /** Work that runs a command through the guild's rules. */
  command<K extends keyof GuildCommands>(
    type: K,
    input: GuildCommands[K]['input'],
    authority: Authority,
    answer: (reply: Reply<GuildCommands[K]['value']>) => void,
    fault: (error: Error) => void,
    commandKey: string | null = null,
  ): Work<Guild> {
    return this.deciding(
      (guild) => guildRules.needs(guild, type, input, authority),
      (guild, env) => guildRules.decide(guild, type, input, authority, env),
      answer,
      fault,
      commandKey,
    );
  }

  /**
   * Work that subscribes sessions. Each receives the guild, or the dispatches it has missed, and then its position in the
   * guild's stream, before later dispatches.
   */
  subscribe(
    entering: readonly Entering[],
    done: (outcomes: readonly Subscribed[]) => void,
    fault: (error: Error) => void,
  ): Work<Guild> {
    const { listener } = this.#ports;
    return subscription(entering, {
      id: this.id,
      nowMs: () => this.#ports.clock.now(),
      over: () => this.state === null,
      body: (t, d, origin) => this.body(t, d, origin),
      after: (run) => this.commits.after(run),
      stream: () => this.epoch?.stream ?? null,
      audiences: this.audiences,
      ...this.#subscribed,
      returned: (guild, sessions) => this.#returned(guild, sessions),
      displaced: (session, n) => listener.subscriberReplaced?.(this.id, session, n),
      done,
      fault,
    });
  }

  /** Work that shows a subscribed session rows of member lists; see `GuildMemberLists`. */
  showMembers(session: Recipient, request: MemberListRequest): Work<Guild> {
    return this.#subscribed.memberLists.show(session, request);
  }

  protected async fetch(): Promise<Guild | null> {
    const kept = this.#ports.kept.of(this.id, epochNumber(this.epoch)) ?? [];
    const [snapshot, handover] = await Promise.all([
      this.#ports.guilds.load(this.id),
      this.ownership?.snapshot(this.id) ?? null,
    ]);
    if (!snapshot) return null;
    const guild = guildOf(snapshot, this.audiences);
    const { voiceStates } = snapshot;
    await this.read(guild, {
      members: [...voiceStates.map(({ user_id }) => user_id), ...kept.map(({ userId }) => userId)],
    });
    restoreVoice(guild, snapshot);
    if (handover) this.#restore(guild, handover as HandoverState);
    this.#restored = this.#wasHandedOver || guild.voiceStates.size > 0;
    // Until they subscribe by themselves, which sends them the guild.
    for (const session of kept) if (!session.over) this.audiences.add(session);
    return guild;
  }

  protected read(guild: Guild, needs: Needs): Promise<void> | null {
    return this.#windows.read(guildReads(guild, needs, this.#ports));
  }

  /** Restores the last owner's handover state. */
  #restore(guild: Guild, handover: HandoverState): void {
    restoreHandoverState(guild, handover, epochNumber(this.epoch));
    this.epoch?.handedOver(handover.told ?? [], handover.floor ?? 0, handover.replies);
    this.#wasHandedOver = true;
  }

  override adopt(guild: Guild): void {
    super.adopt(guild);
    addWindows(this.#windows, guild, this.#ports.windows);
    this.#ports.kept.drop(this.id);
    this.#ports.listener.guildLoaded?.(this.id);
    // It would be wrong for the next owner.
    if (this.#wasHandedOver)
      this.#dropping = this.ownership?.dropSnapshot(this.id).catch(this.ownership.onFault) ?? null;
    if (!this.#restored) return;
    if ([...guild.voiceStates.values()].some(({ self_stream }) => self_stream))
      this.#send({ type: 'work', work: this.command('endStreams', {}, SYSTEM, ignore, ignore) });
    if (guild.voiceStates.size > 0 || guild.presences.size > 0)
      this.#strandedCheck = this.#ports.wheel.add(
        () => this.#lookForStranded(guild),
        this.epoch ? RETURN_MS : 0,
      );
  }

  /** Restores nonces, so that a message sent again is not stored twice, even if an earlier owner stored it. */
  protected override recall(guild: Guild, records: readonly CommandRecord[]): void {
    recallNonces(guild, records);
    const moved = new Map<UserId, 'joined' | 'left'>();
    for (const { dispatches } of records)
      for (const { t, d } of dispatches) {
        const { membership } = dispatchRow(t);
        if (membership) moved.set((d as { readonly user: { readonly id: UserId } }).user.id, membership);
      }
    if (moved.size > 0) this.#ports.listener.membersMoved?.(this.id, moved);
  }

  /** Sends the voice server again to members who are not connected: whether they received it is unknown. */
  #returned(guild: Guild, sessions: readonly Recipient[]): (() => void) | null {
    if (guild.voiceStates.size === 0 || (!this.epoch && !this.#restored)) return null;
    const facts = sessions.flatMap(({ userId, sessionId }) =>
      guild.voiceStates.get(userId)?.session_id === sessionId
        ? [{ type: 'voiceStateRepeated', userId } as const]
        : [],
    );
    return this.#voiceMembers.after(guild, facts, this.#ports.clock.now());
  }

  #lookForStranded(guild: Guild): void {
    const { sessionCounts, presences } = guild;
    const gone = [...presences.keys()].filter((userId) => !sessionCounts.has(userId));
    if (gone.length > 0) this.#ports.listener.republishPresences?.(this.id, gone);
    for (const [userId, { session_id: sessionId, channel_id: channelId }] of guild.voiceStates) {
      if (this.audiences.sessions.has(sessionId)) continue;
      const input = { userId, sessionId, channelId: channelId as ChannelId };
      this.#send({ type: 'work', work: this.command('dropVoice', input, SYSTEM, ignore, ignore) });
    }
  }

  /** Saves the handover state for the next owner; called after the last work. */
  protected override async writeDown(): Promise<void> {
    const { state: guild, ownership, epoch } = this;
    await this.#dropping;
    if (!guild || !ownership || !epoch) return;
    const handover = handoverStateOf(guild, epoch);
    if (isEmpty(handover)) return;
    await ownership
      .saveSnapshot({ ownerId: this.id, fence: epoch.fence, data: handover })
      .catch(ownership.onFault);
  }

  protected outgoing(
    guild: Guild,
    bare: Dispatch,
    _fact: GuildFact,
    nowMs: number,
  ): readonly OutgoingDispatch[] {
    const dispatch = bare.showsFiles === false ? bare : (this.#ports.sign?.(bare) ?? bare);
    const { t, to } = dispatch;
    this.tap(t, dispatch.d);
    if (to.kind === 'channel') {
      const link = guild.channels.get(to.channelId)?.linked_lobby;
      if (link) this.#lobbyUpdates.push(...linkUpdates(guild, to.channelId, link, dispatch));
    }
    const n = this.epoch?.number(dispatch, nowMs) ?? 0;
    return this.audiences.recipients(guild, dispatch, nowMs).map(({ d, to }) => ({ t, d, to, n }));
  }

  protected override applied(guild: Guild, fact: GuildFact): void {
    this.#subscribed.memberLists.applied(guild, fact);
    if (fact.type === 'memberRemoved') this.#dismissRemoved(fact, fact.user.id);
    if (fact.type === 'channelDeleted') this.#lobbyUpdates.push(...linkEnded(guild, fact.channel));
    if (fact.type === 'guildDeleted') this.#lobbyUpdates.push(...linksEnded(guild));
  }

  /**
   * Unsubscribes a removed member's sessions before the removal is durable: by then the user may be a member again. Until
   * GUILD_CREATE is sent again, the old sessions must receive nothing after the removal, and new ones stay subscribed.
   */
  #dismissRemoved(fact: GuildFact, userId: UserId): void {
    const sessions = dismiss(this.audiences, userId);
    if (sessions.length === 0) return;
    this.#leaving ??= new Map();
    this.#leaving.set(fact, sessions);
  }

  /** Sessions that still receive missed dispatches are included. */
  protected override announce(_guild: Guild, n: number): void {
    for (const subscriber of this.audiences.sessions.values() as Iterable<Entering['subscriber']>)
      if (!this.#subscribed.arriving.has(subscriber)) subscriber.following?.(this.id, n);
  }

  protected number(_guild: Guild, commit: number): void {
    this.#windows.number(commit);
  }

  protected trim(): void {
    this.#windows.trim(this.commits.settled);
  }

  protected notify(facts: readonly GuildFact[]): void {
    notifyListeners(GUILD_NOTIFICATIONS, facts, {
      ...{ id: this.id, listener: this.#ports.listener, guild: this.state, audiences: this.audiences },
      ...{ lastNumber: this.epoch?.stream.last ?? 0, leaving: this.#leaving },
    });
  }

  protected override afterwards(
    guild: Guild,
    facts: readonly GuildFact[],
    nowMs: number,
  ): (() => void) | null {
    const isQuiet = guild.voiceStates.size === 0 && this.#voiceMembers.members.size === 0;
    const voiceMembers = isQuiet ? null : this.#voiceMembers.after(guild, facts, nowMs);
    if (this.#lobbyUpdates.length === 0) return voiceMembers;
    const news = this.#lobbyUpdates.splice(0);
    return () => {
      voiceMembers?.();
      for (const each of news) this.#ports.listener.linked(each);
    };
  }

  /**
   * A slow mode keeps the guild in memory, for at most six hours: the next owner finds a user's last message in the store, except
   * one that was deleted.
   */
  protected occupied(guild: Guild): boolean {
    return (
      this.audiences.sessions.size > 0 ||
      guild.voiceStates.size > 0 ||
      slowmodeRuns(guild, this.#ports.clock.now())
    );
  }

  protected ended(_guild: Guild, ending: Ending): void {
    this.#voiceMembers.end(ending);
    if (ending === 'interrupted') this.#keep();
    this.#strandedCheck?.cancel();
    this.#subscribed.memberLists.end();
    const shown = this.epoch?.shown ?? 0;
    if (ending === 'moved') {
      this.#ports.listener.guildReleased?.(this.id, shown);
      return;
    }
    // A removal that is not durable leaves the user a member.
    const leaving = [...(this.#leaving?.values() ?? [])].flat();
    const subscribers = [...new Set([...this.audiences.sessions.values(), ...leaving])];
    if (subscribers.length > 0)
      this.#ports.listener.guildLost(this.id, subscribers, shown, ending === 'interrupted');
  }
}

const ignore = (): void => undefined;

/** Adds the guild's windows with their bounds. */
function addWindows(windows: Windows, guild: Guild, max: GuildPorts['windows']): void {
  const { members, sessionCounts, voiceStates, threads } = guild;
  // A member in voice has a session here, except between the end of the session and leaving voice.
  const stays = (key: UserId): boolean => sessionCounts.has(key) || voiceStates.has(key);
  windows.add(members, (window, settled) => window.trim(max.members, settled, sessionCounts.size, stays));
  windows.add(threads, (window, settled) => {
    if (window instanceof PinningWindow) window.trimUnpinned(THREADS_MAX, settled);
  });
  windows.add(guild.messages, (window, settled) => window.trim(max.messages, settled));
  const { bans, invites, copies, users, formerMembers, joinRequests, onboardingAnswers } = guild;
  const { rsvps } = guild.scheduledEvents;
  for (const rows of [bans, invites, copies, users, formerMembers, joinRequests, onboardingAnswers, rsvps])
    windows.add<string, unknown>(rows, oldestFirst(max.members));
  windows.add(guild.slowmode, oldestFirst(LIMITS.slowmode_entries_max));
  addMessageWindows(windows, guild);
}

function guildOf(snapshot: GuildSnapshot, { sessionCounts }: Audiences): Guild {
  const messages = new MessageWindow();
  return {
    id: snapshot.info.id,
    info: snapshot.info,
    roles: new Map(snapshot.roles.map((role) => [role.id, role])),
    channels: new Map(snapshot.channels.map((channel) => [channel.id, channel])),
    threads: threadsOf(snapshot.threads, new PinningWindow(isActive)),
    members: new Window(),
    memberCount: snapshot.memberCount,
    messages,
    recent: messages.recent,
    bans: new Window(),
    joinRequests: new Window(),
    onboardingAnswers: new Window(),
    formerMembers: new Window(),
    invites: new Window(),
    webhooks: null,
    copies: new Window(),
    users: new Window(),
    presences: new Map(),
    presenceNumbers: new Map(),
    voiceStates: new Map(),
    liveVoice: new Map(),
    expressions: expressionsOf(snapshot.expressions),
    stageInstances: new Map(snapshot.stageInstances.map((stage) => [stage.channel_id, stage])),
    scheduledEvents: scheduledEventsOf(snapshot.scheduledEvents, new Window()),
    autoModeration: new AutoModeration(snapshot.autoModerationRules),
    pages: snapshot.pages,
    sessionCounts,
    visibilityVersion: 0,
    pins: new Window(),
    reacted: new Window(),
    nonces: new Map(),
    lastArchiveUs: 0,
    slowmode: new Window(),
  };
}
