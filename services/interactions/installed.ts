import type { AppCommand } from '../../engine/appcommand/appcommand.ts';
import type { Described } from '../../engine/interaction/place.ts';
import { INSTALLATION, INTERACTION_CONTEXT, type InteractionContext } from '../../protocol/appcommands.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { InvokableApplication } from './lookups.ts';
import type { Invocation } from './ports.ts';

/** Where an application is used, and who has installed it. */
export interface Installed {
  readonly context: InteractionContext;
  /** Installed to the guild; in a private channel that the bot is in, open to everyone. */
  readonly isHere: boolean;
  readonly isByUser: boolean;
  /** `authorizing_integration_owners`. */
  readonly owners: Readonly<Record<string, string>>;
  /** An app that only its user has brought along shows its answers to that user only. */
  readonly forcesEphemeral: boolean;
}

/** The installations that let the invoker use an application in a place. */
export async function installations(
  invocation: Invocation,
  application: InvokableApplication,
  { isBotHere, permissions, type }: Pick<Described, 'isBotHere' | 'permissions' | 'type'>,
  hasInstalled: (invocation: Invocation) => Promise<boolean>,
): Promise<Installed> {
  const { guildId, userId } = invocation;
  const { GUILD, BOT_DM, PRIVATE_CHANNEL } = INTERACTION_CONTEXT;
  const isBotDm = isBotHere && type === CHANNEL.DM;
  const context = guildId !== null ? GUILD : isBotDm ? BOT_DM : PRIVATE_CHANNEL;
  const takesUsers = application.installations.includes(INSTALLATION.USER);
  const isByUser = takesUsers && (await hasInstalled(invocation));
  const lacksExternal = guildId !== null && (BigInt(permissions) & P.USE_EXTERNAL_APPS) === 0n;
  return {
    ...{ context, isByUser, isHere: isBotHere },
    owners: {
      ...((isBotDm || (isBotHere && guildId !== null)) && { [INSTALLATION.GUILD]: guildId ?? '0' }),
      ...(isByUser && { [INSTALLATION.USER]: userId }),
    },
    forcesEphemeral: !isBotHere && lacksExternal,
  };
}

/**
 * Why a command cannot be used in a place by anyone; null when it can.
 *
 * @returns 10063 where the command is not shown, 160005 in a thread that is locked for the invoker, 50013 for a command of
 *   age-gated channels elsewhere.
 */
export function mayInvokeHere(
  command: AppCommand,
  { guildId }: Invocation,
  { isNsfw, isLocked }: Pick<Described, 'isNsfw' | 'isLocked'>,
  { context, isHere, isByUser }: Installed,
): Refusal | null {
  const { integration_types: types = [INSTALLATION.GUILD], contexts = null } = command;
  const isShown = contexts === null || contexts.includes(context);
  const isInstalled =
    (isHere && (types.includes(INSTALLATION.GUILD) || context === INTERACTION_CONTEXT.BOT_DM)) ||
    (isByUser && types.includes(INSTALLATION.USER));
  if (!isShown || !isInstalled) return refusal('UNKNOWN_APPLICATION_COMMAND');
  if (isLocked) return refusal('THREAD_LOCKED');
  return command.nsfw && guildId !== null && !isNsfw ? refusal('MISSING_PERMISSIONS') : null;
}
