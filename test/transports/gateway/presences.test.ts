// Goal: a presence that its limit delays reaches only the session that sent it.
import { expect, it } from 'vitest';
import { arrange, IDENTIFY } from './harness.ts';

it('a delayed presence is dropped when its session ends before the connection identifies again', async () => {
  const { clock, backend, connect, flush } = arrange();
  const { socket, say } = connect();
  say(2, IDENTIFY);
  await flush();
  backend.calls.length = 0;
  for (const status of ['idle', 'dnd', 'idle', 'dnd', 'idle', 'invisible'])
    say(3, { status, activities: [], afk: false, since: null });
  expect(backend.named('presence')).toHaveLength(5);
  socket.invalidate(false);
  say(2, IDENTIFY);
  await flush();
  expect(socket.session).not.toBeNull();
  const before = backend.named('presence');
  clock.advance(20_000);
  socket.sweep(clock.monotonic());
  await flush();
  expect(backend.named('presence')).toEqual(before);
});
