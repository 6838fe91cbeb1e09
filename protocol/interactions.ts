/**
 * The numbers of interactions.
 *
 * @source https://docs.discord.com/developers/interactions/receiving-and-responding
 */
export const INTERACTION = { PING: 1, COMMAND: 2, COMPONENT: 3, AUTOCOMPLETE: 4, MODAL_SUBMIT: 5 } as const;
/** The types that a person may send; an endpoint also receives PING. */
export type InteractionType = Exclude<(typeof INTERACTION)[keyof typeof INTERACTION], 1>;

export const CALLBACK = {
  PONG: 1,
  MESSAGE: 4,
  DEFERRED_MESSAGE: 5,
  DEFERRED_UPDATE: 6,
  UPDATE_MESSAGE: 7,
  CHOICES: 8,
  MODAL: 9,
  PREMIUM_REQUIRED: 10,
  LAUNCH_ACTIVITY: 12,
} as const;
export type CallbackType = (typeof CALLBACK)[keyof typeof CALLBACK];

/** Why an interaction failed: INTERACTION_FAILURE's `reason_code`. Ours; the platform publishes none. */
export const FAILURE = { OTHER: 1, TIMED_OUT: 2, UNREACHABLE: 3 } as const;
export type FailureReason = (typeof FAILURE)[keyof typeof FAILURE];

/** An application must answer within this time. */
export const ANSWER_MS = 3_000;
/** How long a token may be used. */
export const TOKEN_MS = 900_000;
/** The same nonce of a user within this time names the same interaction. */
export const NONCE_MS = 180_000;
