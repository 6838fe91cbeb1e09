// Goal: lobbies with sessions, guilds, the database and time: messages are delivered once, and to members only.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VoiceMember } from '../../actors/call/ports.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { GuildChannel } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import { until } from '../support/instance.ts';
import { type LobbyInstance, openLobbyInstance, type Player } from '../support/lobbyinstance.ts';

const must = <T>(reply: Reply<T>): T => {
  if (!reply.ok) throw new Error(`refused: ${JSON.stringify(reply.refusal)}`);
  return reply.value;
};
const codeOf = (reply: Reply<unknown>): number | null => (reply.ok ? null : reply.refusal.code);

const UNKNOWN_LOBBY = 10031;
const MINUTES_MS = 60_000;

let setup: LobbyInstance;
const seats: { readonly said: string; readonly seat?: VoiceMember }[] = [];

beforeAll(async () => {
  setup = await openLobbyInstance(
    {},
    {
      voiceJoined: (seat) => void seats.push({ said: 'voiceJoined', seat }),
      voiceLeft: (serverId, userId) => void seats.push({ said: `unseated ${serverId} ${userId}` }),
      ended: (callId) => void seats.push({ said: `ended ${callId}` }),
    },
  );
  // Opening a database takes its time on a busy machine.
}, 60_000);
afterAll(() => setup.close());

const join = async (player: Player, secret: string, more: object = {}) =>
  must(await setup.lobbies.createOrJoin({ secret, lobby: {}, member: {}, ...more }, player.authority));
const say = (lobbyId: ChannelId, player: Player, content: string) =>
  setup.lobbies.send(lobbyId, { content, metadata: null, flags: 0 }, player.authority);
const exists = async (id: ChannelId): Promise<boolean> => (await setup.storage.lobbies.load(id)) !== null;
const lobbyNames = (names: readonly string[]): string[] => names.filter((name) => name.startsWith('LOBBY'));

