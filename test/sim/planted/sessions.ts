import type { Patch } from './patch.ts';

/** Bugs in sessions that move between shards. */
export const SESSIONS: readonly Patch[] = [
  {
    name: 'sessions-number-too-low',
    about: 'A session goes on one number below where it was.',
    file: 'actors/session/session.shell.ts',
    kind: 'expression',
    from: 'seq - missed.length',
    to: 'seq - missed.length - 1',
  },
  {
    name: 'sessions-cursors-left-behind',
    about: 'A session that is given away goes without its cursors.',
    file: 'actors/session/sessions.ts',
    kind: 'expression',
    from: 'this.journal?.cursors.of(session.handle) ?? []',
    to: '[]',
  },
  {
    name: 'sessions-left-meanwhile',
    about: 'A session that resumes does not receive that its user has left a guild.',
    file: 'actors/cluster/delivery/sessions.ts',
    kind: 'expression',
    from: "leaving(guildId)('gone')",
    to: 'undefined',
  },
  {
    name: 'sessions-overtaken-replay',
    about: 'New dispatches overtake those that are being sent again.',
    file: 'actors/session/session.shell.ts',
    kind: 'expression',
    from: 'this.#live?.dispatch(body, seq)',
    to: 'this.#sink?.dispatch(body, seq)',
  },
  {
    name: 'sessions-unbounded-socket',
    about: 'A client that reads nothing is not closed, and what it is sent is buffered without a bound.',
    features: ['slow'],
    file: 'transports/gateway/socket.ts',
    kind: 'statement',
    from: 'this.#host.counters.overflows += 1;',
    to: 'return;',
  },
  {
    name: 'sessions-lost-when-slow',
    about: 'The session of a client that reads too slowly cannot be resumed.',
    features: ['slow'],
    file: 'transports/gateway/socket.ts',
    kind: 'statement',
    from: "this.close(CLOSE.UNKNOWN_ERROR.code, 'The connection reads too slowly.');",
    to: "this.close(CLOSE.SESSION_TIMED_OUT.code, 'The connection reads too slowly.');",
  },
  {
    name: 'sessions-one-further',
    about: 'The first dispatch that a client has missed is not sent again.',
    file: 'actors/session/session.shell.ts',
    kind: 'expression',
    from: 'seq + 1',
    to: 'seq + 2',
  },
];
