// Goal: a lobby and a channel name each other or neither names the other, also when changes overlap or a part fails.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { GuildChannel } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { GuildId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { type LobbyInstance, openLobbyInstance } from '../support/lobbyinstance.ts';

const must = <T>(reply: Reply<T>): T => {
  if (!reply.ok) throw new Error(`refused: ${JSON.stringify(reply.refusal)}`);
  return reply.value;
};

let setup: LobbyInstance;
let restore: () => void = () => undefined;

// Opening a database takes its time on a busy machine.
beforeAll(async () => {
  setup = await openLobbyInstance();
  const { call, look } = setup.guilds;
  restore = () => void Object.assign(setup.guilds, { call, look });
}, 60_000);
afterEach(() => restore());
afterAll(() => setup.close());

/** A lobby and a channel whose owner is its member, and what each of them names. */
async function arrange(name: string) {
  const owner = await setup.player();
  const guild = await setup.operator.createGuild({ name, ownerId: owner.userId });
  const guildId = guild.id as GuildId;
  const asOwner = { ...SYSTEM, by: owner.authority.by };
  const channels = must(await setup.guilds.call(guildId, 'listChannels', {}, asOwner));
  const channel = channels.find(({ type }) => type === 0) as GuildChannel;
  const create = async () => {
    const members = [{ userId: owner.userId, draft: { flags: 1 } }];
    return must(await setup.lobbies.create({ change: {}, members }, setup.bot)).id;
  };
  const lobbyId = await create();
  const look = setup.guilds.look.bind(setup.guilds);
  const add = () =>
    setup.guilds.call(guildId, 'createChannel', { draft: { name: 'second', type: 0 } } as never, asOwner);
  return {
    ...{ channel, lobbyId, create, add },
    link: (id = lobbyId, to: string = channel.id) => setup.lobbies.link(id, to as never, owner.authority),
    unlink: () => setup.lobbies.link(lobbyId, null, owner.authority),
    unlinkChannel: () => setup.lobbies.unlinkChannel(channel.id, owner.authority),
    write: (content: string) => {
      const input = { channelId: channel.id, draft: { content }, attachments: [], forward: null };
      return setup.guilds.call(guildId, 'createMessage', input, asOwner);
    },
    send: (content: string) =>
      setup.lobbies.send(lobbyId, { content, metadata: null, flags: 0 }, owner.authority),
    deleteLobby: () => setup.lobbies.call(lobbyId, 'deleteLobby', {}, setup.bot),
    /** The lobby that the channel names, and the channel that the lobby names. */
    async halves(id = lobbyId, ofChannel: string = channel.id) {
      const found = await look(guildId, ({ channels: known }) => known.get(ofChannel as never)?.linked_lobby);
      const stored = await setup.storage.lobbies.load(id);
      const named = found && 'lobby_id' in found ? found.lobby_id : null;
      return [named, stored?.lobby.linked?.channel.id ?? null];
    },
  };
}

/**
 * Runs `meanwhile` once, after a lobby was written to the channel and before the channel is written to the lobby, or after the channel was
 * unlinked and before its lobby is.
 */
function whileLinking(meanwhile: () => Promise<unknown>, command = 'linkChannel'): void {
  const call = setup.guilds.call.bind(setup.guilds);
  let left = 1;
  Object.assign(setup.guilds, {
    call: async (...args: Parameters<typeof call>) => {
      const reply = await call(...args);
      if (args[1] === command && left-- === 1) await meanwhile();
      return reply;
    },
  });
}

/** As `whileLinking`; the next look at a guild ends like this. */
function failingLook(end: () => unknown, meanwhile: () => Promise<unknown> = async () => null): void {
  const look = setup.guilds.look.bind(setup.guilds);
  whileLinking(async () => {
    await meanwhile();
    let left = 1;
    Object.assign(setup.guilds, {
      look: async (...args: Parameters<typeof look>) => (left-- === 1 ? end() : look(...args)),
    });
  });
}

