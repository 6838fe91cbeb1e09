import { setup } from 'xstate';

/** The effects of a voice session's lifecycle. The shell releases the resources at its end. */
export interface VoiceSessionShell {
  /** Starts the timer of a session without a connection, which answers with `expire`. */
  startWindow(): void;
  stopWindow(): void;
}

export interface VoiceSessionEvent {
  readonly type: /** The Session Description is being sent, for the first or another choice of transport. */
    | 'describe'
    /** Media of the client arrive. */
    | 'reach'
    /** Media of the client have stopped arriving. */
    | 'lose'
    /** A connection resumes the session. */
    | 'attach'
    /** The connection broke, and the session may be resumed. */
    | 'detach'
    /** No client resumed the session in time. */
    | 'expire'
    /** The client left, or was removed from the call. */
    | 'end';
}

/**
 * Lifecycle of one voice session, over as many connections as it takes. Its media and its connection to the voice
 * gateway fail and return independently. Frames and packets do not pass through the machine.
 */
export const voiceSessionMachine = setup({
  types: {} as {
    input: VoiceSessionShell;
    context: { readonly shell: VoiceSessionShell };
    events: VoiceSessionEvent;
  },
  actions: {
    startWindow: ({ context }) => context.shell.startWindow(),
    stopWindow: ({ context }) => context.shell.stopWindow(),
  },
}).createMachine({
  id: 'voiceSession',
  context: ({ input }) => ({ shell: input }),
  initial: 'open',
  states: {
    open: {
      type: 'parallel',
      on: { end: 'ended' },
      states: {
        media: {
          on: { describe: '.described' },
          initial: 'joining',
          states: {
            // No part of the encryption between members yet.
            joining: {},
            described: { on: { reach: 'connected' } },
            connected: { on: { lose: 'unreachable' } },
            unreachable: { on: { reach: 'connected' } },
          },
        },
        connection: {
          initial: 'attached',
          states: {
            attached: { on: { detach: 'detached' } },
            detached: {
              entry: 'startWindow',
              exit: 'stopWindow',
              on: { attach: 'attached', expire: '#voiceSession.expired' },
            },
          },
        },
      },
    },
    expired: { type: 'final' },
    ended: { type: 'final' },
  },
});
