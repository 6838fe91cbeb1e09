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
