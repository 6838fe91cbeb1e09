import { isRecord } from '../protocol/json.ts';
import type { RecordedCall, RecordedFrame, RecordedLine } from '../protocol/recording.ts';
import type { Recorder, SeenCall } from '../transports/recording/recorder.ts';
import { type Difference, ReplayMapping } from './replaymapping.ts';
import type { LivePart } from './replayplayer.ts';
import { CommandError } from './world.ts';

interface RecordedBot {
  readonly id: string;
  /** Its stand-in. */
  readonly token: string;
}

interface LiveBot extends LivePart {
  readonly recorder: Recorder;
  readonly mapping: ReplayMapping;
  /** Index of the bot among the bots of the demo. */
  readonly index: number;
  /** Resolves when the bot has a session, or `stopped` does. */
  connected(botId: string, stopped: Promise<void>): Promise<void>;
}

/** Calls that may wait to be compared. */
const WAITING_MAX = 10_000;
/** Operations that client libraries call by themselves when they connect. */
const CONNECTING = new Set(['get_bot_gateway', 'get_gateway', 'get_my_application', 'get_my_user']);

/**
 * The part of a recording that a bot plays itself: its recorded calls are compared with what it calls now.
 *
 * @param named id, position from 1, or username of the bot.
 */
export function liveBot(lines: readonly RecordedLine[], named: string, timeoutMs: number): LiveBot {
  const bots = botsOf(lines);
  const index = indexOf(lines, bots, named);
  const bot = bots[index];
  if (bot === undefined)
    throw new CommandError(
      `The recording has no bot ${named}.`,
      `It has ${bots.length}: name one by its number, from 1.`,
    );
  const mapping = new ReplayMapping();
  const calls: SeenCall[] = [];
  const connections: string[] = [];
  let wake = (): void => undefined;
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  const recorder: Recorder = {
    nowMs: () => performance.now(),
    call(call) {
      if (calls.length < WAITING_MAX && !CONNECTING.has(call.operation)) calls.push(call);
      wake();
    },
    opened: () => undefined,
    frame: () => undefined,
    dispatch(_connection, t, d) {
      const user = t === 'READY' && isRecord(d) ? d.user : null;
      if (isRecord(user)) connections.push(String(user.id));
      wake();
    },
    shut: () => undefined,
  };

  async function take(botId: string, operation: string): Promise<SeenCall | null> {
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      const at = calls.findIndex((call) => call.userId === botId && call.operation === operation);
      if (at >= 0) return calls.splice(at, 1)[0] ?? null;
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return null;
      await withTimeout(leftMs, next());
    }
  }

  return {
    ...{ recorder, mapping, index },
    owns: ({ user_id: userId }) => userId === bot.id,
    identifies: ({ d }: RecordedFrame) =>
      isRecord(d) && bot.token === String(d.token).replace(/^(?:Bot|Bearer) +/i, ''),
    async connected(botId, stopped) {
      let isOver = false;
      const over = stopped.then(() => {
        isOver = true;
      });
      while (!connections.includes(botId) && !isOver) await Promise.race([next(), over]);
    },
    async compare(call: RecordedCall): Promise<readonly Difference[]> {
      if (CONNECTING.has(call.operation)) return [];
      const seen = await take(mapping.text(bot.id), call.operation);
      if (seen === null) return [{ path: '', recorded: 'called', replayed: 'not called' }];
      return callDifferences(mapping, call, seen);
    },
  };
}

function callDifferences(mapping: ReplayMapping, call: RecordedCall, seen: SeenCall): readonly Difference[] {
  const inputs = [
    mapping.compare(call.params, seen.params),
    mapping.compare(call.query, seen.query).map(inside('query')),
    mapping.compare(call.body, seen.body ?? null).map(inside('body')),
  ].flat();
  // The mapping learns ids from this answer, even when the call itself differs.
  const answer = mapping.compare(call.answer, seen.answer ?? null).map(inside('answer'));
  // A different call gets a different answer; only the difference of the call is reported.
  return inputs.length > 0 ? inputs : answer;
}

const inside =
  (place: string) =>
  ({ path, ...rest }: Difference): Difference => ({
    ...rest,
    path: path === '' ? place : `${place}.${path}`,
  });

async function withTimeout(timeoutMs: number, job: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | null = null;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([job, late]);
  if (timer !== null) clearTimeout(timer);
}

function botsOf(lines: readonly RecordedLine[]): readonly RecordedBot[] {
  const line = lines.find(({ kind }) => kind === 'demo');
  const bots = line?.kind === 'demo' && isRecord(line.demo) ? line.demo.bots : null;
  if (!Array.isArray(bots)) return [];
  return bots.filter(isRecord).map(({ id, token }) => ({ id: String(id), token: String(token) }));
}

/** The position of the bot with this number, id, or name in READY. */
function indexOf(lines: readonly RecordedLine[], bots: readonly RecordedBot[], named: string): number {
  const number = Number(named);
  if (Number.isInteger(number) && number >= 1 && number <= bots.length) return number - 1;
  const byId = bots.findIndex(({ id }) => id === named);
  if (byId >= 0) return byId;
  for (const line of lines) {
    const user = line.kind === 'dispatch' && line.t === 'READY' && isRecord(line.d) ? line.d.user : null;
    if (isRecord(user) && user.username === named) return bots.findIndex(({ id }) => id === user.id);
  }
  return -1;
}
