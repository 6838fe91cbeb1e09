import type { Channel } from '../../transports/cluster/channel.ts';

interface ChannelPair {
  readonly one: Channel;
  readonly other: Channel;
  /** While held, what is sent waits, as when a process is stopped; what `one` sends only, or both. */
  hold(held: boolean, ofOneOnly?: boolean): void;
  close(): void;
}

type Hearers = Set<(message: object) => void>;

/** Messages that one end has sent and the other has not received yet. */
class Wire {
  readonly #hearers: Hearers;
  #waiting: (() => void)[] = [];
  #held = false;

  constructor(hearers: Hearers) {
    this.#hearers = hearers;
  }

  send(message: object): void {
    const copy = JSON.parse(JSON.stringify(message)) as object;
    this.#waiting.push(() => {
      for (const run of [...this.#hearers]) run(copy);
    });
    this.hold(this.#held);
  }

  hold(held: boolean): void {
    this.#held = held;
    while (!this.#held && this.#waiting.length > 0) this.#waiting.shift()?.();
  }
}

/** Two ends in one process: what is sent arrives as JSON carries it, in order, at once unless it is held. */
export function channelPair(): ChannelPair {
  let open = true;
  const closings = new Set<() => void>();
  const end = () => {
    const hearers: Hearers = new Set();
    return { hearers, wire: new Wire(hearers) };
  };
  const [toOne, toOther] = [end(), end()];
  const channel = (own: Hearers, wire: Wire): Channel => ({
    send: (message) => {
      if (open) wire.send(message);
    },
    onMessage(run) {
      own.add(run);
      return () => void own.delete(run);
    },
    onClosed(run) {
      if (open) closings.add(run);
      else run();
    },
  });
  return {
    one: channel(toOne.hearers, toOther.wire),
    other: channel(toOther.hearers, toOne.wire),
    hold(held, ofOneOnly = false) {
      toOther.wire.hold(held);
      if (!ofOneOnly) toOne.wire.hold(held);
    },
    close() {
      if (!open) return;
      open = false;
      for (const run of closings) run();
    },
  };
}
