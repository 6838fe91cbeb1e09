// Goal: a session is open at the owner of its user, and counts as open only where it was opened.
import { describe, expect, it } from 'vitest';
import type { LocalSession } from '../../../../actors/cluster/delivery/peer.ts';
import { type UserChannelPorts, UserChannels } from '../../../../actors/cluster/delivery/userchannel.ts';
import type { Owner, Ownership, OwnershipChange } from '../../../../actors/placement/ports.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import { LinkFault, NotServed } from '../../../../protocol/faults.ts';
import type { SessionRequest } from '../../../../protocol/sessionrequests.ts';

const REOPENED = { guildIds: [], isWhole: true };
const AWAY = { status: 'idle', activities: [], since: null, afk: true } as never;
const soundsOf = (guildId: string) => ({ name: 'soundboard', input: [guildId] }) as never as SessionRequest;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A user of this shard, whose owner fails as often as the test says. */
function arrange() {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const hearers = new Set<(change: OwnershipChange) => void>();
  let owner: Owner | null = { shardId: 'self', instance: 'self', epoch: 1 };
  const ownership = {
    self: { id: 'self', instance: 'self' },
    partitionOf: () => 0,
    owns: () => state.owns,
    ownerOf: () => owner,
    onChange(run: (change: OwnershipChange) => void) {
      hearers.add(run);
      return () => void hearers.delete(run);
    },
  } as unknown as Ownership;
  const opened: string[] = [];
  const state = { failures: 0, reopens: 0, owns: true, answering: Promise.resolve() };
  /** What the owner of the user is told: presences of reopened sessions, requests, and ends. */
  const told: unknown[] = [];
  const line = new UserChannels({
    ...{ ownership, wheel, nowMs: () => clock.monotonic(), resumeWindowMs: 1000 },
    scope: new Lifetime(clock),
    cursors: () => [],
    userBackend: {
      async reopenAtOwner(_session: unknown, presence: unknown) {
        state.reopens += 1;
        told.push({ presence });
        await state.answering;
        if (state.failures === 0) return REOPENED;
        state.failures -= 1;
        throw new Error('The database is away.');
      },
      ask: (_session: unknown, request: SessionRequest) => void told.push(request),
      ended: ({ sessionId }: { readonly sessionId: string }) => void told.push({ ended: sessionId }),
    },
    reopened: ({ session }: LocalSession) => opened.push(session.sessionId),
    onFault: () => undefined,
  } as unknown as UserChannelPorts);
  const entered = { session: { sessionId: 's1', userId: '1', over: false } } as unknown as LocalSession;
  const move = async () => {
    owner = { shardId: 'self', instance: 'self', epoch: (owner?.epoch ?? 0) + 1 };
    for (const hear of [...hearers]) hear({ moved: [0], gone: [], came: [] });
    await turn();
  };
  /** Another instance owns the user, or none does. */
  const own = (instance: string | null) => {
    owner = instance === null ? null : { shardId: instance, instance, epoch: 1 };
  };
  return { clock, wheel, hearers, line, entered, state, opened, told, move, own };
}

const unreachable = () => new LinkFault('unreachable', 'The link is broken.');

/** A user whose owner is another shard, which answers each method with the faults that the test names, then with success. */
function arrangeFar() {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  let peer = { shardId: 'far', instance: 'far', peerEpoch: 1, sessions: new Map() };
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const faults: Record<string, Error[]> = {};
  const line = new UserChannels({
    ownership: {
      self: { id: 'self', instance: 'self' },
      owns: () => false,
      ownerOf: () => ({ shardId: 'far', instance: 'far', epoch: 1 }),
      onChange: () => () => undefined,
    },
    router: {
      async askShard(_: string, method: string, args: readonly unknown[]) {
        asked.push([method, ...args]);
        const fault = faults[method]?.shift();
        if (fault) throw fault;
        return REOPENED;
      },
    },
    ...{ wheel: new TimerWheel(clock), nowMs: () => clock.monotonic(), resumeWindowMs: 1000, scope },
    ...{ cursors: () => [], peer: () => peer, isCurrent: (of: unknown) => of === peer },
    opening: ({ sessionId }: { readonly sessionId: string }) => asked.push(`opening ${sessionId}`),
    reference: (_: unknown, { peerEpoch }: { readonly peerEpoch: number }) => peerEpoch,
    userBackend: { ended: () => told.push('ended') },
    reopened: ({ session }: LocalSession) => told.push({ reopened: session.sessionId }),
    onFault: (fault: Error) => told.push({ fault: fault.message }),
  } as unknown as UserChannelPorts);
  const local = { session: { sessionId: 's1', userId: '1', over: false } } as unknown as LocalSession;
  /** The link breaks and is made again. */
  const breakLink = () => {
    const before = peer;
    peer = { ...peer, peerEpoch: before.peerEpoch + 1 };
    line.peerLost(before);
  };
  return { clock, scope, line, local, asked, told, faults, breakLink };
}

