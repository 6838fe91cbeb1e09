import { isJson, type Json } from '../voice/wire.ts';
import { list, text } from './read.ts';

interface Recipient {
  readonly id: string;
  readonly name: string;
}

/** A private channel of the user, with one person or a group. */
export interface PrivateChannelView {
  readonly id: string;
  readonly isGroup: boolean;
  /** The name of a group; empty for one without a name. */
  readonly title: string;
  /** The others in it. */
  readonly people: ReadonlyMap<string, Recipient>;
}

/** Private channels by id, in the order in which they became known. */
export type PrivateChannelViews = ReadonlyMap<string, PrivateChannelView>;

const DM = 1;
const GROUP = 3;
/** Most private channels that are listed. */
const CHANNELS_MAX = 200;

/** The private channels after a dispatch; the same object if it changes nothing. */
export function privatesAfter(privates: PrivateChannelViews, t: string, d: Json): PrivateChannelViews {
  switch (t) {
    case 'READY':
      return new Map(list(d.private_channels).flatMap(entryOf));
    case 'CHANNEL_CREATE':
    case 'CHANNEL_UPDATE': {
      const [entry] = entryOf(d);
      return entry === undefined ? privates : new Map([...privates, entry].slice(-CHANNELS_MAX));
    }
    case 'CHANNEL_DELETE':
      if (!privates.has(text(d.id))) return privates;
      return new Map([...privates].filter(([id]) => id !== d.id));
    case 'CHANNEL_RECIPIENT_ADD':
    case 'CHANNEL_RECIPIENT_REMOVE':
      return withRecipient(privates, d, t === 'CHANNEL_RECIPIENT_ADD');
    default:
      return privates;
  }
}

function withRecipient(
  privates: PrivateChannelViews,
  { channel_id: id, user }: Json,
  isAdded: boolean,
): PrivateChannelViews {
  const channel = privates.get(text(id));
  if (channel === undefined || !isJson(user)) return privates;
  const people = new Map(channel.people);
  if (isAdded) people.set(...personOf(user));
  else people.delete(text(user.id));
  return new Map(privates).set(channel.id, { ...channel, people });
}

/** The entry of a private channel; none for other channels. */
function entryOf(d: Json): readonly (readonly [string, PrivateChannelView])[] {
  if (d.type !== DM && d.type !== GROUP) return [];
  const id = text(d.id);
  const people = new Map(list(d.recipients).map(personOf));
  return [[id, { id, isGroup: d.type === GROUP, title: text(d.name), people }]];
}

const personOf = (user: Json): [string, Recipient] => {
  const id = text(user.id);
  return [id, { id, name: text(user.global_name) || text(user.username) }];
};
