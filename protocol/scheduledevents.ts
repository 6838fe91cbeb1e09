/**
 * Numbers of guild scheduled events.
 *
 * @source https://docs.discord.com/developers/resources/guild-scheduled-event
 */
export const EVENT_STATUS = { SCHEDULED: 1, ACTIVE: 2, COMPLETED: 3, CANCELED: 4 } as const;
export type EventStatus = (typeof EVENT_STATUS)[keyof typeof EVENT_STATUS];

/** Where an event takes place. */
export const EVENT_ENTITY = { STAGE_INSTANCE: 1, VOICE: 2, EXTERNAL: 3 } as const;
export type EventEntity = (typeof EVENT_ENTITY)[keyof typeof EVENT_ENTITY];

/** A user's response to an event; UNINTERESTED only to one occurrence of it. */
export const EVENT_RESPONSE = { UNINTERESTED: 0, INTERESTED: 1 } as const;
export type EventResponse = (typeof EVENT_RESPONSE)[keyof typeof EVENT_RESPONSE];

/** How often an event recurs. */
export const FREQUENCY = { YEARLY: 0, MONTHLY: 1, WEEKLY: 2, DAILY: 3 } as const;
export type Frequency = (typeof FREQUENCY)[keyof typeof FREQUENCY];
