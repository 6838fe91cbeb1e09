import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import {
  applicationSessions,
  directStream,
  type SessionFilter,
  type SessionRef,
} from '../../engine/fanout/direct.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { extensionDueMs, extensionSettling } from '../../engine/lobby/extensions.ts';
import {
  type LobbyMessage,
  type LobbyState,
  type LobbyVoiceState,
  newLobbyState,
  settled,
} from '../../engine/lobby/lobby.ts';
import { type LobbyCommands, lobbyRules } from '../../engine/lobby/rules.ts';
import { settingsOf } from '../../engine/lobby/settings.ts';
import type { LobbyDispatch, LobbyOutcomeFact } from '../../engine/lobby/topic.ts';
import { lobbyVoiceMember } from '../../engine/lobby/voice.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { type Refusal, refusalText } from '../../protocol/refusal.ts';
import type { LobbyStore } from '../../storage/lobby/port.ts';
import type { VoiceListener } from '../call/ports.ts';
import type { AggregatePorts, Ending, OutgoingDispatch } from '../runtime/aggregate.ports.ts';
import { AggregateShell, notifyListeners } from '../runtime/aggregate.ts';
import type { AggregateOwnership } from '../runtime/aggregateownership.ts';
import { keep, oldestFirst, Window, Windows } from '../runtime/cache.ts';
import type { Timer } from '../runtime/clock.ts';
import type { KeptStates } from '../runtime/keptstates.ts';
import { epochNumber } from '../runtime/ownerepoch.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { Notifier } from '../user/notifier.ts';
import type { FreshLobbies } from './fresh.ts';
import { type GameTable, LobbyGame } from './game.ts';
import type { Games } from './games.ts';
import { LOBBY_NOTIFICATIONS, type LobbyListener } from './lobby.notifications.ts';

interface LobbyPorts extends AggregatePorts {
  readonly lobbies: Pick<LobbyStore, 'load' | 'message'>;
  readonly fresh: FreshLobbies;
  readonly messageWindowMax: number;
  /** Receives the voice states of members. */
  readonly voiceListener: () => VoiceListener;
  readonly listener: LobbyListener;
  /** The attached sessions of lobbies whose actors failed. */
  readonly kept: KeptStates<readonly SessionRef[]>;
  readonly wheel: Wheel;
  readonly games: Games;
  /** A route to the open sessions of a user, on any shard. */
  readonly toEach: Notifier['recipientOf'];
  /** The session of a reference, or a route to it. */
  readonly route: Notifier['route'];
}

/**
 * For this long after the lobby was loaded, and after a user joined whose sessions the command did not name, the member
 * may have sessions that are not attached.
 */
const NEW_MS = 60_000;
/**
 * Most members that a dispatch is addressed to by user id, and recorded for. Beyond it a dispatch is sent only, and lost when this
 * shard crashes.
 */
const DIRECT_MAX = 256;

/** Members who have no attached session but may have an open one. Removes entries that are out of date, and those of members who left. */
function stillUnattached(
  unattached: Map<UserId, number>,
  missing: Set<UserId>,
  { sessions, members }: LobbyState,
  nowMs: number,
): readonly UserId[] {
  if (unattached.size === 0) return [];
  const attached = new Set([...sessions.values()].map(({ userId }) => userId));
  const still: UserId[] = [];
  for (const [id, untilMs] of unattached)
    if (nowMs >= untilMs || !members.has(id)) {
      unattached.delete(id);
      missing.delete(id);
    } else if (!attached.has(id)) still.push(id);
  return still;
}

/** Members in voice whose sessions are not attached. */
const strandedIn = ({ voiceStates, sessions }: LobbyState) =>
  [...voiceStates]
    .map(([userId, { session_id: sessionId }]) => ({ userId, sessionId }))
    .filter(({ sessionId }) => !sessions.has(sessionId));

