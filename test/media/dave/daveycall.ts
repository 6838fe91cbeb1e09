import { randomBytes } from 'node:crypto';
import davey from '@snazzah/davey';
import type { DaveDelivery, DaveEffect, DaveOptions } from '../../../media/dave/delivery.ts';
import { openDaveDelivery } from '../../../media/dave/group.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';

export const GROUP_ID = '1090000000000000001';
const AUDIO = 0;

export type Down =
  | { readonly kind: 'json'; readonly op: number; readonly d: Record<string, unknown> }
  | { readonly kind: 'binary'; readonly op: number; readonly payload: Buffer };
export type Up =
  | { readonly op: number; readonly payload: Buffer }
  | { readonly op: number; readonly id: number };

/** A repeatable source of numbers from 0 up to, not including, `below`. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A client with the reference implementation of the protocol, which handles each opcode as published voice clients do. */
export class DaveyClient {
  readonly userId: string;
  readonly up: Up[] = [];
  readonly down: Down[] = [];
  readonly seen = new Set<string>();
  readonly executed: number[] = [];
  readonly faults: string[] = [];
  session: davey.DAVESession | null = null;
  version = 0;
  /** Never sends op 23. */
  isSilent = false;
  /** Sends no commits. */
  isIdle = false;
  /** The client commits no proposal that contains these bytes. */
  refused: Buffer | null = null;
  private isRecovering = false;
  private readonly prepared = new Map<number, number>();

  constructor(userId: string) {
    this.userId = userId;
  }

  start(version: number): void {
    this.version = version;
    if (version > 0) this.begin();
  }

  begin(): void {
    if (this.session === null) this.session = new davey.DAVESession(1, this.userId, GROUP_ID);
    else this.session.reinit(1, this.userId, GROUP_ID);
    const payload = this.session.getSerializedKeyPackage();
    this.up.push({ op: VOICE_OP.DAVE_MLS_KEY_PACKAGE, payload });
  }

  recover(transitionId: number): void {
    this.isRecovering = true;
    this.up.push({ op: VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME, id: transitionId });
    this.begin();
  }

  get group(): davey.DAVESession {
    if (this.session === null) throw new Error(`${this.userId} has no session`);
    return this.session;
  }

  handle(message: Down): void {
    if (message.kind === 'json') this.json(message.op, message.d);
    else this.binary(message.op, message.payload);
  }

  private json(op: number, d: Record<string, unknown>): void {
    const id = d.transition_id as number;
    if (op === VOICE_OP.CLIENTS_CONNECT) for (const user of d.user_ids as string[]) this.seen.add(user);
    else if (op === VOICE_OP.CLIENT_DISCONNECT) this.seen.delete(d.user_id as string);
    else if (op === VOICE_OP.SESSION_DESCRIPTION) this.start(d.dave_protocol_version as number);
    else if (op === VOICE_OP.DAVE_PREPARE_TRANSITION) {
      this.prepared.set(id, d.protocol_version as number);
      if (id === 0) this.execute(0);
      else this.ready(id);
    } else if (op === VOICE_OP.DAVE_EXECUTE_TRANSITION) this.execute(id);
    else if (op === VOICE_OP.DAVE_PREPARE_EPOCH && d.epoch === 1) {
      this.version = d.protocol_version as number;
      this.begin();
    }
  }

  private execute(id: number): void {
    const version = this.prepared.get(id);
    if (version === undefined) return;
    this.version = version;
    this.prepared.delete(id);
    this.executed.push(id);
  }

  private ready(id: number): void {
    if (!this.isSilent) this.up.push({ op: VOICE_OP.DAVE_TRANSITION_READY, id });
  }

  private binary(op: number, payload: Buffer): void {
    if (op === VOICE_OP.DAVE_MLS_EXTERNAL_SENDER) this.group.setExternalSender(payload);
    else if (op === VOICE_OP.DAVE_MLS_PROPOSALS) this.proposals(payload);
    else {
      const id = payload.readUInt16BE(0);
      try {
        if (op === VOICE_OP.DAVE_MLS_WELCOME) this.group.processWelcome(payload.subarray(2));
        else this.group.processCommit(payload.subarray(2));
        this.isRecovering = false;
        this.prepared.set(id, this.version);
        this.ready(id);
      } catch (error) {
        this.faults.push(String(error));
        this.recover(id);
      }
    }
  }

  private proposals(payload: Buffer): void {
    let made: davey.ProposalsResult;
    try {
      made = this.group.processProposals(payload[0] as 0 | 1, payload.subarray(1), [...this.seen]);
    } catch (error) {
      // Proposals that crossed its own op 31 belong to a group it has left: only these may be invalid.
      if (!this.isRecovering) throw error;
      return;
    }
    if (made.commit === undefined || this.isIdle) return;
    if (this.refused !== null && payload.includes(this.refused)) return;
    const parts = made.welcome === undefined ? [made.commit] : [made.commit, made.welcome];
    this.up.push({ op: VOICE_OP.DAVE_MLS_COMMIT_WELCOME, payload: Buffer.concat(parts) });
  }

  seal(frame: Buffer): Buffer {
    return this.group.encryptOpus(frame);
  }

  open(from: string, frame: Buffer): Buffer {
    return this.group.decrypt(from, AUDIO, frame);
  }
}

