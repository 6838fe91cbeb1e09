import { type Authority, SYSTEM } from '../../engine/authority.ts';
import {
  type CallFacts,
  callAudience,
  callDelete,
  callSeat,
  type PrivateCall,
} from '../../engine/call/ring.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  type PrivateFact,
  privateRules,
} from '../../engine/channel/private.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Subscriber } from '../../engine/fanout/body.ts';
import type { Dispatch, Needs } from '../../engine/guild/topic.ts';
import type { Reply } from '../../engine/outcome.ts';
import { hasBlocked } from '../../engine/social/relationships.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { RelationshipStore } from '../../storage/ports.relationships.ts';
import type { MessageStore, PrivateChannelStore, UserStore } from '../../storage/ports.ts';
import type { Seats } from '../call/ports.ts';
import { VoiceKeeper } from '../guild/guild.estate.ts';
import { type AggregatePorts, AggregateShell, type Outgoing } from '../runtime/aggregate.ts';
import type { Timer } from '../runtime/clock.ts';
import { keep, WindowReader } from '../runtime/reader.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { TimerWheel } from '../runtime/wheel.ts';
import { Window } from '../runtime/window.ts';
import { EVERY_EAR } from '../user/telling.ts';

export interface PrivateChannelPorts extends AggregatePorts {
  readonly privateChannels: Pick<PrivateChannelStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly relationships: Pick<RelationshipStore, 'among'>;
  readonly messageWindowMax: number;
  /** Sessions of a user that take what has no guild. */
  readonly listeners: (userId: UserId) => readonly Subscriber[];
  /** Ends ringing. */
  readonly wheel: Pick<TimerWheel, 'add'>;
  /** Hears where the users are in voice. */
  readonly seats: () => Seats;
}

const EPHEMERAL: Readonly<Record<keyof CallFacts | 'typingStarted' | 'blockChanged', true>> = {
  typingStarted: true,
  blockChanged: true,
  callStarted: true,
  callStateChanged: true,
  ringingChanged: true,
  callEnded: true,
};

/** Runs the effects of one private channel. */
export class PrivateChannelShell extends AggregateShell<PrivateChannelState, PrivateFact> {
  readonly refusals = { missing: refusal('UNKNOWN_CHANNEL'), full: refusal('API_OVERLOADED') };
  readonly #ports: PrivateChannelPorts;
  /** Who has missed something has it looked up: here only the last number counts. */
  protected override readonly keptMax = 1;
  readonly #reader = new WindowReader();
  readonly #send: Send<PrivateChannelState>;
  #ringing: Timer | null = null;
  /** Writes the call down for the next owner; null while the process is alone. */
  readonly #keeper: VoiceKeeper | null;

