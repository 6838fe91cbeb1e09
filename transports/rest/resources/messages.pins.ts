import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { ChannelId, MessageId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Message, PinnedMessages } from '../../../protocol/schemas/message.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { isoTimestamp } from '../../../protocol/timestamps.ts';
import type { Viewing } from '../../../services/channels/messageviews.ts';
import { type Answer, type Bucket, type OperationCall, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { PinsPage } from './messages.schema.ts';
import { viewing } from './messages.viewing.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'channel_id', limit: 5, windowMs: 5_000, group: 'pins' };
const WRITE: Bucket = { per: 'channel_id', limit: 5, windowMs: 4_000, group: 'pin' };

type Params = { readonly channel_id: ChannelId; readonly message_id: MessageId };
type PinCall = Pick<OperationCall<Params, unknown, unknown, 'any'>, 'params' | 'authority'>;

/** A page of a channel's pins, newest first; empty for callers who may not read the history. */
async function pinsOf(
  call: Pick<
    OperationCall<{ readonly channel_id: ChannelId }, unknown, unknown, 'any'>,
    'params' | 'caller' | 'authority'
  >,
  services: Services,
  beforeMs: number | null,
  limit: number,
  show: (view: Viewing, found: StoredMessage[]) => Promise<unknown>,
): Promise<Answer> {
  const view = await viewing(call, services);
  if (!view.ok) return view;
  const { ownerId, channelId, canReadHistory } = view.value;
  const found = canReadHistory ? await services.read.messages.pins(ownerId, channelId, beforeMs, limit) : [];
  return { ok: true, value: await show(view.value, found) };
}

const createPin = ({ params, authority }: PinCall, { channels }: Services) =>
  channels.call(params.channel_id, 'pinMessage', { messageId: params.message_id }, authority);

const deletePin = ({ params, authority }: PinCall, { channels }: Services) =>
  channels.call(params.channel_id, 'unpinMessage', { messageId: params.message_id }, authority);

const pinnedAt = (ms: number | null): string => isoTimestamp(ms ?? 0);

const permission = P.VIEW_CHANNEL | P.PIN_MESSAGES;

/** Operations on pinned messages; the three older routes are aliases. */
export const messagePins = resource({
  list_pins: op({
    method: 'GET',
    path: '/channels/:channel_id/messages/pins',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: PinsPage,
    status: 200,
    reply: PinnedMessages,
    handle: (call, services) => {
      const { before, limit = LIMITS.pins_page_default } = call.query;
      const beforeMs = before === undefined ? null : Date.parse(before);
      // Read one more than the limit to know whether there is a next page.
      return pinsOf(call, services, beforeMs, limit + 1, async (view, found) => {
        const page = found.slice(0, limit);
        const shown = await services.presentMessages(view, page);
        const items = shown.map((message, index) => ({
          pinned_at: pinnedAt(page[index]!.pinned_ms),
          message,
        }));
        return { items, has_more: found.length > limit };
      });
    },
  }),
  create_pin: op({
    method: 'PUT',
    path: '/channels/:channel_id/messages/pins/:message_id',
    auth: 'any',
    permission,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: createPin,
  }),
  delete_pin: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/pins/:message_id',
    auth: 'any',
    permission,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: deletePin,
  }),
  deprecated_list_pins: op({
    method: 'GET',
    path: '/channels/:channel_id/pins',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    status: 200,
    reply: list(Message),
    handle: (call, services) =>
      pinsOf(call, services, null, LIMITS.pins_page_max, (view, found) =>
        services.presentMessages(view, found),
      ),
  }),
  deprecated_create_pin: op({
    method: 'PUT',
    path: '/channels/:channel_id/pins/:message_id',
    auth: 'any',
    permission,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: createPin,
  }),
  deprecated_delete_pin: op({
    method: 'DELETE',
    path: '/channels/:channel_id/pins/:message_id',
    auth: 'any',
    permission,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: deletePin,
  }),
});
