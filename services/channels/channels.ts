import type { ChannelDirectory } from '../../actors/channel/directory.ts';
import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import { type PrivateCommands, privateRules } from '../../engine/privatechannel/rules.ts';
import type { ChannelId, MessageId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';
import { carrierApplication } from '../social/messagerules.ts';

interface ChannelPorts {
  readonly storage: Storage;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly channels: Pick<ChannelDirectory, 'owner'>;
  readonly inPrivate: InPrivate;
}

type ChannelCall = (
  channelId: ChannelId,
  type: never,
  input: object,
  authority: Authority,
) => Promise<Reply<never>>;

const isPrivateCommand = (type: string): type is keyof PrivateCommands =>
  Object.hasOwn(privateRules.commands, type);

/** Commands that notify the game that sent the changed message, by any user and route. */
const CHANGES: ReadonlySet<string> = new Set<keyof PrivateCommands>(['updateMessage', 'deleteMessage']);

/** Sends a command to the owner of a channel: its guild, or the private channel. */
export function channelCalls(ports: ChannelPorts): ChannelCall {
  const { storage, guilds, inPrivate } = ports;

  async function privately(
    channelId: ChannelId,
    type: string,
    input: object,
    authority: Authority,
  ): Promise<Reply<never>> {
    if (!isPrivateCommand(type)) {
      // Strangers must not learn that the channel exists.
      const shown = await privately(channelId, 'getChannel', { channelId }, authority);
      return shown.ok ? { ok: false, refusal: refusal('CANNOT_EXECUTE_ON_DM') } : shown;
    }
    const { messageId } = input as { readonly messageId?: MessageId };
    const carried =
      messageId && CHANGES.has(type) ? await carrierApplication(channelId, messageId, storage) : {};
    const whole = { ...input, ...carried };
    return inPrivate(channelId, type, whole, authority) as Promise<Reply<never>>;
  }

  return async (channelId, type, input, authority) => {
    const owner = await ports.channels.owner(channelId);
    if (!owner) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
    const whole = { ...input, channelId } as never;
    if ('private' in owner) return privately(channelId, type, whole, authority);
    return guilds.call(owner.guildId, type, whole, { ...authority, channelId });
  };
}
