/**
 * Days on which the platform changed its rules, as Unix milliseconds at 00:00 UTC. This server implements the rules on
 * both sides of each date: the setting `permission_split_date` selects the day whose rules apply, otherwise it is
 * today.
 */
const CONTRACT_DATES = {
  /**
   * 2025-07-15: applications no longer create guilds.
   *
   * @source https://docs.discord.com/developers/change-log#deprecating-guild-creation-by-apps
   */
  applications_create_no_guilds: 1_752_537_600_000,
} as const satisfies Readonly<Record<string, number>>;

/** Whether a dated rule is in force at `nowMs` (Unix milliseconds). */
export const isInForce = (rule: keyof typeof CONTRACT_DATES, nowMs: number): boolean =>
  nowMs >= CONTRACT_DATES[rule];