/** Delays commands of this name until `release`, and keeps their replies. */
function delaying(command: string) {
  const call = setup.guilds.call.bind(setup.guilds);
  const replies: unknown[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const run = async (...args: Parameters<typeof call>) => {
    if (args[1] !== command) return call(...args);
    await released;
    const reply = await call(...args);
    replies.push(reply);
    return reply;
  };
  Object.assign(setup.guilds, { call: run });
  return { replies, release };
}

const CONFLICT = { ok: false, refusal: { status: 409 } };

describe('a lobby that is linked to a channel', () => {
  test('frees the channel when it is linked to another', async () => {
    const { link, halves, lobbyId, add, create } = await arrange('moving');
    const second = must(await add()) as { readonly id: string };
    expect((await link()).ok).toBe(true);
    expect((await link(lobbyId, second.id)).ok).toBe(true);
    expect(await halves(lobbyId, second.id)).toEqual([lobbyId, second.id]);
    expect(await halves()).toEqual([null, second.id]);
    expect((await link(await create())).ok).toBe(true);
  });

  test('stays linked when the channel is being unlinked from an earlier lobby', async () => {
    const { link, unlinkChannel, halves, create, channel, unlink } = await arrange('earlier');
    const next = await create();
    expect((await link()).ok).toBe(true);
    whileLinking(async () => {
      expect((await unlink()).ok).toBe(true);
      expect((await link(next)).ok).toBe(true);
    }, 'unlinkChannel');
    expect((await unlinkChannel()).ok).toBe(true);
    expect(await halves()).toEqual([next, null]);
    expect(await halves(next)).toEqual([next, channel.id]);
  });
});

describe('a message of a lobby', () => {
  test.each(['unlinked', 'deleted'])('is written to the channel before the lobby is %s', async (end) => {
    const { link, send, unlink, deleteLobby, halves } = await arrange(end);
    must(await link());
    const { replies, release } = delaying('writeFromLobby');
    must(await send('last words'));
    const ended = end === 'deleted' ? deleteLobby() : unlink();
    // The lobby's half is removed, and the channel waits for the message.
    await vi.waitFor(async () => expect((await halves())[1]).toBeNull());
    release();
    expect((await ended).ok).toBe(true);
    await vi.waitFor(async () => expect(await halves()).toEqual([null, null]));
    expect(replies).toEqual([{ ok: true, value: null }]);
  });
});

describe('a lobby that is being linked to a channel', () => {
  test('is not linked when the channel is unlinked meanwhile', async () => {
    const { link, unlinkChannel, halves, channel, lobbyId } = await arrange('unlinked');
    whileLinking(unlinkChannel);
    expect(await link()).toMatchObject(CONFLICT);
    expect(await halves()).toEqual([null, null]);
    expect((await link()).ok).toBe(true);
    expect(await halves()).toEqual([lobbyId, channel.id]);
  });

  test('is not linked when another lobby takes the channel meanwhile', async () => {
    const { link, halves, create, channel } = await arrange('taken');
    const other = await create();
    whileLinking(() => link(other));
    // The database lets a channel have one lobby.
    await expect(link()).rejects.toThrow('refused a commit');
    expect(await halves()).toEqual([other, null]);
    expect(await halves(other)).toEqual([other, channel.id]);
  });

  test('frees the channel when the lobby is deleted meanwhile', async () => {
    const { link, halves, deleteLobby, create, channel } = await arrange('refused');
    whileLinking(async () => must(await deleteLobby()));
    expect(await link()).toMatchObject({ ok: false, refusal: refusal('UNKNOWN_LOBBY') });
    expect(await halves()).toEqual([null, null]);
    const next = await create();
    expect((await link(next)).ok).toBe(true);
    expect(await halves(next)).toEqual([next, channel.id]);
  });

  test('stays linked when its guild is too busy to say what the channel names', async () => {
    const { link, halves, channel, lobbyId } = await arrange('busy');
    failingLook(() => ({ refusal: refusal('API_OVERLOADED') }));
    await expect(link()).rejects.toThrow('overloaded');
    expect(await halves()).toEqual([lobbyId, channel.id]);
    expect((await link()).ok).toBe(true);
    expect(await halves()).toEqual([lobbyId, channel.id]);
  });

  test('is linked by a second attempt when the first failed and left half a link', async () => {
    const { link, unlinkChannel, halves, channel, lobbyId } = await arrange('half');
    failingLook(() => Promise.reject(new Error('The guild was lost.')), unlinkChannel);
    await expect(link()).rejects.toThrow('lost');
    expect(await halves()).toEqual([null, channel.id]);
    expect(must(await link())).toMatchObject({ linked_channel: { id: channel.id } });
    expect(await halves()).toEqual([lobbyId, channel.id]);
  });
});

describe('a channel that names a lobby', () => {
  /** A channel whose lobby's half was not stored. */
  async function arrangeHalf(name: string) {
    const arranged = await arrange(name);
    whileLinking(() => Promise.reject(new Error('The lobby was lost.')));
    await expect(arranged.link()).rejects.toThrow('lost');
    expect(await arranged.halves()).toEqual([arranged.lobbyId, null]);
    return arranged;
  }

  test('is freed by its next message when the lobby is not linked to it', async () => {
    const { halves, write } = await arrangeHalf('stale');
    must(await write('to nobody'));
    await vi.waitFor(async () => expect(await halves()).toEqual([null, null]));
  });

  test('is freed by its next message when the lobby does not exist', async () => {
    const { halves, write, deleteLobby } = await arrangeHalf('gone');
    must(await deleteLobby());
    must(await write('to nobody'));
    await vi.waitFor(async () => expect(await halves()).toEqual([null, null]));
  });
});
