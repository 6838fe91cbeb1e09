import type { Authority } from '../../engine/kernel/authority.ts';
import type { UserId } from '../../protocol/ids.ts';

/** The server itself, for calls where a path or a code is the permission and the caller may be unauthenticated. */
export const SERVER: Authority = {
  by: {
    userId: '0' as UserId,
    bot: false,
    applicationId: null,
    applicationFlags: 0,
    reason: null,
    system: true,
  },
  requires: 0n,
};
