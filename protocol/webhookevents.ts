/**
 * `event_webhooks_status` of an application: off by its developer, on, off by the server after failures.
 *
 * @source https://docs.discord.com/developers/resources/application#application-object-application-event-webhook-status
 */
export const EVENTS_STATUS = { OFF: 1, ON: 2, DISABLED: 3 } as const;
