import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { LiveSession, Opening, Reopening, SessionBackend } from '../../../actors/session/backend.ts';
import type { FrameSink, Identify, Principal } from '../../../actors/session/ports.ts';
import type { SessionDeps, SessionSettings } from '../../../actors/session/sessions.ports.ts';
import { GatewaySessions } from '../../../actors/session/sessions.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import type { Authorization } from '../../../engine/oauth/authorization.ts';
import type { ReadyRelations } from '../../../engine/session/ready.ts';
import type { ApplicationId, GuildId, UserId } from '../../../protocol/ids.ts';
import { ALL_PRIVILEGED_FLAGS, INTENTS } from '../../../protocol/intents.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import type { Scope } from '../../../protocol/scopes.ts';
import type { SessionRequest } from '../../../protocol/sessionrequests.ts';

/** When the tokens of `actingFor` end, by the clock of `arrange`. */
export const TOKEN_ENDS_MS = new VirtualClock().now() + 604_800_000;

/** Lets everything that waits only for other promises happen. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

/** A connection that writes down what it gets. `room` false: the client does not read. */
export class FakeSink implements FrameSink {
  readonly sent: { seq: number; t: string; d: unknown; body: DispatchBody }[] = [];
  readonly controls: { op: number; d: unknown }[] = [];
  closedWith: number | null = null;
  room = true;
  readonly waiters: (() => void)[] = [];

  dispatch(body: DispatchBody, seq: number): void {
    this.sent.push({ seq, t: body.t, d: body.d, body });
  }

  send(op: number, d: unknown): void {
    this.controls.push({ op, d });
  }

  whenWritable(run: () => void): void {
    if (this.room) queueMicrotask(run);
    else this.waiters.push(run);
  }

  close(code: number): void {
    this.closedWith ??= code;
  }

  makeRoom(): void {
    for (const run of this.waiters.splice(0)) run();
  }

  get names(): string[] {
    return this.sent.map((each) => each.t);
  }

  get seqs(): number[] {
    return this.sent.map((each) => each.seq);
  }
}

export const BOT: Principal = {
  userId: '100' as UserId,
  bot: true,
  applicationId: '200' as ApplicationId,
  applicationFlags: ALL_PRIVILEGED_FLAGS,
  authorization: null,
};
const OTHER_BOT: Principal = { ...BOT, userId: '101' as UserId };
export const HUMAN: Principal = {
  userId: '102' as UserId,
  bot: false,
  applicationId: null,
  applicationFlags: 0,
  authorization: null,
};

/** An application that acts for the person; its token lasts a week from the clock's beginning. */
export const actingFor = (
  userId: string,
  scopes: readonly Scope[],
  change: Partial<Authorization> = {},
): Principal => {
  const applicationId = change.applicationId ?? ('300' as ApplicationId);
  const authorization = { id: `${userId}/${applicationId}`, applicationId, expiresMs: TOKEN_ENDS_MS };
  return {
    ...HUMAN,
    userId: userId as UserId,
    applicationId,
    authorization: { ...authorization, scopes: new Set(scopes), ...change },
  };
};

const user = (id: UserId): APIUser => ({
  id,
  username: 'u',
  discriminator: '0',
  global_name: null,
  avatar: null,
});

const NO_CIRCLE: ReadyRelations = { relationships: [], gameRelationships: [], presences: [], profiles: {} };

/** An engine of three guilds; every call is written down, and any can be made to fail or to wait. */
export class FakeBackend implements SessionBackend {
  readonly tokens = new Map<string, Principal>([
    ['bot', BOT],
    ['other', OTHER_BOT],
    ['human', HUMAN],
  ]);
  guildIds = ['1', '2', '3'].map((index) => String(BigInt(index) << 22n) as GuildId);
  lobbies: readonly object[] = [];
  readonly calls: unknown[][] = [];
  readonly live = new Set<LiveSession>();
  fault: string | null = null;
  /** The members that GUILD_CREATE shows. */
  guildMembers: readonly object[] = [];
  /** Calls wait for it. */
  gate: Promise<void> = Promise.resolve();

