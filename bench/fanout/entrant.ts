/** Bytes that a client sends to open a connection: the upgrade only, the gateway's IDENTIFY, or socket.io's handshake. */
type Manner = 'plain' | 'gateway' | 'socketio';

/** A server that sends a message to every connection. */
export interface Contender {
  readonly port: number;
  /** Sends each message to every connection, all within one tick. */
  broadcast(messages: readonly object[]): void;
}

export interface Entrant {
  readonly name: string;
  readonly manner: Manner;
  /** Path and query of its WebSocket. */
  readonly path: string;
  open(): Promise<Contender>;
}
