// Goal: a browser's cookie holds the names of few accounts, whatever is put into it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deviceNames, deviceOf, withDeviceName } from '../../protocol/devices.ts';
import type { UserId } from '../../protocol/ids.ts';

const user = fc.bigInt({ min: 1n, max: 2n ** 63n }).map((id) => String(id) as UserId);
const random = fc.uint8Array({ minLength: 32, maxLength: 32 });
const named = fc
  .tuple(user, random)
  .map(([id, bytes]) => [id, `${id}.${Buffer.from(bytes).toString('base64url')}`] as const);

test('a cookie keeps the names of the last four accounts, one name of each', () => {
  fc.assert(
    fc.property(fc.array(named, { minLength: 1, maxLength: 12 }), (signIns) => {
      let names: readonly string[] = [];
      for (const [id, name] of signIns) {
        const cookie = withDeviceName(id, name, names);
        expect(cookie).toMatch(/^[\w.~-]{1,300}$/);
        names = deviceNames(cookie);
        expect(deviceOf(id, names)).toBe(name);
      }
      const last = [...new Map([...signIns].map(([id, name]) => [id, name]))].length;
      expect(names).toHaveLength(Math.min(4, last));
    }),
  );
});

test('a cookie of anything else holds no name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(named, { maxLength: 8 }), (text, many) => {
      for (const name of deviceNames(text)) expect(name).toMatch(/^\d{1,20}\.[\w-]{43}$/);
      expect(deviceNames(many.map(([, name]) => name).join('~')).length).toBeLessThanOrEqual(4);
    }),
  );
});
