/**
 * A WebSocket as the links of this folder want it. They know neither the browser's nor a package's: whoever uses them
 * gives them a way to open one.
 */
export interface WireSocket {
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number): void;
}

export interface SocketEvents {
  message(data: string | Uint8Array): void;
  /** The last event, whoever closed; 1006 when the connection broke or never was. */
  closed(code: number, reason: string): void;
}

export type OpenSocket = (url: string, events: SocketEvents) => WireSocket;

export type Timer = ReturnType<typeof setTimeout>;

/** How long to wait before the next of several attempts: 0.5, 1, 2, then 4 seconds, each up to a half longer. */
export function backoffMs(attempt: number): number {
  return 500 * 2 ** Math.min(attempt, 3) * (1 + Math.random() / 2);
}

export type Json = { readonly [key: string]: unknown };

/** What a frame says, when it is a JSON object with an opcode; null for anything else. */
export function readFrame(
  text: string,
): { op: number; d: unknown; s: unknown; t: unknown; seq: unknown } | null {
  try {
    const frame: unknown = JSON.parse(text);
    if (!isJson(frame) || typeof frame.op !== 'number') return null;
    return { op: frame.op, d: frame.d, s: frame.s, t: frame.t, seq: frame.seq };
  } catch {
    return null;
  }
}

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
