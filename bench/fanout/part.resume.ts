import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { FrameSink } from '../../actors/session/ports.ts';
import { createActors } from '../../compose/actors.ts';
import { foundationOf } from '../../compose/foundation.ts';
import { DEFAULTS } from '../../config/config.ts';
import { DispatchBody } from '../../engine/fanout/body.ts';
import { present } from '../../protocol/present.ts';
import { createOperator } from '../../services/operator/operator.ts';
import { openStorage } from '../../storage/open.ts';
import { laneFor } from '../../transports/gateway/codec/lane.ts';
import { READING } from './house.ts';
import type { Finding } from './parts.ts';
import { show, spreadOf, verdictOf } from './spread.ts';

const SESSIONS = 500;
const MISSED = 20;
const TARGET = 0.2;

/** A connection that encodes its frames and discards them. */
class Encoder implements FrameSink {
  readonly #lane = present(laneFor('json', ''));
  received = 0;

  dispatch(body: DispatchBody, seq: number): void {
    this.#lane.dispatch(body, seq);
    this.received += 1;
  }

  send(): void {}

  whenWritable(run: () => void): void {
    queueMicrotask(run);
  }

  close(): void {}
}

/** The actors over an in-memory database, with one guild and a bot in it. */
async function arrange() {
  const foundation = foundationOf({
    clock: new VirtualClock(),
    config: { ...DEFAULTS, rate_limits: false, log_level: 'silent' },
  });
  const storage = await openStorage();
  const house = createActors(foundation, storage, {
    gatewayUrl: () => 'ws://bench',
    publicUrl: () => 'http://bench',
  });
  const operator = createOperator({
    ...house,
    storage,
    nextId: foundation.nextId,
    nowMs: () => foundation.clock.now(),
    randomBytes: foundation.randomBytes,
    updateApplication: house.features.endpoints.update,
  });
  const { user: owner } = await operator.createUser({ username: 'owner' });
  const guild = await operator.createGuild({ name: 'Bench', ownerId: owner.id });
  const { bot, botToken } = await operator.createApplication({ name: 'Bot' });
  await operator.addMember({ guildId: guild.id, userId: bot.id, permissions: 8n });
  return { house, storage, token: botToken };
}

/** CPU microseconds per item of one batch of work. */
async function cpuOf(count: number, run: (index: number) => Promise<void>): Promise<number> {
  const since = process.cpuUsage();
  for (let index = 0; index < count; index += 1) await run(index);
  const { user, system } = process.cpuUsage(since);
  return (user + system) / count;
}

/** Measures a RESUME that replays twenty dispatches against IDENTIFY with READY and one small guild (G9). */
export async function measureResume(rounds: number): Promise<Finding> {
  const { house, storage, token } = await arrange();
  const { sessions } = house;
  const identifies: number[] = [];
  const resumes: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const opened: { readonly id: string; readonly seq: number }[] = [];
    const identified = await cpuOf(SESSIONS, async () => {
      const sink = new Encoder();
      const rest = { intents: READING, largeThreshold: 50, presence: null, version: 10, capabilities: 0 };
      const outcome = await sessions.identify({ token, shard: [0, 1], ...rest }, sink);
      if (outcome.kind !== 'open') throw new Error('A session did not open.');
      while (sink.received < 2) await new Promise((resolve) => setImmediate(resolve));
      const { session } = outcome;
      opened.push({ id: session.id, seq: session.seq });
      session.detach(sink, true);
      const [user] = house.users.sessions(session.principal.userId).slice(-1);
      for (let missed = 0; missed < MISSED; missed += 1)
        user?.deliver(new DispatchBody('MESSAGE_CREATE', { content: `No. ${missed}` }, 0));
    });
    const resumed = await cpuOf(SESSIONS, async (index) => {
      const { id: sessionId, seq } = present(opened[index]);
      const outcome = await sessions.resume({ token, sessionId, seq }, new Encoder());
      if (outcome.kind !== 'open') throw new Error('A session was not resumed.');
    });
    sessions.close();
    // The first round is a warm-up.
    if (round === 0) continue;
    identifies.push(identified);
    resumes.push(resumed);
  }
  await storage.close();
  const ratio = spreadOf(resumes.map((cpu, round) => cpu / present(identifies[round])));
  return {
    lines: [
      `${SESSIONS} sessions one after the other, ${rounds} rounds; CPU-µs each, median (min–max)`,
      `IDENTIFY, READY, one guild: ${show(spreadOf(identifies))}`,
      `RESUME of ${MISSED} dispatches: ${show(spreadOf(resumes))}`,
      `ratio ${show(ratio)}, target ≤ ${TARGET}: ${verdictOf(ratio, TARGET)}`,
    ],
    figures: { sessions: SESSIONS, missed: MISSED, rounds, identifies, resumes, ratio },
  };
}
