import type { OpenSocket } from '../../sdk/voice/wire.ts';
import { createStore } from '../store.ts';

/** A gateway frame that has passed. */
export interface PassedFrame {
  readonly number: number;
  readonly isSent: boolean;
  readonly atMs: number;
  readonly op: number;
  /** Name of a dispatch; empty for other frames. */
  readonly t: string;
  readonly bytes: number;
  /** The frame without tokens, cut at `TEXT_MAX`. */
  readonly text: string;
}

export interface FrameFilter {
  /** Part of a name or of the text. */
  readonly words: string;
  readonly direction: 'both' | 'sent' | 'received';
  readonly heartbeats: boolean;
}

const FRAMES_MAX = 500;
const TEXT_MAX = 20_000;
const OP_NAMES: Readonly<Record<number, string>> = {
  0: 'Dispatch',
  1: 'Heartbeat',
  2: 'Identify',
  3: 'Presence Update',
  4: 'Voice State Update',
  6: 'Resume',
  7: 'Reconnect',
  8: 'Request Guild Members',
  9: 'Invalid Session',
  10: 'Hello',
  11: 'Heartbeat ACK',
};
const SECRET_KEYS = new Set(['token', 'access_token', 'refresh_token', 'secret_key', 'client_secret']);
const BEATS = new Set([1, 11]);

/** The frames of this tab's gateway connection, newest last; older ones are dropped. */
export class FrameLog {
  readonly store = createStore<{ frames: readonly PassedFrame[]; isPaused: boolean }>({
    frames: [],
    isPaused: false,
  });
  #passed = 0;

  /** Opens sockets whose frames are noted here. */
  tapped(open: OpenSocket): OpenSocket {
    return (url, events) => {
      const socket = open(url, {
        ...events,
        message: (data) => {
          if (typeof data === 'string') this.#note(data, false);
          events.message(data);
        },
      });
      return {
        close: (code) => socket.close(code),
        send: (data) => {
          if (typeof data === 'string') this.#note(data, true);
          socket.send(data);
        },
      };
    };
  }

  pause(isPaused: boolean): void {
    this.store.set({ isPaused });
  }

  clear(): void {
    this.store.set({ frames: [] });
  }

  #note(data: string, isSent: boolean): void {
    if (this.store.value.isPaused) return;
    this.#passed++;
    const frame = frameOf(data, isSent, this.#passed, Date.now());
    this.store.set({ frames: [...this.store.value.frames, frame].slice(-FRAMES_MAX) });
  }
}

export function frameOf(data: string, isSent: boolean, number: number, atMs: number): PassedFrame {
  const seen = { isSent, number, atMs, bytes: new TextEncoder().encode(data).length };
  try {
    const parsed: unknown = JSON.parse(data, (key, value: unknown) =>
      SECRET_KEYS.has(key) && typeof value === 'string' ? '[secret]' : value,
    );
    const fields: Partial<Record<string, unknown>> =
      typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
    const t = typeof fields.t === 'string' ? fields.t : '';
    return {
      ...seen,
      op: Number(fields.op ?? -1),
      t,
      text: JSON.stringify(parsed, null, 2).slice(0, TEXT_MAX),
    };
  } catch {
    return { ...seen, op: -1, t: '', text: 'A frame that is not JSON.' };
  }
}

export const nameOfFrame = ({ op, t }: PassedFrame): string => t || OP_NAMES[op] || `Op ${op}`;

export function isShown(frame: PassedFrame, { words, direction, heartbeats }: FrameFilter): boolean {
  if (direction !== 'both' && (direction === 'sent') !== frame.isSent) return false;
  if (!heartbeats && BEATS.has(frame.op)) return false;
  const wanted = words.trim().toLowerCase();
  return (
    wanted === '' ||
    nameOfFrame(frame).toLowerCase().includes(wanted) ||
    frame.text.toLowerCase().includes(wanted)
  );
}
