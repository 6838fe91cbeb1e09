import { COMMAND_OVERWRITE } from '../../protocol/appcommands.ts';
import { type ApplicationId, type CommandId, type GuildId, isSnowflake } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { Form } from '../channel/form.ts';
import { accepted, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { AppCommandFact, CommandOverwrite, CommandPermissions } from './appcommand.ts';
import { notObject, readChoice, readList } from './fields.ts';

const TYPES = Object.values(COMMAND_OVERWRITE);

/** The overwrite id of all channels: the number before the guild's id. */
const allChannelsOf = (guildId: GuildId): string => String(BigInt(guildId) - 1n);

/** The member who wants to use a command, and the place. */
export interface CommandUse {
  readonly guildId: GuildId;
  readonly userId: string;
  readonly roles: readonly string[];
  /** The channel; for a thread its parent. Null for the guild as a whole, where no channel's overwrite counts. */
  readonly channelId: string | null;
  /** Permissions of the member in the channel or the guild. */
  readonly permissions: bigint;
}

/** Overwrites and defaults that decide which members may use a command in a guild. */
export interface CommandRules {
  /** Overwrites of the command; null when it has none of its own. */
  readonly own: readonly CommandOverwrite[] | null;
  /** Overwrites of the application, which commands without their own follow. */
  readonly application: readonly CommandOverwrite[];
  readonly defaultMemberPermissions: string | null;
}

/**
 * Whether a member may use a command in a channel of a guild:
 *
 * 1. Administrators may use every command everywhere.
 * 2. Everybody else needs USE_APPLICATION_COMMANDS.
 * 3. The channel's overwrite decides about the place, else that of all channels; without either the place is allowed.
 * 4. The overwrite of the user decides; else those of the user's roles, of which one that allows is enough; else that
 *    of @everyone.
 * 5. Without any of these the default permissions decide: null lets everyone, `0` only administrators.
 *
 * The order of users, roles and @everyone is ours where the platform publishes none.
 *
 * @source https://docs.discord.com/developers/interactions/application-commands#permissions
 */
export function mayUseCommand(use: CommandUse, rules: CommandRules): boolean {
  if ((use.permissions & P.ADMINISTRATOR) !== 0n) return true;
  if ((use.permissions & P.USE_APPLICATION_COMMANDS) === 0n) return false;
  const overwrites = rules.own ?? rules.application;
  const verdict = (type: number, id: string): boolean | undefined =>
    overwrites.find((overwrite) => overwrite.type === type && overwrite.id === id)?.permission;
  const { CHANNEL, ROLE, USER } = COMMAND_OVERWRITE;
  if (use.channelId !== null) {
    const place = verdict(CHANNEL, use.channelId) ?? verdict(CHANNEL, allChannelsOf(use.guildId));
    if (place === false) return false;
  }
  const byRole = use.roles.flatMap((role) => verdict(ROLE, role) ?? []);
  const person =
    verdict(USER, use.userId) ?? (byRole.length > 0 ? byRole.includes(true) : verdict(ROLE, use.guildId));
  return person ?? holdsDefault(use.permissions, rules.defaultMemberPermissions);
}

function holdsDefault(permissions: bigint, wanted: string | null): boolean {
  if (wanted === null) return true;
  const bits = BigInt(wanted);
  return bits !== 0n && (permissions & bits) === bits;
}

/** Reads the overwrites of a request. */
function readOverwrites(raw: unknown): Reply<CommandOverwrite[]> {
  const form = new Form();
  const path = ['permissions'];
  const max = LIMITS.app_command_overwrites_max;
  const overwrites =
    readList(form, path, raw, { max, read: (at, each) => readOverwrite(form, at, each) }) ?? [];
  const seen = new Set<string>();
  for (const [index, { id, type }] of overwrites.entries()) {
    const key = `${type} ${id}`;
    if (seen.has(key) && !form.isWrong(path))
      form.add([...path, index], 'APPLICATION_COMMAND_PERMISSIONS_DUPLICATE', 'This overwrite occurs twice.');
    seen.add(key);
  }
  const no = form.refusal();
  return no ? refused(no) : { ok: true, value: overwrites };
}

function readOverwrite(form: Form, path: readonly (string | number)[], raw: unknown) {
  if (!isRecord(raw)) return notObject(form, path);
  const { id, type, permission } = raw;
  for (const [key, value] of Object.entries({ id, type, permission }))
    if (value === undefined || value === null) form.required([...path, key]);
  const given = typeof id === 'number' ? String(id) : id;
  if (given !== undefined && given !== null && !isSnowflake(given))
    form.add([...path, 'id'], 'NUMBER_TYPE_COERCE', 'Value is not snowflake.');
  if (permission !== undefined && permission !== null && typeof permission !== 'boolean')
    form.add([...path, 'permission'], 'BOOLEAN_TYPE_CONVERT', 'Must be either true or false.');
  const kind = readChoice(form, [...path, 'type'], type, TYPES);
  if (kind === undefined || !isSnowflake(given)) return undefined;
  return { id: given, type: kind, permission: permission === true };
}

/** Replaces the overwrites of a command, or those of the application under its own id. */
export function setCommandPermissions(
  target: {
    readonly applicationId: ApplicationId;
    readonly guildId: GuildId;
    readonly id: CommandId | ApplicationId;
  },
  raw: unknown,
): Outcome<CommandPermissions, AppCommandFact> {
  const read = readOverwrites(raw);
  if (!read.ok) return read;
  const permissions: CommandPermissions = {
    ...{ id: target.id, application_id: target.applicationId, guild_id: target.guildId },
    permissions: read.value,
  };
  return accepted(permissions, [{ type: 'appCommandPermissionsWritten', permissions }]);
}
