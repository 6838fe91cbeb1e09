import type { AppCommand } from '../../engine/appcommand/appcommand.ts';
import { type CommandRules, type CommandUse, mayUseCommand } from '../../engine/appcommand/permissions.ts';
import { Form } from '../../engine/channel/form.ts';
import { sharedMessage } from '../../engine/channel/messages.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { readComponentUse } from '../../engine/interaction/components.ts';
import type { Interaction } from '../../engine/interaction/interaction.ts';
import { readSubmission, type Submission, withFileIds } from '../../engine/interaction/modal.ts';
import { readOptions } from '../../engine/interaction/options.ts';
import type { Described, InvocationQuery } from '../../engine/interaction/place.ts';
import {
  checkResolved,
  idIn,
  type ReferencedIds,
  type ResolvedCheck,
  wantedBy,
} from '../../engine/interaction/resolved.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { APP_COMMAND, ENTRY_POINT_HANDLER, INSTALLATION } from '../../protocol/appcommands.ts';
import type { ApplicationId, CommandId, FreshId, GuildId, MessageId } from '../../protocol/ids.ts';
import { INTERACTION } from '../../protocol/interactions.ts';
import { isRecord } from '../../protocol/json.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { EphemeralMessages } from './ephemeral.ts';
import { type Installed, installations, mayInvokeHere } from './installed.ts';
import type { InvokableApplication } from './lookups.ts';
import type { OpenInteractions } from './open.ts';
import type { Places } from './places.ts';
import type { Invocation } from './ports.ts';

/** The payload for the application, and the state that the interaction stores. */
export interface Prepared {
  readonly described: Described;
  readonly installed: Installed;
  /** `data` of the interaction object, with the objects that it names. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The message of a component, in the wire's shape. */
  readonly message: object | null;
  readonly kept: Pick<Interaction, 'command' | 'focused' | 'source'>;
  /** Fields of `interaction_metadata` beside those that all types have. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Whether the server answers, by launching the activity, and not the application. */
  readonly launches: boolean;
  /** The interaction whose form was submitted. */
  readonly submitted: Interaction | null;
}

export interface InvokingPorts {
  readonly places: Pick<Places, 'describe'>;
  readonly ephemeral: Pick<EphemeralMessages, 'find'>;
  readonly open: Pick<OpenInteractions, 'get'>;
  command(applicationId: ApplicationId, commandId: CommandId, version: string): Promise<AppCommand | null>;
  rules(application: InvokableApplication, guildId: GuildId): Promise<(command: AppCommand) => CommandRules>;
  /** Whether the user has installed the application to the account. */
  hasInstalled(invocation: Invocation): Promise<boolean>;
}

const no = (found: Refusal): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal: found,
});

/** Checks an invocation against the command, the message or the form it uses, and resolves what it names. */
export function prepare(
  ports: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
): Promise<Reply<Prepared>> {
  switch (invocation.type) {
    case INTERACTION.COMMAND:
    case INTERACTION.AUTOCOMPLETE:
      return prepareCommand(ports, invocation, application);
    case INTERACTION.COMPONENT:
      return prepareComponent(ports, invocation, application);
    case INTERACTION.MODAL_SUBMIT:
      return prepareSubmission(ports, invocation, application);
  }
}

const NOTHING = wantedBy([]);

const askedOf = (
  { channelId, userId, applicationId }: Invocation,
  { bot }: InvokableApplication,
  wanted: ReferencedIds,
  message: InvocationQuery['message'],
): InvocationQuery => ({ channelId, userId, applicationId, botId: bot?.id ?? null, wanted, message });

async function prepareCommand(
  ports: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
): Promise<Reply<Prepared>> {
  const { data, type } = invocation;
  const commandId = idIn(data.id);
  const version = String(idIn(data.version));
  const command = commandId && (await ports.command(application.id, commandId, version));
  const guildId = invocation.guildId;
  if (!command || (command.guild_id !== null && command.guild_id !== guildId))
    return no(refusal('UNKNOWN_APPLICATION_COMMAND'));
  if (command.version !== version)
    return no(invalidField(['data', 'version'], 'INTERACTION_APPLICATION_COMMAND_INVALID_VERSION', OUTDATED));
  const form = new Form();
  const isComplete = type === INTERACTION.COMMAND;
  const read = readOptions(command, data.options, isComplete ? 'command' : 'autocomplete', form);
  const target = targetOf(command, data, form);
  const wrong = form.refusal();
  if (wrong || !target) return no(wrong ?? refusal('INVALID_FORM_BODY'));
  const named = wantedBy(read.checks);
  const wanted = { ...named, users: new Set([...named.users, ...target.users]) };
  const message = target.message && { channelId: invocation.channelId, id: target.message, isTarget: true };
  const described = await ports.places.describe(
    invocation,
    askedOf(invocation, application, wanted, message),
  );
  if (!described.ok) return described;
  const installed = await installations(invocation, application, described.value, ports.hasInstalled);
  const refused =
    mayInvokeHere(command, invocation, described.value, installed) ??
    (guildId === null ? null : await useRefusal(ports, application, command, invocation, described.value));
  if (refused) return no(refused);
  const options = withUploads(read.options, invocation);
  const resolved = resolvedWith(described.value, invocation, named);
  checkResolved(read.checks, resolved, invocation.uploads, form);
  if (target.id !== null && !(resolved.users?.[target.id] ?? resolved.messages?.[target.id]))
    form.add(['data', 'target_id'], 'INVALID_TARGET', 'Unknown target');
  const unresolved = form.refusal();
  if (unresolved) return no(unresolved);
  return {
    ok: true,
    value: {
      described: described.value,
      installed,
      data: {
        id: command.id,
        name: command.name,
        type: command.type,
        ...(command.guild_id === null ? {} : { guild_id: command.guild_id }),
        ...(options.length > 0 && { options }),
        ...(Object.keys(resolved).length > 0 && { resolved }),
        ...(target.id !== null && { target_id: target.id }),
      },
      message: null,
      kept: { command: { type: command.type, name: command.name }, focused: read.focused, source: null },
      metadata: targetMetadata(target, described.value),
      launches: isComplete && command.handler === ENTRY_POINT_HANDLER.LAUNCH_ACTIVITY,
      submitted: null,
    },
  };
}

