import { INTERACTION } from '../../protocol/interactions.ts';
import { type Entitlement, entitlementObject } from '../../protocol/premium.ts';
import type { Interaction } from './interaction.ts';
import type { Described } from './place.ts';

/** Fields of the interaction object that are not stored with the interaction. */
export interface InteractionPayload {
  readonly described: Described;
  readonly token: string;
  readonly data: object;
  /** The message of a component, or of the component that opened a form. */
  readonly message: object | null;
  /** `authorizing_integration_owners`. */
  readonly owners: object;
  readonly context: number;
  /** Entitlements of the invoker or the guild to what the application sells. */
  readonly entitlements: readonly Entitlement[];
  /** `attachment_size_limit`. */
  readonly fileBytesMax: number;
}

/**
 * The interaction object that an application receives.
 *
 * @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object
 */
export function interactionObject(
  { id, applicationId, type, channelId, locales: [locale] }: Interaction,
  { described, token, data, message, owners, context, entitlements, fileBytesMax }: InteractionPayload,
): object {
  const { guild, channel, member, user, appPermissions } = described;
  return {
    ...{ id, application_id: applicationId, type, data },
    ...(guild && { guild, guild_id: guild.id, guild_locale: guild.locale }),
    ...{ channel, channel_id: channelId },
    ...(member ? { member } : { user }),
    ...{ token, version: 1 },
    ...(message && { message }),
    app_permissions: appPermissions,
    locale,
    entitlements: entitlements.map(entitlementObject),
    entitlement_sku_ids: entitlements.map(({ skuId }) => skuId),
    authorizing_integration_owners: owners,
    context,
    attachment_size_limit: fileBytesMax,
  };
}

/** `interaction_metadata` of the messages that answer an interaction. */
export const metadataOf = (
  { id, type }: Pick<Interaction, 'id' | 'type'>,
  { described: { user }, owners }: Pick<InteractionPayload, 'described' | 'owners'>,
  more: object,
) => ({ id, type, user, authorizing_integration_owners: owners, ...more });

/** The deprecated `interaction` of messages that answer a command; null for other types. */
export function legacyOf(
  { id, type, command }: Pick<Interaction, 'id' | 'type' | 'command'>,
  { user, partialMember }: Described,
): Interaction['legacy'] {
  if (type !== INTERACTION.COMMAND || command === null) return null;
  return { ...{ id, type, name: command.name, user }, ...(partialMember && { member: partialMember }) };
}