  constructor(id: string, ports: PrivateChannelPorts, send: Send<PrivateChannelState>) {
    super(id, ports, send);
    this.#ports = ports;
    this.#send = send;
    const { wheel } = ports;
    this.#keeper =
      this.tenure && new VoiceKeeper({ wheel, keep: () => this.#keepCall(), onFault: this.tenure.onFault });
  }

  /** Answers whether there is a call, of which what is written down must be kept fresh. */
  async #keepCall(): Promise<boolean> {
    const { state, tenure, fence } = this;
    if (!state || !tenure || !fence || this.over) return false;
    const { call } = state;
    if (call) await tenure.keep({ ownerId: this.id, fence, data: keptOf(call) });
    else await tenure.drop(this.id);
    return call !== null;
  }

  /** Work that runs a command through the rules of private channels. */
  command<K extends keyof PrivateCommands>(
    type: K,
    input: PrivateCommands[K]['input'],
    authority: Authority,
    answer: (reply: Reply<PrivateCommands[K]['value']>) => void,
    fault: (error: Error) => void,
    commandKey: string | null = null,
  ): Work<PrivateChannelState> {
    return this.deciding(
      (state) => privateRules.needs[type](input, state),
      (state, env) => privateRules.decide[type](state, input, authority.by, env),
      answer,
      fault,
      commandKey,
    );
  }

  protected async fetch(): Promise<PrivateChannelState | null> {
    const { privateChannels, users, relationships } = this.#ports;
    const [channel, kept] = await Promise.all([
      privateChannels.get(this.id as ChannelId),
      this.tenure?.snapshot(this.id) ?? null,
    ]);
    if (!channel) return null;
    const { recipientIds } = channel;
    const [recipients, relations] = await Promise.all([
      users.get(recipientIds),
      relationships.among(recipientIds),
    ]);
    return {
      channel,
      recipients: new Map(recipients.map((user) => [user.id as UserId, user])),
      messages: new Window(),
      nonces: new Map(),
      call: callOf(kept),
      blocked: recipientIds.some((userId) => hasBlocked(relations, userId)),
    };
  }

  /** A call that was on with the owner before goes on: everyone in it is told where. */
  override adopt(state: PrivateChannelState): void {
    super.adopt(state);
    const { call } = state;
    if (!call) return;
    // It goes on from here.
    this.#keeper?.changed();
    for (const voiceState of call.voiceStates.values()) {
      const seat = callSeat(voiceState);
      if (seat) this.#ports.seats().seated(seat);
    }
    this.#ring(call, this.#ports.clock.now());
  }

  /** A call is known here alone. */
  async handOver(): Promise<void> {
    const { state, tenure, fence } = this;
    const wasKept = await this.#keeper?.end();
    if (!tenure || !fence || !state) return;
    const { call } = state;
    if (call) await tenure.keep({ ownerId: this.id, fence, data: keptOf(call) }).catch(tenure.onFault);
    else if (wasKept) await tenure.drop(this.id).catch(tenure.onFault);
  }

  protected read(state: PrivateChannelState, needs: Needs): Promise<void> | null {
    const absent = needs.messages?.filter(({ id }) => !state.messages.has(id)) ?? [];
    if (absent.length === 0) return null;
    const fetch = async (keys: readonly string[]) => {
      const fresh = absent.filter(({ id }) => keys.includes(id));
      keep(state.messages, keys, await this.#ports.messages.get(this.id, fresh), ({ id }) => id);
    };
    return this.#reader.read([{ kind: 'message', keys: absent.map(({ id }) => id), fetch }]);
  }

  protected apply(state: PrivateChannelState, fact: PrivateFact, nowMs: number): readonly Outgoing[] {
    tableOf(privateRules.apply)[fact.type](state, fact);
    const dispatches = tableOf<readonly Dispatch[]>(privateRules.dispatches)[fact.type](state, fact);
    return dispatches.map(({ t, d, to }) => {
      const userIds = to.kind === 'users' ? to.userIds : state.channel.recipientIds;
      const sessions = userIds.flatMap((userId) => this.#ports.listeners(userId));
      this.tap(t, d);
      const told = { t, d, ears: EVERY_EAR };
      const origin = this.ephemeral(fact) ? null : this.direct(told, userIds, nowMs, to.kind !== 'users');
      return { t, d, to: directRecipients(sessions, t), origin };
    });
  }

  protected ephemeral(fact: PrivateFact): boolean {
    return fact.type in EPHEMERAL;
  }

  protected number(state: PrivateChannelState, commit: number): void {
    windowOf(state).nextCommit = commit;
  }

  protected trim(state: PrivateChannelState): void {
    windowOf(state).trim(this.#ports.messageWindowMax, this.commits.settled, 0, () => false);
  }

  protected follow(): void {}

  /** Who is in the call, and until when it rings, is followed as soon as it is told. */
  protected override afterwards(
    state: PrivateChannelState,
    facts: readonly PrivateFact[],
    nowMs: number,
  ): (() => void) | null {
    const moves = facts.flatMap((fact) => (fact.type === 'callStateChanged' ? [fact] : []));
    const rung = facts.some(
      ({ type }) => type === 'callStarted' || type === 'ringingChanged' || type === 'callEnded',
    );
    if (moves.length === 0 && !rung) return null;
    this.#keeper?.changed();
    const { call } = state;
    return () => {
      for (const { userId, voiceState } of moves) {
        const seat = callSeat(voiceState);
        if (seat) this.#ports.seats().seated(seat);
        else this.#ports.seats().unseated(this.id, userId);
      }
      if (rung) this.#ring(call, nowMs);
    };
  }

  /** Ringing ends by itself: whoever does nothing is rung no longer. */
  #ring(call: PrivateCall | null, nowMs: number): void {
    this.#ringing?.cancel();
    this.#ringing = null;
    if (!call || call.ringing.length === 0) return;
    const { ringUntilMs } = call;
    this.#ringing = this.#ports.wheel.add(() => {
      this.#ringing = null;
      const work = this.command('ringTimedOut', { ringUntilMs }, SYSTEM, ignore, ignore);
      this.#send({ type: 'work', work });
    }, ringUntilMs - nowMs);
  }

  /** A call is remembered here alone. */
  protected occupied({ call }: PrivateChannelState): boolean {
    return call !== null;
  }

  /** A call that was on is lost with what was known of it. */
  protected ended(state: PrivateChannelState, moved: boolean): void {
    this.#ringing?.cancel();
    void this.#keeper?.end();
    if (!state.call) return;
    this.#ports.seats().ended(this.id, moved ? 'private' : undefined);
    if (moved) return;
    // Whoever reads the channel next is not to find what its people were told is over.
    this.tenure?.drop(this.id).catch(this.tenure.onFault);
    const body = this.body('CALL_DELETE', callDelete(state, true));
    const sessions = callAudience(state).flatMap((userId) => this.#ports.listeners(userId));
    for (const session of directRecipients(sessions, 'CALL_DELETE')) session.deliver(body);
  }
}

/** A call as it is written down for the next owner. */
type KeptCall = Omit<PrivateCall, 'voiceStates'> & {
  readonly voiceStates: readonly [
    UserId,
    PrivateCall['voiceStates'] extends ReadonlyMap<UserId, infer S> ? S : never,
  ][];
};

const keptOf = (call: PrivateCall): KeptCall => ({ ...call, voiceStates: [...call.voiceStates] });

const callOf = (kept: object | null): PrivateCall | null => {
  const call = kept as KeptCall | null;
  return call && { ...call, voiceStates: new Map(call.voiceStates) };
};

type Table<Answer> = Record<PrivateFact['type'], (state: PrivateChannelState, fact: PrivateFact) => Answer>;
const tableOf = <Answer = void>(table: unknown): Table<Answer> => table as Table<Answer>;

const ignore = (): void => undefined;

/** `fetch` made it one. */
const windowOf = (state: PrivateChannelState) => state.messages as unknown as Window<string, unknown>;
