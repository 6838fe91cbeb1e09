// Goal: nothing of a tick is written before what must be kept of it is kept, nor what is queued while it is written.
import { describe, expect, it } from 'vitest';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { Outbox, type OutboxSocket } from '../../../transports/gateway/outbox.ts';

function arrange() {
  const events: string[] = [];
  const deferred: (() => void)[] = [];
  const outbox = new Outbox({ defer: (run) => deferred.push(run) }, () => events.push('kept'));
  const socket = (name: string, whenFlushed = () => {}): OutboxSocket => ({
    ...{ head: -1, tail: -1, dirty: false },
    flush(_outbox, head) {
      events.push(`${name}${head === -1 ? ' nothing' : ''}`);
      whenFlushed();
    },
  });
  const push = (to: OutboxSocket) => outbox.push(to, new DispatchBody('TYPING_START', {}, 0), 1);
  const tick = () => {
    for (const run of deferred.splice(0)) run();
  };
  return { events, outbox, socket, push, tick };
}

describe('the outbox', () => {
  it('has a tick kept once, before the first of its frames', () => {
    const { events, socket, push, tick } = arrange();
    const [a, b] = [socket('a'), socket('b')];
    for (const to of [a, b, a]) push(to);
    expect(events).toEqual([]);
    tick();
    expect(events).toEqual(['kept', 'a', 'b']);
    push(b);
    tick();
    expect(events).toEqual(['kept', 'a', 'b', 'kept', 'b']);
  });

  it('has what is queued while it writes kept before that is written', () => {
    const { events, socket, push, tick } = arrange();
    const late = socket('late');
    push(socket('a', () => push(late)));
    tick();
    expect(events).toEqual(['kept', 'a', 'kept', 'late']);
  });
});