/** Runs the effects of one lobby. */
export class LobbyShell extends AggregateShell<LobbyState, LobbyOutcomeFact, LobbyDispatch, ChannelId> {
  readonly #ports: LobbyPorts;
  /** Missed dispatches are looked up by the owners of users, so only the last number matters here. */
  protected override readonly keptMax = 1;
  readonly #windows = new Windows();
  readonly #send: Send<LobbyState>;
  /** The session of each reference in the state. Rules know sessions by reference; only deliveries need the session. */
  readonly #routes = new WeakMap<SessionRef, Recipient>();
  /**
   * Members who may have sessions that are not attached, and until when, Unix milliseconds: dispatches are addressed to them
   * too. Empty in standalone mode.
   */
  readonly #unattached = new Map<UserId, number>();
  /** Unattached members who were addressed with dispatches that no record has. */
  readonly #missing = new Set<UserId>();
  /** When the last dispatch that is in no record was sent, Unix milliseconds. */
  #unrecordedMs = Number.NEGATIVE_INFINITY;
  #game: LobbyGame | null = null;
  #isFresh = false;
  /** The next change that depends on time alone, Unix milliseconds. */
  #due: { readonly atMs: number; readonly timer: Timer } | null = null;
  /** Whether the listener for voice has a call. The state may be ahead: its last facts may never become durable. */
  #isCallRunning = false;

  constructor(id: string, ports: LobbyPorts, send: Send<LobbyState>) {
    super(id as ChannelId, lobbyRules, ports, send);
    this.#ports = ports;
    this.#send = send;
  }

  /** Work that runs a command through the rules of lobbies. */
  command<K extends keyof LobbyCommands>(
    type: K,
    input: LobbyCommands[K]['input'],
    authority: Authority,
    answer: (reply: Reply<LobbyCommands[K]['value']>) => void,
    fault: (error: Error) => void,
    commandKey: string | null = null,
  ): Work<LobbyState> {
    return this.deciding(
      (state) => lobbyRules.needs(state, type, input, authority),
      (state, env) =>
        lobbyRules.decide(state, type, input, authority, {
          ...{ ...env, unattached: this.#unattached, missing: this.#missing },
          unrecordedMs: this.#unrecordedMs,
        }),
      answer,
      fault,
      commandKey,
    );
  }

  override adopt(state: LobbyState): void {
    super.adopt(state);
    this.#windows.add(state.messages, oldestFirst(this.#ports.messageWindowMax));
    const untilMs = this.#ports.clock.now() + NEW_MS;
    if (this.epoch !== null) for (const id of state.members.keys()) this.#unattached.set(id, untilMs);
    this.#play(state);
    this.#ports.listener.loaded?.(this.id, this.#kept());
    this.#ports.kept.drop(this.id);
    if (state.voiceStates.size === 0) return;
    const dropStranded = (): void => {
      for (const input of this.state === state ? strandedIn(state) : [])
        this.#send({ type: 'work', work: this.command('dropVoice', input, SYSTEM, ignore, ignore) });
    };
    this.#ports.wheel.after(dropStranded, this.epoch ? NEW_MS : 0);
  }

  /** Starts the game that the lobby's settings name, and ends a game that they no longer name. */
  play(): void {
    this.#send({
      type: 'work',
      work: { run: (state) => this.#play(state), refuse: ignore, fault: ignore },
    });
  }

  #play(state: LobbyState): void {
    const { games } = this.#ports;
    const { game: name } = settingsOf(state.lobby);
    if (this.#game && this.#game.name !== name) {
      this.#game.close('changed');
      this.#game = null;
    }
    const handlers = games.get(name);
    if (this.#game || !handlers || name === null) return;
    this.#game = new LobbyGame(name, handlers, this.#tableOf(state), games.ports);
    this.#game.start();
  }