describe('joining by secret', () => {
  test('two players with one secret share a lobby and receive each other’s messages', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    const [first, second] = [await a.connect(), await b.connect()];
    const made = await join(a, 'meeting', { lobby: { metadata: { mode: 'duel' } } });
    expect(made.metadata).toEqual({ mode: 'duel' });
    const joined = await join(b, 'meeting', { member: { metadata: { side: 'b' } } });
    expect(joined.id).toBe(made.id);
    expect(joined.members.map(({ id }) => id)).toEqual([a.userId, b.userId]);
    expect(lobbyNames(first.sink.names)).toEqual(['LOBBY_CREATE', 'LOBBY_MEMBER_ADD']);
    expect(first.dispatched('LOBBY_MEMBER_ADD')).toEqual([
      expect.objectContaining({
        lobby_id: made.id,
        application_id: setup.applicationId,
        member: expect.objectContaining({ connected: true, metadata: { side: 'b' } }),
      }),
    ]);
    const said = must(
      await setup.lobbies.send(made.id, { content: 'hello', metadata: { k: 'v' }, flags: 0 }, a.authority),
    );
    await until(() => second.sink.names.includes('LOBBY_MESSAGE_CREATE'));
    expect(second.dispatched('LOBBY_MESSAGE_CREATE')).toEqual([{ ...said, channel_type: 17 }]);
    const [kept] = must(await setup.lobbies.history(made.id, 50, b.authority));
    const { metadata: _, ...rest } = said;
    expect(kept).toEqual(rest);
  });

  test('simultaneous joins by one secret create one lobby with every player in it once', async () => {
    const players = await Promise.all(Array.from({ length: 60 }, () => setup.player()));
    const answers = await Promise.all(
      players.flatMap((player) => [join(player, 'storm'), join(player, 'storm')]),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    const loaded = await setup.storage.lobbies.load(answers[0]?.id as ChannelId);
    expect(loaded?.members.map(({ user }) => user.id).sort()).toEqual(
      players.map(({ userId }) => userId).sort(),
    );
  });

  test('one secret names different lobbies in different applications, which cannot access each other’s lobby', async () => {
    const player = await setup.player();
    const mine = await join(player, 'shared words');
    const other = { ...player.authority.by, applicationId: '77' as ApplicationId };
    const theirs = must(
      await setup.lobbies.createOrJoin(
        { secret: 'shared words', lobby: {}, member: {} },
        { by: other, requires: 0n },
      ),
    );
    expect(theirs.id).not.toBe(mine.id);
    const from = { by: other, requires: 0n };
    expect(codeOf(await setup.lobbies.call(mine.id, 'getLobby', {}, from))).toBe(UNKNOWN_LOBBY);
    expect(codeOf(await setup.lobbies.call(mine.id, 'leaveLobby', {}, from))).toBe(UNKNOWN_LOBBY);
  });

  test('an expired secret names a new lobby, and the old lobby stays', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    await a.connect();
    const before = await join(a, 'monthly');
    const nowMs = setup.clock.now();
    await setup.storage.lobbies.sweep({
      ...{ after: null, lobbies: 10, limit: 100, beforeId: '0' as never },
      nowMs: nowMs + 31 * 24 * 60 * MINUTES_MS,
    });
    const fresh = await openLobbyInstance();
    const again = must(
      await fresh.lobbies.createOrJoin({ secret: 'monthly', lobby: {}, member: {} }, b.authority),
    );
    expect(again.id).not.toBe(before.id);
    expect(await exists(before.id)).toBe(true);
    fresh.close();
  });

  test('a player at the limit of lobbies is rejected from another, and may still rejoin their own', async () => {
    const player = await setup.player();
    const ids: ChannelId[] = [];
    for (let count = 0; count < 100; count += 1) ids.push((await join(player, `room ${count}`)).id);
    const more = { secret: 'one more', lobby: {}, member: {} };
    const reply = await setup.lobbies.createOrJoin(more, player.authority);
    expect(reply).toMatchObject({ ok: false, refusal: { status: 400, code: 0 } });
    const nextMs = await setup.storage.lobbies.nextDueMs();
    await setup.lobbies.createOrJoin({ ...more, lobby: { idle_timeout_seconds: 5 } }, player.authority);
    expect(await setup.storage.lobbies.nextDueMs()).toBe(nextMs);
    expect((await join(player, 'room 7')).id).toBe(ids[7]);
  });

  test('a person without an application cannot create or join a lobby', async () => {
    const { authority } = await setup.player();
    const alone = { by: { ...authority.by, applicationId: null }, requires: 0n };
    const reply = await setup.lobbies.createOrJoin({ secret: 'x', lobby: {}, member: {} }, alone);
    expect(codeOf(reply)).toBe(50025);
  });
});

