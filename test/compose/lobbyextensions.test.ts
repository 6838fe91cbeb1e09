// Goal: games, hosts, ready checks and matches in lobbies with real sessions, time and database.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { GameLobby, LobbyHandlers } from '../../actors/lobby/game.ports.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ChannelId, TicketId } from '../../protocol/ids.ts';
import type { SettingsChange } from '../../protocol/schemas/lobbyfields.ts';
import { type LobbyInstance, openLobbyInstance, type Player } from '../support/lobbyinstance.ts';

/** Jumps ahead, as the clock does for a process that was suspended. */
class LateClock extends VirtualClock {
  lateMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.lateMs;
  }
}

const must = <T>(reply: Reply<T>): T => {
  if (!reply.ok) throw new Error(`refused: ${JSON.stringify(reply.refusal)}`);
  return reply.value;
};
const codeOf = (reply: Reply<unknown>): number | null => (reply.ok ? null : reply.refusal.code);

let instance: LobbyInstance;
let names = 0;
const name = (): string => `game${++names}`;

beforeAll(async () => {
  instance = await openLobbyInstance();
}, 60_000);
afterAll(() => instance.close());

async function room(player: Player, settings: SettingsChange, password?: string) {
  const input = { change: {}, settings, member: {}, ...(password !== undefined && { password }) };
  return must(await instance.lobbies.extensions.create(input, player.authority));
}
const enter = (id: ChannelId, player: Player, password: string | null = null) =>
  instance.lobbies.extensions.enter(id, { password, member: {} }, player.authority);
const say = (id: ChannelId, player: Player, type: string, data: unknown = null) =>
  instance.lobbies.extensions.speak(id, type, data, player.authority);
const shown = async (id: ChannelId) => must(await instance.lobbies.call(id, 'getBeyond', {}, instance.bot));

type Connection = Awaited<ReturnType<Player['connect']>>;
const heard = ({ dispatched }: Connection): { type: string; data: unknown; user_id: string | null }[] =>
  dispatched('GUILDHALL_LOBBY_MESSAGE');

describe('joining', () => {
  test('founds no lobby for a join that is refused, and says what is invalid', async () => {
    const player = await instance.player();
    const long = { metadata: { note: 'x'.repeat(1_000) } };
    const attempt = (more: object) =>
      instance.lobbies.createOrJoin({ secret: 'refused', lobby: {}, member: {}, ...more }, player.authority);
    const invalid = (field: string) => ({
      refusal: { code: 50_035, errors: { [field]: { _errors: expect.any(Array) } } },
    });
    expect(await attempt({ lobby: long })).toMatchObject(invalid('lobby_metadata'));
    expect(await attempt({ member: long })).toMatchObject(invalid('member_metadata'));
    const created = await instance.lobbies.create({ change: long, members: [] }, instance.bot);
    expect(created).toMatchObject(invalid('metadata'));
    expect(await instance.storage.lobbies.ofApplication(instance.applicationId, null, 10)).toEqual([]);
    expect(must(await attempt({})).metadata).toBeNull();
  });

  test('follows the rules of the lobby, and is rejected with the code of the broken rule', async () => {
    const [host, guest, late] = [await instance.player(), await instance.player(), await instance.player()];
    const hidden = await room(host, {});
    expect(codeOf(await enter(hidden.id, guest))).toBe(10_031);
    const { id } = await room(host, { listed: true, max_members: 2 }, 'open sesame');
    expect(codeOf(await enter(id, guest))).toBe(900_003);
    expect(codeOf(await enter(id, guest, 'wrong'))).toBe(900_003);
    expect(must(await enter(id, guest, 'open sesame')).members).toHaveLength(2);
    expect(codeOf(await enter(id, late, 'open sesame'))).toBe(0);
    expect(JSON.stringify(await shown(id))).not.toContain('password_hash');
    await instance.lobbies.call(id, 'leaveLobby', {}, guest.authority);
    const configure = (change: SettingsChange) =>
      instance.lobbies.extensions.configure(id, { change, password: null }, host.authority);
    must(await configure({ locked: true }));
    expect(codeOf(await enter(id, guest))).toBe(900_001);
    must(await configure({ locked: false, invited: [late.userId] }));
    expect(codeOf(await enter(id, guest))).toBe(900_002);
    must(await enter(id, late));
    expect(codeOf(await instance.lobbies.extensions.configure(id, { change: {} }, late.authority))).toBe(
      900_004,
    );
  });

  test('is counted at once in search results, which omit a deleted lobby', async () => {
    const host = await instance.player();
    const guest = await instance.player();
    const { id } = await room(host, { listed: true, game: 'only-here' });
    const find = async () => {
      const search = { filters: [], game: 'only-here', openOnly: true, limit: 10 };
      const sort = { by: 'created', descending: true } as const;
      return must(await instance.lobbies.extensions.search({ ...search, sort }, guest.authority));
    };
    expect(await find()).toEqual([expect.objectContaining({ id, members: 1 })]);
    must(await enter(id, guest));
    expect(await find()).toEqual([expect.objectContaining({ id, members: 2 })]);
    must(await instance.lobbies.call(id, 'deleteLobby', {}, instance.bot));
    expect(await find()).toEqual([]);
  });
});