describe('a session that ends while its user cannot be reached', () => {
  it('is not opened at the owner of its user', async () => {
    const { clock, line, local, asked, faults } = arrangeFar();
    faults['remoteSessions.reopen'] = [unreachable()];
    const reopened = line.reopen(local, null).catch((fault) => fault);
    await turn();
    line.ended(local, false);
    clock.advance(60_000);
    expect(await reopened).toBeInstanceOf(NotServed);
    expect(asked).toEqual([['remoteSessions.reopen', 1, null, []]]);
  });
});

describe('a session that is opened at another shard', () => {
  it('calls `opening` before each attempt', async () => {
    const { clock, line, local, asked, faults } = arrangeFar();
    faults['remoteSessions.open'] = [unreachable()];
    const opened = line.open(local);
    await turn();
    clock.advance(1_000);
    await opened;
    const attempt = ['opening s1', ['remoteSessions.open', 1]];
    expect(asked).toEqual([...attempt, ...attempt]);
  });
});

describe('a session that is open at another shard', () => {
  const REOPEN = ['remoteSessions.reopen', 2, AWAY, []];
  const sounds = (peerEpoch: number, guildId: string) => [
    ...['remoteSessions.ask', peerEpoch, 'soundboard', [[guildId]]],
  ];

  it('is reopened with its latest presence when the link breaks, until that succeeds', async () => {
    const { clock, line, local, asked, told, faults, breakLink } = arrangeFar();
    await line.open(local);
    line.presence(local, AWAY);
    await turn();
    faults['remoteSessions.reopen'] = [new Error('The database is away.')];
    asked.splice(0);
    breakLink();
    await turn();
    expect([asked.splice(0), told.splice(0)]).toEqual([[REOPEN], [{ fault: 'The database is away.' }]]);
    clock.advance(2000);
    await turn();
    expect([asked, told]).toEqual([[REOPEN], [{ reopened: 's1' }]]);
  });

  it('reports its calls of lobbies when it is reopened, after what its client has asked for meanwhile', async () => {
    const { line, local, asked, breakLink } = arrangeFar();
    await line.open(local);
    const input = [{ lobbyId: '50', selfMute: false, selfDeaf: false, selfVideo: false }];
    Object.assign(local.session, { forUser: { wantsAuthorizeRequests: false, lobbyVoice: input } });
    asked.splice(0);
    breakLink();
    line.request(local, { name: 'lobbyVoice', input } as never);
    line.request(local, soundsOf('7'));
    await turn();
    expect(asked).toEqual([
      ['remoteSessions.reopen', 2, null, []],
      ['remoteSessions.ask', 2, 'lobbyVoice', [input]],
      sounds(2, '7'),
      ['remoteSessions.ask', 2, 'lobbyVoice', [input]],
    ]);
  });

  it('sends a request again when the owner cannot be reached, before the next request', async () => {
    const { clock, line, local, asked, faults } = arrangeFar();
    await line.open(local);
    asked.splice(0);
    faults['remoteSessions.ask'] = [unreachable()];
    line.request(local, soundsOf('1'));
    line.request(local, soundsOf('2'));
    await turn();
    expect(asked.splice(0)).toEqual([sounds(1, '1')]);
    clock.advance(50);
    await turn();
    expect(asked).toEqual([sounds(1, '1'), sounds(1, '2')]);
  });

  it('reports a request that the owner refuses, and sends the next one', async () => {
    const { line, local, asked, told, faults } = arrangeFar();
    await line.open(local);
    faults['remoteSessions.ask'] = [new LinkFault('failed', 'The owner failed.')];
    line.request(local, soundsOf('1'));
    line.request(local, soundsOf('2'));
    await turn();
    expect(told).toEqual([{ fault: 'The owner failed.' }]);
    expect(asked.slice(2)).toEqual([sounds(1, '1'), sounds(1, '2')]);
  });

  it.each([true, false])('is not ended by this shard (moving: %s)', async (isMoving) => {
    const { clock, line, local, told } = arrangeFar();
    await line.open(local);
    line.ended(local, isMoving);
    clock.advance(60_000);
    expect(told).toEqual([]);
  });

  it('is not reopened once this shard closes', async () => {
    const { scope, line, local, asked, breakLink } = arrangeFar();
    await line.open(local);
    await scope.close();
    breakLink();
    await turn();
    expect(asked).toEqual(['opening s1', ['remoteSessions.open', 1]]);
  });
});

