import { APP_COMMAND, type AppCommandType } from '../../protocol/appcommands.ts';
import type { ApplicationId, CommandId, GuildId } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { Form } from '../channel/form.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { AppCommand, AppCommandFact, CommandDraft, Creates } from './appcommand.ts';
import { type DraftScope, readDraft, readDraftAt } from './draft.ts';
import type { Json } from './fields.ts';

/** The commands of one application, globally or in one guild, as far as a change needs them. */
export interface CommandScope extends Pick<DraftScope, 'installations'> {
  readonly applicationId: ApplicationId;
  /** Null for global commands. */
  readonly guildId: GuildId | null;
  readonly commands: readonly AppCommand[];
  /** Creations of the current period; null without any. */
  readonly creates: Creates | null;
}

type Changed<Value> = Outcome<Value, AppCommandFact>;

const COUNTS_MAX: Readonly<Record<AppCommandType, number>> = {
  [APP_COMMAND.CHAT_INPUT]: LIMITS.app_commands_chat_input_max,
  [APP_COMMAND.USER]: LIMITS.app_commands_user_max,
  [APP_COMMAND.MESSAGE]: LIMITS.app_commands_message_max,
  [APP_COMMAND.PRIMARY_ENTRY_POINT]: LIMITS.app_commands_entry_point_max,
};

const draftScope = ({ guildId, installations }: CommandScope): DraftScope => ({
  isGuild: guildId !== null,
  installations,
});

/** Creates a command, or replaces the one of the same name and type. `created` is true for a new one. */
export function writeCommand(
  scope: CommandScope,
  raw: unknown,
  env: Env,
): Changed<{ readonly command: AppCommand; readonly created: boolean }> {
  const read = readDraft(raw, draftScope(scope));
  if (!read.ok) return read;
  const before = scope.commands.find((command) => isNamed(command, read.value));
  if (before) {
    const { command, facts } = replaced(before, read.value, env);
    return accepted({ command, created: false }, facts);
  }
  const no = tooMany([...scope.commands, read.value]);
  if (no) return refused(no);
  const counted = countCreates(scope, 1, env.nowMs);
  if (!counted.ok) return counted;
  const command = created(scope, read.value, env);
  return accepted({ command, created: true }, [{ type: 'appCommandWritten', command }, ...counted.value]);
}

/** Changes the fields of a command that the request names; its type stays. */
export function editCommand(scope: CommandScope, id: CommandId, raw: unknown, env: Env): Changed<AppCommand> {
  const before = scope.commands.find((command) => command.id === id);
  if (!before) return refused(refusal('UNKNOWN_APPLICATION_COMMAND'));
  const merged = isRecord(raw) ? { ...bodyOf(before, raw), ...raw, type: before.type } : raw;
  const read = readDraft(merged, draftScope(scope));
  if (!read.ok) return read;
  if (scope.commands.some((command) => command.id !== id && isNamed(command, read.value)))
    return refused(refusal('COMMAND_NAME_TAKEN'));
  const { command, facts } = replaced(before, read.value, env);
  return accepted(command, facts);
}

/** The stored fields that a partial request keeps. `dm_permission` replaces the stored contexts. */
function bodyOf({ contexts, ...rest }: AppCommand, raw: Json): Json {
  return raw.dm_permission === undefined || raw.dm_permission === null ? { ...rest, contexts } : rest;
}

export function deleteCommand({ applicationId, commands }: CommandScope, id: CommandId): Changed<null> {
  if (!commands.some((command) => command.id === id)) return refused(refusal('UNKNOWN_APPLICATION_COMMAND'));
  return accepted(null, [{ type: 'appCommandDeleted', applicationId, commandId: id }]);
}

/**
 * Replaces all commands of the scope. A command keeps its id when the list names the id, or else its name and type; the
 * others are deleted. An id that is unknown counts as none.
 */
export function overwriteCommands(scope: CommandScope, raw: unknown, env: Env): Changed<AppCommand[]> {
  const read = readAll(raw ?? [], scope);
  if (!read.ok) return read;
  const drafts = read.value;
  const no = tooMany(drafts.map(({ draft }) => draft));
  if (no) return refused(no);
  const kept = matched(scope.commands, drafts);
  const counted = countCreates(scope, kept.filter((before) => before === null).length, env.nowMs);
  if (!counted.ok) return counted;
  const facts: AppCommandFact[] = scope.commands
    .filter((command) => !kept.includes(command))
    .map(({ id }) => ({ type: 'appCommandDeleted', applicationId: scope.applicationId, commandId: id }));
  const commands = drafts.map(({ draft }, index) => {
    const before = kept[index];
    if (before) {
      const after = replaced(before, draft, env);
      facts.push(...after.facts);
      return after.command;
    }
    const command = created(scope, draft, env);
    facts.push({ type: 'appCommandWritten', command });
    return command;
  });
  return accepted(commands, [...facts, ...counted.value]);
}

