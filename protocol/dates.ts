interface DatedRule {
  /** The first day of the rule, which begins at 00:00 UTC. */
  readonly from: `${number}-${number}-${number}`;
  readonly before: string;
  readonly since: string;
}

/**
 * Days on which the platform changed its rules. This server implements both sides of each: the setting `contract_date`
 * selects the day whose rules apply, otherwise it is today.
 *
 * @source https://docs.discord.com/developers/change-log
 */
export const CONTRACT_DATES = {
  subscriptions_have_no_end: {
    from: '2024-10-01',
    before:
      'Entitlements of subscriptions have the end of their period in `ends_at`, and ENTITLEMENT_UPDATE reports each renewal.',
    since: '`ends_at` is null until the subscription ends, which ENTITLEMENT_UPDATE reports.',
  },
  applications_create_no_guilds: {
    from: '2025-07-15',
    before: 'Applications create guilds.',
    since: 'Applications create no guilds (20001).',
  },
  member_lists_limited: {
    from: '2025-10-01',
    before: 'A bot may request all members of a guild at any time.',
    since: 'A bot may request all members of a guild once in 30 seconds (RATE_LIMITED).',
  },
  forwards_need_content: {
    from: '2026-01-01',
    before: 'A bot without the message content intent forwards any message that it sees.',
    since: 'It forwards only messages whose content it may read (160014).',
  },
  permissions_split: {
    from: '2026-02-23',
    before:
      'Manage Messages includes Pin Messages, Manage Expressions includes Create Expressions, Manage Events includes Create Events; Manage Messages, Channels or Threads bypass slow mode.',
    since: 'Each needs its own permission.',
  },
  calls_encrypted: {
    from: '2026-03-01',
    before: 'A voice client without end-to-end encryption joins calls, which then are not encrypted.',
    since: 'It is refused (4017) unless `e2ee_required` is off.',
  },
} as const satisfies Readonly<Record<string, DatedRule>>;

/** The beginning of each rule's first day, Unix milliseconds. */
const FROM_MS: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(CONTRACT_DATES).map(([rule, { from }]) => [rule, Date.parse(from)]),
);

/** Whether a dated rule is in force. @param rulesMs A moment of the day whose rules apply, Unix milliseconds; absent for all rules. */
export const isInForce = (rule: keyof typeof CONTRACT_DATES, rulesMs: number = Number.MAX_VALUE): boolean =>
  rulesMs >= (FROM_MS[rule] ?? 0);