describe('a session that another object replaces at the owner of its user', () => {
  it('is opened again when it is replaced before the owner has answered the request that opened it', async () => {
    const { clock, line, entered, state } = arrange();
    let answer: () => void = () => undefined;
    state.answering = new Promise((resolve) => {
      answer = resolve;
    });
    const reopened = line.reopen(entered, null);
    line.sessionReplaced(entered);
    clock.advance(1_000);
    await turn();
    expect(state.reopens).toBe(1);
    answer();
    expect(await reopened).toEqual(REOPENED);
    await turn();
    expect(state.reopens).toBe(2);
  });

  it('is opened again once, before a request that it sends meanwhile', async () => {
    const { clock, line, entered, state, told } = arrange();
    await line.reopen(entered, null);
    let answer: () => void = () => undefined;
    state.answering = new Promise((resolve) => {
      answer = resolve;
    });
    line.sessionReplaced(entered);
    clock.advance(50);
    await turn();
    line.request(entered, soundsOf('1'));
    answer();
    await turn();
    expect(told.slice(1)).toEqual([{ presence: null }, soundsOf('1')]);
  });
});

describe('a session whose user changes hands', () => {
  it('is opened again at the next owner when it was open', async () => {
    const { line, entered, opened, move } = arrange();
    expect(await line.reopen(entered, null)).toEqual(REOPENED);
    await move();
    expect(opened).toEqual(['s1']);
  });

  it('leaves no listener and no timer behind when several attempts to open it again fail', async () => {
    const { clock, wheel, hearers, line, entered, state, opened, move } = arrange();
    const before = hearers.size;
    await line.reopen(entered, null);
    state.failures = 3;
    for (const reopens of [2, 3]) {
      await move();
      expect([state.reopens, hearers.size, wheel.size]).toEqual([reopens, before + 1, 1]);
    }
    for (let attempt = 0; attempt < 2; attempt += 1) {
      clock.advance(10_000);
      await turn();
    }
    expect([opened, state.reopens, hearers.size, wheel.size]).toEqual([['s1'], 5, before, 0]);
  });

  it('waits for the owner that opens it, and keeps its guilds, when it was not open', async () => {
    const { line, entered, state, opened, move } = arrange();
    state.failures = 1;
    await expect(line.reopen(entered, null)).rejects.toThrow('away');
    await move();
    expect(opened).toEqual([]);
    expect(await line.reopen(entered, null)).toEqual(REOPENED);
    await move();
    expect(opened).toEqual(['s1']);
  });
});

describe('the requests of a session', () => {
  it('wait in their order while the session is being opened, at most 64 with the opening', async () => {
    const { line, entered, state, told } = arrange();
    let answer: () => void = () => undefined;
    state.answering = new Promise((resolve) => {
      answer = resolve;
    });
    const reopened = line.reopen(entered, null);
    const requests = Array.from({ length: 100 }, (_, index) => soundsOf(String(index)));
    for (const request of requests) line.request(entered, request);
    expect(told.splice(0)).toEqual([{ presence: null }]);
    answer();
    await reopened;
    await turn();
    expect(told.splice(0)).toEqual(requests.slice(0, 63));
    line.request(entered, soundsOf('later'));
    expect(told).toEqual([soundsOf('later')]);
  });

  it('open the session first when it is not open, and its presence is sent with that alone', async () => {
    const { line, entered, state, told } = arrange();
    state.failures = 1;
    await expect(line.reopen(entered, null)).rejects.toThrow('away');
    told.splice(0);
    line.presence(entered, AWAY);
    line.request(entered, soundsOf('1'));
    await turn();
    expect(told.splice(0)).toEqual([{ presence: AWAY }, soundsOf('1')]);
    line.presence(entered, AWAY);
    expect(told).toEqual([{ name: 'presence', input: AWAY }]);
  });
});

describe('the end of a session at the owner of its user', () => {
  const END = { ended: 's1' };

  it.each([
    ['comes at once when the session has ended', false, 'self', [END], [END]],
    ['comes after the resume window when the session moves to another shard', true, 'self', [], [END]],
    ['comes at once while this shard may not decide for the user', false, null, [END], [END]],
    ['is left to the next owner when the user moves within the resume window', true, 'other', [], []],
  ])('%s', async (_how, isMoving, owner, atOnce, later) => {
    const { clock, line, entered, own, told } = arrange();
    await line.reopen(entered, null);
    await turn();
    told.splice(0);
    if (owner === null) own(owner);
    line.ended(entered, isMoving);
    own(owner);
    clock.advance(950);
    expect(told).toEqual(atOnce);
    clock.advance(50);
    expect(told).toEqual(later);
  });

  it('comes at once, and again after the resume window, when the session ends while it is being reopened here', async () => {
    const { clock, line, entered, state, opened, told, move } = arrange();
    await line.reopen(entered, null);
    let answer: () => void = () => undefined;
    state.answering = new Promise((resolve) => {
      answer = resolve;
    });
    await move();
    told.splice(0);
    line.ended(entered, false);
    expect(told).toEqual([END]);
    answer();
    await turn();
    clock.advance(1000);
    expect([told, opened]).toEqual([[END, END], []]);
  });

  it('ends at its own shard what a failed opening there has left', async () => {
    const { line, entered, state, told } = arrange();
    state.failures = 1;
    await expect(line.reopen(entered, null)).rejects.toThrow('The database is away.');
    line.ended(entered, false);
    expect(told.at(-1)).toEqual(END);
  });
});
