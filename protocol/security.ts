import { keysOf } from './present.ts';
/**
 * Security events for the operator: the fields and the meaning of each. Fields are ids, networks and names of settings;
 * never a password, token, code, or text that a user typed.
 */
export const SECURITY_EVENTS = {
  sign_in_locked: {
    fields: ['user_id', 'network', 'code', 'everywhere', 'wait_ms'],
    about: 'Too many wrong passwords or codes: the next attempt waits.',
  },
  address_blocked: {
    fields: ['network', 'reason', 'wait_ms'],
    about:
      'A network was blocked: it guessed at many logins (`guesses`), or sent too many refused requests, oversized bodies and wrong IDENTIFYs (`invalid_requests`).',
  },
  password_changed: {
    fields: ['user_id', 'by'],
    about:
      'A new password, set by the owner, by an e-mailed link or by the operator; every other sign-in ended.',
  },
  email_changed: { fields: ['user_id'], about: 'A new address was confirmed.' },
  second_factor_changed: { fields: ['user_id', 'on'], about: 'Two-step sign-in was switched on or off.' },
  token_rotated: {
    fields: ['user_id', 'kind'],
    about: 'A bot or user got a new token; the earlier ones were revoked.',
  },
  tokens_revoked: { fields: ['user_id'], about: 'All tokens of a user were revoked.' },
  refresh_token_reused: {
    fields: ['user_id', 'application_id'],
    about: 'A refresh token was used twice: it was probably stolen, so its chain ended.',
  },
  authorization_code_reused: {
    fields: ['user_id', 'application_id'],
    about: 'An authorization code was used twice: the tokens of the first exchange were revoked.',
  },
  sku_changed: {
    fields: ['user_id', 'application_id', 'sku_id', 'what'],
    about:
      'The owner of an application, or a member of its team, added a SKU, renamed it, or changed whether it is for sale.',
  },
  admin_change: {
    fields: ['token_name', 'what', 'id', 'user_id', 'status'],
    about:
      'A change was asked for through the admin API: the name of the token, the route, the id in it, the user that it names or acts as, and the status.',
  },
  admin_refused: {
    fields: ['reason', 'network'],
    about: 'The admin port refused a wrong token, or a Host that is not its own.',
  },
} as const satisfies Record<string, { readonly fields: readonly string[]; readonly about: string }>;

type SecurityEvent = keyof typeof SECURITY_EVENTS;
type SecurityFields<Event extends SecurityEvent> = {
  readonly [Field in (typeof SECURITY_EVENTS)[Event]['fields'][number]]: string | number | boolean | null;
};
/** Writes an event into the log and counts it. */
export type SecurityTrail = <Event extends SecurityEvent>(
  event: Event,
  fields: SecurityFields<Event>,
) => void;

export const SECURITY_EVENT_NAMES = keysOf(SECURITY_EVENTS);
export const SECURITY_METRIC = {
  name: 'guildhall_security_events',
  help: 'Security events since the start, by event.',
};

/** Most log lines per event and minute; further events are only counted, so that an attacker cannot fill the disk. */
const LINES_MAX = 600;
const LINES_MS = 60_000;

export interface CountedTrail {
  readonly note: SecurityTrail;
  /** Number of occurrences of the event, logged or not. */
  count(event: SecurityEvent): number;
}

/**
 * A trail that counts every event and limits the log lines. Only the fields of the catalogue are written.
 *
 * @param write Writes one line and its sentence.
 * @param monotonic Milliseconds.
 */
export function createSecurityTrail(
  write: (line: object, about: string) => void,
  monotonic: () => number,
): CountedTrail {
  const counts = new Map<SecurityEvent, { total: number; startMs: number; lines: number }>();
  return {
    count: (event) => counts.get(event)?.total ?? 0,
    note(event, fields) {
      const nowMs = monotonic();
      const count = counts.get(event) ?? { total: 0, startMs: nowMs, lines: 0 };
      counts.set(event, count);
      count.total += 1;
      if (nowMs - count.startMs >= LINES_MS) Object.assign(count, { startMs: nowMs, lines: 0 });
      count.lines += 1;
      if (count.lines > LINES_MAX) return;
      const { fields: names, about } = SECURITY_EVENTS[event];
      const given: Readonly<Record<string, unknown>> = fields;
      const shown = Object.fromEntries(names.map((name) => [name, given[name] ?? null]));
      write({ event: `security.${event}`, ...shown }, about);
    },
  };
}
