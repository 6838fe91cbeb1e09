import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import { ALL_SESSIONS } from '../../engine/fanout/direct.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, type By, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import { callVoiceMember, type PrivateCall } from '../../engine/privatechannel/calls.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  type PrivateFact,
  type PrivateNeeds,
  privateRules,
  privateState,
  reachOf,
} from '../../engine/privatechannel/rules.ts';
import type { Acquaintance } from '../../engine/social/reach.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { CommandRecord } from '../../storage/cluster/port.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { PrivateChannelStore } from '../../storage/privatechannel/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { VoiceListener } from '../call/ports.ts';
import {
  addMessageWindows,
  pinReads,
  reactionReads,
  recallNonces,
  voteReads,
} from '../channel/messagereads.ts';
import type { AggregatePorts, Ending, OutgoingDispatch, Signing } from '../runtime/aggregate.ports.ts';
import { AggregateShell } from '../runtime/aggregate.ts';
import { keep, oldestFirst, Window, type WindowRead, Windows } from '../runtime/cache.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { acquaintanceOf, type ReachPorts } from './acquaintance.ts';
import { StrandedCallers } from './strandedcallers.ts';

export interface PrivateChannelPorts extends AggregatePorts, Signing, ReachPorts {
  readonly privateChannels: Pick<PrivateChannelStore, 'get' | 'call'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly messages: Pick<MessageStore, 'get' | 'pinTimes' | 'reactionsOf' | 'votesOf'>;
  readonly messageWindowMax: number;
  /** Sessions of a user that receive dispatches without a guild. */
  readonly listeners: (userId: UserId) => readonly Recipient[];
  /** Whether the user still has the session; rejects while no shard owns the user. */
  readonly keepsSession: (userId: UserId, sessionId: string) => Promise<boolean>;
  readonly resumeWindowMs: number;
  /** Ends ringing, and delays the look for callers without a session. */
  readonly wheel: Wheel;
  /** Receives the voice states of the users. */
  readonly voiceListener: () => VoiceListener;
  /** The channel's actor ended in a call, which continues as soon as the channel is loaded again. */
  readonly interrupted: (id: ChannelId) => void;
}

/**
 * The cached relations of the recipients are read again after this time. A change usually reaches the owner before its
 * reply is sent; this bound covers a shard that stored a change and could no longer reach the owner.
 */
const RELATIONS_KEPT_MS = 30_000;

/** The needs of one command, including reads that are not cached. */
interface ReadNeeds extends PrivateNeeds {
  readonly acquaintance?: { readonly by: By; readonly keep: (known: Acquaintance) => void };
}

/** Runs the effects of one private channel. */
export class PrivateChannelShell extends AggregateShell<
  PrivateChannelState,
  PrivateFact,
  Dispatch,
  ChannelId
