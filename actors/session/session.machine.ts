import { setup } from 'xstate';
import type { FrameSink } from './ports.ts';

/** The effects of a session's lifecycle. */
export interface SessionShell {
  /** Sends the connection away that another has taken over from. */
  dismiss(): void;
  /** Takes over a connection and replays to it what came after `seq`. */
  adopt(sink: FrameSink, seq: number): void;
  /** Begins what a session without a connection waits for: `conceal`, where it is due, and `expire`. */
  startWindow(): void;
  stopWindow(): void;
  /** Shows its user without what this session says, as long as it has no connection. */
  conceal(): void;
  reveal(): void;
  /** The session is over: let go of everything. */
  release(): void;
}

export type SessionEvent =
  /** A connection resumes the session, having seen `seq`. */
  | { readonly type: 'attach'; readonly sink: FrameSink; readonly seq: number }
  /** The connection went away, and the session may be resumed. */
  | { readonly type: 'detach' }
  /** No connection has resumed it for so long that others should see it gone. */
  | { readonly type: 'conceal' }
  /** The resume window is over. */
  | { readonly type: 'expire' }
  /** The client ended it, its token was revoked, or the server goes down. */
  | { readonly type: 'end' };

/**
 * Lifecycle of one gateway session. Heartbeats, dispatches and frames never come here; nor do sequence numbers, which
 * are kept by the shell's replay buffer.
 */
export const sessionMachine = setup({
  types: {
    input: {} as SessionShell,
    context: {} as { readonly shell: SessionShell },
    events: {} as SessionEvent,
  },
  actions: {
    dismiss: ({ context }) => context.shell.dismiss(),
    adopt: ({ context, event }) => {
      if (event.type === 'attach') context.shell.adopt(event.sink, event.seq);
    },
    startWindow: ({ context }) => context.shell.startWindow(),
    stopWindow: ({ context }) => context.shell.stopWindow(),
    conceal: ({ context }) => context.shell.conceal(),
    reveal: ({ context }) => context.shell.reveal(),
    release: ({ context }) => context.shell.release(),
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => ({ shell: input }),
  initial: 'connected',
  states: {
    connected: {
      on: { attach: { actions: ['dismiss', 'adopt'] }, detach: 'detached', end: 'ended' },
    },
    detached: {
      entry: 'startWindow',
      exit: 'stopWindow',
      on: { attach: { target: 'connected', actions: 'adopt' }, expire: 'ended', end: 'ended' },
      initial: 'shown',
      states: {
        shown: { on: { conceal: { target: 'concealed', actions: 'conceal' } } },
        concealed: { on: { attach: { target: '#session.connected', actions: ['adopt', 'reveal'] } } },
      },
    },
    ended: { type: 'final', entry: 'release' },
  },
});