describe('a host', () => {
  test('is the longest-standing member; another takes over after the grace period and stays host', async () => {
    const [a, b, c] = [await instance.player(), await instance.player(), await instance.player()];
    const [first, second] = [await a.connect(), await b.connect()];
    const { id } = await room(a, { listed: true, host_grace_seconds: 10 });
    for (const player of [b, c]) must(await enter(id, player));
    expect((await shown(id)).host_id).toBe(a.userId);
    first.session.detach(first.sink, false);
    await vi.waitFor(async () => {
      instance.clock.advance(1_000);
      expect((await shown(id)).host_id).toBe(b.userId);
    });
    expect(second.dispatched('GUILDHALL_LOBBY_HOST')).toContainEqual({
      ...{ lobby_id: id, host_id: b.userId, previous_host_id: a.userId },
    });
    await a.connect();
    expect((await shown(id)).host_id).toBe(b.userId);
    must(await instance.lobbies.call(id, 'leaveLobby', {}, b.authority));
    await vi.waitFor(async () => expect((await shown(id)).host_id).toBe(a.userId));
  });
});

describe('a ready check', () => {
  test('asks connected members, and ends with the last answer, the first refusal or its timeout', async () => {
    const [a, b] = [await instance.player(), await instance.player()];
    const [first] = [await a.connect(), await b.connect()];
    const { id } = await room(a, { listed: true });
    must(await enter(id, b));
    const start = () => instance.lobbies.call(id, 'startReadyCheck', { timeoutMs: 5_000 }, a.authority);
    const reply = (ready: boolean) => instance.lobbies.call(id, 'answerReadyCheck', { ready }, b.authority);
    must(await start());
    expect(codeOf(await start())).toBe(900_005);
    expect(must(await reply(true)).status).toBe('passed');
    expect(codeOf(await reply(true))).toBe(900_006);
    must(await start());
    expect(must(await reply(false)).status).toBe('declined');
    must(await start());
    const checks = () => first.dispatched('GUILDHALL_LOBBY_READY') as { status: string }[];
    await vi.waitFor(() => {
      instance.clock.advance(1_000);
      expect(checks().at(-1)?.status).toBe('timed_out');
    });
    expect(checks().map(({ status }) => status)).toEqual([
      ...['open', 'passed', 'open', 'declined', 'open', 'timed_out'],
    ]);
  });
});

