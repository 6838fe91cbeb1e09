/** Two processes of one machine, or two ends in one: values that JSON carries arrive in order, or not at all. */
export interface Channel {
  /** Never throws: what is sent into a closed channel is gone. */
  send(message: object): void;
  /** Answers how to stop hearing. */
  onMessage(run: (message: object) => void): () => void;
  /** Called once, at once when the channel is closed already. */
  onClosed(run: () => void): void;
}

/** What a process, or a child of it, has of node:child_process for this. */
export interface MessagePort {
  readonly connected: boolean;
  send?(message: object, done: (error: Error | null) => void): boolean;
  on(event: 'message', run: (message: unknown) => void): unknown;
  off(event: 'message', run: (message: unknown) => void): unknown;
  once(event: 'disconnect', run: () => void): unknown;
}

/** The channel that a process was forked with, seen from either end. */
export function processChannel(port: MessagePort): Channel {
  return {
    // An error tells of a closed channel, which `disconnect` says as well.
    send: (message) => void (port.connected && port.send?.(message, () => undefined)),
    onMessage(run) {
      const hear = (message: unknown) => {
        if (typeof message === 'object' && message !== null) run(message);
      };
      port.on('message', hear);
      return () => void port.off('message', hear);
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

/** One of several conversations over a channel, by name. */
export const laneOf = (channel: Channel, lane: string): Channel => ({
  send: (message) => channel.send({ lane, message } satisfies Wrapped),
  onMessage: (run) =>
    channel.onMessage((wrapped: Wrapped) => {
      if (wrapped.lane === lane && wrapped.message !== undefined) run(wrapped.message);
    }),
  onClosed: (run) => channel.onClosed(run),
});
