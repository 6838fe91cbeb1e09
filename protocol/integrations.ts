/** The type of a bot's integration, by which the platform means itself. */
export const BOT_INTEGRATION = 'discord';
