import type { Guilds } from '../../actors/guild/guilds.ts';
import { composeMessage } from '../../engine/channel/compose.ts';
import type { CreateInput, EditInput, Sender, Written } from '../../engine/channel/draft.ts';
import { reviseMessage } from '../../engine/channel/revise.ts';
import type { Scope } from '../../engine/channel/scope.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { describeInGuild, needsToDescribe } from '../../engine/guild/interactions.ts';
import { scopeIn } from '../../engine/guild/messages.scope.ts';
import { guildRules } from '../../engine/guild/rules.ts';
import type { InteractionPlace } from '../../engine/interaction/interaction.ts';
import type { Asked, Described } from '../../engine/interaction/place.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Env, Reply } from '../../engine/kernel/outcome.ts';
import { describePrivately } from '../../engine/privatechannel/interactions.ts';
import { type PrivateChannelState, privateScope, privateState } from '../../engine/privatechannel/rules.ts';
import type { ApplicationId, MessageId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';

export interface PlacePorts {
  readonly guilds: Pick<Guilds, 'look' | 'call'>;
  readonly inPrivate: InPrivate;
  readonly storage: Pick<Storage, 'privateChannels' | 'users' | 'messages'>;
  readonly env: () => Env;
}

/** Who writes: an application that answers an interaction. */
type From = { readonly from: Sender };
type Sent = Omit<CreateInput, 'from'> & From;
type Changed = Omit<EditInput, 'from'> & From;

/** The guild or the private channel of an interaction, which this shard owns. */
export interface Places {
  describe(place: InteractionPlace, asked: Asked): Promise<Reply<Described>>;
  write(place: InteractionPlace, sent: Sent): Promise<Reply<Written>>;
  /** A message of the channel; null for an unknown one. */
  find(place: InteractionPlace, messageId: MessageId): Promise<StoredMessage | null>;
  edit(place: InteractionPlace, messageId: MessageId, changed: Changed): Promise<Reply<Written>>;
  remove(place: InteractionPlace, messageId: MessageId, from: Sender): Promise<Reply<null>>;
  /** The message as it would be written, without writing it. */
  compose(place: InteractionPlace, sent: Sent): Promise<Reply<Written>>;
  /** The message as an edit would leave it, without writing it. */
  revise(place: InteractionPlace, message: StoredMessage, changed: Changed): Promise<Reply<Written>>;
}

const unknownChannel: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };

const authorityOf = ({ fields }: Sender): Authority => ({
  ...SYSTEM,
  by: { ...SYSTEM.by, applicationId: (fields.application_id ?? null) as ApplicationId | null },
});

/** The rules of messages, applied where nothing is written. */
type Rule = (scope: Scope, env: Env) => Reply<Written>;

export function createPlaces({ guilds, inPrivate, storage, env }: PlacePorts): Places {
  async function stateOf({ channelId }: InteractionPlace): Promise<PrivateChannelState | null> {
    const channel = await storage.privateChannels.get(channelId);
    return channel && privateState(channel, await storage.users.get(channel.recipientIds), null);
  }

  /** Runs a rule of messages on the place, with the rows that a command with the same input needs. */
  async function within(
    place: InteractionPlace,
    { type, input, from }: Preparing,
    rule: Rule,
  ): Promise<Reply<Written>> {
    const { guildId, channelId } = place;
    if (guildId === null) {
      const state = await stateOf(place);
      return state ? rule(privateScope(state, from.fields.author, SYSTEM.by, env()), env()) : unknownChannel;
    }
    const found = await guilds.look(
      guildId,
      (guild): Reply<Written> => {
        const scope = scopeIn(guild, channelId, SYSTEM.by, env(), from);
        return scope.ok ? rule(scope.value, env()) : scope;
      },
      (guild) => guildRules.needs(guild, type, input as never, SYSTEM),
    );
    return 'ok' in found ? found : { ok: false, refusal: found.refusal };
  }

  return {
    async describe(place, asked) {
      if (place.guildId === null) {
        const state = await stateOf(place);
        const known = asked.message && (await this.find(place, asked.message.id));
        return state ? describePrivately(state, asked, known) : unknownChannel;
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
      const authority = authorityOf(sent.from);
      if (guildId === null) return inPrivate(channelId, 'createMessage', input, authority);
      return guilds.call(guildId, 'createMessage', input, authority);
    },
    async find({ ownerId, channelId }, id) {
      return (await storage.messages.get(ownerId, [{ channelId, id }]))[0] ?? null;
    },
    async edit({ guildId, channelId }, messageId, changed) {
      const input = { ...changed, channelId, messageId };
      const authority = authorityOf(changed.from);
      if (guildId === null) return inPrivate(channelId, 'updateMessage', input, authority);
      return guilds.call(guildId, 'updateMessage', input, authority);
    },
    async remove({ guildId, channelId }, messageId, from) {
      const input = { channelId, messageId, from };
      if (guildId === null) return inPrivate(channelId, 'deleteMessage', input, authorityOf(from));
      return guilds.call(guildId, 'deleteMessage', input, authorityOf(from));
    },
    compose: (place, sent) =>
      within(
        place,
        { type: 'createMessage', input: { ...sent, channelId: place.channelId }, from: sent.from },
        (scope, now) => replyOf(composeMessage(scope, sent, SYSTEM.by, now)),
      ),
    revise: (place, message, changed) =>
      within(
        place,
        {
          type: 'updateMessage',
          input: { ...changed, channelId: place.channelId, messageId: message.id },
          from: changed.from,
        },
        (scope, now) =>
          replyOf(reviseMessage({ ...scope, messageOf: () => message }, message.id, changed, SYSTEM.by, now)),
      ),
  };
}

interface Preparing {
  readonly type: 'createMessage' | 'updateMessage';
  readonly input: object;
  readonly from: Sender;
}

const replyOf = (outcome: Reply<Written>): Reply<Written> =>
  outcome.ok ? { ok: true, value: outcome.value } : outcome;

/** The author of an application's messages when it has no bot. */
export type Author = StoredMessage['author'] & { readonly id: UserId };
