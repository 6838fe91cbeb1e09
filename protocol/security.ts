/**
 * What concerns the security of the server, for its operator: each event, what it says of itself, and what it means.
 * Fields are ids, networks and names of settings; never a password, token, code, or text that somebody typed.
 */
export const SECURITY_EVENTS = {
  sign_in_locked: {
    fields: ['user_id', 'network', 'code', 'everywhere', 'wait_ms'],
    about: 'Too many wrong passwords or codes: the next attempt waits.',
  },
  address_blocked: {
    fields: ['network', 'reason', 'wait_ms'],
    about: 'A network guessed at many logins: its attempts wait.',
  },
  password_changed: {
    fields: ['user_id', 'by'],
    about: 'A new password, by the owner, a letter or the operator; every other sign-in ended.',
  },
  email_changed: { fields: ['user_id'], about: 'A new address was confirmed.' },
  second_factor_changed: { fields: ['user_id', 'on'], about: 'Two-step sign-in was switched on or off.' },
  token_rotated: {
    fields: ['user_id', 'kind'],
    about: 'A bot or user has a new token; the earlier ones ended.',
  },
  tokens_revoked: { fields: ['user_id'], about: 'All tokens of a user ended.' },
  refresh_token_reused: {
    fields: ['user_id', 'application_id'],
    about: 'A used refresh token came again: somebody has stolen one, and the chain ended.',
  },
  admin_change: {
    fields: ['token', 'what', 'id', 'status'],
    about: 'A change through the admin API: by which token, and what.',
  },
  admin_refused: {
    fields: ['reason', 'network'],
    about: 'The admin port refused a wrong token, or a Host that is not its own.',
  },
} as const satisfies Record<string, { readonly fields: readonly string[]; readonly about: string }>;

export type SecurityEvent = keyof typeof SECURITY_EVENTS;
export type SecurityFields<Event extends SecurityEvent> = {
  readonly [Field in (typeof SECURITY_EVENTS)[Event]['fields'][number]]: string | number | boolean | null;
};
/** Writes an event into the log and counts it. */
export type SecurityTrail = <Event extends SecurityEvent>(
  event: Event,
  fields: SecurityFields<Event>,
) => void;