  /**
   * Work that passes a member's message to the game, or without a game to all connected members. The message is no fact:
   * it is not stored and waits for no commit.
   */
  speak(
    authority: Authority,
    type: string,
    data: unknown,
    answer: (reply: Reply<null>) => void,
    fault: (error: Error) => void,
  ): Work<LobbyState> {
    const { userId } = authority.by;
    const run = (state: LobbyState): void => {
      const game = this.#game;
      const input = { game: game && { isOver: game.over, hasJoined: game.hasJoined(userId) } };
      const env = { nowMs: this.#ports.clock.now(), nextId: this.#ports.nextId };
      const may = lobbyRules.decide(state, 'authorizeGameMessage', input, authority, env);
      if (may.ok && game) game.message(userId, type, data);
      else if (may.ok) this.#tell(state, type, data, userId, null);
      answer(may.ok ? { ok: true, value: null } : may);
    };
    return { run, refuse: (no) => answer(refused(no)), fault };
  }

  /** One body for all recipients. */
  #tell(state: LobbyState, type: string, data: unknown, from: string | null, userId: string | null): number {
    const t = 'GUILDHALL_LOBBY_MESSAGE';
    const d = { lobby_id: this.id, user_id: from, type, data };
    const sessions = this.#routed(state.sessions.values());
    const of = userId === null ? sessions : sessions.filter((session) => session.userId === userId);
    const to = directRecipients(of, t);
    const body = this.body(t, d);
    for (const session of to) session.deliver(body);
    return to.length;
  }

