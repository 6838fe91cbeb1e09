import type { Guilds } from '../../actors/guild/guilds.ts';
import { composeMessage } from '../../engine/channel/compose.ts';
import type { CreateInput, EditInput, Sender, Written } from '../../engine/channel/draft.ts';
import type { Scope } from '../../engine/channel/messages.ts';
import { reviseMessage } from '../../engine/channel/revise.ts';
import type { Guild, StoredMessage } from '../../engine/guild/guild.ts';
import { scopeIn } from '../../engine/guild/messages.scope.ts';
import { guildRules } from '../../engine/guild/rules.ts';
import { describeInGuild, needsToDescribe } from '../../engine/interaction/guildplace.ts';
import type { InteractionLocation } from '../../engine/interaction/interaction.ts';
import type { Described, InvocationQuery } from '../../engine/interaction/place.ts';
import { describePrivately } from '../../engine/interaction/privateplace.ts';
import type { Env, Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { type PrivateChannelState, privateScope, privateState } from '../../engine/privatechannel/rules.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import { isApplicationId, type MessageId, type UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';
import { reachBetween } from '../social/reach.ts';

interface PlacePorts {
  readonly guilds: Pick<Guilds, 'look' | 'callHere'>;
  readonly inPrivateHere: InPrivate;
  readonly storage: Pick<Storage, 'privateChannels' | 'users' | 'messages' | 'relationships'>;
  readonly config: { readonly direct_messages_from: ContactPolicy };
  readonly env: () => Env;
}

/** The author: an application that answers an interaction. */
type From = { readonly from: Sender };
type MessageCreation = Omit<CreateInput, 'from'> & From;
type MessageEdit = Omit<EditInput, 'from'> & From;

/**
 * The guild or the private channel of an interaction, which this shard owns. Once another shard owns it, every change is
 * rejected: the next owner has decided what became of an answer whose message it did not find.
 */
export interface Places {
  describe(place: InteractionLocation, asked: InvocationQuery): Promise<Reply<Described>>;
  write(place: InteractionLocation, sent: MessageCreation): Promise<Reply<Written>>;
  /** A message of the channel; null for an unknown one. */
  find(place: InteractionLocation, messageId: MessageId): Promise<StoredMessage | null>;
  edit(place: InteractionLocation, messageId: MessageId, changed: MessageEdit): Promise<Reply<Written>>;
  remove(place: InteractionLocation, messageId: MessageId, from: Sender): Promise<Reply<null>>;
  /** The message as it would be written, without writing it. */
  compose(place: InteractionLocation, sent: MessageCreation): Promise<Reply<Written>>;
  /** The message as an edit would leave it, without writing it. */
  revise(place: InteractionLocation, message: StoredMessage, changed: MessageEdit): Promise<Reply<Written>>;
}

const unknownChannel: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };

const senderAuthority = ({ fields }: Sender): Authority => ({
  ...SYSTEM,
  by: { ...SYSTEM.by, applicationId: isApplicationId(fields.application_id) ? fields.application_id : null },
});

