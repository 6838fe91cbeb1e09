/** A channel between two processes of one machine, or within one process. Delivers JSON values in order, or not at all. */
export interface Channel {
  /** Sends a message. Never throws: after the channel is closed, messages are dropped. */
  send(message: object): void;
  /** Registers a receiver. @returns a function that removes it. */
  onMessage(run: (message: object) => void): () => void;
  /** Calls back once when the channel closes, immediately if it is already closed. */
  onClosed(run: () => void): void;
}

/** The IPC methods of a process or a child process (node:child_process) that a channel uses. */
export interface MessagePort {
  readonly connected: boolean;
  send?(message: object, done: (error: Error | null) => void): boolean;
  on(event: 'message', run: (message: unknown) => void): unknown;
  off(event: 'message', run: (message: unknown) => void): unknown;
  once(event: 'disconnect', run: () => void): unknown;
}

/** The channel to a forked process, from the parent's or the child's end. */
export function processChannel(port: MessagePort): Channel {
  return {
    // The error of a send reports a closed channel, which `disconnect` reports as well.
    send: (message) => void (port.connected && port.send?.(message, () => undefined)),
    onMessage(run) {
      const receive = (message: unknown) => {
        if (typeof message === 'object' && message !== null) run(message);
      };
      port.on('message', receive);
      return () => void port.off('message', receive);
    },
    onClosed(run) {
      if (port.connected) port.once('disconnect', run);
      else run();
    },
  };
}

interface Wrapped {
  readonly lane?: string;
  readonly message?: object;
}

/** One of several named channels that share a channel. */
export const laneOf = (channel: Channel, lane: string): Channel => ({
  send: (message) => channel.send({ lane, message } satisfies Wrapped),
  onMessage: (run) =>
    channel.onMessage((wrapped: Wrapped) => {
      if (wrapped.lane === lane && wrapped.message !== undefined) run(wrapped.message);
    }),
  onClosed: (run) => channel.onClosed(run),
});