  #routed(sessions: Iterable<SessionRef>): Recipient[] {
    const routed: Recipient[] = [];
    for (const session of sessions) {
      let route = this.#routes.get(session);
      if (!route) {
        route = this.#ports.route(session);
        this.#routes.set(session, route);
      }
      routed.push(route);
    }
    return routed;
  }

  #tableOf(state: LobbyState): GameTable {
    const ask = <K extends keyof LobbyCommands>(type: K, input: LobbyCommands[K]['input']) =>
      new Promise<void>((resolve, reject) => {
        const answer = (reply: Reply<unknown>): void =>
          reply.ok ? resolve() : reject(asError(reply.refusal));
        this.#send({ type: 'work', work: this.command(type, input, SYSTEM, answer, reject) });
      });
    return {
      state,
      tell: (type, data, from, userId) => this.#tell(state, type, data, from, userId),
      setMetadata: (metadata) => ask('updateLobby', { change: { metadata }, members: null }),
      kick: (userId) => ask('removeMember', { userId }),
      close: () => ask('deleteLobby', {}),
    };
  }

  /** The sessions of the actor before, if it failed here. */
  #kept(): readonly SessionRef[] {
    return this.#ports.kept.of(this.id, epochNumber(this.epoch)) ?? [];
  }

  protected async fetch(): Promise<LobbyState | null> {
    const fresh = this.#ports.fresh.take(this.id);
    this.#isFresh = fresh !== null;
    const loaded = fresh
      ? { lobby: fresh, members: [], voiceStates: [] }
      : await this.#ports.lobbies.load(this.id);
    if (!loaded) return null;
    const state = { ...newLobbyState(loaded.lobby), messages: new Window<MessageId, LobbyMessage | null>() };
    for (const member of loaded.members) state.members.set(member.user.id, member);
    for (const voiceState of loaded.voiceStates) state.voiceStates.set(voiceState.user_id, voiceState);
    // On shards the actor addresses its members until their sessions are attached.
    if (this.epoch === null)
      for (const session of this.#kept()) state.sessions.set(session.sessionId, session);
    return state;
  }

  /** A lobby that was created here has had no other actor. */
  protected override recorded(ownership: AggregateOwnership): ReturnType<AggregateOwnership['records']> {
    return this.#isFresh ? Promise.resolve({ records: [], cut: false }) : super.recorded(ownership);
  }

  protected read(state: LobbyState, needs: Needs): Promise<void> | null {
    const keys = (needs.messages ?? []).map(({ id }) => id).filter((id) => !state.messages.has(id));
    if (keys.length === 0) return null;
    const fetch = async (ids: readonly MessageId[]) => {
      const rows = await Promise.all(ids.map((id) => this.#ports.lobbies.message(this.id, id)));
      const found = rows.filter((row) => row !== null);
      keep(state.messages, ids, found, ({ id }) => id);
    };
    return this.#windows.read([{ kind: 'message', keys, fetch }]);
  }

  protected outgoing(
    state: LobbyState,
    dispatch: LobbyDispatch,
    fact: LobbyOutcomeFact,
    nowMs: number,
  ): readonly OutgoingDispatch[] {
    const { t, d } = dispatch;
    this.tap(t, d);
    const to = directRecipients(this.#routed(dispatch.to), t);
    const { epoch } = this;
    if (epoch === null) return [{ t, d, to }];
    const { userIds, isForAll } = this.#addressees(state, dispatch, to, fact, nowMs);
    if (userIds.size > DIRECT_MAX) return [{ t, d, to }];
    if (userIds.size === 0) return [];
    const filter = applicationSessions(state.lobby.application_id);
    if (lobbyRules.isDurable(fact)) {
      const origin = epoch.direct({ t, d, filter }, [...userIds], nowMs, isForAll);
      return [{ t, d, to: [this.#ports.toEach(routesOf(userIds, filter))], origin }];
    }
    this.#unrecordedMs = nowMs;
    const here = new Set(to.map(({ userId }) => userId));
    const unattached = [...userIds].filter((id) => !here.has(id));
    for (const id of unattached) this.#missing.add(id);
    const also = unattached.length === 0 ? [] : [this.#ports.toEach(routesOf(unattached, filter))];
    const asOf = { ownerId: directStream(this.id), ...epoch.stream.shownAt(nowMs) };
    return [{ t, d, to: [...to, ...also], asOf }];
  }

  /**
   * The users who receive a dispatch: those with a session here, and members whose sessions may not be attached yet. Members
   * without sessions are not addressed, so that an update costs as much as it has readers.
   */
  #addressees(
    state: LobbyState,
    { t }: LobbyDispatch,
    to: readonly Recipient[],
    fact: LobbyOutcomeFact,
    nowMs: number,
  ): { readonly userIds: ReadonlySet<UserId>; readonly isForAll: boolean } {
    if (fact.type === 'lobbyMatched') return { userIds: new Set(fact.ticket.user_ids), isForAll: false };
    const userIds = new Set(to.map(({ userId }) => userId));
    const added = fact.type === 'lobbyMemberAdded' ? fact : null;
    if (added && !added.allSessions) this.#unattached.set(added.member.user.id, nowMs + NEW_MS);
    // A member who joins or leaves is the only recipient, wherever its sessions are.
    const isForOne = t === 'LOBBY_CREATE' || (t === 'LOBBY_DELETE' && fact.type === 'lobbyMemberRemoved');
    if (isForOne) {
      const removed = fact.type === 'lobbyMemberRemoved' ? fact.member : null;
      const member = added?.allSessions ? null : (added?.member ?? removed);
      if (member) userIds.add(member.user.id);
    } else
      for (const id of stillUnattached(this.#unattached, this.#missing, state, nowMs))
        if (id !== added?.member.user.id) userIds.add(id);
    return { userIds, isForAll: !isForOne };
  }

  protected number(_state: LobbyState, commit: number): void {
    this.#windows.number(commit);
  }

  protected trim(): void {
    this.#windows.trim(this.commits.settled);
  }

  protected notify(facts: readonly LobbyOutcomeFact[]): void {
    notifyListeners(LOBBY_NOTIFICATIONS, facts, {
      ...{ id: this.id, listener: this.#ports.listener, state: this.state, game: this.#game },
      play: () => this.play(),
    });
  }

  /** Changes of the call are reported with their dispatches; the start of idle time at once. */
  protected override afterwards(
    state: LobbyState,
    facts: readonly LobbyOutcomeFact[],
    nowMs: number,
  ): (() => void) | null {
    const voiceChanges = facts.flatMap((fact) => voiceChangeOf(this.id, state, fact) ?? []);
    const isDeleted = facts.some(lobbyRules.ends);
    const unsettled = !isDeleted && settled(state, nowMs) !== state.lobby;
    const extensionsDue = !isDeleted && extensionSettling(state, nowMs).length > 0;
    this.#watch(isDeleted ? null : state);
    if (voiceChanges.length === 0 && !unsettled && !extensionsDue) return null;
    const isCallRunning = state.voiceStates.size > 0;
    return () => {
      this.#isCallRunning = isCallRunning;
      for (const notify of voiceChanges) notify(this.#ports.voiceListener());
      if (unsettled) this.#settle('settle');
      if (extensionsDue) this.#settle('settleExtensions');
    };
  }

  #settle(type: 'settle' | 'settleExtensions'): void {
    this.#send({ type: 'work', work: this.command(type, {}, SYSTEM, ignore, ignore) });
  }

  /** Schedules the next change that depends on time alone; none of a deleted lobby. */
  #watch(state: LobbyState | null): void {
    const atMs = state && extensionDueMs(state);
    if (atMs === (this.#due?.atMs ?? null)) return;
    this.#due?.timer.cancel();
    this.#due = null;
    if (atMs === null) return;
    const run = (): void => {
      this.#due = null;
      this.#settle('settleExtensions');
      // Clocks differ slightly: a change that is not due yet is scheduled again.
      this.#watch(state);
    };
    const { clock, wheel } = this.#ports;
    this.#due = { atMs, timer: wheel.add(run, atMs - clock.now()) };
  }

  /** Only this actor knows the lobby's sessions and call. */
  protected occupied({ sessions, voiceStates }: LobbyState): boolean {
    // The state of a game exists only in memory.
    return sessions.size > 0 || voiceStates.size > 0 || this.#game?.over === false;
  }

  /** Users have other owners, who may not know which of the users' sessions ended meanwhile. */
  usersMoved(moved: (id: string) => boolean): void {
    const sessions = [...(this.state?.sessions.values() ?? [])].filter(({ userId }) => moved(userId));
    if (sessions.length > 0) this.#ports.listener.usersMoved(this.id, sessions);
  }

  /** The game and the call end with the actor; attached sessions are passed to its successor. */
  protected ended(state: LobbyState, ending: Ending): void {
    this.#due?.timer.cancel();
    this.#game?.close('stopped');
    if (ending === 'deleted') return;
    const because = ending === 'moved' || ending === 'interrupted' ? ending : undefined;
    if (state.voiceStates.size > 0 || this.#isCallRunning)
      this.#ports.voiceListener().ended(this.id, because && 'lobby', because);
    if (ending === 'moved') return;
    const sessions = [...state.sessions.values()];
    if (sessions.length === 0) return;
    if (ending === 'interrupted') this.#ports.kept.keep(this.id, epochNumber(this.epoch), sessions);
    this.#ports.listener.lost(this.id, sessions);
  }
}

const routesOf = (
  userIds: Iterable<UserId>,
  filter: SessionFilter,
): readonly (readonly [UserId, SessionFilter])[] => [...userIds].map((userId) => [userId, filter]);

/** A refusal as a game gets it. Invalid fields are arguments out of range. */
const asError = (no: Refusal): Error =>
  no.errors === undefined ? new Error(no.message) : new RangeError(refusalText(no));

const ignore = (): void => undefined;

type VoiceChange = (voiceListener: VoiceListener) => void;

/** What notifies the listener for voice of a fact; null if nothing does. Reads the state as of now. */
function voiceChangeOf(
  id: ChannelId,
  { voiceStates }: LobbyState,
  fact: LobbyOutcomeFact,
): VoiceChange | null {
  switch (fact.type) {
    case 'lobbyDeleted':
      return voiceStates.size === 0 ? null : (voiceListener) => voiceListener.ended(id);
    case 'lobbyVoiceChanged':
      return voiceMemberChange(id, fact.voiceState);
    case 'lobbyVoiceRepeated':
      return voiceMemberChange(id, voiceStates.get(fact.userId));
    default:
      return null;
  }
}

function voiceMemberChange(id: ChannelId, voiceState: LobbyVoiceState | undefined): VoiceChange | null {
  if (!voiceState) return null;
  const voiceMember = lobbyVoiceMember(voiceState);
  return (voiceListener) =>
    voiceMember ? voiceListener.voiceJoined(voiceMember) : voiceListener.voiceLeft(id, voiceState.user_id);
}