/** A call: the delivery under test, its clients, and a network that keeps the order of each client and no other order. */
export class DaveyCall {
  readonly delivery: DaveDelivery;
  readonly clients = new Map<string, DaveyClient>();
  /** Members that the test itself plays, with the messages sent to them. */
  readonly guests = new Map<string, Down[]>();
  readonly effects: DaveEffect[] = [];
  nowMs = 1_000_000;
  private readonly pick: (below: number) => number;

  constructor(seed = 1, options: Partial<DaveOptions> = {}) {
    this.pick = seeded(seed);
    this.delivery = openDaveDelivery({
      groupId: GROUP_ID,
      required: true,
      transitionMs: 2000,
      randomBytes,
      ...options,
    });
  }

  join(userId: string, maxVersion = 1): DaveyClient {
    const client = new DaveyClient(userId);
    for (const other of this.clients.values())
      other.down.push({ kind: 'json', op: VOICE_OP.CLIENTS_CONNECT, d: { user_ids: [userId] } });
    const others = [...this.clients.keys(), ...this.guests.keys()];
    this.clients.set(userId, client);
    const effects = this.delivery.join(userId, maxVersion, this.nowMs);
    client.down.push(
      { kind: 'json', op: VOICE_OP.CLIENTS_CONNECT, d: { user_ids: others } },
      {
        kind: 'json',
        op: VOICE_OP.SESSION_DESCRIPTION,
        d: { dave_protocol_version: maxVersion === 0 ? 0 : this.delivery.version },
      },
    );
    this.carry(effects);
    return client;
  }

  /** A member without a client joins; the test sends its messages. */
  invite(userId: string): Down[] {
    const inbox: Down[] = [];
    for (const other of this.clients.values())
      other.down.push({ kind: 'json', op: VOICE_OP.CLIENTS_CONNECT, d: { user_ids: [userId] } });
    this.guests.set(userId, inbox);
    this.carry(this.delivery.join(userId, 1, this.nowMs));
    return inbox;
  }

  say(userId: string, op: number, payload: Uint8Array): void {
    this.carry(this.delivery.received(userId, op, payload, this.nowMs));
  }

  leave(userId: string): DaveyClient {
    const client = this.client(userId);
    this.clients.delete(userId);
    for (const other of this.clients.values())
      other.down.push({ kind: 'json', op: VOICE_OP.CLIENT_DISCONNECT, d: { user_id: userId } });
    this.carry(this.delivery.leave(userId, this.nowMs));
    return client;
  }

  client(userId: string): DaveyClient {
    const client = this.clients.get(userId);
    if (client === undefined) throw new Error(`no ${userId} in the call`);
    return client;
  }

  carry(effects: readonly DaveEffect[]): void {
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.type !== 'json' && effect.type !== 'binary') continue;
      for (const userId of effect.to) {
        const message: Down =
          effect.type === 'json'
            ? { kind: 'json', op: effect.op, d: effect.d as Record<string, unknown> }
            : { kind: 'binary', op: effect.op, payload: Buffer.from(effect.payload) };
        (this.guests.get(userId) ?? this.client(userId).down).push(message);
      }
    }
  }

  /** Delivers one message to either side. @returns false when none is in flight. */
  step(): boolean {
    const queues = [...this.clients.values()].flatMap((client) => [
      ...(client.up.length > 0 ? [{ client, isUp: true }] : []),
      ...(client.down.length > 0 ? [{ client, isUp: false }] : []),
    ]);
    const next = queues[this.pick(queues.length)];
    if (next === undefined) return false;
    if (next.isUp) this.upward(next.client);
    else {
      const message = next.client.down.shift();
      if (message !== undefined) next.client.handle(message);
    }
    return true;
  }

  private upward(client: DaveyClient): void {
    const message = client.up.shift();
    if (message === undefined) return;
    const { delivery, nowMs } = this;
    if ('payload' in message)
      this.carry(delivery.received(client.userId, message.op, message.payload, nowMs));
    else if (message.op === VOICE_OP.DAVE_TRANSITION_READY)
      this.carry(delivery.transitionReady(client.userId, message.id, nowMs));
    else this.carry(delivery.invalidCommitWelcome(client.userId, message.id, nowMs));
  }

  /** Advances the time and runs everything that is due. */
  pass(ms: number): void {
    const endMs = this.nowMs + ms;
    for (let turns = 0; turns < 1000; turns++) {
      while (this.step());
      const dueMs = this.delivery.deadlineMs;
      if (dueMs === null || dueMs > endMs) break;
      this.nowMs = Math.max(this.nowMs, dueMs);
      this.carry(this.delivery.tick(this.nowMs));
    }
    this.nowMs = endMs;
  }

  /** Runs until no message is in flight and nothing is due. */
  rest(limitMs = 120_000): void {
    const endMs = this.nowMs + limitMs;
    while (this.step());
    while (this.delivery.deadlineMs !== null) {
      if (this.delivery.deadlineMs > endMs) throw new Error('the call does not come to rest');
      this.nowMs = Math.max(this.nowMs, this.delivery.deadlineMs);
      this.carry(this.delivery.tick(this.nowMs));
      while (this.step());
    }
  }

  counted(what: string, result: string): number {
    return this.effects.filter(
      (effect) => effect.type === 'counted' && effect.what === what && effect.result === result,
    ).length;
  }

  closes(): { readonly userId: string; readonly code: number }[] {
    return this.effects.flatMap((effect) =>
      effect.type === 'close' ? [{ userId: effect.userId, code: effect.code }] : [],
    );
  }
}

export const FRAME = Buffer.from('an opus frame of some length');
export const user = (index: number): string => String(1_100_000_000_000_000_000n + BigInt(index));
