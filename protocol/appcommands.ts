/**
 * The numbers of application commands.
 *
 * @source https://docs.discord.com/developers/interactions/application-commands
 */
export const APP_COMMAND = { CHAT_INPUT: 1, USER: 2, MESSAGE: 3, PRIMARY_ENTRY_POINT: 4 } as const;
export type AppCommandType = (typeof APP_COMMAND)[keyof typeof APP_COMMAND];

export const OPTION = {
  SUB_COMMAND: 1,
  SUB_COMMAND_GROUP: 2,
  STRING: 3,
  INTEGER: 4,
  BOOLEAN: 5,
  USER: 6,
  CHANNEL: 7,
  ROLE: 8,
  MENTIONABLE: 9,
  NUMBER: 10,
  ATTACHMENT: 11,
} as const;
export type OptionType = (typeof OPTION)[keyof typeof OPTION];

/** Where a command can be used: in guilds, in the direct messages of its bot, in other private channels. */
export const INTERACTION_CONTEXT = { GUILD: 0, BOT_DM: 1, PRIVATE_CHANNEL: 2 } as const;
export type InteractionContext = (typeof INTERACTION_CONTEXT)[keyof typeof INTERACTION_CONTEXT];

/** How an application is installed. */
export const INSTALLATION = { GUILD: 0, USER: 1 } as const;
export type Installation = (typeof INSTALLATION)[keyof typeof INSTALLATION];

/** The handler of an entry point: the application, or the platform, which launches the activity. */
export const ENTRY_POINT_HANDLER = { APPLICATION: 1, LAUNCH_ACTIVITY: 2 } as const;
export type EntryPointHandler = (typeof ENTRY_POINT_HANDLER)[keyof typeof ENTRY_POINT_HANDLER];

/** Kind of the object that an overwrite of a command is for. */
export const COMMAND_OVERWRITE = { ROLE: 1, USER: 2, CHANNEL: 3 } as const;
export type OverwriteType = (typeof COMMAND_OVERWRITE)[keyof typeof COMMAND_OVERWRITE];

/**
 * Locales of users.
 *
 * @source https://docs.discord.com/developers/reference#locales
 */
export const LOCALES = [
  ...(['id', 'da', 'de', 'en-GB', 'en-US', 'es-ES', 'es-419', 'fr', 'hr', 'it', 'lt', 'hu'] as const),
  ...(['nl', 'no', 'pl', 'pt-BR', 'ro', 'fi', 'sv-SE', 'vi', 'tr', 'cs', 'el', 'bg', 'ru'] as const),
  ...(['uk', 'hi', 'th', 'zh-CN', 'ja', 'zh-TW', 'ko'] as const),
] as const;
export type Locale = (typeof LOCALES)[number];
