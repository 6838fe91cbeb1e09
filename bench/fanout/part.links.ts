import type { GuildSubscriptions } from '../../actors/cluster/delivery/guildsubscriptions.ts';
import { LocalSessions } from '../../actors/cluster/delivery/localsessions.ts';
import { RemoteSessions } from '../../actors/cluster/delivery/remote.ts';
import type { Links } from '../../actors/cluster/ports.ts';
import type { LinkFrame, Ownership } from '../../actors/placement/ports.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import { DispatchBody } from '../../engine/fanout/body.ts';
import type { Finding } from './parts.ts';

const SESSIONS = 1000;
const PER_TICK = 20;
const TICKS = 200;
const CONTENT_CHARS = 800;

const NOTHING = (): void => undefined;
const SELF = { instance: 'here', id: 'here' };
const OWNERSHIP = {
  self: SELF,
  view: { shards: [SELF] },
  onChange: () => NOTHING,
} as unknown as Ownership;

/** Links without a peer: the cost of gRPC is measured elsewhere. */
function nowhere(frames: LinkFrame[]): Links {
  const links = { tell: (_shardId: string, frame: LinkFrame) => frames.push(frame), onBroken: NOTHING };
  return links as unknown as Links;
}

const describe = (handle: number) => ({
  ...{ handle, sessionId: `session ${handle}`, intents: 1, shard: [0, 1] as const, largeThreshold: 50 },
  principal: {
    userId: '1',
    bot: true,
    applicationId: null,
    applicationFlags: 0,
    authorization: null,
  } as never,
});

const message = () =>
  new DispatchBody('MESSAGE_CREATE', { id: '1', content: 'x'.repeat(CONTENT_CHARS) }, 0, {
    ownerId: '2',
    n: 1,
  });

/** CPU nanoseconds per recipient of `ticks` runs. */
function nanosecondsEach(ticks: number, run: () => void): number {
  const before = process.cpuUsage();
  for (let tick = 0; tick < ticks; tick += 1) run();
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / (ticks * PER_TICK * SESSIONS);
}

/** The owner's work for sessions of another shard: twenty messages to all of them in a tick, up to the link. */
function owner(): () => void {
  const deferred: (() => void)[] = [];
  const frames: LinkFrame[] = [];
  const remote = new RemoteSessions({
    router: { tellShard: NOTHING },
    ...{ links: nowhere(frames), ownership: OWNERSHIP, resumeWindowMs: 0, ended: NOTHING },
    clock: { defer: (run: () => void) => deferred.push(run) } as never,
    wheel: { add: () => ({ cancel: NOTHING }), after: NOTHING, pause: async () => false },
  });
  const sessions = Array.from({ length: SESSIONS }, (_, index) =>
    remote.of('there', { home: 'here', talk: 1, session: describe(index + 1) }),
  );
  return () => {
    for (let each = 0; each < PER_TICK; each += 1) {
      const body = message();
      for (const session of sessions) session.deliver(body);
    }
    for (const run of deferred.splice(0)) run();
    frames.length = 0;
  };
}

/** The work of the sessions' shard, up to the sessions. */
function home(): () => void {
  const followed = { stream: NOTHING } as unknown as GuildSubscriptions;
  const ports = {
    ...{ links: nowhere([]), router: { tellShard: NOTHING }, ownership: OWNERSHIP, nowMs: () => 0 },
    ...{ peerLost: NOTHING, direct: NOTHING, deliveriesMissed: NOTHING },
  };
  const sessions = new LocalSessions(ports, followed);
  const peer = sessions.peer('there', 'there');
  const handles = Array.from({ length: SESSIONS }, (_, index) => {
    const session = { ...describe(index), deliver: NOTHING } as unknown as LiveSession;
    return sessions.reference(sessions.add(session), peer).session.handle;
  });
  const json = Buffer.from(message().json);
  const body = { kind: 'dispatch', t: 'MESSAGE_CREATE', json, ownerId: '2', n: 1 } as const;
  const frames = Array.from({ length: PER_TICK }, () => ({ ...body, handles: Uint32Array.from(handles) }));
  return () => sessions.frames('there', frames);
}

/** Measures the cost of a recipient at another shard on both ends, beyond the costs of the session and the link. */
export function measureLinks(rounds: number): Finding {
  const figures = Object.entries({ owner: owner(), home: home() }).map(([name, run]) => {
    nanosecondsEach(TICKS / 4, run);
    const found = Array.from({ length: rounds }, () => nanosecondsEach(TICKS, run)).sort((a, b) => a - b);
    return { name, nanosecondsEach: found[found.length >> 1] ?? 0 };
  });
  const line = (each: (typeof figures)[number]) =>
    `${each.name}: ${each.nanosecondsEach.toFixed(1)} ns of CPU for each recipient at another shard`;
  return { lines: figures.map(line), figures: { sessions: SESSIONS, perTick: PER_TICK, ends: figures } };
}
