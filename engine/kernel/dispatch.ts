import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';

/** The users who may receive a dispatch; the DISPATCH table adds intent and permission. */
export type Audience =
  | { readonly kind: 'guild' }
  | { readonly kind: 'channel'; readonly channelId: ChannelId }
  /** Only the sessions of these users. */
  | { readonly kind: 'users'; readonly userIds: readonly UserId[] };

export interface Dispatch {
  readonly t: DispatchName;
  /** The payload, in the wire's shape. */
  readonly d: object;
  readonly to: Audience;
  /** False when no uploaded file is in the payload, so that it has no URLs to be signed. */
  readonly showsFiles?: boolean;
  /** True when everybody sees the same channels and threads after it as before, though its kind may change that. */
  readonly keepsSight?: boolean;
}
