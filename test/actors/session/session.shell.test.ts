// Goal: a session keeps its resume window and replays in rounds, whatever its connections do.
import { describe, expect, it } from 'vitest';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { directStream } from '../../../engine/fanout/direct.ts';
import { CLOSE } from '../../../protocol/closecodes.ts';
import { arrange, FakeSink, identifyWith, SETTINGS, settled } from './harness.ts';

async function open(arranged = arrange()) {
  const sink = new FakeSink();
  const outcome = await arranged.sessions.identify(identifyWith(), sink);
  await settled();
  if (outcome.kind !== 'open') throw new Error('not open');
  return { ...arranged, sink, session: outcome.session as GatewaySessionActor };
}

describe('a session', () => {
  it('keeps early messages and guild dispatches, and drops other early state, when it is opened once more', async () => {
    const arranged = arrange();
    const { backend } = arranged;
    const opening = backend.open.bind(backend);
    const from = (t: string, ownerId: string | null) =>
      new DispatchBody(t, {}, 0, ownerId === null ? null : { ownerId, n: 1 });
    backend.open = async (session) => {
      const opened = await opening(session);
      for (const body of [
        from('GUILD_CREATE', '7'),
        from('LOBBY_CREATE', directStream('8')),
        from('LOBBY_MEMBER_ADD', null),
        from('MESSAGE_CREATE', directStream('9')),
        from('GUILD_DELETE', null),
      ])
        session.deliver(body);
      expect(session.feed?.dropOutdated()).toEqual(new Set([directStream('9')]));
      session.deliver(from('LOBBY_DELETE', directStream('8')));
      return opened;
    };
    const { sink, session } = await open(arranged);
    expect(sink.names.slice(0, 5)).toEqual([
      ...['READY', 'GUILD_CREATE', 'MESSAGE_CREATE', 'GUILD_DELETE', 'LOBBY_DELETE'],
    ]);
    session.feed.dropOutdated();
    expect(session.seq).toBe(sink.names.length);
  });

  it('has its whole resume window after a refused RESUME while it was connected', async () => {
    const { session, sink, clock } = await open();
    session.extendWindow();
    clock.advance(SETTINGS.resumeWindowMs / 2);
    session.detach(sink, true);
    clock.advance(SETTINGS.resumeWindowMs - 1000);
    expect(session.over).toBe(false);
    clock.advance(2000);
    expect(session.over).toBe(true);
  });

  it('has its whole resume window again after a refused RESUME without a connection', async () => {
    const { session, sink, clock } = await open();
    session.detach(sink, true);
    clock.advance(SETTINGS.resumeWindowMs / 2);
    session.extendWindow();
    clock.advance(SETTINGS.resumeWindowMs - 1000);
    expect(session.over).toBe(false);
    clock.advance(2000);
    expect(session.over).toBe(true);
  });

  it('replays one large dispatch at a time, each when the connection has room', async () => {
    const { session, sink } = await open();
    const { seq } = session;
    session.detach(sink, true);
    for (const id of ['7', '8', '9']) session.deliver(new DispatchBody('GUILD_CREATE', { id }, 0));
    const next = new FakeSink();
    next.room = false;
    session.attach(next, seq);
    expect(next.names).toEqual(['GUILD_CREATE']);
    next.makeRoom();
    expect(next.names).toEqual(Array(2).fill('GUILD_CREATE'));
    for (let round = 0; round < 2; round += 1) next.makeRoom();
    expect(next.names).toEqual([...Array(3).fill('GUILD_CREATE'), 'RESUMED']);
  });

  it('closes its connection with a code for an unknown error when it fails, and is reported', async () => {
    const { backend, clock, faults, session, sink } = await open();
    session.ask({ name: 'presence', input: { status: 'idle' } as never });
    session.detach(sink, true);
    clock.advance(1000);
    backend.fault = 'presence';
    const next = new FakeSink();
    session.attach(next, session.seq);
    await settled();
    expect([next.closedWith, session.over]).toEqual([CLOSE.UNKNOWN_ERROR.code, true]);
    expect(faults).toEqual([new Error('planted fault in presence')]);
  });
});