export function createPlaces(ports: PlacePorts): Places {
  const { storage, guilds, inPrivateHere, env } = ports;
  const find: Places['find'] = async ({ ownerId, channelId }, id) =>
    (await storage.messages.get(ownerId, [{ channelId, id }]))[0] ?? null;
  return {
    find,
    async describe(place, asked) {
      if (place.guildId === null) {
        const state = await stateOf(storage, place);
        const known = asked.message && (await find(place, asked.message.id));
        if (!state) return unknownChannel;
        const no = await contactRefusal(ports, state, asked.userId);
        if (no) return { ok: false, refusal: no };
        const others = await storage.users.get([...asked.wanted.users, ...asked.wanted.mentionables]);
        return describePrivately(state, asked, known, others);
      }
      const found = await guilds.look(
        place.guildId,
        (guild) => describeInGuild(guild, asked, env().nowMs),
        (guild) => needsToDescribe(guild, asked),
      );
      return 'ok' in found ? found : { ok: false, refusal: found.refusal };
    },
    async write({ guildId, channelId }, sent) {
      const input = { ...sent, channelId };
      const authority = senderAuthority(sent.from);
      if (guildId === null) return inPrivateHere(channelId, 'createMessage', input, authority);
      return guilds.callHere(guildId, 'createMessage', input, authority);
    },
    async edit({ guildId, channelId }, messageId, changed) {
      const input = { ...changed, channelId, messageId };
      const authority = senderAuthority(changed.from);
      if (guildId === null) return inPrivateHere(channelId, 'updateMessage', input, authority);
      return guilds.callHere(guildId, 'updateMessage', input, authority);
    },
    async remove({ guildId, channelId }, messageId, from) {
      const input = { channelId, messageId, from };
      if (guildId === null) return inPrivateHere(channelId, 'deleteMessage', input, senderAuthority(from));
      return guilds.callHere(guildId, 'deleteMessage', input, senderAuthority(from));
    },
    ...preparing(ports),
  };
}

async function stateOf(
  { privateChannels, users }: PlacePorts['storage'],
  { channelId }: InteractionLocation,
): Promise<PrivateChannelState | null> {
  const channel = await privateChannels.get(channelId);
  return channel && privateState(channel, await users.get(channel.recipientIds), null);
}

/**
 * Why the invoker may not write to the other person of a channel of two: an application does not write there for the invoker
 * either. Null in groups and to bots.
 */
async function contactRefusal(
  { storage: { relationships }, config: { direct_messages_from: contactPolicy } }: PlacePorts,
  { channel, recipients }: PrivateChannelState,
  userId: UserId,
): Promise<Refusal | null> {
  const from = recipients.get(userId);
  const to = [...recipients.values()].find(({ id }) => id !== userId);
  if (!from || !to || to.bot || channel.group) return null;
  const { writtenBy = [], last_message_id: lastId } = channel;
  const between = { from, to, replied: writtenBy.includes(to.id), begun: lastId !== null };
  const through = { applicationId: null, together: false };
  return (await reachBetween({ relationships, contactPolicy }, between, through)).no;
}

/** Applies the message rules of the place without writing. */
function preparing({ storage, guilds, env }: PlacePorts): Pick<Places, 'compose' | 'revise'> {
  async function inPlace(
    place: InteractionLocation,
    from: Sender,
    needs: (guild: Guild) => Needs,
    rule: (scope: Scope) => Reply<Written>,
  ): Promise<Reply<Written>> {
    const { guildId, channelId } = place;
    if (guildId === null) {
      const state = await stateOf(storage, place);
      return state ? rule(privateScope(state, from.fields.author, SYSTEM.by, env())) : unknownChannel;
    }
    const inGuild = (guild: Guild): Reply<Written> => {
      const scope = scopeIn(guild, channelId, SYSTEM.by, env(), from);
      return scope.ok ? rule(scope.value) : scope;
    };
    const found = await guilds.look(guildId, inGuild, needs);
    return 'ok' in found ? found : { ok: false, refusal: found.refusal };
  }

  return {
    compose: (place, sent) =>
      inPlace(
        place,
        sent.from,
        (guild) => guildRules.needs(guild, 'createMessage', { ...sent, channelId: place.channelId }, SYSTEM),
        (scope) => replyOf(composeMessage(scope, sent, SYSTEM.by, env())),
      ),
    revise(place, message, changed) {
      const input = { ...changed, channelId: place.channelId, messageId: message.id };
      return inPlace(
        place,
        changed.from,
        (guild) => guildRules.needs(guild, 'updateMessage', input, SYSTEM),
        (scope) =>
          replyOf(
            reviseMessage({ ...scope, messageOf: () => message }, message.id, changed, SYSTEM.by, env()),
          ),
      );
    },
  };
}

const replyOf = (outcome: Reply<Written>): Reply<Written> =>
  outcome.ok ? { ok: true, value: outcome.value } : outcome;
