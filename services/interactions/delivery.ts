import type { Guilds } from '../../actors/guild/guilds.ts';
import { ALL_SESSIONS, type SessionFilter } from '../../engine/fanout/direct.ts';
import type { Interaction } from '../../engine/interaction/interaction.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import { FAILURE, type FailureReason } from '../../protocol/interactions.ts';
import type { EndpointAnswer, EndpointSender } from '../applications/endpoint.ts';
import type { InvokableApplication } from './lookups.ts';
import type { EndpointBody } from './ports.ts';

export interface DeliveryPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly sender: Pick<EndpointSender, 'post'>;
  /** Signs the attachment URLs of a dispatch. */
  sign(t: string, d: object): object;
  notify(userId: UserId, t: DispatchName, d: object, filter: SessionFilter): void;
}

/** The result of sending an interaction: answered in the response, answered later, or failed. */
type Delivered =
  | { readonly kind: 'sent' }
  | { readonly kind: 'answered'; readonly body: EndpointBody }
  | { readonly kind: 'failed'; readonly reason: FailureReason };

const SENT: Delivered = { kind: 'sent' };
const failed = (reason: FailureReason): Delivered => ({ kind: 'failed', reason });

/**
 * Sends an interaction to its application: to its URL if it has one, and only there; else to its bot's sessions, those that
 * receive the guild, or the ones of shard 0.
 */
export async function deliver(
  ports: DeliveryPorts,
  interaction: Interaction,
  application: InvokableApplication,
  object: object,
  isBotInGuild: boolean,
): Promise<Delivered> {
  const { guildId, botId } = interaction;
  const { endpointUrl } = application;
  const signed = (): object => ports.sign('INTERACTION_CREATE', object);
  if (endpointUrl !== null) return answerOf(await ports.sender.post(application.id, endpointUrl, signed()));
  if (botId === null) return failed(FAILURE.UNREACHABLE);
  if (guildId !== null && isBotInGuild)
    await ports.guilds.call(guildId, 'sendInteraction', { botId, interaction: object }, SYSTEM);
  else ports.notify(botId, 'INTERACTION_CREATE', signed(), ALL_SESSIONS);
  return SENT;
}

const ACCEPTED = 202;
const OK = 200;

/** @source https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction */
function answerOf(answer: EndpointAnswer): Delivered {
  if (!answer.ok) return failed(answer.reason === 'timeout' ? FAILURE.TIMED_OUT : FAILURE.UNREACHABLE);
  if (answer.status === ACCEPTED) return SENT;
  if (answer.status !== OK) return failed(FAILURE.OTHER);
  return { kind: 'answered', body: answer };
}
