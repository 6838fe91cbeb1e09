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