  #note(...call: unknown[]): void {
    this.calls.push(call);
    if (this.fault === call[0]) throw new Error(`planted fault in ${this.fault}`);
  }

  async authenticate(token: string): Promise<Principal | null> {
    await this.gate;
    this.#note('authenticate');
    return this.tokens.get(token) ?? null;
  }

  async open(session: LiveSession): Promise<Opening> {
    await this.gate;
    this.#note('open');
    this.live.add(session);
    const { userId, applicationId, applicationFlags } = session.principal;
    return {
      user: user(userId),
      application: applicationId && { id: applicationId, flags: applicationFlags },
      guildIds: session.authorization ? [] : this.guildIds,
      privateChannels: [{ id: '9', type: 1 }],
      relations: session.bot ? null : NO_CIRCLE,
      lobbies: session.authorization ? this.lobbies : [],
    };
  }

  async subscribe(session: LiveSession, guildId: GuildId): Promise<void> {
    await this.gate;
    this.#note('subscribe', guildId);
    session.deliver(new DispatchBody('GUILD_CREATE', { id: guildId, members: this.guildMembers }, 0));
  }

  /** Delivers the missed dispatches of a reopened session; false: some of them are lost. */
  reopening: (session: LiveSession, reopening: Reopening) => boolean = () => true;

  async reopen(session: LiveSession, reopening: Reopening): Promise<boolean> {
    await this.gate;
    this.#note('reopen', reopening);
    this.live.add(session);
    return this.reopening(session, reopening);
  }

  transferred(session: LiveSession): void {
    this.#note('surrendered', session.sessionId);
    this.live.delete(session);
  }

  ended(session: LiveSession): void {
    this.#note('ended', session.sessionId);
    this.live.delete(session);
  }

  ask(_session: LiveSession, { name, input }: SessionRequest): Promise<void> | void {
    if (name === 'members') return Promise.resolve(this.gate).then(() => this.#note(name, input));
    this.#note(name, input);
  }

  named(name: string): unknown[][] {
    return this.calls.filter((call) => call[0] === name);
  }
}

export const SETTINGS: SessionSettings = {
  resumeWindowMs: 90_000,
  replayFramesMax: 512,
  replayAgeMs: 150_000,
  sessionsMax: 1000,
  maxConcurrency: 1,
  sessionStartsPerDay: 1000,
  limited: false,
  shardingRequiredGuilds: 2500,
  hydrationsMax: 4,
  memberRequestsMax: 8,
  limitsMemberLists: () => true,
};

export function arrange(
  settings: Partial<SessionSettings> = {},
  deps: Partial<SessionDeps> = {},
  clock = new VirtualClock(),
) {
  const wheel = new TimerWheel(clock);
  const backend = new FakeBackend();
  const faults: unknown[] = [];
  let made = 0;
  const sessions = new GatewaySessions({
    settings: { ...SETTINGS, ...settings },
    backend,
    wheel,
    nowMs: () => clock.monotonic(),
    unixMs: () => clock.now(),
    randomBytes: (size) => new Uint8Array(size).fill(++made),
    gatewayUrl: () => 'ws://127.0.0.1:3000',
    onFault: (error) => faults.push(error),
    ...deps,
  });
  return { clock, wheel, backend, faults, sessions };
}

export const identifyWith = (change: Partial<Identify> = {}): Identify => ({
  token: 'bot',
  version: 10,
  intents: INTENTS.GUILDS,
  shard: [0, 1],
  largeThreshold: 50,
  presence: null,
  capabilities: 0,
  ...change,
});

export const dispatchOf = (content: string, bornMs = 0) =>
  new DispatchBody('MESSAGE_CREATE', { content }, bornMs);