describe('an idle lobby', () => {
  const idle = { lobby: { idle_timeout_seconds: 60 } };

  test('ends once, after its timeout without a connected member', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    const first = await a.connect();
    const { id } = await join(a, 'short', idle);
    await join(b, 'short');
    setup.clock.advance(10 * MINUTES_MS);
    await until(() => true);
    expect(await exists(id)).toBe(true);
    const deleted: unknown[] = [];
    const told = setup.hooks.on('LOBBY_DELETE', (d) => void deleted.push(d));
    first.session.detach(first.sink, false);
    await setup.storage.writer.flush();
    setup.clock.advance(50_000);
    expect(await exists(id)).toBe(true);
    await untilGone(id);
    expect(deleted.filter((d) => (d as { id: string }).id === id)).toEqual([{ id, reason: 'deleted' }]);
    expect(codeOf(await setup.lobbies.call(id, 'getLobby', {}, setup.bot))).toBe(UNKNOWN_LOBBY);
    expect(await setup.storage.lobbies.all(a.userId)).toEqual([]);
    expect((await join(b, 'short')).id).not.toBe(id);
    told();
  });

  test('stays when a member reconnects before its timeout', async () => {
    const a = await setup.player();
    const { id } = await join(a, 'returning', idle);
    setup.clock.advance(50_000);
    const back = await a.connect();
    expect(back.dispatched('LOBBY_CREATE')).toEqual([expect.objectContaining({ id })]);
    setup.clock.advance(10 * MINUTES_MS);
    await settle();
    expect(await exists(id)).toBe(true);
    back.session.detach(back.sink, false);
    await untilGone(id);
  });

  test('keeps its deadline over a restart, while a lobby in use gets its full timeout again', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    const left = await join(a, 'left behind', idle);
    await b.connect();
    const used = await join(b, 'in use', idle);
    await setup.storage.writer.flush();
    await until(() => true);
    const next = await openLobbyInstance({}, undefined, new VirtualClock(setup.clock.now() + 30_000));
    await settle();
    next.clock.advance(20_000);
    await settle();
    expect(await exists(left.id)).toBe(true);
    next.clock.advance(20_000);
    await settle();
    expect([await exists(left.id), await exists(used.id)]).toEqual([false, true]);
    await untilGone(used.id, next);
    next.close();
  });

  /** Lets time pass until the lobby is gone; fails when it stays. */
  async function untilGone(id: ChannelId, where: LobbyInstance = setup): Promise<void> {
    for (let round = 0; round < 40; round += 1) {
      if (!(await exists(id))) return;
      where.clock.advance(5_000);
      await settle();
    }
    throw new Error('the lobby is still there');
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
    await setup.storage.writer.flush();
  }
});