interface ListedDraft {
  readonly id: string | null;
  readonly draft: CommandDraft;
}

function readAll(raw: unknown, scope: CommandScope): Changed<ListedDraft[]> {
  if (!Array.isArray(raw))
    return refused(invalidField([], 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType'));
  const form = new Form();
  const max = LIMITS.app_commands_per_overwrite_max;
  if (raw.length > max) form.tooLong([], max);
  const drafts: ListedDraft[] = [];
  for (const [index, each] of raw.slice(0, max).entries()) {
    const draft = readDraftAt(form, [index], each, draftScope(scope));
    if (!draft) continue;
    if (drafts.some((other) => isNamed(other.draft, draft)))
      form.add([index], 'APPLICATION_COMMANDS_DUPLICATE_NAME', 'Application command names must be unique');
    const id = isRecord(each) && each.id !== undefined && each.id !== null ? String(each.id) : null;
    drafts.push({ id, draft });
  }
  const no = form.refusal();
  return no ? refused(no) : accepted(drafts);
}

/** The stored command of each draft, or null for a new one; ids count before names. */
function matched(commands: readonly AppCommand[], drafts: readonly ListedDraft[]): (AppCommand | null)[] {
  const free = new Set(commands);
  const take = (command: AppCommand | undefined): AppCommand | null => {
    if (command) free.delete(command);
    return command ?? null;
  };
  const find = (fits: (command: AppCommand) => boolean) => take([...free].find(fits));
  const byId = drafts.map(({ id, draft }) =>
    find((command) => command.id === id && command.type === draft.type),
  );
  return drafts.map(({ draft }, index) => byId[index] ?? find((command) => isNamed(command, draft)));
}

const isNamed = (one: CommandDraft, other: CommandDraft): boolean =>
  one.type === other.type && one.name === other.name;

function created({ applicationId, guildId }: CommandScope, draft: CommandDraft, env: Env): AppCommand {
  const id = env.nextId();
  return { id, application_id: applicationId, guild_id: guildId, version: env.nextId(), ...draft };
}

/** The command with its new content. Its version changes only with its content; a new name ends its overwrites. */
function replaced(before: AppCommand, draft: CommandDraft, env: Env) {
  const { id, application_id, guild_id, version, ...content } = before;
  if (isSame(content, draft)) return { command: before, facts: [] };
  const command: AppCommand = { id, application_id, guild_id, version: env.nextId(), ...draft };
  const facts: AppCommandFact[] = [{ type: 'appCommandWritten', command }];
  if (draft.name !== before.name)
    facts.push({ type: 'appCommandPermissionsEnded', applicationId: application_id, commandId: id });
  return { command, facts };
}

/** Whether two JSON values are equal; the order of keys does not count. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((each, at) => isSame(each, other[at]))
    );
  if (!isRecord(one) || !isRecord(other)) return Object.is(one, other);
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

/** The refusal of a scope with more commands of one type than it may have; null when it has room. */
function tooMany(commands: readonly CommandDraft[]): Refusal | null {
  for (const type of Object.values(APP_COMMAND)) {
    const count = commands.filter((command) => command.type === type).length;
    if (count > COUNTS_MAX[type]) return refusal('MAXIMUM_APPLICATION_COMMANDS');
  }
  return null;
}

/** Counts the commands created per day. The day starts with the first creation. */
function countCreates(
  { applicationId, guildId, creates }: CommandScope,
  more: number,
  nowMs: number,
): Changed<AppCommandFact[]> {
  if (more === 0) return accepted([]);
  const isCurrent = creates !== null && nowMs < creates.startMs + LIMITS.app_command_creates_ms;
  const { startMs, count } = isCurrent ? creates : { startMs: nowMs, count: 0 };
  if (count + more > LIMITS.app_command_creates_max) return refused(refusal('MAXIMUM_DAILY_COMMAND_CREATES'));
  const now: Creates = { startMs, count: count + more };
  return accepted([{ type: 'appCommandCreatesCounted', applicationId, guildId, creates: now }]);
}
