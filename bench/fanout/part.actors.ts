import { createActor, setup } from 'xstate';
import { createSupervisor } from '../../actors/runtime/supervisor.ts';
import type { FrameSink } from '../../actors/session/ports.ts';
import { GatewaySessionActor, type SessionHost } from '../../actors/session/session.shell.ts';
import { type DispatchBody, type Recipient, ReplayBuffer } from '../../engine/fanout/body.ts';
import type { SessionId } from '../../protocol/ids.ts';
import { openCorpus } from './corpus.ts';
import { buildGuild, fanOut, messageCreate, READING, seeingMember, subscribe, userIdOf } from './house.ts';
import type { Finding } from './parts.ts';
import { ratiosOf, show, spreadOf } from './spread.ts';

const SESSIONS = 1000;
const MESSAGES = 300;
const WARMUP = 50;
const REPLAY = { framesMax: 2048, ageMs: 120_000, weightBytesMax: 16 * 1_048_576 };
const TARGET = 10;

/** A sink that only counts, at the end of both variants. */
class CountingSink implements FrameSink {
  static deliveries = 0;
  dispatch(_: DispatchBody, seq: number): void {
    CountingSink.deliveries += seq > 0 ? 1 : 0;
  }
  send(): void {}
  whenWritable(run: () => void): void {
    run();
  }
  close(): void {}
}

const HOST: SessionHost = {
  supervisor: createSupervisor(),
  replay: REPLAY,
  resumeWindowMs: 90_000,
  wheel: { add: () => ({ cancel: () => {} }), after: () => {}, pause: async () => false },
  journal: null,
  nextHandle: () => 1,
  nowMs: () => performance.now(),
  ask: () => {},
  conceal: () => {},
  reveal: () => {},
  ended: () => {},
  crashed: (_, error) => {
    throw error;
  },
};

/** The session as the server has it: its machine holds the lifecycle, and dispatches bypass it. */
function ourSession(index: number): Recipient {
  const session = new GatewaySessionActor(
    {
      sessionId: `session${index}` as SessionId,
      principal: {
        userId: userIdOf(index),
        bot: true,
        applicationId: null,
        applicationFlags: 0,
        authorization: null,
      },
      intents: READING,
      shard: [0, 1],
      largeThreshold: 50,
    },
    new CountingSink(),
    HOST,
  );
  session.open({});
  session.feed.greeted();
  return session;
}

/** A session whose machine handles each dispatch as an event, with the same result. */
function eventSession(index: number): Recipient {
  const replay = new ReplayBuffer(REPLAY);
  const sink: FrameSink = new CountingSink();
  const machine = setup({
    types: { events: {} as { type: 'dispatch'; body: DispatchBody } | { type: 'end' } },
    actions: {
      deliver: ({ event }) => event.type === 'dispatch' && sink.dispatch(event.body, replay.push(event.body)),
    },
  }).createMachine({
    initial: 'connected',
    states: {
      connected: { on: { dispatch: { actions: 'deliver' }, end: 'ended' } },
      ended: { type: 'final' },
    },
  });
  const actor = createActor(machine);
  actor.start();
  return {
    sessionId: `session${index}`,
    userId: userIdOf(index),
    intents: READING,
    bot: true,
    deliver: (body) => actor.send({ type: 'dispatch', body }),
  };
}

/** Dispatches of a guild to a thousand sessions in process, with and without an actor in their path (G4). */
export function measureActors(rounds: number): Finding {
  const messageOf = openCorpus();
  const lanes = [ourSession, eventSession].map((make) => {
    const guild = buildGuild();
    for (let n = 0; n < SESSIONS; n += 1) {
      const index = seeingMember(n);
      subscribe(guild, make(index), index);
    }
    const cpuMicros: number[] = [];
    return { guild, cpuMicros };
  });
  const run = ({ guild }: (typeof lanes)[number], messages: number): number => {
    const before = CountingSink.deliveries;
    const from = process.cpuUsage();
    for (let index = 0; index < messages; index += 1)
      fanOut(guild, messageCreate(messageOf(index)), Date.now());
    const { user, system } = process.cpuUsage(from);
    return (user + system) / (CountingSink.deliveries - before);
  };
  for (const lane of lanes) run(lane, WARMUP);
  for (let round = 0; round < rounds; round += 1)
    for (const lane of lanes) lane.cpuMicros.push(run(lane, MESSAGES));
  const [ours = [], events = []] = lanes.map(({ cpuMicros }) => cpuMicros);
  const ratio = ratiosOf(events, ours);
  const verdict = ratio.median >= TARGET ? 'met' : ratio.max >= TARGET ? 'within the spread' : 'missed';
  return {
    lines: [
      `${SESSIONS} sessions, in process, ${rounds} rounds; CPU-µs per delivery, median (min–max)`,
      `guild dispatch                        ${show(spreadOf(ours), 3)}`,
      `one actor.send per session            ${show(spreadOf(events), 3)}`,
      `one actor.send / guild dispatch       ${show(ratio, 1)}, target ≥ ${TARGET}: ${verdict}`,
    ],
    figures: { sessions: SESSIONS, rounds, cpuMicros: { ours, events }, ratio, target: TARGET, verdict },
  };
}
