import type { ApplicationId, GuildId } from '../ids.ts';
import { channelType } from './channel.ts';
import {
  choice,
  decimal,
  dict,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';

/** A name, with its translations. */
const namedFields = {
  name: text,
  name_localized: optional(text),
  name_localizations: optional(nullable(dict(text))),
};

const describedFields = {
  ...namedFields,
  description: text,
  description_localized: optional(text),
  description_localizations: optional(nullable(dict(text))),
};

/** The fields of every option that takes a value. */
const optionFields = { ...describedFields, required: optional(flag) };

const attachmentOption = object(
  {
    type: choice(11),
    ...optionFields,
  },
  'AttachmentOption',
);

const booleanOption = object(
  {
    type: choice(5),
    ...optionFields,
  },
  'BooleanOption',
);

const channelOption = object(
  {
    type: choice(7),
    ...optionFields,
    channel_types: optional(list(channelType)),
  },
  'ChannelOption',
);

const integerOptionChoice = object(
  {
    ...namedFields,
    value: integer,
  },
  'IntegerOptionChoice',
);

const integerOption = object(
  {
    type: choice(4),
    ...optionFields,
    autocomplete: optional(flag),
    choices: optional(list(integerOptionChoice)),
    min_value: optional(integer),
    max_value: optional(integer),
  },
  'IntegerOption',
);

const mentionableOption = object(
  {
    type: choice(9),
    ...optionFields,
  },
  'MentionableOption',
);

const numberOptionChoice = object(
  {
    ...namedFields,
    value: decimal,
  },
  'NumberOptionChoice',
);

const numberOption = object(
  {
    type: choice(10),
    ...optionFields,
    autocomplete: optional(flag),
    choices: optional(list(numberOptionChoice)),
    min_value: optional(decimal),
    max_value: optional(decimal),
  },
  'NumberOption',
);

const roleOption = object(
  {
    type: choice(8),
    ...optionFields,
  },
  'RoleOption',
);

const stringOptionChoice = object(
  {
    ...namedFields,
    value: text,
  },
  'StringOptionChoice',
);

const stringOption = object(
  {
    type: choice(3),
    ...optionFields,
    autocomplete: optional(flag),
    choices: optional(list(stringOptionChoice)),
    min_length: optional(integer),
    max_length: optional(integer),
  },
  'StringOption',
);

const userOption = object(
  {
    type: choice(6),
    ...optionFields,
  },
  'UserOption',
);

const subcommandOption = object(
  {
    type: choice(1),
    ...describedFields,
    options: optional(
      list(
        oneOf(
          attachmentOption,
          booleanOption,
          channelOption,
          integerOption,
          mentionableOption,
          numberOption,
          roleOption,
          stringOption,
          userOption,
        ),
      ),
    ),
  },
  'SubcommandOption',
);

const subcommandGroupOption = object(
  {
    type: choice(2),
    ...describedFields,
    options: list(subcommandOption),
  },
  'SubcommandGroupOption',
);

const command = object(
  {
    id: id(),
    application_id: id<ApplicationId>(),
    version: id(),
    default_member_permissions: nullable(text),
    type: choice(1, 2, 3, 4),
    ...describedFields,
    guild_id: optional(id<GuildId>()),
    dm_permission: optional(flag),
    contexts: optional(nullable(list(choice(0, 1, 2)))),
    integration_types: optional(list(choice(0, 1))),
    options: optional(
      list(
        oneOf(
          attachmentOption,
          booleanOption,
          channelOption,
          integerOption,
          mentionableOption,
          numberOption,
          roleOption,
          stringOption,
          subcommandGroupOption,
          subcommandOption,
          userOption,
        ),
      ),
    ),
    nsfw: flag,
    handler: optional(choice(1, 2)),
  },
  'Command',
);
export interface Command extends ValueOf<typeof command> {}
export const Command: Schema<Command> = command;

const commandPermission = object(
  {
    id: id(),
    type: choice(1, 2, 3),
    permission: flag,
  },
  'CommandPermission',
);

const commandPermissions = object(
  {
    id: id(),
    application_id: id<ApplicationId>(),
    guild_id: id<GuildId>(),
    permissions: list(commandPermission),
  },
  'CommandPermissions',
);
export interface CommandPermissions extends ValueOf<typeof commandPermissions> {}
export const CommandPermissions: Schema<CommandPermissions> = commandPermissions;