const OUTDATED = 'This command is outdated, please try again in a few minutes';

interface Target {
  readonly id: string | null;
  readonly users: readonly FreshId[];
  readonly message: MessageId | null;
}

/** The user or message that a menu entry was used on. */
function targetOf({ type }: AppCommand, { target_id: raw }: Invocation['data'], form: Form): Target | null {
  const id = idIn(raw);
  if (type !== APP_COMMAND.USER && type !== APP_COMMAND.MESSAGE)
    return { id: null, users: [], message: null };
  if (id === null) {
    form.required(['data', 'target_id']);
    return null;
  }
  return type === APP_COMMAND.USER ? { id, users: [id], message: null } : { id, users: [], message: id };
}

function targetMetadata(
  { users: [userId], message }: Target,
  { resolved }: Described,
): Readonly<Record<string, unknown>> {
  if (userId !== undefined) return { target_user: resolved.users?.[userId] };
  return message === null ? {} : { target_message_id: message };
}

/** @returns 50013 for a member who may not use the command here. */
async function useRefusal(
  ports: InvokingPorts,
  application: InvokableApplication,
  command: AppCommand,
  { userId, guildId }: Invocation,
  { roles, permissions, bearerId: channelId }: Described,
): Promise<Refusal | null> {
  if (guildId === null) return null;
  const rules = (await ports.rules(application, guildId))(command);
  const use: CommandUse = { guildId, userId, roles, channelId, permissions: BigInt(permissions) };
  return mayUseCommand(use, rules) ? null : refusal('MISSING_PERMISSIONS');
}

/** Values of attachment options become the ids of the stored files. */
function withUploads<
  O extends { readonly type: number; readonly value?: unknown; readonly options?: readonly O[] },
>(options: readonly O[], invocation: Invocation): readonly O[] {
  return options.map((option) => {
    if (option.options) return { ...option, options: withUploads(option.options, invocation) };
    const upload = option.type === ATTACHMENT_OPTION ? invocation.uploads[String(option.value)] : undefined;
    return upload ? { ...option, value: upload.id } : option;
  });
}
const ATTACHMENT_OPTION = 11;

/** The resolved objects, with the uploads under their stored ids. */
function resolvedWith({ resolved }: Described, { uploads }: Invocation, { attachments }: ReferencedIds) {
  const files = [...attachments].flatMap((id) => uploads[id] ?? []);
  if (files.length === 0) return resolved;
  return { ...resolved, attachments: Object.fromEntries(files.map((file) => [file.id, file])) };
}

async function prepareComponent(
  ports: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
): Promise<Reply<Prepared>> {
  const { messageId, channelId, isEphemeral } = invocation;
  if (messageId === null) return no(invalidField(['message_id'], 'BASE_TYPE_REQUIRED', REQUIRED));
  const hidden = isEphemeral ? await ports.ephemeral.find(invocation.ownerId, messageId) : null;
  if (isEphemeral && (hidden?.userId !== invocation.userId || hidden.message.channel_id !== channelId))
    return no(refusal('UNKNOWN_MESSAGE'));
  const named = hidden ? null : { channelId, id: messageId, isTarget: false };
  const first = await ports.places.describe(invocation, askedOf(invocation, application, NOTHING, named));
  if (!first.ok) return first;
  const message = hidden?.message ?? first.value.message;
  if (!message || !isOwnMessage(message, application)) return no(refusal('UNKNOWN_MESSAGE'));
  const form = new Form();
  const used = readComponentUse(message, invocation.data, form);
  const wrong = form.refusal();
  if (wrong || !used) return no(wrong ?? refusal('INVALID_FORM_BODY'));
  const again = await resolving(ports, invocation, application, used, first.value, form);
  if (!again.ok) return again;
  const { described, resolved } = again.value;
  const before = message.interaction_metadata;
  const installed = await installedStill(ports, invocation, application, described, before, message);
  if (!installed) return no(refusal('UNKNOWN_INTEGRATION'));
  return {
    ok: true,
    value: {
      ...{ described, installed },
      data: { ...used.data, ...(Object.keys(resolved).length > 0 && { resolved }) },
      message: sharedMessage(message),
      kept: { command: null, focused: null, source: { messageId, isEphemeral } },
      metadata: { interacted_message_id: messageId },
      launches: false,
      submitted: null,
    },
  };
}

