import { type Authority, SYSTEM } from '../../engine/authority.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Subscriber } from '../../engine/fanout/body.ts';
import type { Needs } from '../../engine/guild/topic.ts';
import {
  idleAtMs,
  type LobbyLink,
  type LobbyMember,
  type LobbyMessage,
  type LobbyState,
  newLobbyState,
} from '../../engine/lobby/lobby.ts';
import { EPHEMERAL, type LobbyCommands, lobbyRules, messageNeeded } from '../../engine/lobby/rules.ts';
import { settled } from '../../engine/lobby/sessions.ts';
import type { LobbyDispatch, Told } from '../../engine/lobby/topic.ts';
import { lobbySeat } from '../../engine/lobby/voice.ts';
import { type Reply, refused } from '../../engine/outcome.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { LobbyStore } from '../../storage/ports.lobbies.ts';
import type { Seats } from '../call/ports.ts';
import { type AggregatePorts, AggregateShell, type Outgoing } from '../runtime/aggregate.ts';
import { keep, WindowReader } from '../runtime/reader.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import { Window } from '../runtime/window.ts';
import type { FreshLobbies } from './fresh.ts';

export interface LobbyPorts extends AggregatePorts {
  readonly lobbies: Pick<LobbyStore, 'load' | 'message'>;
  readonly fresh: FreshLobbies;
  readonly messageWindowMax: number;
  /** Hears where members are in voice. */
  readonly seats: () => Seats;
  readonly listener: LobbyListener;
}

/** Told of what is durable, or over. */
export interface LobbyListener {
  /** A user is a member now: the sessions it has open belong to the lobby. */
  memberJoined(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId): void;
  /** These sessions have nothing to do with it any more. */
  left(lobbyId: ChannelId, sessions: Iterable<Subscriber>): void;
  /** Something was said; `link` null: the lobby is not linked. */
  said(lobbyId: ChannelId, link: LobbyLink | null, message: LobbyMessage): void;
  /** Ends at this time unless somebody comes, Unix milliseconds. */
  idle(atMs: number): void;
  deleted(lobbyId: ChannelId, link: LobbyLink | null): void;
  /** The actor ended with these attached: they are to be handed to its successor. */
  lost(lobbyId: ChannelId, sessions: readonly Subscriber[]): void;
}

/** Runs the effects of one lobby. */
export class LobbyShell extends AggregateShell<LobbyState, Told> {
  readonly refusals = { missing: refusal('UNKNOWN_LOBBY'), full: refusal('API_OVERLOADED') };
  readonly #ports: LobbyPorts;
  readonly #reader = new WindowReader();
  readonly #send: Send<LobbyState>;

  constructor(id: string, ports: LobbyPorts, send: Send<LobbyState>) {
    super(id, ports, send);
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
  ): Work<LobbyState> {
    const id = messageNeeded(type, input);
    return this.deciding(
      () => (id === null ? {} : { messages: [{ channelId: this.id as ChannelId, id }] }),
      (state, env) =>
        state.gone
          ? refused(this.refusals.missing)
          : lobbyRules.decide[type](state, input, authority.by, env),
      answer,
      fault,
    );
  }

  protected async fetch(): Promise<LobbyState | null> {
    const fresh = this.#ports.fresh.take(this.id);
    const loaded = fresh
      ? { lobby: fresh, members: [] }
      : await this.#ports.lobbies.load(this.id as ChannelId);
    if (!loaded) return null;
    const state = { ...newLobbyState(loaded.lobby), messages: new Window<MessageId, LobbyMessage | null>() };
    for (const member of loaded.members) state.members.set(member.user.id as UserId, member);
    return state;
  }

