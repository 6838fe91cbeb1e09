// Goal: the relay of end-to-end tests reads dispatches however they are framed, and objects to what does not fit the
// published file.
import { describe, expect, test } from 'vitest';
import { objectionsToDispatch } from '../support/dispatchschemas.ts';
import { validateAs } from '../support/openapi.ts';
import { Wiretap } from '../support/wiretap.ts';

/** A frame of a server: text, without a mask. */
function frame(payload: Buffer, head = 0x81): Buffer {
  const { length } = payload;
  const size = length < 126 ? [length] : [126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([head, ...size]), payload]);
}

describe('the wiretap', () => {
  test('reads dispatches from bytes cut anywhere, and from messages of several frames', async () => {
    const seen: unknown[] = [];
    const text = Buffer.from(JSON.stringify({ op: 0, t: 'X', s: 1, d: { text: 'é'.repeat(100) } }));
    const bytes = Buffer.concat([
      Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
      frame(text),
      frame(Buffer.from('ping'), 0x89),
      frame(text.subarray(0, 9), 0x01),
      frame(text.subarray(9), 0x80),
    ]);
    const wiretap = new Wiretap('/?v=10&encoding=json', (t, d) => seen.push([t, d]));
    for (const byte of bytes) wiretap.take(Buffer.from([byte]));
    await wiretap.read;
    expect(seen).toEqual(Array(2).fill(['X', { text: 'é'.repeat(100) }]));
  });
});

describe('objections by the published file', () => {
  test('name the part of a dispatch that does not fit', () => {
    const channels = [{ id: '1', type: 0, name: 'text', flags: 0, position: 0 }];
    expect(objectionsToDispatch('GUILD_CREATE', { id: '2', channels, roles: [], members: [] })).toEqual([]);
    const broken = { id: '2', channels: [{ ...channels[0], position: 'first' }], roles: [], members: [] };
    expect(objectionsToDispatch('GUILD_CREATE', broken)?.[0]).toMatch(/GuildChannelResponse: \/position/);
    expect(objectionsToDispatch('MESSAGE_CREATE', {})).not.toEqual([]);
    expect(objectionsToDispatch('RESUMED', {})).toBeNull();
  });

  test('cover all of a member and of a voice state', () => {
    const user = {
      ...{ id: '3', username: 'ada', discriminator: '0', global_name: null, avatar: null, flags: 0 },
      ...{ public_flags: 0, primary_guild: null },
    };
    const member = {
      ...{ avatar: null, banner: null, communication_disabled_until: null, flags: 0, nick: null },
      ...{ joined_at: '2026-03-01T12:00:00+00:00', pending: false, premium_since: null, roles: [] },
      ...{ user, mute: false, deaf: false },
    };
    const update = { ...member, guild_id: '2' };
    expect(objectionsToDispatch('GUILD_MEMBER_UPDATE', update)).toEqual([]);
    const { roles: _, ...without } = update;
    expect(objectionsToDispatch('GUILD_MEMBER_UPDATE', without)?.[0]).toMatch(/GuildMemberResponse.*roles/);
    expect(objectionsToDispatch('GUILD_MEMBER_UPDATE', member)).not.toEqual([]);
    const state = {
      ...{ channel_id: null, guild_id: '2', user_id: '3', session_id: 'a', member, suppress: false },
      ...{ deaf: false, mute: false, self_deaf: false, self_mute: false, self_video: false },
      ...{ self_stream: false, request_to_speak_timestamp: null },
    };
    expect(objectionsToDispatch('VOICE_STATE_UPDATE', state)).toEqual([]);
    for (const wrong of [{ suppress: null }, { member: without }, { channel_id: 1 }])
      expect(objectionsToDispatch('VOICE_STATE_UPDATE', { ...state, ...wrong })).not.toEqual([]);
    const { guild_id: __, ...partial } = state;
    expect(objectionsToDispatch('GUILD_CREATE', { id: '2', voice_states: [partial] })).toEqual([]);
  });

  test('reach media of components, and the formats of ids, dates and addresses', () => {
    const media = { id: '1', url: 'https://example.com/a.png', proxy_url: 'https://example.com/a.png' };
    const thumbnail = { type: 11, id: 1, media, description: null, spoiler: false };
    expect(validateAs('ThumbnailComponentResponse', thumbnail, 'x')).toEqual([]);
    const { proxy_url: _, ...unresolved } = media;
    expect(validateAs('ThumbnailComponentResponse', { ...thumbnail, media: unresolved }, 'x')).not.toEqual(
      [],
    );
    expect(validateAs('SnowflakeType', '18446744073709551616', 'x')).not.toEqual([]);
    const embed = {
      type: 'rich',
      url: 'https://example.com',
      timestamp: '2026-03-01T12:00:00+00:00',
      color: 1,
    };
    expect(validateAs('MessageEmbedResponse', embed, 'x')).toEqual([]);
    for (const wrong of [{ url: 'no address' }, { timestamp: '2026-03-01' }, { color: 2 ** 40 }])
      expect(
        validateAs('MessageEmbedResponse', { ...embed, ...wrong }, 'x'),
        JSON.stringify(wrong),
      ).not.toEqual([]);
  });
});
