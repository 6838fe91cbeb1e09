import type { VoiceListener } from '../../actors/call/ports.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { FrameSink } from '../../actors/session/ports.ts';
import { createActors } from '../../compose/actors.ts';
import { foundationOf } from '../../compose/foundation.ts';
import { type Config, DEFAULTS } from '../../config/config.ts';
import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { createOperator } from '../../services/operator/operator.ts';
import { openStorage } from '../../storage/open.ts';
import type { Commit, Storage } from '../../storage/ports.ts';

/** A connection that remembers what it was sent. */
export class RecordingSink implements FrameSink {
  readonly dispatches: { readonly t: string; readonly d: unknown; readonly seq: number }[] = [];
  readonly sent: { readonly op: number; readonly d: unknown }[] = [];
  closed: { readonly code: number; readonly reason: string } | null = null;

  dispatch(body: DispatchBody, seq: number): void {
    this.dispatches.push({ t: body.t, d: body.d, seq });
  }

  send(op: number, d: unknown): void {
    this.sent.push({ op, d });
  }

  close(code: number, reason: string): void {
    this.closed = { code, reason };
  }

  whenWritable(run: () => void): void {
    queueMicrotask(run);
  }

  /** Names of what came, in order. */
  get names(): string[] {
    return this.dispatches.map(({ t }) => t);
  }
}

/**
 * A storage whose commits can be held back or made to fail. The next commit with a fact of the type `lose` is stored without its writer learning so;
 * the next one with a fact of the type `drop` fails.
 */
function steered(storage: Storage) {
  const held: Commit[] = [];
  const waiting: (() => void)[] = [];
  const steer = { hold: false, fail: false, lose: null as string | null, drop: null as string | null };
  const writer: Storage['writer'] = {
    get depth() {
      return storage.writer.depth + held.length;
    },
    async flush() {
      if (held.length > 0) await new Promise<void>((resolve) => waiting.push(resolve));
      await storage.writer.flush();
    },
    commit(commit) {
      const isDropped = commit.facts.some(({ type }) => type === steer.drop);
      if (isDropped) steer.drop = null;
      if (steer.fail || isDropped) queueMicrotask(() => commit.done(new Error('The disk is gone.')));
      else if (steer.hold) held.push(commit);
      else if (commit.facts.some(({ type }) => type === steer.lose)) {
        steer.lose = null;
        storage.writer.commit({ ...commit, done: () => commit.done(new Error('The database is gone.')) });
      } else storage.writer.commit(commit);
    },
  };
  const release = () => {
    steer.hold = false;
    for (const commit of held.splice(0)) storage.writer.commit(commit);
    for (const resume of waiting.splice(0)) resume();
  };
  return { storage: { ...storage, writer }, steer, release };
}

let shared: Promise<Storage> | null = null;
/** One database for all instances of a worker, whose files share modules: opening one takes seconds. */
const sharedStorage = () => (shared ??= openStorage());
/** All begin at the same time, so each gives out ids as a worker of its own. */
let opened = 0;

let namesakes = 0;

/** An operator of an instance. A name that a test before this one has left in the shared database gets a number. */
export function operatorOf(instance: ReturnType<typeof createActors>, storage: Storage) {
  const operator = createOperator({
    ...instance,
    storage,
    nowMs: () => instance.clock.now(),
    updateApplication: instance.features.endpoints.update,
  });
  const createUser: typeof operator.createUser = async (given) => {
    const isTaken = await storage.users.usernameTaken(given.username, null);
    return operator.createUser(isTaken ? { ...given, username: `${given.username}.${namesakes++}` } : given);
  };
  return { ...operator, createUser };
}

/** The actors over an in-memory database and a virtual clock, with one guild, its owner and a bot. */
export async function openInstance(
  config: Partial<Config> = {},
  seats?: VoiceListener,
  clock = new VirtualClock(),
) {
  const settings = { ...DEFAULTS, rate_limits: false, ...config };
  const foundation = foundationOf({
    clock,
    workerId: opened++ % 1_024,
    config: { ...settings, log_level: 'silent' },
  });
  const { storage, steer, release } = steered(await sharedStorage());
  const instance = createActors(foundation, storage, {
    gatewayUrl: () => 'ws://test',
    publicUrl: () => 'http://test',
    ...(seats && { voiceListener: () => seats }),
  });
  const operator = operatorOf(instance, storage);
  const { user: owner } = await operator.createUser({ username: 'owner' });
  const ownerId = owner.id as UserId;
  const guild = await operator.createGuild({ name: 'Test', ownerId });
  const guildId = guild.id as GuildId;
  const made = await operator.createApplication({ name: 'Bot' });
  const botId = made.bot.id as UserId;
  await operator.addMember({ guildId, userId: botId, permissions: 8n });

  async function connect(
    token = made.botToken,
    intents = ALL_INTENTS,
    shard: readonly [number, number] = [0, 1],
  ) {
    const sink = new RecordingSink();
    const outcome = await instance.sessions.identify(
      { token, intents, shard, largeThreshold: 50, presence: null, version: 10, capabilities: 0 },
      sink,
    );
    if (outcome.kind !== 'open') throw new Error(`not open: ${JSON.stringify(outcome)}`);
    return { sink, session: outcome.session };
  }

  return {
    ...instance,
    foundation,
    clock,
    storage,
    steer,
    release,
    operator,
    ownerId,
    guildId,
    botId,
    botToken: made.botToken,
    connect,
    /** Ends all of it: the database is shared, so what went on would act on rows of later instances, by another clock. */
    close(): Promise<void> {
      foundation.wheel.stop();
      return instance.close();
    },
  };
}

/** Waits until `done` holds, giving real I/O its turns; fails after about two seconds. */
export async function until(done: () => boolean, what = 'the expected'): Promise<void> {
  for (let turn = 0; turn < 2_000; turn += 1) {
    if (done()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error(`${what} did not happen`);
}
