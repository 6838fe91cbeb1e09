import type { Person, Social } from '../actors/social/ports.ts';
import { compareIds, type UserId } from '../protocol/ids.ts';
import type { Routes } from './cluster.routed.ts';
import type { PrivateChannels } from './private.ts';

/** What two people have between them is decided by the owner of the lower id. */
const lower = (a: UserId, b: UserId): UserId => (compareIds(a, b) < 0 ? a : b);

export const PRIVATE_ROUTES: Routes<PrivateChannels> = {
  call: { by: (channelId) => channelId, keyed: true },
  open: { by: lower, again: true },
  blocked: { by: (channelId) => channelId, again: true },
};

const self = (by: Person): UserId => by.userId;

/** Relationships find the owners of pairs themselves; what people do is known to the owner of who does it. */
export const SOCIAL_ROUTES: Routes<Social> = {
  ...{ opened: 'local', ended: 'local', acting: 'local', presented: 'local' },
  ...{ blocks: 'local', friends: 'local' },
  relationships: {
    ...{ list: 'local', listOfGame: 'local', request: 'local', requestNamed: 'local' },
    ...{ block: 'local', remove: 'local', rename: 'local' },
  },
  messages: {
    ...{ list: 'local', edit: 'local', remove: 'local', channel: 'local', moderate: 'local' },
    // What passes and is never kept stays with the sender, as does what an invite is an invite to.
    send: { by: self },
  },
  activities: {
    accept: { by: (_by, { userId }) => userId, again: true },
    metadata: { by: (_by, { userId }) => userId, again: true },
    startHeadless: { by: self },
    endHeadless: { by: self },
    takeBack: 'local',
  },
  roleConnections: { get: 'local', set: 'local', metadata: 'local', setMetadata: 'local' },
  ...{ merge: 'local', unmerge: 'local', forgetGame: 'local' },
};
