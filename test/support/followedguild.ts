import type { GuildSubscription } from '../../actors/cluster/delivery/guildstream.ts';
import { GuildSubscriptions } from '../../actors/cluster/delivery/guildsubscriptions.ts';
import { LocalSessions } from '../../actors/cluster/delivery/localsessions.ts';
import type { LocalSession } from '../../actors/cluster/delivery/peer.ts';
import type { SessionReference } from '../../actors/cluster/delivery/remote.ts';
import type {
  Owner,
  Ownership,
  OwnershipChange,
  SessionFrame,
  Subscribed,
} from '../../actors/placement/ports.ts';
import { Lifetime } from '../../actors/runtime/clock.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { DispatchBody } from '../../engine/fanout/body.ts';
import { StreamCursors } from '../../engine/session/cursors.ts';
import type { GuildId } from '../../protocol/ids.ts';
import { id } from './guild.ts';

export const GUILD = id<GuildId>(9);

type Question = {
  readonly to: string;
  readonly wanted: readonly (GuildSubscription<SessionReference> & { caughtUp?(n: number): void })[];
  answer(how: Subscribed | Error): Promise<void>;
};

/** The number of a dispatch, by the epoch of its owner. */
export const numberOf = (epoch: number, counter: number): number => epoch * 2 ** 32 + counter;
const shown = (n: number): string => `${Math.floor(n / 2 ** 32)}:${n % 2 ** 32}`;

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The guild's owner, set by the test. */
function scripted() {
  const hearers = new Set<(change: OwnershipChange) => void>();
  const script = { owner: null as Owner | null };
  const ownership = {
    self: { id: 'self', instance: 'self' },
    get view() {
      return { owners: [script.owner], shards: [] };
    },
    partitionOf: () => 0,
    ownerOf: () => script.owner,
    owns: () => script.owner?.instance === 'self',
    onChange: (run: (change: OwnershipChange) => void) => {
      hearers.add(run);
      return () => void hearers.delete(run);
    },
  } as unknown as Ownership;
  const own = (instance: string | null, epoch = 1) => {
    script.owner = instance === null ? null : { shardId: instance, instance, epoch };
    for (const hear of [...hearers]) hear({ moved: [0], gone: [], came: [] });
    return turn();
  };
  return { ownership, own, hearers };
}

/** Questions that wait for the test to answer them. */
function questioned() {
  const questions: Question[] = [];
  const ask = (to: string, wanted: Question['wanted']) =>
    new Promise<readonly Subscribed[]>((resolve, reject) => {
      const answer = (how: Subscribed | Error) => {
        if (how instanceof Error) reject(how);
        else resolve(wanted.map(() => how));
        return turn();
      };
      questions.push({ to, wanted, answer });
    });
  /** The question that is open, as the test takes it for the only one. */
  async function asked(): Promise<Question> {
    await turn();
    const [question, ...more] = questions.splice(0);
    if (!question || more.length > 0) throw new Error(`${more.length + (question ? 1 : 0)} questions`);
    return question;
  }
  return { ask, asked };
}

const frame = (n: number, ...handles: number[]): SessionFrame => ({
  ...{ kind: 'dispatch', t: 'ANY', json: Buffer.from('{}'), ownerId: GUILD, n },
  handles: Uint32Array.from(handles),
});
/** The same frame, sent under this epoch. */
const under = (epoch: number, sent: SessionFrame): SessionFrame => ({ ...sent, epoch }) as SessionFrame;
const following = (handle: number, n: number): SessionFrame => ({
  ...{ kind: 'following', handle, ownerId: GUILD, epoch: 0, n },
});

/** The subscriptions of one shard to one guild, whose owners a test scripts and answers for. */
export function followedGuild() {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const { ownership, own, hearers } = scripted();
  const { ask, asked } = questioned();
  const left: LiveSession[] = [];
  const cursors = new StreamCursors();
  const followed: GuildSubscriptions = new GuildSubscriptions({
    ...{ ownership, wheel: new TimerWheel(clock), scope },
    nowMs: () => clock.monotonic(),
    router: {
      askShard: (to, _method, [, wanted]) => ask(to, wanted as Question['wanted']) as Promise<never>,
    },
    peer: (shardId, instance) => home.peer(shardId, instance),
    reference: (entered, peer) => home.reference(entered, peer),
    subscribeHere: (_guildId, wanted) => ask('here', wanted as never),
    unsubscribeHere: (_guildId, session) => left.push(session),
    streamInterrupted: (guildId) => cursors.lagging(guildId),
    onFault: () => undefined,
  });
  const home: LocalSessions = new LocalSessions(
    {
      ...{ ownership, nowMs: () => clock.monotonic() },
      links: { onBroken: () => undefined },
      router: { tellShard: () => undefined },
      peerLost: (peer) => followed.peerLost(peer),
      direct: (session, body) => session.deliver(body),
      deliveriesMissed: () => undefined,
    },
    followed,
  );
  const heard = new Map<LocalSession, string[]>();
  /** How many sessions receive each dispatch, by what it says itself. */
  const recipients: number[] = [];
  const enter = (sessionId: string): LocalSession => {
    const handle = heard.size + 1;
    const deliver = (body: DispatchBody) => {
      const { t, d, origin } = body;
      recipients.push(body.recipients);
      const laggards = origin && cursors.advance(origin.ownerId, origin.n);
      if (laggards) cursors.advanceOne(laggards, handle, origin.n);
      heard.get(entered)?.push(origin ? shown(origin.n) : `${t} ${JSON.stringify(d)}`);
    };
    const identity = { sessionId, userId: '1', bot: false, intents: 0, over: false };
    const entered = home.add({
      ...{ ...identity, handle, deliver },
      following: (ownerId: string, n: number) => cursors.following(handle, ownerId, n),
      left: (ownerId: string) => cursors.left(handle, ownerId),
    } as unknown as LiveSession);
    heard.set(entered, []);
    return entered;
  };
  return {
    ...{ clock, scope, hearers, followed, home, enter, own, asked },
    ...{ frame, under, following, left, recipients },
    heard: (entered: LocalSession) => heard.get(entered)?.splice(0),
    /** The position from which another shard would resume the session; null: it would be sent the guild. */
    cursor({ session }: LocalSession): string | null {
      const n = cursors.cursor(session.handle, GUILD);
      return n === null ? null : shown(n);
    },
  };
}

export const handleOf = ({ wanted }: Question, at = 0): number => wanted[at]?.session.session.handle ?? 0;

/** A session that is subscribed to the guild of shard `a` up to 10. */
export async function live(instance: ReturnType<typeof followedGuild>, sessionId = 'one') {
  await instance.own('a');
  const entered = instance.enter(sessionId);
  const following = instance.followed.subscribe(entered, GUILD, null);
  const question = await instance.asked();
  if (question.wanted[0]?.after !== null) throw new Error('A session that is new has a position.');
  const handle = handleOf(question);
  instance.home.frames('a', [instance.following(handle, numberOf(1, 10))]);
  await question.answer('member');
  await following;
  return { entered, handle };
}