describe('a game', () => {
  test('receives joins, messages and leaves in order, and broadcasts one body to everyone', async () => {
    const [a, b] = [await instance.player(), await instance.player()];
    const [first, second] = [await a.connect(), await b.connect()];
    const told: string[] = [];
    const game = name();
    instance.features.games.define<{ said: number }>(game, {
      onCreate: () => ({ said: 0 }),
      onJoin: (_, { id }) => void told.push(`+${id}`),
      onMessage(lobby, { from, type, data }) {
        lobby.state.said += 1;
        lobby.broadcast('count', { said: lobby.state.said, type, data });
        lobby.send(from, 'you', null);
      },
      onLeave: (_, { id }) => void told.push(`-${id}`),
      onClose: (_, reason) => void told.push(reason),
    });
    const { id } = await room(a, { listed: true, game });
    must(await enter(id, b));
    must(await say(id, a, 'move', { x: 1 }));
    expect(heard(second)).toEqual([
      { lobby_id: id, user_id: null, type: 'count', data: { said: 1, type: 'move', data: { x: 1 } } },
    ]);
    expect(heard(first).map(({ type }) => type)).toEqual(['count', 'you']);
    must(await instance.lobbies.call(id, 'leaveLobby', {}, b.authority));
    expect(codeOf(await say(id, b, 'move'))).toBe(50_001);
    must(await instance.lobbies.call(id, 'deleteLobby', {}, instance.bot));
    expect(told).toEqual([`+${a.userId}`, `+${b.userId}`, `-${b.userId}`, 'deleted']);
  });

  test('ticks without drift, and merges missed ticks into one', async () => {
    const clock = new LateClock();
    const own = await openLobbyInstance({}, undefined, clock);
    const a = await own.player();
    const ticks: { tick: number; elapsedMs: number; skipped: number }[] = [];
    own.features.games.define('clockwork', { tickMs: 100, onTick: (_, tick) => void ticks.push(tick) });
    const input = { change: {}, settings: { game: 'clockwork' }, member: {} };
    must(await own.lobbies.extensions.create(input, a.authority));
    for (let step = 0; step < 100; step += 1) clock.advance(10);
    expect(ticks.map(({ tick }) => tick)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].slice(0, ticks.length));
    expect(ticks.length).toBeGreaterThanOrEqual(9);
    const before = ticks.length;
    clock.lateMs = 350;
    clock.advance(10);
    expect(ticks[before]).toMatchObject({ skipped: expect.any(Number) });
    expect(ticks[before]!.elapsedMs).toBe((1 + ticks[before]!.skipped) * 100);
    own.close();
  });

  test('ends when it throws, while its lobby and other games continue', async () => {
    const a = await instance.player();
    const connection = await a.connect();
    const game = name();
    const handlers: LobbyHandlers<number> = {
      onCreate: () => 0,
      onMessage(lobby, { type }) {
        if (type === 'bomb') throw new Error('a bug of the program');
        lobby.state += 1;
      },
    };
    instance.features.games.define(game, handlers);
    const [bad, good] = [await room(a, { game }), await room(a, { game })];
    must(await say(bad.id, a, 'bomb'));
    expect(heard(connection)).toContainEqual(
      expect.objectContaining({ type: 'guildhall.game_ended', data: { reason: 'failed' } }),
    );
    expect(codeOf(await say(bad.id, a, 'again'))).toBe(900_008);
    must(await say(good.id, a, 'again'));
    expect((await shown(bad.id)).members).toHaveLength(1);
    expect(instance.foundation.faults.get('game')).toBeGreaterThan(0);
  });

  test('sends a snapshot of its state, and ends when the state cannot become JSON', async () => {
    const a = await instance.player();
    const connection = await a.connect();
    const [game, broken] = [name(), name()];
    const closed: unknown[] = [];
    instance.features.games.define<{ n: number }>(game, {
      onCreate: () => ({ n: 0 }),
      onMessage(lobby, { type }) {
        lobby.broadcast('state', type === 'big' ? 1n : lobby.state);
        lobby.state.n += 1;
      },
      onClose: (lobby, reason) => void closed.push([lobby.state, reason]),
    });
    instance.features.games.define(broken, {
      onCreate() {
        throw new Error('a bug of the program');
      },
      onClose: (lobby) => void closed.push(lobby.state),
    });
    const { id } = await room(a, { game });
    for (const type of ['one', 'two', 'big']) must(await say(id, a, type));
    await room(a, { game: broken });
    expect(heard(connection).map(({ data }) => data)).toEqual([
      ...[{ n: 0 }, { n: 1 }, { reason: 'failed' }, { reason: 'failed' }],
    ]);
    expect(closed).toEqual([[{ n: 2 }, 'failed']]);
  });

  test('sets the metadata of its lobby, kicks a member and closes the lobby', async () => {
    const [a, b] = [await instance.player(), await instance.player()];
    let lobby: GameLobby<unknown> | undefined;
    const game = name();
    instance.features.games.define(game, {
      onCreate(made) {
        lobby = made;
      },
    });
    const { id } = await room(a, { game, listed: true });
    must(await enter(id, b));
    await lobby?.setMetadata({ round: '2' });
    await lobby?.kick(b.userId);
    const now = await shown(id);
    expect(now.metadata).toEqual({ round: '2' });
    expect(now.members.map((each) => each.id)).toEqual([a.userId]);
    await expect(lobby?.setMetadata({ long: 'x'.repeat(1_001) })).rejects.toThrow(RangeError);
    await lobby?.close();
    expect(codeOf(await instance.lobbies.call(id, 'getBeyond', {}, instance.bot))).toBe(10_031);
  });

  test('starts in existing lobbies when it is defined; before, members receive each other’s messages', async () => {
    const [a, b] = [await instance.player(), await instance.player()];
    const [, second] = [await a.connect(), await b.connect()];
    const game = name();
    const { id } = await room(a, { game, listed: true });
    must(await enter(id, b));
    must(await say(id, a, 'hello', 1));
    expect(heard(second)).toEqual([{ lobby_id: id, user_id: a.userId, type: 'hello', data: 1 }]);
    const joined: string[] = [];
    instance.features.games.define(game, { onJoin: (_, member) => void joined.push(member.id) });
    expect(joined).toEqual([a.userId, b.userId]);
    expect(() => instance.features.games.define(game, {})).toThrow(RangeError);
  });
});

