// Goal: an error names the missing package that calls need; with all packages there is a codec that carries sound.
import { expect, test } from 'vitest';
import {
  CHANNELS,
  FRAME_SAMPLES,
  type Installed,
  loadPackages,
  PackageMissing,
} from '../../../../sdk/call/node/packages.ts';
import { ErrorType } from '../../../../sdk/enums.ts';

const absent = () =>
  Promise.reject(Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' }));
const installed: Installed = {
  opusscript: () => import('opusscript'),
  '@snazzah/davey': () => import('@snazzah/davey'),
};

test.each(['opusscript', '@snazzah/davey'] as const)(
  'loading names the missing package: %s',
  async (name) => {
    const error: unknown = await loadPackages({ ...installed, [name]: absent }).catch(
      (each: unknown) => each,
    );
    expect(error).toBeInstanceOf(PackageMissing);
    const message = expect.stringContaining(name);
    expect(error).toMatchObject({ packageName: name, type: ErrorType.Disabled, message });
  },
);

test('a frame survives the codec when both packages are installed', async () => {
  const { newCodec } = await loadPackages();
  const codec = newCodec();
  const frame = Int16Array.from({ length: FRAME_SAMPLES * CHANNELS }, (_, at) => 8000 * Math.sin(at / 20));
  const packets = Array.from({ length: 5 }, () => codec.encode(frame));
  const heard = packets.map((packet) => codec.decode(packet)).at(-1)!;
  expect(heard).toHaveLength(FRAME_SAMPLES * CHANNELS);
  expect(Math.max(...heard)).toBeGreaterThan(4000);
  expect(() => codec.decode(new Uint8Array(2000))).toThrow();
  codec.close();
});
