// Goal: a command reaches the owner of its channel, which checks the caller there, and a private channel does not show
// itself to strangers.
import { describe, expect, it } from 'vitest';
import { type Authority, userAuthority } from '../../../engine/kernel/authority.ts';
import { privateRules, privateState } from '../../../engine/privatechannel/rules.ts';
import type { ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { ChannelDirectory, channelCalls } from '../../../services/channels/channels.ts';
import { id, user } from '../../support/guild.ts';
import { messageEnv } from '../../support/messages.ts';

type Ports = Parameters<typeof channelCalls>[0];

const [LOW, HIGH, STRANGER] = [id<UserId>(10), id<UserId>(11), id<UserId>(12)];
const [PUBLIC, PRIVATE, NOWHERE] = [id<ChannelId>(50), id<ChannelId>(60), id<ChannelId>(70)];
const GUILD = id<GuildId>(9);

/** A channel of a guild, which records its commands, and one of two users, under its own rules. */
function arrange() {
  const inGuild: unknown[] = [];
  const channel = {
    id: PRIVATE,
    type: 1,
    recipientIds: [LOW, HIGH],
    last_message_id: null,
    last_pin_ms: null,
  };
  const state = privateState(channel as never, [user(LOW), user(HIGH)], []);
  const call = channelCalls({
    storage: {},
    guilds: {
      call: async (...given: unknown[]) => {
        inGuild.push(given);
        return { ok: true, value: null };
      },
    },
    channels: new ChannelDirectory({
      channelOwner: async (channelId) =>
        channelId === PRIVATE ? { private: true } : channelId === PUBLIC ? { guildId: GUILD } : null,
    }),
    inPrivate: async (_id: ChannelId, type: 'getChannel', input: { channelId: ChannelId }, by: Authority) =>
      privateRules.decide(state, type, input, by, { ...messageEnv(), acquaintance: null }),
  } as unknown as Ports);
  return { call, inGuild };
}

describe('a command to a channel', () => {
  it('asks its guild for the permissions of the caller in this channel', async () => {
    const { call, inGuild } = arrange();
    const authority = { ...userAuthority(LOW), requires: 8n };
    expect(await call(PUBLIC, 'deleteChannel', {}, authority)).toMatchObject({ ok: true });
    expect(inGuild).toEqual([
      [GUILD, 'deleteChannel', { channelId: PUBLIC }, { ...authority, channelId: PUBLIC }],
    ]);
  });

  it.each([
    ['is answered to a recipient of the private channel', 'getChannel', PRIVATE, LOW, undefined],
    ['is refused to a stranger as if there were no channel', 'getChannel', PRIVATE, STRANGER, 10_003],
    [
      'is refused to a recipient when private channels have none like it',
      'setOverwrite',
      PRIVATE,
      LOW,
      50_003,
    ],
    [
      'is refused to a stranger alike when private channels have none',
      'setOverwrite',
      PRIVATE,
      STRANGER,
      10_003,
    ],
    ['is refused when there is no such channel', 'setOverwrite', NOWHERE, LOW, 10_003],
  ] as const)('%s', async (_how, type, channelId, userId, code) => {
    const { call, inGuild } = arrange();
    const reply = await call(channelId, type, {}, userAuthority(userId));
    expect(reply.ok ? undefined : reply.refusal.code).toBe(code);
    expect(inGuild).toEqual([]);
  });
});

describe('the owners of channels', () => {
  it('are read once, and forgotten in the order of their last use beyond 100,000', async () => {
    const reads: string[] = [];
    const directory = new ChannelDirectory({
      channelOwner: async (channelId) => {
        reads.push(channelId);
        return { guildId: GUILD };
      },
    });
    const owner = async (first: number, last = first) => {
      for (let n = first; n <= last; n += 1) await directory.owner(id<ChannelId>(n));
      return reads.splice(0).length;
    };
    expect(await owner(1, 100_000)).toBe(100_000);
    expect(await owner(1)).toBe(0);
    expect(await owner(100_001)).toBe(1);
    expect(await owner(1)).toBe(0);
    expect(await owner(2)).toBe(1);
  });

  it('are read again while the channel does not exist', async () => {
    let exists = false;
    const directory = new ChannelDirectory({
      channelOwner: async () => (exists ? { guildId: GUILD } : null),
    });
    expect(await directory.owner(PUBLIC)).toBeNull();
    exists = true;
    expect(await directory.owner(PUBLIC)).toEqual({ guildId: GUILD });
  });
});