test('keeps the host after a restart, and restarts the game with the current members', async () => {
  const [a, b] = [await instance.player(), await instance.player()];
  await a.connect();
  const game = name();
  const { id } = await room(a, { game, listed: true, host_grace_seconds: 5 });
  must(await enter(id, b));
  await vi.waitFor(async () => expect((await shown(id)).host_id).toBe(a.userId));
  await instance.storage.writer.flush();
  const next = await openLobbyInstance();
  const joined: string[] = [];
  next.features.games.define(game, { onJoin: (_, member) => void joined.push(member.id) });
  const after = must(await next.lobbies.call(id, 'getBeyond', {}, instance.bot));
  expect([after.host_id, after.game]).toEqual([a.userId, game]);
  expect(joined).toEqual([a.userId, b.userId]);
  next.close();
});

describe('the matchmaker', () => {
  const ticket = (queue: string, player: Player, more: object = {}) =>
    instance.features.matchmaking.enter(
      { queue, properties: {}, lobbyId: null, userIds: null, ...more },
      player.authority,
    );
  const statusOf = async (id: TicketId) =>
    must(await instance.features.matchmaking.get(id, instance.bot)).status;

  test('creates one lobby with all matched players, and notifies them', async () => {
    const [a, b, c] = [await instance.player(), await instance.player(), await instance.player()];
    const connection = await a.connect();
    const queue = name();
    instance.features.matchmaking.define(queue, {
      size: 3,
      lobby: (match) => ({ metadata: { tickets: `${match.length}` }, hostGraceSeconds: 5 }),
    });
    const party = await room(b, { listed: true });
    must(await enter(party.id, c));
    const alone = must(await ticket(queue, a));
    expect(codeOf(await ticket(queue, a))).toBe(900_011);
    const together = must(await ticket(queue, b, { lobbyId: party.id }));
    expect(together.user_ids).toEqual([b.userId, c.userId]);
    await vi.waitFor(async () => {
      instance.clock.advance(200);
      expect(await statusOf(alone.id)).toBe('matched');
    });
    const done = must(await instance.features.matchmaking.get(together.id, c.authority));
    expect(done.status).toBe('matched');
    const lobby = await shown(done.lobby_id as ChannelId);
    expect(lobby.members.map(({ id }) => id).sort()).toEqual([a.userId, b.userId, c.userId].sort());
    expect(lobby.metadata).toEqual({ tickets: '2' });
    expect(connection.dispatched('GUILDHALL_MATCHMAKING_UPDATE')).toMatchObject([
      { lobby_id: done.lobby_id },
    ]);
    expect(connection.sink.names).toContain('LOBBY_CREATE');
  });

  test('ends cancelled and timed-out tickets, and hides tickets from other players', async () => {
    const [a, b] = [await instance.player(), await instance.player()];
    const queue = name();
    instance.features.matchmaking.define(queue, { size: 2, same: ['mode'], timeoutMs: 5_000 });
    expect(codeOf(await ticket(queue, a))).toBe(50_035);
    const mine = must(await ticket(queue, a, { properties: { mode: 'x' } }));
    expect(codeOf(await instance.features.matchmaking.get(mine.id, b.authority))).toBe(900_010);
    expect(must(await instance.features.matchmaking.cancel(mine.id, a.authority)).status).toBe('cancelled');
    const again = must(await ticket(queue, a, { properties: { mode: 'x' } }));
    await vi.waitFor(async () => {
      instance.clock.advance(1_000);
      expect(await statusOf(again.id)).toBe('timed_out');
    });
    instance.clock.advance(61_000);
    expect(codeOf(await instance.features.matchmaking.get(again.id, a.authority))).toBe(900_010);
    expect(codeOf(await ticket('nowhere', a))).toBe(900_009);
  });

  test('takes the match that an override chooses, and ignores an override that throws', async () => {
    const [a, b] = [await instance.player(), await instance.player()];
    const queue = name();
    let broken = true;
    instance.features.matchmaking.define(queue, {
      size: 1,
      match(waiting) {
        if (broken) throw new Error('a bug of the program');
        return [waiting.map(({ id }) => id)];
      },
    });
    const [one, two] = [must(await ticket(queue, a)), must(await ticket(queue, b))];
    instance.clock.advance(500);
    expect(await statusOf(one.id)).toBe('waiting');
    broken = false;
    await vi.waitFor(async () => {
      instance.clock.advance(1_000);
      expect([await statusOf(one.id), await statusOf(two.id)]).toEqual(['matched', 'matched']);
    });
  });
});
