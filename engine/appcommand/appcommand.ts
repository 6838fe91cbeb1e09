import type {
  AppCommandType,
  EntryPointHandler,
  Installation,
  InteractionContext,
  Locale,
  OptionType,
  OverwriteType,
} from '../../protocol/appcommands.ts';
import type { ApplicationId, CommandId, GuildId } from '../../protocol/ids.ts';
import type { FactOf } from '../kernel/aggregate.ts';

/** Translations of a text by locale. */
export type Localizations = Readonly<Partial<Record<Locale, string>>>;

export interface OptionChoice {
  readonly name: string;
  readonly name_localizations: Localizations | null;
  readonly value: string | number;
}

/** An option in the wire's shape. Absent fields have their defaults. */
export interface CommandOption {
  readonly type: OptionType;
  readonly name: string;
  readonly name_localizations: Localizations | null;
  readonly description: string;
  readonly description_localizations: Localizations | null;
  readonly required?: true;
  readonly autocomplete?: true;
  readonly choices?: readonly OptionChoice[];
  /** Options of a subcommand, or subcommands of a group. */
  readonly options?: readonly CommandOption[];
  readonly channel_types?: readonly number[];
  readonly min_value?: number;
  readonly max_value?: number;
  readonly min_length?: number;
  readonly max_length?: number;
  /** Groups (`image`) and extensions (`.pdf`) in lower case. */
  readonly file_types?: readonly string[];
}

/** The part of a command that its application writes, in normal form: reading it again returns an equal value. */
export interface CommandDraft {
  readonly type: AppCommandType;
  readonly name: string;
  readonly name_localizations: Localizations | null;
  readonly description: string;
  readonly description_localizations: Localizations | null;
  readonly options: readonly CommandOption[];
  /** Permission bits as decimal text; `0` reserves the command for administrators, null opens it to everyone. */
  readonly default_member_permissions: string | null;
  readonly nsfw: boolean;
  /** Absent for commands of a guild. */
  readonly integration_types?: readonly Installation[];
  /** Null means all of them. Absent for commands of a guild. */
  readonly contexts?: readonly InteractionContext[] | null;
  /** Only for entry points. */
  readonly handler?: EntryPointHandler;
}

/** A stored command. */
export interface AppCommand extends CommandDraft {
  readonly id: CommandId;
  readonly application_id: ApplicationId;
  /** Null for a global command. */
  readonly guild_id: GuildId | null;
  /** Snowflake; changes with every change of the command. */
  readonly version: string;
}

/** An overwrite: allows or denies a command for a role, a user or a channel. */
export interface CommandOverwrite {
  /** A role, a user or a channel; the guild's id for everyone, the number before it for all channels. */
  readonly id: string;
  readonly type: OverwriteType;
  readonly permission: boolean;
}

/** The overwrites of one command in one guild, or, under the application's id, those of all its commands there. */
export interface CommandPermissions {
  readonly id: CommandId | ApplicationId;
  readonly application_id: ApplicationId;
  readonly guild_id: GuildId;
  readonly permissions: readonly CommandOverwrite[];
}

export type AppCommandFacts = {
  appCommandWritten: { readonly command: AppCommand };
  /** Its overwrites end with it. */
  appCommandDeleted: { readonly applicationId: ApplicationId; readonly commandId: CommandId };
  /** Creations of a scope since `startMs`. */
  appCommandCreatesCounted: {
    readonly applicationId: ApplicationId;
    readonly guildId: GuildId | null;
    readonly creates: Creates;
  };
  /** Without overwrites, none remain. */
  appCommandPermissionsWritten: { readonly permissions: CommandPermissions };
  /** The overwrites of a renamed command end in every guild. */
  appCommandPermissionsEnded: { readonly applicationId: ApplicationId; readonly commandId: CommandId };
};
export type AppCommandFact = FactOf<AppCommandFacts>;

/** Commands created in the period that began at `startMs`, Unix milliseconds. */
export interface Creates {
  readonly startMs: number;
  readonly count: number;
}