  protected read(state: LobbyState, needs: Needs): Promise<void> | null {
    const keys = (needs.messages ?? []).map(({ id }) => id).filter((id) => !state.messages.has(id));
    if (keys.length === 0) return null;
    const fetch = async (ids: readonly string[]) => {
      const rows = await Promise.all(
        ids.map((id) => this.#ports.lobbies.message(this.id as ChannelId, id as MessageId)),
      );
      const found = rows.filter((row) => row !== null);
      keep(state.messages, ids, found, ({ id }) => id);
    };
    return this.#reader.read([{ kind: 'message', keys, fetch }]);
  }

  protected apply(state: LobbyState, fact: Told): readonly Outgoing[] {
    tableOf(lobbyRules.apply)[fact.type](state, fact);
    const dispatches = tableOf<readonly LobbyDispatch[]>(lobbyRules.dispatches)[fact.type](state, fact);
    return dispatches.map(({ t, d, to }) => {
      this.tap(t, d);
      return { t, d, to: directRecipients(to, t) };
    });
  }

  protected ephemeral(fact: Told): boolean {
    return EPHEMERAL.has(fact.type);
  }

  protected number(state: LobbyState, commit: number): void {
    windowOf(state).nextCommit = commit;
  }

  protected trim(state: LobbyState): void {
    windowOf(state).trim(this.#ports.messageWindowMax, this.commits.settled, 0, () => false);
  }

  protected follow(facts: readonly Told[]): void {
    const { listener } = this.#ports;
    const id = this.id as ChannelId;
    for (const fact of facts) {
      if (fact.type === 'lobbyMemberAdded') this.#joined(fact.applicationId, fact.member);
      else if (fact.type === 'lobbyMemberRemoved') listener.left(id, fact.sessions);
      else if (fact.type === 'lobbyMessageCreated') this.#said(fact.message);
      else if (fact.type === 'lobbyDeleted') {
        listener.left(id, this.state?.sessions.values() ?? []);
        listener.deleted(id, fact.lobby.linked);
        this.leave();
      } else if ('lobby' in fact) {
        const atMs = idleAtMs(fact.lobby);
        if (atMs !== null) listener.idle(atMs);
      }
    }
  }

  #joined(applicationId: ApplicationId, { user }: LobbyMember): void {
    this.#ports.listener.memberJoined(this.id as ChannelId, applicationId, user.id as UserId);
  }

  #said(message: LobbyMessage): void {
    this.#ports.listener.said(this.id as ChannelId, this.state?.lobby.linked ?? null, message);
  }

  /** Who is in the call is followed as soon as it is told; since when nobody is here, as soon as it is so. */
  protected override afterwards(
    state: LobbyState,
    facts: readonly Told[],
    nowMs: number,
  ): (() => void) | null {
    const seats = this.#seatsAfter(state, facts);
    const unsettled = !state.gone && settled(state, nowMs) !== state.lobby;
    if (seats.length === 0 && !unsettled) return null;
    return () => {
      for (const tell of seats) tell(this.#ports.seats());
      if (unsettled) this.#send({ type: 'work', work: this.command('settle', {}, SYSTEM, ignore, ignore) });
    };
  }

  #seatsAfter(state: LobbyState, facts: readonly Told[]): ((seats: Seats) => void)[] {
    return facts.flatMap((fact): ((seats: Seats) => void)[] => {
      if (fact.type === 'lobbyDeleted')
        return state.voiceStates.size === 0 ? [] : [(seats) => seats.ended(this.id)];
      const voiceState =
        fact.type === 'lobbyVoiceChanged'
          ? fact.voiceState
          : fact.type === 'lobbyVoiceRepeated'
            ? state.voiceStates.get(fact.userId)
            : undefined;
      if (!voiceState) return [];
      const seat = lobbySeat(voiceState);
      return [(seats) => (seat ? seats.seated(seat) : seats.unseated(this.id, voiceState.user_id))];
    });
  }

  /** Its sessions and its call are remembered here alone. */
  protected occupied({ sessions, gone }: LobbyState): boolean {
    return sessions.size > 0 && !gone;
  }

  /** What was on is lost with the actor; who is connected still is. */
  protected ended(state: LobbyState): void {
    if (state.gone) return;
    if (state.voiceStates.size > 0) this.#ports.seats().ended(this.id);
    const sessions = [...state.sessions.values()];
    if (sessions.length > 0) this.#ports.listener.lost(this.id as ChannelId, sessions);
  }
}

type Table<Answer> = Record<Told['type'], (state: LobbyState, fact: Told) => Answer>;
const tableOf = <Answer = void>(table: unknown): Table<Answer> => table as Table<Answer>;

const ignore = (): void => undefined;

/** `fetch` made it one. */
const windowOf = (state: LobbyState) => state.messages as unknown as Window<string, unknown>;