const REQUIRED = 'This field is required';

/**
 * The installations by which a component or a form reaches its application: the installations here and of the
 * invoker; else the installation of the person who caused the message, or the webhook of the application that sent
 * it. Null without any: it was removed.
 */
async function installedStill(
  { hasInstalled }: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
  described: Described,
  metadata: Readonly<Record<string, unknown>> | undefined,
  message: StoredMessage | null,
): Promise<Installed | null> {
  const installed = await installations(invocation, application, described, hasInstalled);
  if (installed.isHere || installed.isByUser) return installed;
  const owners: unknown = metadata?.authorizing_integration_owners;
  const ownerId = isRecord(owners) ? idIn(owners[INSTALLATION.USER]) : null;
  if (ownerId !== null && (await hasInstalled({ ...invocation, userId: ownerId })))
    return { ...installed, owners: { [INSTALLATION.USER]: ownerId } };
  const { guildId } = invocation;
  const isByWebhook = message?.webhook_id !== undefined && metadata === undefined;
  return isByWebhook && guildId !== null ? { ...installed, owners: { [INSTALLATION.GUILD]: guildId } } : null;
}

const isOwnMessage = (message: StoredMessage, { id, bot }: InvokableApplication): boolean =>
  message.application_id === id || (bot !== null && message.author.id === bot.id);

/** Reads the objects that a select or a form names, and checks them. */
async function resolving(
  ports: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
  { checks }: { readonly checks: readonly ResolvedCheck[] },
  first: Described | null,
  form: Form,
): Promise<Reply<{ readonly described: Described; readonly resolved: Described['resolved'] }>> {
  const wanted = wantedBy(checks);
  const isAll = checks.every(({ kind }) => kind === 'attachment');
  const described: Reply<Described> =
    first && isAll
      ? { ok: true, value: first }
      : await ports.places.describe(invocation, askedOf(invocation, application, wanted, null));
  if (!described.ok) return described;
  const resolved =
    wanted.attachments.size === 0
      ? described.value.resolved
      : resolvedWith(described.value, invocation, wanted);
  checkResolved(checks, resolved, invocation.uploads, form);
  const wrong = form.refusal();
  return wrong ? no(wrong) : { ok: true, value: { described: described.value, resolved } };
}

async function prepareSubmission(
  ports: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
): Promise<Reply<Prepared>> {
  const { data, ownerId, userId } = invocation;
  const id = idIn(data.id);
  const before = id && (await ports.open.get(ownerId, id));
  const isOwn = before?.userId === userId && before.applicationId === application.id;
  if (!before?.modal || !isOwn || before.channelId !== invocation.channelId)
    return no(refusal('UNKNOWN_INTERACTION'));
  const form = new Form();
  const sent = readSubmission(before.modal, data, form);
  const wrong = form.refusal();
  if (wrong || !sent) return no(wrong ?? refusal('INVALID_FORM_BODY'));
  const known = await resolving(ports, invocation, application, sent, null, form);
  if (!known.ok) return known;
  const { described, resolved } = known.value;
  const source = before.source;
  const message = source && (await sourceMessage(ports, invocation, application, source));
  const installed = await installedStill(ports, invocation, application, described, before.metadata, null);
  if (!installed) return no(refusal('UNKNOWN_INTEGRATION'));
  return {
    ok: true,
    value: {
      ...{ described, installed },
      data: { ...storedFiles(sent, invocation), ...(Object.keys(resolved).length > 0 && { resolved }) },
      message: message && sharedMessage(message),
      kept: { command: null, focused: null, source: message ? source : null },
      metadata: { triggering_interaction_metadata: before.metadata },
      launches: false,
      submitted: before,
    },
  };
}

/** The submission's data, with the ids of the stored files in place of those of the request. */
const storedFiles = ({ data }: Submission, { uploads }: Invocation): Submission['data'] =>
  withFileIds(data, (id) => uploads[id]?.id ?? id);

/** The message of the component that opened a form; null when it is gone. */
async function sourceMessage(
  { ephemeral, places }: InvokingPorts,
  invocation: Invocation,
  application: InvokableApplication,
  { messageId, isEphemeral }: NonNullable<Interaction['source']>,
): Promise<StoredMessage | null> {
  if (isEphemeral) return (await ephemeral.find(invocation.ownerId, messageId))?.message ?? null;
  const named = { channelId: invocation.channelId, id: messageId, isTarget: false };
  const found = await places.describe(invocation, askedOf(invocation, application, NOTHING, named));
  return found.ok ? found.value.message : null;
}
