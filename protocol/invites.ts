interface Expiring {
  readonly code: string;
  /** Null for an invite that does not expire. */
  readonly expires_at: string | null;
}

/** Expired invites deleted when a new one is created: more than one, so that they do not accumulate. */
const CLEARED_MAX = 25;

export const isExpired = ({ expires_at }: Pick<Expiring, 'expires_at'>, nowMs: number): boolean =>
  expires_at !== null && Date.parse(expires_at) <= nowMs;

/** The valid invites of a guild, and the codes of expired ones that are deleted when a new one is created. */
export function splitInvites<Invite extends Expiring>(
  invites: readonly Invite[],
  nowMs: number,
): { readonly live: readonly Invite[]; readonly expired: readonly string[] } {
  const expired = invites.filter((invite) => isExpired(invite, nowMs)).slice(0, CLEARED_MAX);
  return {
    live: invites.filter((invite) => !isExpired(invite, nowMs)),
    expired: expired.map(({ code }) => code),
  };
}