describe('a linked channel', () => {
  async function linked(name: string) {
    const [owner, friend] = [await setup.player(), await setup.player()];
    const guild = await setup.operator.createGuild({ name, ownerId: owner.userId });
    const guildId = guild.id as typeof setup.guildId;
    const channels = must(
      await setup.guilds.call(guildId, 'listChannels', {}, { ...SYSTEM, by: owner.authority.by }),
    );
    const channel = channels.find(({ type }) => type === 0) as GuildChannel;
    const lobby = must(
      await setup.lobbies.create(
        {
          change: {},
          members: [
            { userId: owner.userId, draft: { flags: 1 } },
            { userId: friend.userId, draft: { additional_name: 'Rook' } },
          ],
        },
        setup.bot,
      ),
    );
    const link = () => setup.lobbies.link(lobby.id, channel.id, owner.authority);
    return { owner, friend, guildId, channel, lobby, link };
  }
  const linkNow = async (guildId: typeof setup.guildId, id: ChannelId) => {
    const found = await setup.guilds.look(guildId, (guild) => guild.channels.get(id)?.linked_lobby);
    return found && 'lobby_id' in found ? found : null;
  };

  test('receives each message of the lobby once, and the lobby each message of the channel', async () => {
    const { owner, friend, guildId, channel, lobby, link } = await linked('both ways');
    const session = await owner.connect();
    expect(must(await link())).toMatchObject({ linked_channel: { id: channel.id, guild_id: guildId } });
    expect(await linkNow(guildId, channel.id)).toMatchObject({
      application_id: setup.applicationId,
      lobby_id: lobby.id,
      linked_by: owner.userId,
    });
    must(await say(lobby.id, friend, 'from the game'));
    await untilMessages(guildId, channel.id, 1);
    const [copy] = await setup.storage.messages.list(guildId, channel.id, { limit: 10 });
    expect(copy).toMatchObject({
      content: 'from the game',
      author: { id: friend.userId },
      application_id: setup.applicationId,
      lobby_member: { additional_name: 'Rook' },
    });
    const draft = { content: 'from the guild' };
    const input = { channelId: channel.id, draft, attachments: [], forward: null };
    must(
      await setup.guilds.call(guildId, 'createMessage', input, {
        ...owner.authority,
        channelId: channel.id,
      }),
    );
    await until(() => session.dispatched('LOBBY_MESSAGE_CREATE').length === 2);
    expect(session.dispatched('LOBBY_MESSAGE_CREATE')[1]).toMatchObject({
      content: 'from the guild',
      lobby_id: lobby.id,
      channel_id: channel.id,
      guild_id: guildId,
      member: expect.anything(),
    });
    expect(await setup.storage.messages.list(guildId, channel.id, { limit: 10 })).toHaveLength(2);
    expect(must(await setup.lobbies.history(lobby.id, 50, owner.authority))).toHaveLength(1);
  });

  test('is unlinked when the channel or the lobby is deleted, and on request of either side', async () => {
    const first = await linked('deleted channel');
    must(await first.link());
    const { guildId, channel, owner, lobby } = first;
    const input = { channelId: channel.id };
    must(
      await setup.guilds.call(guildId, 'deleteChannel', input, {
        ...owner.authority,
        channelId: channel.id,
      }),
    );
    await untilUnlinked(lobby.id);

    const second = await linked('deleted lobby');
    must(await second.link());
    must(await setup.lobbies.call(second.lobby.id, 'deleteLobby', {}, setup.bot));
    await untilFree(second.guildId, second.channel.id);

    const third = await linked('asked');
    must(await third.link());
    expect(must(await setup.lobbies.link(third.lobby.id, null, third.owner.authority))).not.toHaveProperty(
      'linked_channel',
    );
    await untilFree(third.guildId, third.channel.id);

    const fourth = await linked('by the guild');
    must(await fourth.link());
    must(await setup.lobbies.unlinkChannel(fourth.channel.id, fourth.owner.authority));
    await untilUnlinked(fourth.lobby.id);
  });

  test('is linked only by an eligible member, to one lobby, and not when age-restricted', async () => {
    const { owner, friend, guildId, channel, lobby, link } = await linked('conditions');
    const as = (player: Player, id = channel.id) => setup.lobbies.link(lobby.id, id, player.authority);
    expect(codeOf(await as(friend))).toBe(50013);
    must(await setup.lobbies.setMember(lobby.id, { userId: friend.userId, draft: { flags: 1 } }, setup.bot));
    expect(codeOf(await as(friend))).toBe(50001);
    expect(codeOf(await as(await setup.player()))).toBe(50001);
    expect(codeOf(await as(owner, '123' as ChannelId))).toBe(10003);
    const secret = await join(owner, 'not eligible');
    must(await setup.lobbies.setMember(secret.id, { userId: owner.userId, draft: { flags: 1 } }, setup.bot));
    expect(codeOf(await setup.lobbies.link(secret.id, channel.id, owner.authority))).toBe(50013);
    const draft = { nsfw: true };
    const update = (nsfw: boolean) =>
      setup.guilds.call(
        guildId,
        'updateChannel',
        { channelId: channel.id, draft: { ...draft, nsfw } },
        { ...owner.authority, channelId: channel.id },
      );
    must(await update(true));
    expect(codeOf(await link())).toBe(50035);
    must(await update(false));
    must(await link());
    const members = [{ userId: owner.userId, draft: { flags: 1 } }];
    const other = must(await setup.lobbies.create({ change: {}, members }, setup.bot));
    expect(codeOf(await setup.lobbies.link(other.id, channel.id, owner.authority))).toBe(50035);
  });

  test('shows in the channel object whether the lobby requires authorization from authors, also after a change', async () => {
    const { guildId, channel, lobby, link } = await linked('asking');
    must(await link());
    const asked = async () => (await linkNow(guildId, channel.id))?.require_application_authorization;
    expect(await asked()).toBe(false);
    must(await setup.lobbies.update(lobby.id, { change: { flags: 1 }, members: null }, setup.bot));
    expect(await asked()).toBe(true);
    must(await setup.lobbies.update(lobby.id, { change: { flags: 0 }, members: null }, setup.bot));
    expect(await asked()).toBe(false);
  });

  test('is joined through an invite that one user can accept once', async () => {
    const { owner, friend, guildId, lobby, link } = await linked('invites');
    expect(codeOf(await setup.lobbies.invite(lobby.id, friend.userId, friend.authority))).toBe(10003);
    must(await link());
    const { code } = must(await setup.lobbies.invite(lobby.id, friend.userId, friend.authority));
    const stranger = await setup.player();
    const accept = (userId: UserId) => setup.guilds.call(guildId, 'acceptInvite', { code, userId }, SYSTEM);
    expect(codeOf(await accept(stranger.userId))).toBe(10006);
    expect(must(await accept(friend.userId)).added).toBe(true);
    expect(codeOf(await accept(friend.userId))).toBe(10006);
    const [invite] = (await setup.storage.guilds.invites(guildId, null, 0)).slice(-1);
    expect(invite).toBeUndefined();
    expect(codeOf(await setup.lobbies.invite(lobby.id, stranger.userId, setup.bot))).toBe(10007);
    expect(must(await setup.lobbies.invite(lobby.id, owner.userId, setup.bot)).code).not.toBe(code);
  });

  const untilMessages = async (guildId: string, channelId: ChannelId, count: number): Promise<void> => {
    for (let turn = 0; turn < 200; turn += 1) {
      if ((await setup.storage.messages.list(guildId, channelId, { limit: 10 })).length >= count) return;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    throw new Error('no message came');
  };
  const untilUnlinked = async (id: ChannelId): Promise<void> => {
    for (let turn = 0; turn < 200; turn += 1) {
      if (!(await setup.storage.lobbies.load(id))?.lobby.linked) return;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    throw new Error('still linked');
  };
  const untilFree = async (guildId: typeof setup.guildId, id: ChannelId): Promise<void> => {
    for (let turn = 0; turn < 200; turn += 1) {
      if (!(await linkNow(guildId, id))) return;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    throw new Error('the channel still names a lobby');
  };
});

describe('lobby voice', () => {
  test('joins exactly the lobbies that the last op 17 lists, and ends with the session', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    const [first, second] = [await a.connect(), await b.connect()];
    const [one, two] = [await join(a, 'voice one'), await join(a, 'voice two')];
    await join(b, 'voice one');
    const place = { selfMute: false, selfDeaf: false, selfVideo: false };
    seats.length = 0;
    first.session.ask({
      name: 'lobbyVoice',
      input: [
        { ...place, lobbyId: one.id, selfMute: true },
        ...[two.id, '5' as ChannelId].map((lobbyId) => ({ ...place, lobbyId })),
      ],
    });
    await until(() => second.sink.names.includes('LOBBY_MEMBER_CONNECT'));
    const state = { lobby_id: one.id, channel_id: one.id, user_id: a.userId, self_mute: true };
    expect(second.dispatched('LOBBY_VOICE_STATE_UPDATE')).toEqual([
      expect.objectContaining({ ...state, session_id: first.session.id }),
    ]);
    expect(seats.map(({ said, seat }) => [said, seat?.callId, seat?.silenced])).toEqual([
      ['voiceJoined', one.id, true],
      ['voiceJoined', two.id, false],
    ]);
    first.session.ask({ name: 'lobbyVoice', input: [{ ...place, lobbyId: two.id }] });
    await until(() => second.sink.names.includes('LOBBY_MEMBER_DISCONNECT'));
    expect(second.dispatched('LOBBY_VOICE_STATE_UPDATE')[1]).toMatchObject({ ...state, channel_id: null });
    const again = { said: 'voiceJoined', seat: { callId: two.id } };
    // The leave waits for its commit; the state that did not change is repeated at once.
    expect(seats.slice(2)).toMatchObject([again, { said: `unseated ${one.id} ${a.userId}` }]);
    first.session.ask({ name: 'lobbyVoiceServer', input: two.id });
    expect(seats.slice(4)).toMatchObject([again]);
    first.session.detach(first.sink, false);
    await until(() => seats.at(-1)?.said === `unseated ${two.id} ${a.userId}`);
  });

  test('ends for a member removed from the lobby, and rejects that player from then on', async () => {
    const a = await setup.player();
    const { sink, session } = await a.connect();
    const { id } = await join(a, 'kicked');
    const silence = { selfMute: false, selfDeaf: false, selfVideo: false };
    session.ask({ name: 'lobbyVoice', input: [{ lobbyId: id, ...silence }] });
    await until(() => sink.names.includes('LOBBY_MEMBER_CONNECT'));
    must(await setup.lobbies.call(id, 'removeMember', { userId: a.userId }, setup.bot));
    expect(seats.at(-1)?.said).toBe(`unseated ${id} ${a.userId}`);
    const told = sink.dispatches.filter(({ t }) => t === 'LOBBY_DELETE').map(({ d }) => d);
    expect(told).toEqual([{ id, reason: 'removed' }]);
    const input = { sessionId: session.id, ...silence };
    expect(codeOf(await setup.lobbies.call(id, 'setVoice', input, a.authority))).toBe(50001);
  });
});

test('a lobby member shows the current name of its account', async () => {
  const [a, b] = [await setup.player(), await setup.player()];
  const first = await a.connect();
  await join(a, 'renaming');
  await join(b, 'renaming');
  must(await setup.users.update(b.userId, { global_name: 'Renamed' }));
  await until(() => first.sink.names.includes('LOBBY_MEMBER_UPDATE'));
  expect(first.dispatched('LOBBY_MEMBER_UPDATE')).toMatchObject([
    { member: { user: { id: b.userId, global_name: 'Renamed' }, connected: false } },
  ]);
});

describe('merged accounts', () => {
  test('have the lobbies of both accounts, also when the merge is repeated', async () => {
    const [from, to, friend] = [await setup.player(), await setup.player(), await setup.player()];
    const [kept, shared] = [await join(from, 'kept'), await join(from, 'shared')];
    await join(to, 'shared');
    await join(friend, 'kept');
    await setup.lobbies.merge(from.userId, to.userId);
    await setup.lobbies.merge(from.userId, to.userId);
    expect(await setup.storage.lobbies.all(from.userId)).toEqual([]);
    expect(await setup.storage.lobbies.all(to.userId)).toEqual([kept.id, shared.id]);
    const members = (await setup.storage.lobbies.load(kept.id))?.members.map(({ user }) => user.id);
    expect(members?.sort()).toEqual([friend.userId, to.userId].sort());
    const apart = await setup.player();
    await setup.lobbies.unmerge(to.userId, apart.userId, setup.applicationId);
    expect(await setup.storage.lobbies.all(apart.userId)).toEqual([kept.id, shared.id]);
    expect(await setup.storage.lobbies.all(to.userId)).toEqual([kept.id, shared.id]);
  });
});

test('an application linked under a parent loses all its lobbies', async () => {
  const parent = await setup.operator.createApplication({ name: 'Publisher' });
  const made = await setup.operator.createApplication({ name: 'Child' });
  const childId = made.application.id as ApplicationId;
  const by = { ...setup.bot.by, userId: made.bot.id as UserId, applicationId: childId };
  const authority = { by, requires: 0n };
  const here = await join(await setup.player(), 'of another application');
  const created = await Promise.all(
    Array.from({ length: 70 }, () => setup.lobbies.create({ change: {}, members: [] }, authority)),
  );
  must(await setup.features.provisional.linkChild(childId, parent.application.id as ApplicationId));
  for (const reply of created) expect(await exists(must(reply).id)).toBe(false);
  expect(await exists(here.id)).toBe(true);
});

describe('a lobby whose commit fails', () => {
  test('answers with the error, and delivers later messages to its sessions', async () => {
    const [a, b] = [await setup.player(), await setup.player()];
    const { sink } = await a.connect();
    const { id } = await join(a, 'unlucky');
    setup.steer.fail = true;
    await expect(say(id, a, 'lost')).rejects.toThrow('The disk is gone.');
    setup.steer.fail = false;
    await join(b, 'unlucky');
    must(await say(id, b, 'kept'));
    await until(() => sink.names.includes('LOBBY_MESSAGE_CREATE'));
    const contents = must(await setup.lobbies.history(id, 50, a.authority)).map(({ content }) => content);
    expect(contents).toEqual(['kept']);
  });
});
