import { setup } from 'xstate';
import { type Hidden, hide } from '../runtime/resting.ts';
import type { FrameSink } from './ports.ts';

/** Effects of a session's lifecycle on its connection. */
export interface SessionFeedEffects {
  /** Closes the connection that another one replaces. */
  dismiss(): void;
  /** Takes over a connection whose client has received the dispatches up to `seq`. */
  adopt(sink: FrameSink, seq: number): void;
  /** Sends what the client has not received yet; answers with `caughtUp`. */
  replay(): void;
  /** New dispatches go straight to the connection, until `pause`. */
  flow(): void;
  pause(): void;
}

/** The effects of a session's lifecycle. What a session lets go of when it is over is the shell's. */
export interface SessionShell {
  readonly feed: SessionFeedEffects;
  /** Starts the timers of a session without a connection: `conceal` for bots, and `expire`. */
  startWindow(): void;
  stopWindow(): void;
  /** Shows the user without this session's presence while it has no connection. */
  conceal(): void;
  reveal(): void;
}

export type SessionEvent =
  /** READY is about to be sent. */
  | { readonly type: 'open' }
  /** The session comes from another shard and waits for a connection. */
  | { readonly type: 'restore' }
  /** A connection resumes the session; its client has received dispatches up to `seq`. */
  | { readonly type: 'attach'; readonly sink: FrameSink; readonly seq: number }
  /** The connection has been given every dispatch. */
  | { readonly type: 'caughtUp' }
  /** The connection closed, and the session may be resumed. */
  | { readonly type: 'detach' }
  /** The session had no connection for so long that its presence is hidden from others. */
  | { readonly type: 'conceal' }
  /** The resume window ended. */
  | { readonly type: 'expire' }
  /** Another shard or the next run of the server continues the session. */
  | { readonly type: 'transfer' }
  /** The client ended the session, its token was revoked, or the server shuts down. */
  | { readonly type: 'end' };

/** Each of these ends a session in any state. */
const ENDS = { transfer: '#session.transferred', end: '#session.ended' } as const;

/**
 * Lifecycle of one gateway session, from IDENTIFY until it is over. Heartbeats, dispatches and frames do not pass
 * through the machine; sequence numbers are kept by the shell's replay buffer.
 */
export const sessionMachine = setup({
  types: {} as {
    input: SessionShell;
    context: Hidden<SessionShell>;
    events: SessionEvent;
  },
  actions: {
    dismiss: ({ context }) => context.own().feed.dismiss(),
    adopt: ({ context, event }) => {
      if (event.type === 'attach') context.own().feed.adopt(event.sink, event.seq);
    },
    replay: ({ context }) => context.own().feed.replay(),
    flow: ({ context }) => context.own().feed.flow(),
    pause: ({ context }) => context.own().feed.pause(),
    startWindow: ({ context }) => context.own().startWindow(),
    stopWindow: ({ context }) => context.own().stopWindow(),
    conceal: ({ context }) => context.own().conceal(),
    reveal: ({ context }) => context.own().reveal(),
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => hide(input),
  initial: 'opening',
  states: {
    // A client that has not received READY does not know its session's id, so it cannot resume.
    opening: {
      on: { open: 'connected.live', restore: 'detached', detach: 'ended', ...ENDS },
    },
    connected: {
      on: {
        attach: { target: 'connected.replaying', reenter: true, actions: ['dismiss', 'adopt'] },
        detach: 'detached',
        ...ENDS,
      },
      initial: 'live',
      states: {
        replaying: { entry: 'replay', on: { caughtUp: 'live' } },
        live: { entry: 'flow', exit: 'pause' },
      },
    },
    detached: {
      entry: 'startWindow',
      exit: 'stopWindow',
      on: { attach: { target: 'connected.replaying', actions: 'adopt' }, expire: 'ended', ...ENDS },
      initial: 'shown',
      states: {
        shown: { on: { conceal: { target: 'concealed', actions: 'conceal' } } },
        concealed: {
          on: { attach: { target: '#session.connected.replaying', actions: ['adopt', 'reveal'] } },
        },
      },
    },
    transferred: { type: 'final' },
    ended: { type: 'final' },
  },
});
