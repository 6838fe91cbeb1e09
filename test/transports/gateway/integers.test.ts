// Goal: a client may send ids as integers, and loses no digit; what is no id closes the connection.
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../protocol/json.ts';
import { writeEtf } from '../../support/codec-client.ts';
import { arrange, IDENTIFY } from './harness.ts';

async function identified(arranged: ReturnType<typeof arrange>) {
  const client = arranged.connect();
  client.say(2, IDENTIFY);
  await arranged.flush();
  return client;
}

const ID = '175928847299117063';
const OTHER = '175928847299117065';
/** Ids in a text are spelled `<digits>`; here they stand as integers. */
const integers = (d: object) => JSON.stringify(d).replace(/"<(-?[\d.e]+)>"/g, '$1');
const id = `<${ID}>`;
const other = `<${OTHER}>`;
describe('an opcode', () => {
  it.each([
    [
      4,
      { guild_id: id, channel_id: other },
      ['voiceState', expect.objectContaining({ guildId: ID, channelId: OTHER })],
    ],
    [8, { guild_id: id, query: 'a' }, ['members', expect.objectContaining({ guildId: ID })]],
    [
      8,
      { guild_id: [id], user_ids: [id, other], nonce: other },
      ['members', expect.objectContaining({ guildId: ID, userIds: [ID, OTHER], nonce: OTHER })],
    ],
    [8, { guild_id: id, user_ids: other }, ['members', expect.objectContaining({ userIds: [OTHER] })]],
    [31, { guild_ids: [id, other] }, ['soundboard', [ID, OTHER]]],
    [43, { guild_id: id, fields: [] }, ['channelInfo', { guildId: ID, fields: [] }]],
  ] as const)('opcode %i accepts ids as integers with all their digits: %j', async (op, d, expected) => {
    for (const encoding of ['json', 'etf'] as const) {
      const arranged = arrange();
      const { socket, wire } = arranged.connect(encoding);
      const sent = (text: string) =>
        encoding === 'json' ? Buffer.from(text) : writeEtf(parseJson(Buffer.from(text)));
      const tell = (text: string) => socket.received(sent(text), encoding === 'etf');
      tell(JSON.stringify({ op: 2, d: IDENTIFY }));
      await arranged.flush();
      arranged.backend.calls.length = 0;
      tell(`{"op":${op},"d":${integers(d)}}`);
      await arranged.flush();
      expect(wire.ended).toBeNull();
      expect(arranged.backend.calls[0]).toEqual(expected);
    }
  });

  it.each([
    '1.5',
    '-5',
    '-175928847299117063',
    '1e18',
    '9223372036854775808',
    '99999999999999999999999',
    'true',
    '{}',
  ])('refuses %s as an id with 4001', async (wrong) => {
    for (const text of [
      `{"op":4,"d":{"guild_id":${wrong},"channel_id":null}}`,
      `{"op":4,"d":{"guild_id":"5","channel_id":${wrong}}}`,
      `{"op":8,"d":{"guild_id":${wrong},"query":"","limit":0}}`,
      `{"op":8,"d":{"guild_id":"5","user_ids":[${wrong}]}}`,
      `{"op":8,"d":{"guild_id":"5","user_ids":${wrong}}}`,
      `{"op":31,"d":{"guild_ids":[${wrong}]}}`,
      `{"op":43,"d":{"guild_id":${wrong},"fields":[]}}`,
    ]) {
      const arranged = arrange();
      const { wire, socket } = await identified(arranged);
      socket.received(Buffer.from(text), false);
      await arranged.flush();
      expect(wire.ended).toMatchObject({ code: 4001, reason: expect.stringContaining('invalid payload') });
    }
  });

  it('refuses a 64-bit integer where a text or a number belongs', async () => {
    for (const text of [
      `{"op":2,"d":{"token":${ID},"intents":1,"properties":{}}}`,
      `{"op":2,"d":{"token":"bot","intents":${ID},"properties":{}}}`,
      `{"op":6,"d":{"token":"bot","session_id":${ID},"seq":1}}`,
      `{"op":1,"d":${ID}}`,
    ]) {
      const arranged = arrange();
      const { wire, socket } = arranged.connect();
      socket.received(Buffer.from(text), false);
      await arranged.flush();
      expect(wire.ended?.code).toBe(4001);
    }
  });
});
