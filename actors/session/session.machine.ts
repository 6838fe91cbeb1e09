import { setup } from 'xstate';
import type { FrameSink } from './ports.ts';

/** The effects of a session's lifecycle. */
export interface SessionShell {
  /** Closes the connection that another one replaces. */
  dismiss(): void;
  /** Takes over a connection and replays the dispatches after `seq`. */
  adopt(sink: FrameSink, seq: number): void;
  /** Starts the timers of a session without a connection: `conceal` for bots, and `expire`. */
  startWindow(): void;
  stopWindow(): void;
  /** Shows the user without this session's presence while it has no connection. */
  conceal(): void;
  reveal(): void;
  /** Ends the session and releases its resources. */
  release(): void;
}

export type SessionEvent =
  /** A connection resumes the session; its client has received dispatches up to `seq`. */
  | { readonly type: 'attach'; readonly sink: FrameSink; readonly seq: number }
  /** The connection closed, and the session may be resumed. */
  | { readonly type: 'detach' }
  /** The session had no connection for so long that its presence is hidden from others. */
  | { readonly type: 'conceal' }
  /** The resume window ended. */
  | { readonly type: 'expire' }
  /** The client ended the session, its token was revoked, or the server shuts down. */
  | { readonly type: 'end' };

/**
 * Lifecycle of one gateway session. Heartbeats, dispatches and frames do not pass through the machine; sequence numbers
 * are kept by the shell's replay buffer.
 */
export const sessionMachine = setup({
  types: {} as { input: SessionShell; context: { readonly shell: SessionShell }; events: SessionEvent },
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
