// Goal: frames survive any cut of the stream, and a hostile stream neither throws nor makes the reader hold more than one frame.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RPC_LIMITS, RPC_OP } from '../../../protocol/rpc.ts';
import { encodeFrame, FrameReader } from '../../../sdk/rpc/frame.ts';
import { fuzzRpc } from '../../fuzz/rpc.ts';

const ops = fc.constantFrom(...Object.values(RPC_OP));
const frames = fc.array(fc.record({ op: ops, data: fc.jsonValue() }), { maxLength: 6 });

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [...new Set([0, ...at.map((n) => n % (bytes.length + 1)), bytes.length])];
  places.sort((one, other) => one - other);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

function header(op: number, length: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, op, true);
  view.setUint32(4, length, true);
  return bytes;
}

describe('the frame codec', () => {
  test('writes opcode and length as little-endian integers before the JSON', () => {
    expect([...encodeFrame(1, { é: 1 })]).toEqual([1, 0, 0, 0, 8, 0, 0, 0, ...Buffer.from('{"é":1}')]);
  });

  test('reads written frames, wherever the stream is split', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(), { maxLength: 20 }), (sent, at) => {
        const bytes = Buffer.concat(sent.map(({ op, data }) => encodeFrame(op, data)));
        const reader = new FrameReader();
        const read = cut(bytes, at).flatMap((part) => reader.push(part));
        expect(read).toEqual(JSON.parse(JSON.stringify(sent)));
        expect(reader.problem).toBeNull();
      }),
    );
  });

  test.each([
    ['unknown opcode', header(5, 2)],
    ['unknown opcode', header(0xffff_ffff, 0)],
    ['frame too large', header(1, RPC_LIMITS.frame_bytes_max + 1)],
    ['frame too large', header(1, 0xffff_ffff)],
    ['malformed JSON', Buffer.concat([header(1, 1), Buffer.from('{')])],
    ['malformed JSON', Buffer.concat([header(1, 0)])],
    ['malformed JSON', Buffer.concat([header(1, 2), Buffer.from([0xc3, 0x28])])],
  ])('ends with "%s" and reads nothing after it', (problem, bytes) => {
    const reader = new FrameReader();
    expect(reader.push(encodeFrame(3, 'before'))).toHaveLength(1);
    expect(reader.push(bytes)).toEqual([]);
    expect(reader.problem).toBe(problem);
    expect(reader.push(encodeFrame(3, 'after'))).toEqual([]);
  });

  test('survives 3,000 generated inputs, or as many as FUZZ_FRAMES says, with a whole host behind it', async () => {
    const inputs = Number(process.env.FUZZ_FRAMES ?? 3_000);
    const watch = await fuzzRpc(inputs, 7);
    expect([watch.inputs >= inputs, watch.slow]).toEqual([true, 0]);
    // Streams reach the commands: some are answered, and some are refused.
    for (const outcome of ['sent 1', 'sent 1 error', 'ended 4004', 'malformed JSON'])
      expect(watch.outcomes.get(outcome) ?? 0, outcome).toBeGreaterThan(20);
  }, 600_000);
});
