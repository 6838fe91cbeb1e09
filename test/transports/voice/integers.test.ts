// Goal: a voice client may send ids and nonces as integers of 64 bits; a value that is not an id closes the connection.
import { describe, expect, it } from 'vitest';
import { arrange } from './harness.ts';

describe('a voice connection', () => {
  it('accepts ids as integers with all their digits', () => {
    const { sayRaw, calls } = arrange({ version: 9 });
    const ids = '"server_id":175928847299117063,"channel_id":175928847299117065';
    sayRaw(`{"op":0,"d":{${ids},"user_id":175928847299117067,"session_id":"abc","token":"ticket"}}`);
    expect(calls.identified).toMatchObject([
      { serverId: '175928847299117063', channelId: '175928847299117065', userId: '175928847299117067' },
    ]);
    const back = arrange({ version: 9 });
    back.sayRaw(`{"op":7,"d":{${ids},"session_id":"abc","token":"ticket"}}`);
    expect(back.calls.resumed).toMatchObject([{ serverId: '175928847299117063' }]);
  });

  it.each(['1.5', '-5', '1e18', '9223372036854775808', '-175928847299117063'])(
    'rejects %s as an id',
    (id) => {
      for (const text of [
        `{"op":0,"d":{"server_id":${id},"user_id":"7","session_id":"abc","token":"ticket"}}`,
        `{"op":0,"d":{"server_id":"5","user_id":${id},"session_id":"abc","token":"ticket"}}`,
        `{"op":7,"d":{"server_id":${id},"session_id":"abc","token":"ticket"}}`,
      ]) {
        const { sayRaw, closeCode } = arrange();
        sayRaw(text);
        expect(closeCode()).toBe(4020);
      }
    },
  );

  it('echoes a nonce of 64 bits unchanged', () => {
    const { sayRaw, wire } = arrange();
    sayRaw('{"op":3,"d":{"t":18446744073709551615,"seq_ack":1}}');
    sayRaw('{"op":3,"d":12345678901234567890}');
    const said = wire.frames.slice(1).map((frame) => frame.toString());
    expect(said).toEqual(['{"op":6,"d":{"t":18446744073709551615}}', '{"op":6,"d":12345678901234567890}']);
  });
});
