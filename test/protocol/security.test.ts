// Goal: every security event is counted, few enough are written, and no line holds a field that the catalogue does not name.
import { expect, test } from 'vitest';
import { createSecurityTrail } from '../../protocol/security.ts';

function arrange() {
  const lines: { readonly line: object; readonly about: string }[] = [];
  const clock = { nowMs: 0 };
  const trail = createSecurityTrail(
    (line, about) => lines.push({ line, about }),
    () => clock.nowMs,
  );
  return { lines, clock, trail };
}

test('an event beyond 600 lines a minute is counted and not written, and others still are', () => {
  const { lines, clock, trail } = arrange();
  for (let n = 0; n < 1_000; n++) trail.note('admin_refused', { reason: 'token', network: null });
  trail.note('email_changed', { user_id: '1' });
  expect(lines).toHaveLength(601);
  expect([trail.count('admin_refused'), trail.count('email_changed')]).toEqual([1_000, 1]);
  clock.nowMs = 60_000;
  trail.note('admin_refused', { reason: 'host', network: '192.0.2.1' });
  expect(lines.at(-1)?.line).toEqual({
    ...{ event: 'security.admin_refused', reason: 'host', network: '192.0.2.1' },
  });
});

test('a field that the catalogue does not name is not written', () => {
  const { lines, trail } = arrange();
  const careless = { user_id: '1', password: 'a password' };
  trail.note('email_changed', careless);
  expect(lines[0]?.line).toEqual({ event: 'security.email_changed', user_id: '1' });
});