> {
  readonly #ports: PrivateChannelPorts;
  /** Clients look up what they have missed, so only the last stream number matters here. */
  protected override readonly keptMax = 1;
  readonly #windows = new Windows();
  readonly #send: Send<PrivateChannelState>;
  #ringing: Timer | null = null;
  readonly #stranded: StrandedCallers;
  /** Whether clients and the listener for voice have a call. The state may be ahead: its last facts may never become durable. */
  #showsCall = false;
  /** Incremented when the relations are invalidated, so that the result of an earlier read is discarded. */
  #relationsVersion = 0;
  /** When the relations were read, monotonic milliseconds. */
  #relationsReadMs = 0;

  constructor(id: string, ports: PrivateChannelPorts, send: Send<PrivateChannelState>) {
    super(id as ChannelId, privateRules, ports, send);
    this.#ports = ports;
    this.#send = send;
    const { wheel, resumeWindowMs, keepsSession } = ports;
    this.#stranded = new StrandedCallers({
      ...{ wheel, resumeWindowMs, keepsSession },
      callers: () => this.state?.call?.voiceStates ?? [],
      drop: (userId, sessionId) => {
        const work = this.command('dropCaller', { userId, sessionId }, SYSTEM, ignore, ignore);
        send({ type: 'work', work });
      },
    });
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
    const { by } = authority;
    let known: Acquaintance | null = null;
    const keepKnown = (found: Acquaintance): void => {
      known = found;
    };
    const needs = (state: PrivateChannelState): ReadNeeds => {
      this.#expireRelations(state);
      const own = privateRules.needs(state, type, input, authority);
      const unread = reachOf(state, privateRules.commands[type], input, by, known);
      if (unread === 'relations') return { ...own, relations: true };
      return unread === 'acquaintance' ? { ...own, acquaintance: { by, keep: keepKnown } } : own;
    };
    return this.deciding(
      needs,
      (state, env) => privateRules.decide(state, type, input, authority, { ...env, acquaintance: known }),
      answer,
      fault,
      commandKey,
    );
  }

  #expireRelations(state: PrivateChannelState): void {
    if (!state.relations || this.#ports.clock.monotonic() - this.#relationsReadMs <= RELATIONS_KEPT_MS)
      return;
    this.#relationsVersion += 1;
    state.relations = null;
  }

  /**
   * Owners of other aggregates have changed. A crashed shard may have stored a block without notifying this owner, so the
   * relations are read again; and it may have been the only one that knew a session of the call.
   */
  ownersChanged(): void {
    this.#relationsVersion += 1;
    const { state } = this;
    if (!state) return;
    state.relations = null;
    if (!state.call) return;
    this.#send({ type: 'work', work: this.command('applyBlock', {}, SYSTEM, ignore, ignore) });
    this.#stranded.lookLater();
  }

  protected async fetch(): Promise<PrivateChannelState | null> {
    const { privateChannels, users, relationships } = this.#ports;
    const [channel, call] = await Promise.all([privateChannels.get(this.id), privateChannels.call(this.id)]);
    if (!channel) return null;
    const { recipientIds } = channel;
    const version = this.#relationsVersion;
    this.#relationsReadMs = this.#ports.clock.monotonic();
    const [recipients, relations] = await Promise.all([
      users.get([...recipientIds]),
      channel.group ? [] : relationships.among(recipientIds),
    ]);
    const state = privateState(channel, recipients, version === this.#relationsVersion ? relations : null);
    return { ...state, messages: new Window(), pins: new Window(), reacted: new Window(), call };
  }

  /** Restores nonces, so that a message sent again is not stored twice, even if an earlier owner stored it. */
  protected override recall(state: PrivateChannelState, records: readonly CommandRecord[]): void {
    recallNonces(state, records);
  }

  /** A call of the previous owner continues: every voice member receives the new endpoint. */
  override adopt(state: PrivateChannelState): void {
    super.adopt(state);
    this.#windows.add(state.messages, oldestFirst(this.#ports.messageWindowMax));
    addMessageWindows(this.#windows, state);
    const { call } = state;
    if (!call) return;
    this.#showsCall = true;
    for (const voiceState of call.voiceStates.values()) {
      const voiceMember = callVoiceMember(voiceState);
      if (voiceMember) this.#ports.voiceListener().voiceJoined(voiceMember);
    }
    if ([...call.voiceStates.values()].some(({ self_stream }) => self_stream))
      this.#send({ type: 'work', work: this.command('endStreams', {}, SYSTEM, ignore, ignore) });
    this.#ring(call, this.#ports.clock.now());
    this.#stranded.lookLater(this.epoch ? undefined : 0);
  }

  protected read(state: PrivateChannelState, needs: ReadNeeds): Promise<void> | null {
    const waits: Promise<void>[] = [];
    const { acquaintance } = needs;
    if (acquaintance)
      waits.push(
        readAcquaintance(this.#ports, state, acquaintance.by).then((found) => acquaintance.keep(found)),
      );
    const rows = this.#windows.read([
      ...(needs.relations && !state.relations ? [this.#relationsRead(state)] : []),
      ...this.#messagesRead(state, needs),
      ...pinReads(state, this.id, needs.pins ?? [], this.#ports.messages),
      ...reactionReads(state, this.id, needs.reactions ?? [], this.#ports.messages),
      ...voteReads(state, this.id, needs.votes ?? [], this.#ports.messages),
    ]);
    if (rows) waits.push(rows);
    return waits.length > 0 ? Promise.all(waits).then(() => undefined) : null;
  }

  #messagesRead(state: PrivateChannelState, needs: PrivateNeeds): WindowRead[] {
    const absent = needs.messages?.filter(({ id }) => !state.messages.has(id)) ?? [];
    if (absent.length === 0) return [];
    const fetch = async (keys: readonly MessageId[]) => {
      const fresh = absent.filter(({ id }) => keys.includes(id));
      keep(state.messages, keys, await this.#ports.messages.get(this.id, fresh), ({ id }) => id);
    };
    return [{ kind: 'message', keys: absent.map(({ id }) => id), fetch }];
  }

  /** Keyed by version, so that a command after a change does not join a read that began before the change. */
  #relationsRead(state: PrivateChannelState): WindowRead {
    const version = this.#relationsVersion;
    const fetch = async () => {
      const atMs = this.#ports.clock.monotonic();
      const relations = await this.#ports.relationships.among(state.channel.recipientIds);
      if (version !== this.#relationsVersion) return;
      state.relations = relations;
      this.#relationsReadMs = atMs;
    };
    return { kind: 'relations', keys: [String(version)], fetch };
  }

  protected outgoing(
    state: PrivateChannelState,
    dispatch: Dispatch,
    fact: PrivateFact,
    nowMs: number,
  ): readonly OutgoingDispatch[] {
    const { t, d, to } = this.#ports.sign?.(dispatch) ?? dispatch;
    const userIds = to.kind === 'users' ? to.userIds : state.channel.recipientIds;
    const sessions = userIds.flatMap((userId) => this.#ports.listeners(userId));
    this.tap(t, d);
    const notification = { t, d, filter: ALL_SESSIONS };
    const isStored = privateRules.isDurable(fact);
    const origin =
      (isStored && this.epoch?.direct(notification, userIds, nowMs, to.kind !== 'users')) || null;
    return [{ t, d, to: directRecipients(sessions, t), origin }];
  }

  protected override applied(_state: PrivateChannelState, { type }: PrivateFact): void {
    if (type === 'relationsForgotten' || type === 'recipientReplaced') this.#relationsVersion += 1;
  }

  protected number(_state: PrivateChannelState, commit: number): void {
    this.#windows.number(commit);
  }

  protected trim(): void {
    this.#windows.trim(this.commits.settled);
  }

  protected notify(): void {}

  /** Voice members and ringing are updated when the dispatches have left. */
  protected override afterwards(
    state: PrivateChannelState,
    facts: readonly PrivateFact[],
    nowMs: number,
  ): (() => void) | null {
    const stateChanges = facts.flatMap((fact) => (fact.type === 'callStateChanged' ? [fact] : []));
    const rung = facts.some(
      ({ type }) => type === 'callStarted' || type === 'ringingChanged' || type === 'callEnded',
    );
    if (stateChanges.length === 0 && !rung) return null;
    const { call } = state;
    return () => {
      this.#showsCall = call !== null;
      for (const { userId, voiceState } of stateChanges) {
        const voiceMember = callVoiceMember(voiceState);
        if (voiceMember) this.#ports.voiceListener().voiceJoined(voiceMember);
        else this.#ports.voiceListener().voiceLeft(this.id, userId);
      }
      if (rung) this.#ring(call, nowMs);
    };
  }

  /** Ringing ends by itself after its timeout. */
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

  /** Ringing, and the sessions that the listener for voice has. */
  protected occupied({ call }: PrivateChannelState): boolean {
    return call !== null;
  }

  /** The next actor continues a running call, here or at another owner. */
  protected ended({ call }: PrivateChannelState, ending: Ending): void {
    this.#ringing?.cancel();
    this.#stranded.end();
    if (!call && !this.#showsCall) return;
    const because = ending === 'moved' ? 'moved' : 'interrupted';
    this.#ports.voiceListener().ended(this.id, 'private', because);
    if (because === 'interrupted') this.#ports.interrupted(this.id);
  }
}

/** In a channel of two users. Not cached: guilds, installs and choices change without the channel's owner. */
function readAcquaintance(
  ports: ReachPorts,
  { channel }: PrivateChannelState,
  { userId }: By,
): Promise<Acquaintance> {
  const other = channel.recipientIds.find((id) => id !== userId) ?? userId;
  return acquaintanceOf(ports, userId, other);
}

const ignore = (): void => undefined;
